# SPDX-License-Identifier: Apache-2.0
"""`tvm_ffi.cuda`: modules without a driver and on the fake driver; on a GPU: ``tests/device``."""

from __future__ import annotations

import ctypes.util
import inspect
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import cuda

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PTX = ".version 7.0\n.target sm_50\n.visible .entry f(.param .u64 x) { ret; }\n"

HAS_DRIVER = ctypes.util.find_library("cuda") is not None


def run_python(*command: str | Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_functions_run_on_the_fake_driver(fake_driver):
    path = os.pathsep.join([str(HERE / "support"), os.environ.get("PYTHONPATH", "")])
    program = HERE / "processes" / "fake_device_launches.py"
    done = run_python(program, PYTHONPATH=path, LD_LIBRARY_PATH=str(fake_driver))
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)


@pytest.mark.skipif(HAS_DRIVER, reason="a CUDA driver is installed")
def test_without_a_driver_modules_can_be_created_but_not_run():
    module = cuda.create_module(PTX, {"f": ["void*"]})
    with pytest.raises(RuntimeError, match=r"the CUDA driver is not available: libcuda\.so\.1: "):
        module.f(None, 1, 1)


def test_properties_of_a_module(tmp_path):
    image = tmp_path / "image.ptx"
    image.write_text(PTX, encoding="utf-8")
    kernel = cuda.Kernel(["x: float32*"], ["gridDim"], fixed={"blockDim.x": 32}, symbol="f")
    module = cuda.create_module(image, {"scale": kernel, "plain": ("int8", "y: bool")})
    assert module.kind == "cuda_driver"
    assert module.functions == ("plain", "scale")
    assert repr(module) == "<tvm_ffi.Module of kind 'cuda_driver': plain, scale>"
    assert module.is_runnable()
    assert module.is_binary_serializable()
    assert module.get_function_doc("scale") == "scale(x: float32*, gridDim)"
    assert module.get_function_doc("plain") == "plain(int8, y: bool, gridDim, blockDim)"
    parameters = inspect.signature(module.plain).parameters.values()
    groups = ["int | Array[int]"] * 2
    assert [parameter.annotation for parameter in parameters] == ["int", "bool", *groups]
    assert module.inspect_source() == PTX
    assert list(module.get_write_formats()) == ["ptx"]
    module.write_to_file(str(tmp_path / "written.ptx"))
    assert (tmp_path / "written.ptx").read_text(encoding="utf-8") == PTX


def test_parameter_names_of_kernels():
    kernel = cuda.Kernel(["x: float32*", "n: int32"], ["gridDim", "blockDim.x"], symbol="f")
    kernels = {"named": kernel, "half": ["x: void*", "int8"], "word": ["in: int8"]}
    module = cuda.create_module(PTX, kernels)
    signatures = {name: str(module.get_function_signature(name)) for name in kernels}
    assert signatures == {
        "named": "named(x: unknown ctypes.c_void_p | Tensor | None, n: int, "
        "gridDim: int | Array[int], blockDim_x: int)",
        "half": "half(_0: unknown Tensor | ctypes.c_void_p | None, _1: int, "
        "_2: unknown int | Array[int], _3: unknown int | Array[int], /)",
        "word": "word(_0: int, _1: unknown int | Array[int], _2: unknown int | Array[int], /)",
    }
    with pytest.raises(TypeError, match="unexpected keyword argument 'm'"):
        module.named(None, m=1, gridDim=1, blockDim_x=2)


def test_functions_with_a_signature_calculate_their_launch():
    fill = {
        "signature": "fill(x: out float32[n], k: int = 1)",
        "kernel": "f",
        "arguments": ["x"],
        "grid": "cdiv(n, 256)",
        "block": 256,
    }
    module = cuda.create_module(PTX, {"fill": fill, "f": ["void*"]})
    assert module.functions == ("f", "fill")
    text = "fill(x: out float32*[n] on cuda, k: int = 1)"
    assert str(module.get_function_signature("fill")) == text
    assert module.get_function_doc("f") == "f(void*, gridDim, blockDim)"
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.cuda_driver")
    saved = module.save_to_bytes()
    assert load(saved).save_to_bytes() == saved
    two = [PTX, PTX.replace("sm_50", "sm_90")]
    assert cuda.create_module(two, {"fill": fill}).functions == ("fill",)


