# SPDX-License-Identifier: Apache-2.0
from ctypes import c_void_p
from enum import IntEnum
from typing import Any

class DLDeviceType(IntEnum):
    kDLCPU = 1
    kDLCUDA = 2
    kDLCUDAHost = 3
    kDLOpenCL = 4
    kDLVulkan = 7
    kDLMetal = 8
    kDLVPI = 9
    kDLROCM = 10
    kDLROCMHost = 11
    kDLExtDev = 12
    kDLCUDAManaged = 13
    kDLOneAPI = 14
    kDLWebGPU = 15
    kDLHexagon = 16
    kDLMAIA = 17
    kDLTrn = 18

class Device:
    _DEVICE_TYPE_TO_NAME: dict[int, str]
    _DEVICE_NAME_TO_TYPE: dict[str, int]
    def __init__(self, device_type: str | int, index: int | None = None) -> None: ...
    @property
    def type(self) -> str: ...
    @property
    def index(self) -> int: ...
    def dlpack_device_type(self) -> int: ...
    def __device_type_name__(self) -> str: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __ne__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...
    def __reduce__(self) -> Any: ...

def set_device_class(cls: type[Device]) -> None: ...
def set_current_stream(device_type: int, device_id: int, stream: int | c_void_p) -> int: ...
def get_current_stream(device_type: int, device_id: int) -> int: ...
