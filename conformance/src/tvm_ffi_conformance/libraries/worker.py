# SPDX-License-Identifier: Apache-2.0
"""Worker process of library checks: loads a runtime and the library, then serves checks."""

from __future__ import annotations

import ctypes
import json
import sys

from .. import abi
from ..runtimes.subject import Runtime
from ..runtimes.worker import main
from .calls import register_calls
from .checked import register_checked
from .signature import parse

METADATA = "--metadata"


def load(path: str, runtime: str, *signatures: str) -> Runtime:
    """Return the runtime with the library in its attribute `kernel`; register the checks."""
    subject = Runtime(runtime, ctypes.RTLD_GLOBAL)
    subject.kernel = ctypes.CDLL(path)
    for text in signatures:
        register_calls(parse(text))
        register_checked(parse(text))
    return subject


def print_metadata(path: str, runtime: str, *names: str) -> None:
    """Print the metadata of functions as one JSON object.

    The value of a function is an object with the text, or a message if there is none.
    """
    subject = load(path, runtime)
    found: dict[str, object] = {}
    for name in names:
        out = abi.TVMFFIAny()
        function = getattr(subject.kernel, abi.METADATA_SYMBOL_PREFIX + name)
        status = function(None, None, ctypes.c_int32(0), ctypes.byref(out))
        text = subject.python(out) if status == 0 else None
        if isinstance(text, str):
            found[name] = {"text": text}
        else:
            kind = f"type index {out.type_index}" if status == 0 else f"status {status}"
            found[name] = f"expected a string or a small string as result, got {kind}"
    print(METADATA + json.dumps(found))


if __name__ == "__main__":
    if sys.argv[1] == METADATA:
        print_metadata(*sys.argv[2:])
    else:
        raise SystemExit(main(sys.argv[1:], load))
