# SPDX-License-Identifier: Apache-2.0
"""Let the C code that Cython has written release tracebacks that are not there.

An exception that is raised while memory is short may have no traceback, as its entry could not be
made.  What Cython writes for `except` knows that where it takes the exception, and not where it
releases it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

_TAKEN = re.compile(r"__Pyx_GetException\(&\w+, &\w+, &(\w+)\)")


def allow_missing_tracebacks(code: str) -> str:
    """Return the code with a check where variables that have held a traceback are released."""
    return "\n}\n".join(map(_function_with_checks, code.split("\n}\n")))


def _function_with_checks(code: str) -> str:
    """Return the code of a C function, which ends with a brace in the first column.

    Cython numbers temporary variables anew in each function.
    """
    names = "|".join(sorted(set(_TAKEN.findall(code))))
    return re.sub(rf"__Pyx_DECREF\(({names})\)", r"__Pyx_XDECREF(\1)", code) if names else code


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(allow_missing_tracebacks(path.read_text("utf-8")), encoding="utf-8")
