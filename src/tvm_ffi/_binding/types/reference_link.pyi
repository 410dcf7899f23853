# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.object.object import CObject

def relink(owner: CObject) -> None: ...
