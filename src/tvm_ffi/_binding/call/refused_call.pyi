# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable

from tvm_ffi._binding.call.function import Function

def set_refused_call(take: Callable[[Function, tuple[Any, ...]], Any]) -> None: ...
