# SPDX-License-Identifier: Apache-2.0
from typing import Any

from tvm_ffi.signature import TensorLike

class ReadOnlyArgument: ...

# What comes back stands for the array in a call, and nowhere else.
def readonly(array: Any) -> TensorLike: ...
