# SPDX-License-Identifier: Apache-2.0
"""Frameworks on a GPU: PyTorch, inline CUDA, CuPy, JAX and Numba."""

from __future__ import annotations

import runpy
import shutil
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import cpp, cuda

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
FILLED = """
tvm::ffi::Tensor filled(tvm::ffi::TensorView x, double value) {
  auto y = tvm::ffi::Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, x.shape(), x.dtype(), x.device());
  fill(y, value);
  return y;
}
"""


@pytest.fixture(scope="module")
def scale():
    """Return a launch plan's function; the grid has several blocks."""
    plan = {
        "signature": "scale(x: float32[n], y: out float32[n], a: float = 2.0)",
        "kernel": "scale_f32",
        "arguments": ["x", "float32 a", "y", "n"],
        "grid": "cdiv(n, 128)",
        "block": 128,
    }
    return cuda.create_module(EXAMPLES / "driver_module" / "scale.ptx", {"scale": plan}).scale


@pytest.fixture(scope="module")
def inline():
    """Return a library with a kernel and its host functions, built by nvcc."""
    if shutil.which("nvcc") is None:
        pytest.skip("no nvcc")
    source = runpy.run_path(str(EXAMPLES / "inline_module" / "run.py"))["FILL_CUDA"] + FILLED
    return cpp.load_inline("device_inline", cuda_sources=source, functions=["fill", "filled"])


# ---- PyTorch -------------------------------------------------------------------------------------


def test_torch_tensors_are_passed_and_returned(torch):
    x = torch.arange(12.0, device="cuda").reshape(3, 4).T
    seen = []
    echo = tvm_ffi.convert(lambda tensor: (seen.append(tensor), tensor)[1])
    y = echo(x)
    assert str(seen[0].device) == "cuda:0"
    assert (tuple(seen[0].shape), tuple(seen[0].strides)) == ((4, 3), (1, 4))
    assert isinstance(y, torch.Tensor)
    assert (y.data_ptr(), y.stride()) == (x.data_ptr(), x.stride())


def test_torch_tensors_on_all_devices(torch, scale):
    for index in range(torch.cuda.device_count()):
        x = torch.arange(1000.0, device=f"cuda:{index}")
        y = torch.zeros_like(x)
        scale(x, y, 3)
        torch.testing.assert_close(y, 3 * x)


def test_a_tensor_on_the_cpu_is_refused(torch, scale):
    x = torch.zeros(4, device="cuda")
    with pytest.raises(ValueError, match=r"scale\(\) argument 'y': expected device cuda, got cpu"):
        scale(x, x.cpu())


# ---- Inline CUDA ---------------------------------------------------------------------------------


def test_inline_cuda_is_built(inline):
    assert inline.implements_function("filled")


def test_inline_cuda_uses_the_allocator_and_the_stream(torch, inline):
    x = torch.zeros(1000, device="cuda")
    y = inline.filled(x, 7)
    assert isinstance(y, torch.Tensor)
    assert y.tolist() == [7.0] * 1000
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # cycles: a fill by another stream comes before that of torch
        x.fill_(1)
        inline.fill(x, 2)
        y = inline.filled(x, 3) + x
    stream.synchronize()
    assert y.tolist() == [5.0] * 1000


def test_inline_cuda_is_captured(torch, inline):
    x = torch.zeros(1000, device="cuda")
    inline.fill(x, 0)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        inline.fill(x, 7)
        y = inline.filled(x, 8)
    assert x.sum().item() == 0
    graph.replay()
    assert (x + y).tolist() == [15.0] * 1000


# ---- Other frameworks ----------------------------------------------------------------------------


def test_cupy_arrays_and_streams(torch, scale):
    cupy = pytest.importorskip("cupy")
    with cupy.cuda.Stream(non_blocking=True) as stream:
        x = cupy.arange(1000, dtype=np.float32)
        y = cupy.zeros_like(x)
        scale(x, y, 3)
        z = y + 1
        stream.synchronize()
    np.testing.assert_array_equal(z.get(), 3 * np.arange(1000) + 1)


def test_numba_arrays(torch, scale):
    numba_cuda = pytest.importorskip("numba.cuda")
    x = numba_cuda.to_device(np.arange(1000, dtype=np.float32))
    y = numba_cuda.device_array_like(x)
    scale(x, y, 3)
    np.testing.assert_array_equal(y.copy_to_host(), 3 * np.arange(1000))


@pytest.mark.parametrize("command_buffer", [False, True])
def test_jax_programs(torch, scale, command_buffer):
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU backend")
    from tvm_ffi.interop.jax import call_tvm_ffi

    @jax.jit
    def program(x):
        for _ in range(6):  # XLA makes command buffers of several operations only
            x = call_tvm_ffi(scale, x, a=2.0, command_buffer=command_buffer) + 1
        return x

    for start in range(3):
        x = np.arange(1000, dtype=np.float32) + start
        np.testing.assert_array_equal(program(x), 64 * x + 63)