def test_a_module_can_be_imported():
    inner = cuda.create_module(PTX, {"f": []})
    outer = cuda.create_module(PTX, {"g": []})
    outer.import_module(inner)
    assert outer.implements_function("f", query_imports=True)
    assert not outer.implements_function("f")


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: cuda.create_module(3, {}), TypeError, "image must be bytes, str or a path, got"),
        (
            lambda: cuda.create_module("", {}),
            ValueError,
            "expected PTX, a cubin or a fatbin, got bytes of another format",
        ),
        (lambda: cuda.create_module(PTX, {}, image_format="cubin"), ValueError, "expected a cubin"),
        (lambda: cuda.create_module(PTX, {"f": "x"}), TypeError, "parameters must be a sequence"),
        (lambda: cuda.create_module(PTX, {"f": ["x: text"]}), ValueError, "kernel `f`: parameter"),
        (lambda: cuda.create_module(PTX, {"f": [1]}), TypeError, "Array"),
        (lambda: cuda.Kernel([], "gridDim"), TypeError, "launch must be a sequence of str"),
        (lambda: cuda.create_module(Path("/no/such.ptx"), {}), OSError, "such.ptx"),
        (
            lambda: cuda.create_module([PTX, PTX], {"f": []}),
            ValueError,
            "expected one device image for kernels without a signature, got 2 images",
        ),
        (
            lambda: cuda.create_module(PTX, {"f": {"signature": "g(x: int)"}}),
            ValueError,
            "expected a signature of 'f', got one of 'g'",
        ),
        (
            lambda: cuda.create_module(PTX, {"f": {"signature": "(x: int8)"}}),
            ValueError,
            r"takes 8 bytes as argument 0, got 1 for 'x' \(int8\)",
        ),
    ],
)
def test_wrong_descriptions_are_refused(make, error, message):
    with pytest.raises(error, match=message):
        make()


def test_saved_bytes_are_read_again():
    load = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.cuda_driver")
    number = lambda value, width=8: value.to_bytes(width, "little")  # noqa: E731
    text = lambda value: number(len(value)) + value  # noqa: E731
    saved = b"TVMFFICU" + number(1, 4) + number(1, 4) + text(PTX.encode()) + number(1)
    saved += text(b"g") + text(b"f") + number(1) + text(b"n: int32") + 2 * number(0)
    module = load(saved)
    assert module.kind == "cuda_driver"
    assert module.get_function_doc("g") == "g(n: int32)"
    assert module.save_to_bytes() == saved
    with pytest.raises(
        ValueError, match="corrupt saved CUDA module at byte 0 of 14: expected the magic bytes"
    ):
        load(b"something else")


@pytest.mark.skipif(shutil.which("ld") is None, reason="the linker ld is not installed")
def test_a_module_is_embedded_in_a_library(tmp_path):
    shared = cuda.create_module(PTX, {"f": ["x: void*"]})
    root = cuda.create_module(PTX, {"g": []})
    root.import_module(shared)
    loaded = tvm_ffi.load_module(tvm_ffi.export_library(tmp_path / "kernels.so", root))
    assert loaded.save_to_bytes() == root.save_to_bytes()
    assert [module.save_to_bytes() for module in loaded.imports] == [shared.save_to_bytes()]
    assert loaded.implements_function("f", query_imports=True)


def test_importing_the_package_does_not_load_the_driver():
    code = (
        "import pathlib, sys, tvm_ffi\n"
        "maps = pathlib.Path('/proc/self/maps').read_text()\n"
        "print('tvm_ffi.cuda' in sys.modules, 'libcuda.so' in maps)"
    )
    assert run_python("-c", code).stdout == "False False\n"


# ---- On a device ---------------------------------------------------------------------------------


@pytest.mark.unsanitized("nvcc ends with a fault of its own")
def test_the_device_tests_run_on_the_fake_driver(tmp_path):
    """`make test-device` must work at the first attempt on a machine with a GPU."""
    results = tmp_path / "results.xml"
    options = ("-W", "default", "-p", "no:cacheprovider", "--junit-xml", results, "--rootdir", ROOT)
    done = run_python(
        *("-m", "pytest", "-c", ROOT / "pyproject.toml", *options, ROOT / "tests" / "device"),
        TVM_FFI_DEVICE_RESULTS=str(tmp_path),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
    )
    assert done.returncode == 0, done.stdout
    assert "test_launches.py::test_values[ptx-planned]" in done.stdout.partition("device tests")[2]
    assert results.is_file()
    rows = json.loads((tmp_path / "device-benchmarks.json").read_text("utf-8"))["rows"]
    assert [row["name"] for row in rows] == ["launch_3", "launch_19"]
