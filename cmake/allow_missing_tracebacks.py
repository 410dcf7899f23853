# SPDX-License-Identifier: Apache-2.0
"""Patch of Cython's C code: NULL checks for tracebacks that `except` clauses release.

An exception that is raised while memory is exhausted may have no traceback, because its allocation
failed.  Cython's code for `except` handles a NULL traceback when it fetches the exception, but not
when it releases the traceback.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_FETCHED = re.compile(r"__Pyx_GetException\(&\w+, &\w+, &(\w+)\)")


def allow_missing_tracebacks(code: str) -> str:
    """Return Cython's C code with a NULL check for each release of a traceback variable."""
    return "\n}\n".join(map(_function_with_checks, code.split("\n}\n")))


def _function_with_checks(code: str) -> str:
    """Return the patched code of one C function.

    Variables are matched per function, because each function has its own temporary variables.
    """
    names = "|".join(sorted(set(_FETCHED.findall(code))))
    return re.sub(rf"__Pyx_DECREF\(({names})\)", r"__Pyx_XDECREF(\1)", code) if names else code


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(allow_missing_tracebacks(path.read_text("utf-8")), encoding="utf-8")
