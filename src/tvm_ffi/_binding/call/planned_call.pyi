# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable

from tvm_ffi._binding.call.function import Function
from tvm_ffi.signature import Signature

def set_plan_lookup(plan_of: Callable[[Any, Any], Any]) -> None: ...
def declared_signature(function: Function) -> Signature | None: ...
def arguments_in_order(
    function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[Any, ...]: ...
