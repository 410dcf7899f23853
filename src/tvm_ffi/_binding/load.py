# SPDX-License-Identifier: Apache-2.0
"""Initialization of the binding: global C ABI symbols first, then two hooks of `object`.

``core.py`` imports this module before any other module of the binding.
"""

from __future__ import annotations

from .object import hooks, library_path  # isort: skip  # first: makes the C ABI symbols global
from .._internal.lazy import Any
from .call.signature_lookup import binder_of_wrapper

__all__ = ["library_path"]


# An extension module exists once per process.  When an interpreter ends, it clears the modules, and
# the next interpreter of the process gets the cleared ones.
if hooks is None:
    raise ImportError(
        "tvm_ffi was imported by an interpreter that has ended (Py_FinalizeEx) and cannot be "
        "imported again in this process; keep the interpreter, or start another process"
    )


def _load_description() -> Any:
    from .call import description  # imports `inspect`, which is slow

    return description


hooks.load_description = _load_description
hooks.signature_lookup = binder_of_wrapper
