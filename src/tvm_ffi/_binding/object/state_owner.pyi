# SPDX-License-Identifier: Apache-2.0
from typing import Any

from tvm_ffi._binding.object.object import CObject

class StateOwner(CObject): ...

def hold_state(owner: StateOwner, state: Any) -> None: ...
