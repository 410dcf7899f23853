# SPDX-License-Identifier: Apache-2.0
"""Refusal of sub-interpreters: the binding's tables and classes exist once per process.

Only the first interpreter that imports an extension module of the binding can use the module.  If a
sub-interpreter were the first, the main interpreter could not use the binding any more.  So the
import fails in a sub-interpreter before it reaches an extension module.
"""

from __future__ import annotations

import _thread

from .._internal.lazy import Any


def refuse_other_interpreters() -> None:
    """Raise ImportError if the calling thread runs in a sub-interpreter."""
    if not _is_main():
        raise ImportError(
            "tvm_ffi works only in the main interpreter of a process and cannot be imported in a "
            "sub-interpreter; use a thread or a process instead"
        )


def _is_main() -> bool:
    ask: Any = getattr(_thread, "_is_main_interpreter", None)
    if ask is not None:  # the function exists from Python 3.12 on
        return bool(ask())
    try:
        import _xxsubinterpreters as interpreters  # type: ignore[import-not-found]  # private
    except ImportError:  # Python was built without sub-interpreters
        return True
    return bool(interpreters.get_current() == interpreters.get_main())
