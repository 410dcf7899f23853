# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.object.object import CObject

class ReferenceLink:
    def __init__(self, owner: CObject) -> None: ...

def relink(owner: CObject) -> None: ...
