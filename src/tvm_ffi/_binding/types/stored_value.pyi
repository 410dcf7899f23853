# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable

from tvm_ffi._binding.call.function import Function

class Refusal:
    def __init__(self, text: str) -> None: ...

def plain_setter(origin: str, convert: Callable[[Any], Any]) -> int: ...
def rule_setter(
    origin: str,
    convert: Callable[[Any], Any],
    accepted: str,
    index: int,
    depth: int,
    accepts_none: bool,
) -> Function: ...
