# SPDX-License-Identifier: Apache-2.0
"""Public module names (``__module__``) of classes and functions that are written in Python."""

from __future__ import annotations

from typing import Any

__all__ = ["set_public_module"]


def set_public_module(namespace: dict[str, Any]) -> None:
    """Set ``__module__`` of the classes and functions that a public module exports to its name.

    Pickles contain this name, and `help` shows it.

    Parameters
    ----------
    namespace : dict
        ``globals()`` of the module, with ``__all__``.
    """
    for name in namespace["__all__"]:
        defining = getattr(namespace[name], "__module__", None)
        if defining is not None and "._" in defining:
            namespace[name].__module__ = namespace["__name__"]
