# SPDX-License-Identifier: Apache-2.0
from typing import Any

from tvm_ffi._binding.object.object import CObject

def type_index_of(obj: CObject) -> int: ...
def type_facts(index: int) -> dict[str, Any]: ...
