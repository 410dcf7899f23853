# SPDX-License-Identifier: Apache-2.0
"""Sub-interpreters, which the binding is not for: its tables and classes are those of the process.

Each compiled module belongs to the first interpreter that loads it and is refused to all others,
the main one included.  So a sub-interpreter is turned away before it loads any.
"""

from __future__ import annotations

import _thread

from .._internal.lazy import Any


def refuse_other_interpreters() -> None:
    """Raise ImportError in a sub-interpreter."""
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
