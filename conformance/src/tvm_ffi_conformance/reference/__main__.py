# SPDX-License-Identifier: Apache-2.0
"""Command line: run a function of a compiled library on the reference.

``python -m tvm_ffi_conformance.reference kernel.so symbol args...``
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from math import prod
from pathlib import Path
from typing import Any

from . import Raised, Reference
from .trampoline import build

_TENSOR = re.compile(r"(\w+)\[([\d,\s]*)\](?:=(.*))?")
_WORDS = {"none": None, "true": True, "false": False}
_EPILOG = """\
arguments: 1, 2.5, true, none, text, or a tensor: float32[2,3] (zeros), float32[3]=1,2,3.
The exit status is 0 without violations, 1 with violations, 2 if the call failed.
"""


def parse_argument(reference: Reference, text: str) -> Any:
    """Return the value that an argument of the command line describes."""
    tensor = _TENSOR.fullmatch(text)
    if tensor:
        shape = [int(extent) for extent in tensor[2].split(",") if extent.strip()]
        number = float if tensor[1].startswith("float") else int
        given = [number(element) for element in (tensor[3] or "").split(",") if element.strip()]
        return reference.tensor(tensor[1], shape, given or [number(0)] * prod(shape))
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text


def run(path: str, symbol: str, texts: list[str]) -> int:
    """Call a function; print result, tensors and violations; return the exit status."""
    reference = Reference()
    failed = False
    try:
        arguments = [parse_argument(reference, text) for text in texts]
        print(f"result: {reference.load(path)[symbol](*arguments)!r}")
        for position, text in enumerate(texts):
            if _TENSOR.fullmatch(text):
                print(f"argument {position}: {arguments[position]!r}")
    except (Raised, KeyError, ValueError) as error:
        failed = True
        print(f"failed: {error}")
    violations = reference.end_scope()
    for violation in violations:
        print(f"violation: {violation}")
    if not violations:
        print("no violations")
    return 2 if failed else 1 if violations else 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m tvm_ffi_conformance.reference",
        description="Run a function of a compiled library on the reference implementation.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("library", nargs="?", help="the shared library")
    parser.add_argument("symbol", nargs="?", help="the function, without the prefix __tvm_ffi_")
    parser.add_argument("arguments", nargs="*", help="its arguments")
    parser.add_argument(
        "--build", metavar="FOLDER", help="write libtvm_ffi.so to link against, and its source"
    )
    options = parser.parse_args(arguments)
    if options.build:
        print(build(Path(options.build)))
        return 0
    if not options.library or not options.symbol:
        parser.error("expected a library and a symbol")
    return run(options.library, options.symbol, options.arguments)


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    # Static destructors of the library must not call into a finished interpreter.
    os._exit(status)
