# SPDX-License-Identifier: Apache-2.0
from typing import Any

from tvm_ffi._binding.call.function import Function

class BoundCall:
    def __call__(self, *args: Any, **kwargs: Any) -> Any: ...
    @property
    def function(self) -> Function: ...

def bound_call(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BoundCall: ...
