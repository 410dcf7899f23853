# SPDX-License-Identifier: Apache-2.0
"""Refusal of sub-interpreters: the binding keeps tables and classes per process.

An extension module can only be used by the first interpreter that imports it.  A sub-interpreter
that imported one would make it unusable for the main interpreter, so the import fails before that.
"""

from __future__ import annotations

import _thread

from .._internal.lazy import Any


def refuse_other_interpreters() -> None:
    """Raise ImportError if the calling thread runs in a sub-interpreter."""
    if not _is_main():
        raise ImportError(
            "tvm_ffi works in the main interpreter of a process alone and cannot be imported in a "
            "sub-interpreter; use a thread or a process instead"
        )


def _is_main() -> bool:
    ask: Any = getattr(_thread, "_is_main_interpreter", None)
    if ask is not None:  # from Python 3.12 on
        return bool(ask())
    try:
        import _xxsubinterpreters as interpreters  # type: ignore[import-not-found]  # private
    except ImportError:  # Python was built without it
        return True
    return bool(interpreters.get_current() == interpreters.get_main())
