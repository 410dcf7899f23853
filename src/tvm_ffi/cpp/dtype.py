# SPDX-License-Identifier: Apache-2.0
"""C++ element types by dtype name.

CUDA and ROCm define different C++ types for floating-point numbers of 16 bits and less.  The
GPU backend of builds selects between them, see `to_cpp_dtype`.
"""

from __future__ import annotations

import functools
from typing import Any

__all__ = ["CPU_DTYPE_MAP", "CUDA_DTYPE_MAP", "ROCM_DTYPE_MAP", "to_cpp_dtype"]

CPU_DTYPE_MAP: dict[str, str] = {
    "bool": "bool",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "float32": "float",
    "float64": "double",
}

CUDA_DTYPE_MAP: dict[str, str] = {
    "float16": "__half",
    "bfloat16": "__nv_bfloat16",
    "float8_e4m3fn": "__nv_fp8_e4m3",
    "float8_e5m2": "__nv_fp8_e5m2",
    "float8_e8m0fnu": "__nv_fp8_e8m0",
    "float4_e2m1": "__nv_fp4_e2m1",
    "float4_e2m1fn_x2": "__nv_fp4x2_e2m1",
}

ROCM_DTYPE_MAP: dict[str, str] = {
    "float16": "__half",
    "bfloat16": "__hip_bfloat16",
    "float8_e4m3fn": "__hip_fp8_e4m3",
    "float8_e4m3fnuz": "__hip_fp8_e4m3_fnuz",
    "float8_e5m2": "__hip_fp8_e5m2",
    "float8_e5m2fnuz": "__hip_fp8_e5m2_fnuz",
    "float4_e2m1": "__hip_fp4_e2m1",
    "float4_e2m1fn_x2": "__hip_fp4x2_e2m1",
}

_DEVICE_MAPS = {"cpu": {}, "cuda": CUDA_DTYPE_MAP, "hip": ROCM_DTYPE_MAP}


def to_cpp_dtype(dtype_str: str | Any) -> str:
    """Return the C++ element type for a dtype.

    Parameters
    ----------
    dtype_str : str or torch.dtype
        A torch dtype or its name, such as ``"float16"`` or ``"torch.float16"``.

    Returns
    -------
    str
        Name of the C++ type.  The types of `CPU_DTYPE_MAP`, such as ``float`` and ``int32_t``, are
        the same for every backend; small floats come from `CUDA_DTYPE_MAP` or `ROCM_DTYPE_MAP`.

    Raises
    ------
    ValueError
        If the backend has no C++ type for the dtype.

    Notes
    -----
    The backend is ``TVM_FFI_GPU_BACKEND``, else the backend of the installed torch (without
    importing torch).  It is determined once per process.

    Examples
    --------
    >>> from tvm_ffi.cpp import to_cpp_dtype
    >>> to_cpp_dtype("int32")
    'int32_t'
    """
    name = str(dtype_str)
    if name.startswith("torch."):
        name = name[len("torch.") :]
    backend = _backend()
    cpp_type = CPU_DTYPE_MAP.get(name) or _DEVICE_MAPS[backend].get(name)
    if cpp_type is None:
        raise ValueError(f"Unsupported dtype string: {name} for backend = {backend!r}")
    return cpp_type


@functools.cache
def _backend() -> str:
    from ._gpu import requested_backend, torch_backend

    return requested_backend() or torch_backend() or "cpu"
