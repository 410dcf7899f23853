# SPDX-License-Identifier: Apache-2.0
"""CUDA headers compiled by nvcc: each alone, in both API variants and language standards.

Their behaviour is tested with a stand-in CUDA library in cuda_test.cc.
"""

from __future__ import annotations

import shutil
import subprocess

import pytest

from tvm_ffi import libinfo

pytestmark = [pytest.mark.slow, pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")]

# Each header before all others; then code that uses its functions.
SOURCES = {
    "base": """
#include <tvm/ffi/extra/cuda/base.h>
void synchronize() { TVM_FFI_CHECK_CUDA_ERROR(cudaDeviceSynchronize()); }
static_assert(tvm::ffi::dim3(2, 3).z == 1, "");
""",
    "device_guard": """
#include <tvm/ffi/extra/cuda/device_guard.h>
void on_device(int device) { tvm::ffi::CUDADeviceGuard guard(device); }
""",
    "unified_api": """
#include <tvm/ffi/extra/cuda/internal/unified_api.h>
void unload(tvm::ffi::cuda_api::LibraryHandle library) {
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(tvm::ffi::cuda_api::UnloadLibrary(library));
}
static_assert(TVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API == USES_DRIVER, "");
""",
    "cubin_launcher": """
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
TVM_FFI_EMBED_CUBIN(linked);
static const char bytes[] = "image";
TVM_FFI_EMBED_CUBIN_FROM_BYTES(array, bytes);
namespace cuda_api = tvm::ffi::cuda_api;
cuda_api::ResultType launch(void** args, cuda_api::StreamHandle stream) {
  static auto kernel = TVM_FFI_EMBED_CUBIN_GET_KERNEL(linked, "kernel");
  static auto large = EmbedCubinModule_array::Global()->mod.GetKernelWithMaxDynamicSharedMemory(
      "kernel", 100000);
  cuda_api::LaunchConfig config;
  cuda_api::LaunchAttrType attribute;
  cuda_api::ConstructLaunchConfig(large.GetHandle(), stream, 0, tvm::ffi::dim3(8),
                                  tvm::ffi::dim3(32), 2, config, attribute);
  TVM_FFI_CHECK_CUBIN_LAUNCHER_CUDA_ERROR(large.LaunchEx(args, config));
  return kernel.Launch(args, tvm::ffi::dim3(1), tvm::ffi::dim3(32), stream);
}
""",
    "in_device_code": """
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/cuda/cubin_launcher.h>
#include <tvm/ffi/extra/cuda/device_guard.h>
#include <tvm/ffi/function.h>
__global__ void fill(float* to, float value) { to[threadIdx.x] = value; }
void launch(tvm::ffi::TensorView to, float value) {
  TVM_FFI_ICHECK_EQ(to.dtype(), (DLDataType{kDLFloat, 32, 1})) << "to " << to.ndim();
  tvm::ffi::CUDADeviceGuard guard(to.device().device_id);
  fill<<<dim3(1), 32>>>(static_cast<float*>(to.data_ptr()), value);
  TVM_FFI_CHECK_CUDA_ERROR(cudaGetLastError());
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fill, launch);
""",
}


@pytest.mark.parametrize(("standard", "uses_driver"), [(17, 0), (20, 1)])
def test_headers_compile_without_warnings(tmp_path, standard, uses_driver):
    """One nvcc command compiles all sources of a variant, because nvcc starts slowly."""
    for name, source in SOURCES.items():
        (tmp_path / f"{name}.cu").write_text(source, encoding="utf-8")
    command = [
        "nvcc", f"-std=c++{standard}", "-c", "-Werror", "all-warnings",
        "-Xcompiler", "-Wall,-Wextra,-Werror", f"-DUSES_DRIVER={uses_driver}",
        f"-DTVM_FFI_CUBIN_LAUNCHER_USE_DRIVER_API={uses_driver}",
        *(f"-I{path}" for path in libinfo.include_paths()),
        *(f"{name}.cu" for name in SOURCES),
    ]  # fmt: skip
    done = subprocess.run(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout
