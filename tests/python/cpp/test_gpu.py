# SPDX-License-Identifier: Apache-2.0
"""CUDA and HIP builds: command lines of fake compilers, and a real build if nvcc is installed."""

from __future__ import annotations

import os
import runpy
import shutil
import sys
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import cpp
from tvm_ffi.cpp import _gpu
from tvm_ffi.cpp._gpu import torch_backend  # the original function; the fixture below replaces it

HEADERS = f"-I{tvm_ffi.libinfo.find_include_path()}"
SHARED = ["-shared", *(["-Wl,-z,defs"] if sys.platform == "linux" else [])]
SYSTEM = ["-lm", "-ldl", "-lpthread"]
LIBRARY = f"-L{Path(tvm_ffi.libinfo.find_libtvm_ffi()).parent}"


@pytest.fixture(autouse=True)
def no_known_devices(monkeypatch):
    """Clear the cached devices and torch's cached backend."""
    for function in (_gpu.torch_backend, _gpu.cuda_devices, _gpu._rocm_devices):
        function.cache_clear()
    monkeypatch.setattr(_gpu, "torch_backend", lambda: None)
    yield
    _gpu.cuda_devices.cache_clear()
    _gpu._rocm_devices.cache_clear()


@pytest.fixture
def toolkit(fake_compilers, monkeypatch):
    """Return fake compilers: a CUDA toolkit, a ROCm toolkit and a C++ compiler."""
    nvcc = fake_compilers.add("nvcc")
    fake_compilers.add("hipcc")
    monkeypatch.setenv("CXX", str(fake_compilers.add("c++")))
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parents[1]))
    monkeypatch.setenv("ROCM_HOME", str(nvcc.parents[1]))
    return fake_compilers


def test_commands_of_a_cuda_build(toolkit, monkeypatch):
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", " 8.9 9.0a ")
    cpp.build_inline(
        "kernel", cuda_sources="// x", functions="f", extra_cuda_cflags=["--use_fast_math"]
    )
    flags = ["-Xcompiler", "-fPIC", "-std=c++17", "-O2"]
    metadata = "-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT=1"
    targets = ["-gencode=arch=compute_89,code=sm_89", "-gencode=arch=compute_90a,code=sm_90a"]
    rest = ["--use_fast_math", HEADERS, "-c", "cuda.cu", "-o", "cuda_0.o"]
    runtime = [f"-L{toolkit.folder}/lib64", "-lcudart"]
    assert toolkit.commands() == [
        ["nvcc", "-MD", "-MF", "cuda_0.o.d", *flags, *targets, metadata, *rest],
        ["c++", "cuda_0.o", *SHARED, LIBRARY, "-ltvm_ffi", *runtime, *SYSTEM, "-o", "kernel.so"],
    ]
    main = cpp.cache.find("kernel")[0].path.with_name("cuda.cu").read_text()
    # The line directive gives the number of the next line, which is the ninth.
    assert main.endswith('#line 9 "cuda.cu"\nTVM_FFI_DLL_EXPORT_TYPED_FUNC(f, f);\n')


def test_commands_of_a_hip_build(toolkit, monkeypatch):
    monkeypatch.setenv("TVM_FFI_ROCM_ARCH_LIST", "gfx90a gfx1100")
    cpp.build_inline("kernel", cuda_sources="// x", backend="hip", extra_cuda_cflags=["-DX"])
    flags = ["-std=c++17", "-O2", "-fPIC", "-D__HIP_PLATFORM_AMD__=1", "-fno-gpu-rdc"]
    metadata = "-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT=1"
    targets = ["--offload-arch=gfx90a", "--offload-arch=gfx1100"]
    rest = ["-DX", HEADERS, "-c", "cuda.cu", "-o", "cuda_0.o"]
    runtime = [f"-L{toolkit.folder}/lib", "-lamdhip64"]
    assert toolkit.commands() == [
        ["hipcc", "-MD", "-MF", "cuda_0.o.d", *flags, *targets, metadata, *rest],
        ["c++", "cuda_0.o", *SHARED, LIBRARY, "-ltvm_ffi", *runtime, *SYSTEM, "-o", "kernel.so"],
    ]


def test_cpp_files_and_cuda_files_ignore_the_suffix(toolkit, monkeypatch, tmp_path):
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", "9.0")
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).touch()
    cpp.build("old", cpp_files=[str(tmp_path / "a.txt")], cuda_files=str(tmp_path / "b.txt"))
    programs = sorted((line[0], line[-1]) for line in toolkit.commands())
    assert programs == [("c++", "cpp_0.o"), ("c++", "old.so"), ("nvcc", "cuda_0.o")]


@pytest.mark.parametrize(
    ("variable", "expected"), [("hip", "hipcc"), ("cuda", "nvcc"), ("", "nvcc"), ("HIP", "hipcc")]
)
def test_a_variable_selects_the_backend(toolkit, monkeypatch, variable, expected):
    monkeypatch.setenv("TVM_FFI_GPU_BACKEND", variable)
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", "9.0")
    monkeypatch.setenv("TVM_FFI_ROCM_ARCH_LIST", "gfx90a")
    monkeypatch.setattr(shutil, "which", lambda name, **_: f"/bin/{name}" if name != "x" else None)
    assert Path(_gpu.find_toolkit(None).compiler[0]).name == expected


