# SPDX-License-Identifier: Apache-2.0
"""Enumerations of DLPack device types and dtype codes."""

from __future__ import annotations

from enum import IntEnum

from .._binding.object import set_public_module

__all__ = ["DLDeviceType", "DataTypeCode"]


class DLDeviceType(IntEnum):
    """DLPack device types (``DLDeviceType``)."""

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


class DataTypeCode(IntEnum):
    """DLPack type codes (``DLDataTypeCode``) of the dtypes that have a name."""

    INT = 0
    UINT = 1
    FLOAT = 2
    HANDLE = 3
    BFLOAT = 4
    BOOL = 6
    Float8E3M4 = 7
    Float8E4M3 = 8
    Float8E4M3B11FNUZ = 9
    Float8E4M3FN = 10
    Float8E4M3FNUZ = 11
    Float8E5M2 = 12
    Float8E5M2FNUZ = 13
    Float8E8M0FNU = 14
    Float6E2M3FN = 15
    Float6E3M2FN = 16
    Float4E2M1FN = 17


set_public_module("tvm_ffi.core", DLDeviceType)
set_public_module("tvm_ffi._dtype", DataTypeCode)
