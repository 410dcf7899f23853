# SPDX-License-Identifier: Apache-2.0
"""Modules of kind ``cuda``, as embedded by Apache TVM and TileLang, without those packages."""

import os
import shlex
import shutil
import struct
import subprocess
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import cuda, libinfo

PTX = b".version 7.0\n.target sm_50\n.visible .entry add_kernel(.param .u64 x) { ret; }\n"
LOADER = "ffi.Module.load_from_bytes.cuda"
SET_DEVICE = "__tvm_set_device"
TESTS = Path(__file__).resolve().parents[2]


def text(content):
    return struct.pack("<Q", len(content)) + content


def module(*, dtypes=((3, 64, 1), (0, 32, 1)), words=(b"blockIdx.x",), notes=0, image=PTX):
    """Return the bytes of a module in the layout that the reader expects."""
    parameters = b"".join(struct.pack("<BBH", *dtype) for dtype in dtypes)
    return b"".join(
        [
            text(b"ptx"),
            struct.pack("<Q", 1),
            text(b"add"),
            text(b"add_kernel"),
            struct.pack("<Q", len(dtypes)) + parameters,
            struct.pack("<Q", len(words)) + b"".join(map(text, words)),
            struct.pack("<Q", notes),
            text(image),
        ]
    )


@pytest.fixture
def load():
    cuda.register_tvm_loader()
    try:
        yield tvm_ffi.get_global_func(LOADER)
    finally:
        tvm_ffi.remove_global_func(LOADER)
        tvm_ffi.remove_global_func(SET_DEVICE)


def test_functions_check_the_parameters_of_the_module(load):
    loaded = load(module())
    assert loaded.kind == "cuda_driver"
    with pytest.raises(
        TypeError, match=r"add\(void\*, int32, blockIdx.x\) takes 3 arguments, got 1"
    ):
        loaded.add(1)
    with pytest.raises(TypeError, match="int32"):
        loaded.add(None, "text", 1)


@pytest.mark.parametrize("end", range(len(module())))
def test_truncated_modules_are_refused(load, end):
    with pytest.raises(ValueError, match="module of kind `cuda`: "):
        load(module()[:end])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (module() + b"x", "1 bytes follow the device image"),
        (module(notes=1), "`add` takes tensor maps"),
        (module(dtypes=[(3, 32, 1)]), r"code 3, 32 bits, 1 lanes"),
        (module(dtypes=[(2, 32, 4)]), r"code 2, 32 bits, 4 lanes"),
        (module(words=[b"\xff"]), "launch parameter of `add` is not UTF-8"),
        (
            text(b"ptx") + struct.pack("<Q", 2**63),
            "the bytes that remain are too few for [0-9]+ functions",
        ),
        (module(words=[b"warpIdx.x"]), "warpIdx.x"),
        (module(image=b""), "expected PTX, a cubin or a fatbin"),
    ],
)
def test_damaged_and_foreign_modules_are_refused(load, content, message):
    with pytest.raises(ValueError, match=message):
        load(content)


def test_a_registered_loader_is_not_replaced():
    tvm_ffi.register_global_func(LOADER, lambda content: "theirs")
    try:
        cuda.register_tvm_loader()
        assert tvm_ffi.get_global_func(LOADER)(b"") == "theirs"
    finally:
        tvm_ffi.remove_global_func(LOADER)
        tvm_ffi.remove_global_func(SET_DEVICE)


# ---- Host code beside such a module --------------------------------------------------------------


@pytest.fixture(scope="module")
def libraries(build_once):
    """Return a folder with host code, a fake CUDA driver and a fake TVM runtime."""
    compiler = shlex.split(os.environ.get("CC", "cc"))
    if shutil.which(compiler[0]) is None:
        pytest.skip("no C compiler")
    includes = [f"-I{path}" for path in libinfo.include_paths()]

    def compile_library(source, target, *options):
        options = ["-shared", "-fPIC", "-pthread", *includes, *options]
        subprocess.run([*compiler, *options, source, "-o", target], check=True)

    def build(folder):
        driver = TESTS / "cpp" / "fake_driver" / "fake_driver.c"
        compile_library(driver, folder / "libcuda.so.1", "-Wl,-soname,libcuda.so.1")
        compile_library(TESTS / "python" / "kernels" / "host_code.c", folder / "host_code.so")
        theirs = folder / "theirs.c"
        theirs.write_text("int TVMBackendGetFuncFromEnv() { return 7; }", encoding="utf-8")
        compile_library(theirs, folder / "theirs.so")

    return build_once("tvm_host_code", build)