def test_the_default_backend_is_that_of_torch(monkeypatch, toolkit):
    monkeypatch.setenv("TVM_FFI_ROCM_ARCH_LIST", "gfx90a")
    monkeypatch.setattr(_gpu, "torch_backend", lambda: "hip")
    assert Path(_gpu.find_toolkit(None).compiler[0]).name == "hipcc"


def test_hip_is_the_default_if_only_hipcc_is_installed(monkeypatch, toolkit):
    monkeypatch.setenv("TVM_FFI_ROCM_ARCH_LIST", "gfx90a")
    monkeypatch.setattr(shutil, "which", lambda name, **_: "/bin/x" if name == "hipcc" else None)
    assert Path(_gpu.find_toolkit(None).compiler[0]).name == "hipcc"


def test_the_backend_of_torch_is_read_without_importing_torch(tmp_path, monkeypatch):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "__init__.py").write_text("raise ImportError\n")
    (tmp_path / "torch" / "version.py").write_text("cuda = None\nhip = '6.2'\n")
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert torch_backend.__wrapped__() == "hip"


# ---- Errors --------------------------------------------------------------------------------------


def test_an_unknown_backend_is_an_error(monkeypatch):
    monkeypatch.setenv("TVM_FFI_GPU_BACKEND", "metal")
    with pytest.raises(ValueError, match='TVM_FFI_GPU_BACKEND must be "cuda" or "hip"'):
        cpp.build_inline("kernel", cuda_sources="// x")


@pytest.mark.parametrize("name", ["foo", "90", "9.", "9.0 sm_90", "9.0aa", "-9.0"])
def test_an_invalid_architecture_is_an_error(toolkit, monkeypatch, name):
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", name)
    with pytest.raises(ValueError, match="Invalid CUDA architecture: "):
        cpp.build_inline("kernel", cuda_sources="// x")


@pytest.mark.parametrize(
    ("backend", "variable"), [("cuda", "TVM_FFI_CUDA_ARCH_LIST"), ("hip", "TVM_FFI_ROCM_ARCH_LIST")]
)
def test_without_device_and_architecture_the_variable_is_named(
    toolkit, monkeypatch, tmp_path, backend, variable
):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RuntimeError, match=variable):
        cpp.build_inline("kernel", cuda_sources="// x", backend=backend)


@pytest.mark.parametrize(("backend", "variable"), [("cuda", "CUDA_HOME"), ("hip", "ROCM_HOME")])
def test_a_missing_toolkit_is_named(monkeypatch, tmp_path, backend, variable):
    monkeypatch.setenv(variable, str(tmp_path))
    with pytest.raises(
        RuntimeError, match=f"{variable}: expected a toolkit folder with bin/(nvcc|hipcc), got"
    ):
        cpp.build_inline("kernel", cuda_sources="// x", backend=backend)
    monkeypatch.delenv(variable)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(_gpu.Path, "is_file", lambda self: False)
    with pytest.raises(RuntimeError, match=f"set {variable} to the folder of its toolkit"):
        _gpu.find_toolkit(backend)


# ---- Installed devices ---------------------------------------------------------------------------


def program(folder: Path, name: str, output: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\ncat <<'EOF'\n{output}\nEOF\n")
    (folder / name).chmod(0o755)


@pytest.fixture
def path(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "programs"
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}/usr/bin{os.pathsep}/bin")
    return folder


def test_cuda_architectures_come_from_nvidia_smi(path):
    program(path, "nvidia-smi", "9.0\n9.0\n8.6")
    assert _gpu.cuda_devices() == ("9.0", "8.6")


def test_rocm_architectures_come_from_rocm_agent_enumerator(path):
    program(path, "rocm_agent_enumerator", "gfx000\ngfx90a\ngfx90a")
    assert _gpu._rocm_devices() == ("gfx90a",)


def test_rocm_architectures_fall_back_to_rocminfo(path):
    program(path, "rocminfo", "  Name:   AMD EPYC\n  Name:     gfx1100\n  Marketing Name: X")
    assert _gpu._rocm_devices() == ("gfx1100",)


# ---- The real compiler ---------------------------------------------------------------------------

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "inline_module" / "run.py"


@pytest.mark.unsanitized("nvcc ends with a fault of its own")
@pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc")
def test_nvcc_builds_the_example(monkeypatch):
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", "9.0")
    text = runpy.run_path(str(EXAMPLE), run_name="example")["FILL_CUDA"]
    try:
        module = cpp.load_inline("from_cuda", cuda_sources=text, functions="fill")
    except RuntimeError as error:
        if "libcudart" in str(error):
            pytest.skip("the CUDA runtime library is not installed")
        raise
    assert module.implements_function("fill")
