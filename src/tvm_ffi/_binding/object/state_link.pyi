# SPDX-License-Identifier: Apache-2.0
from typing import Any

from tvm_ffi._binding.object.object import CObject

class StateLink:
    def __init__(self, owner: CObject, state: Any) -> None: ...
