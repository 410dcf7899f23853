# SPDX-License-Identifier: Apache-2.0
"""Coverage-guided fuzzing of Python targets: `check(data)` gets bytes that reach new code.

A target asserts the properties of every result, and lets through the exceptions that its reader
documents and no others.  The tests call the same `check` with the seeds.
"""

from __future__ import annotations

import sys
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Callable


def instrumented(name: str) -> AbstractContextManager[Any]:
    """Return a context whose imports are instrumented if the module `name` is run as a program."""
    if name != "__main__":
        return nullcontext()
    import atheris

    return atheris.instrument_imports(include=["tvm_ffi", "json"])


def watched(name: str) -> Callable[[Any], Any]:
    """Return a decorator for functions of the target itself whose branches count as coverage."""
    if name != "__main__":
        return lambda function: function
    import atheris

    return atheris.instrument_func  # type: ignore[no-any-return]


def run(check: Callable[[bytes], None]) -> None:
    """Run a target with the program's arguments for libFuzzer."""
    import atheris

    atheris.Setup(sys.argv, check)
    atheris.Fuzz()
