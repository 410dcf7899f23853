# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable

from tvm_ffi._schema.schema import Schema
from tvm_ffi.signature import Signature

NO_DEFAULT: object
DIRECTIONS: tuple[str, ...]

def container_converter(schema: Schema) -> Callable[[Any], Any]: ...
def set_container_converter(make: Callable[[Schema], Callable[[Any], Any]]) -> None: ...

class CallPlan:
    @property
    def signature(self) -> Signature: ...
    def __new__(
        cls,
        signature: Signature,
        names: tuple[str, ...],
        defaults: tuple[Any, ...],
        converters: tuple[Callable[[Any], Any] | None, ...],
        directions: bytes,
        num_positional_only: int,
        num_positional: int,
        is_variadic: bool,
    ) -> CallPlan: ...