LAUNCH = """
import ctypes, sys, tvm_ffi
tvm_ffi.cuda.register_tvm_loader()
tvm_ffi.cuda.register_tvm_loader()  # once more changes nothing
host = tvm_ffi.load_module({host!r})
ptx = ".version 7.0\\n.visible .entry scale_kernel(.param .u64 x) {{ ret; }}"
words = ["blockIdx.x", "threadIdx.x"]
host.import_module(
    tvm_ffi.cuda.create_module(ptx, {{"scale_kernel": tvm_ffi.cuda.Kernel(["void*"], words)}})
)
host.launch(1, ctypes.c_void_p(16))
host.launch(0, ctypes.c_void_p(16))
driver = ctypes.CDLL("libcuda.so.1")
text = ctypes.create_string_buffer(driver.fake_driver_take_calls(None, 0) + 1)
driver.fake_driver_take_calls(text, len(text))
lines = text.value.decode().splitlines()
print(*(line for line in lines if line.startswith("cuLaunch")), sep="\\n")
"""


def test_host_code_finds_kernels_and_sets_their_device(run_python, libraries):
    code = LAUNCH.format(host=str(libraries / "host_code.so"))
    done = run_python(code, LD_LIBRARY_PATH=str(libraries))
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        "cuLaunchKernel(scale_kernel on 1, grid 5 1 1, block 32 1 1, 0 bytes, stream 0)\n"
        "cuLaunchKernel(scale_kernel on 0, grid 5 1 1, block 32 1 1, 0 bytes, stream 0)\n"
    )


CALL_TVM_FUNCTION = """
import ctypes, tvm_ffi
{before}
tvm_ffi.cuda.register_tvm_loader()
find = ctypes.CDLL(None).TVMBackendGetFuncFromEnv
found = ctypes.c_void_p()
print(find(None, b"nothing", ctypes.byref(found)), "tvm_backend" in open("/proc/self/maps").read())
"""


@pytest.mark.parametrize(
    ("scope", "expected"), [("RTLD_GLOBAL", "7 False"), ("RTLD_LOCAL", "-1 True")]
)
def test_a_visible_tvm_function_is_not_replaced(run_python, libraries, scope, expected):
    before = f"ctypes.CDLL({str(libraries / 'theirs.so')!r}, ctypes.{scope})"
    done = run_python(CALL_TVM_FUNCTION.format(before=before))
    assert done.stdout == f"{expected}\n", done.stderr


def test_tvm_functions_are_not_exported_without_a_request(run_python):
    code = "import ctypes, tvm_ffi; print(hasattr(ctypes.CDLL(None), 'TVMBackendGetFuncFromEnv'))"
    assert run_python(code).stdout == "False\n"


# ---- A library that embeds one -------------------------------------------------------------------

EMBED = """
import sys, tvm_ffi
class Theirs(tvm_ffi.module.CustomModule, kind="cuda"):
    def save_to_bytes(self):
        return {content!r}
tvm_ffi.export_library({library!r}, Theirs())
"""
LOAD = """
import tvm_ffi
try:
    tvm_ffi.load_module({library!r})
except RuntimeError as error:
    print(str(error).rpartition("; ")[2])
tvm_ffi.cuda.register_tvm_loader()
print(tvm_ffi.load_module({library!r}).kind)
"""


@pytest.mark.skipif(shutil.which("ld") is None, reason="no ld")
def test_the_error_names_the_missing_loader(run_python, tmp_path):
    library = str(tmp_path / "kernels.so")
    embedded = run_python(EMBED.format(content=module(), library=library))
    assert embedded.returncode == 0, embedded.stderr
    loaded = run_python(LOAD.format(library=library))
    assert loaded.stdout == (
        "for kernels that TVM or TileLang compiled, tvm_ffi.cuda.register_tvm_loader() in Python "
        "registers one\ncuda_driver\n"
    ), loaded.stderr
