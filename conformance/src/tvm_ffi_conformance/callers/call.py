# SPDX-License-Identifier: Apache-2.0
"""Call of one function of a compiled library on the reference, from texts of arguments."""

from __future__ import annotations

import re
import sys
from math import prod
from typing import Any

from ..elf import read_header
from ..reference import Raised, Reference
from ..reference.convert import ELEMENTS as DTYPES

_TENSOR = re.compile(r"(\w+)\[([\d,\s]*)\](?:=(.*))?")
_WORDS = {"none": None, "true": True, "false": False}


def parse_argument(reference: Reference, text: str) -> Any:
    """Return the value that an argument of the command line describes."""
    tensor = _TENSOR.fullmatch(text)
    if tensor:
        shape = [int(extent) for extent in tensor[2].split(",") if extent.strip()]
        number = float if tensor[1].startswith("float") else int
        if tensor[1] not in DTYPES:
            raise ValueError(f"{text}: expected one of {', '.join(DTYPES)}, got {tensor[1]}")
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


def run_call(path: str, symbol: str, texts: list[str]) -> int:
    """Call a function; print result, tensors and violations; return the exit status."""
    read_header(path).check_loadable()
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
        print(f"failed: {error.args[0] if isinstance(error, KeyError) else error}")
    violations = reference.end_scope()
    for violation in violations:
        print(f"violation: {violation}")
    if not violations:
        print("no violations")
    sys.stdout.flush()
    return 2 if failed else 1 if violations else 0
