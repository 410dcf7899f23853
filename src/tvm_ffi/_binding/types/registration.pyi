# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable
from typing import Any

from tvm_ffi._binding.call.function import Function

def register_field(
    type_index: int,
    name: str,
    doc: str,
    metadata: str,
    flags: Iterable[str],
    layout: tuple[int, int, int],
    offset: int,
    getter: int,
    setter: int | Function,
    default: Any,
) -> None: ...
def register_method(
    type_index: int, name: str, doc: str, metadata: str, is_static: bool, function: Function
) -> None: ...
def register_metadata(
    type_index: int, doc: str, total_size: int, structural_eq: str | None
) -> None: ...
