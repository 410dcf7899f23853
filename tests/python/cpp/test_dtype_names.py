# SPDX-License-Identifier: Apache-2.0
"""C++ element types for each backend."""

from __future__ import annotations

import pytest

from tvm_ffi.cpp import dtype, to_cpp_dtype


@pytest.fixture
def backend(monkeypatch):
    """Return a function that sets the backend."""

    def set_backend(name: str) -> None:
        monkeypatch.setattr(dtype, "_backend", lambda: name)

    return set_backend


@pytest.mark.parametrize(
    ("backend_name", "name", "expected"),
    [
        ("cpu", "float32", "float"),
        ("cpu", "float64", "double"),
        ("cpu", "bool", "bool"),
        ("cpu", "uint8", "uint8_t"),
        ("cuda", "torch.int64", "int64_t"),
        ("cuda", "float16", "__half"),
        ("cuda", "torch.bfloat16", "__nv_bfloat16"),
        ("cuda", "float4_e2m1fn_x2", "__nv_fp4x2_e2m1"),
        ("hip", "bfloat16", "__hip_bfloat16"),
        ("hip", "float8_e5m2fnuz", "__hip_fp8_e5m2_fnuz"),
    ],
)
def test_to_cpp_dtype_returns_the_type_of_the_backend(backend, backend_name, name, expected):
    backend(backend_name)
    assert to_cpp_dtype(name) == expected


@pytest.mark.parametrize(
    ("backend_name", "name"),
    [("cpu", "float16"), ("cuda", "float8_e5m2fnuz"), ("hip", "complex64"), ("cuda", 3)],
)
def test_a_dtype_without_a_cpp_type_is_an_error(backend, backend_name, name):
    backend(backend_name)
    message = f"^Unsupported dtype string: {name} for backend = '{backend_name}'$"
    with pytest.raises(ValueError, match=message):
        to_cpp_dtype(name)


def test_torch_dtypes_are_accepted(backend):
    torch = pytest.importorskip("torch")
    backend("cuda")
    assert to_cpp_dtype(torch.float16) == "__half"
    assert to_cpp_dtype(torch.bool) == "bool"
