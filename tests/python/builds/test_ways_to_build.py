# SPDX-License-Identifier: Apache-2.0
"""The policy "error" stops each way in which a process can compile, and the error names the key.

Each way is a function that prepares what may be prepared, and returns the call that compiles.
"""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from typing import Callable

import pytest

from tvm_ffi import builds, codegen, cpp, export_library
from tvm_ffi.cpp import nvrtc

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no compiler is installed")

TEXT = "int one(void) { return 1; }"
CPP = "int one() { return 1; }"
SOURCE = Path(__file__).parents[1] / "kernels" / "values.c"
COMPILER = """\
#!{python} -IS
import sys
if "--version" in sys.argv:
    print("fake 1.0")
    sys.exit()
sys.exit("the fake compiler was started")
"""

Way = Callable[[Path, pytest.MonkeyPatch], Callable[[], object]]
WAYS: dict[str, tuple[str, Way]] = {}


def way(kind: str = "library") -> Callable[[Way], Way]:
    """Register a way to compile, whose error names a build of this kind."""

    def register(function: Way) -> Way:
        WAYS[function.__name__] = (kind, function)
        return function

    return register


def fake_toolkit(folder: Path, program: str) -> Path:
    (folder / "include").mkdir(parents=True)
    (folder / "bin").mkdir()
    compiler = folder / "bin" / program
    compiler.write_text(COMPILER.format(python=sys.executable))
    compiler.chmod(0o755)
    return folder


# ---- Inline text ---------------------------------------------------------------------------------


@way()
def c_text(folder, monkeypatch):
    return lambda: cpp.build_inline("k", c_sources=TEXT)


@way()
def c_text_that_is_loaded(folder, monkeypatch):
    return lambda: cpp.load_inline("k", c_sources=TEXT)


@way()
def cpp_text(folder, monkeypatch):
    return lambda: cpp.build_inline("k", cpp_sources=CPP, functions="one")


@way()
def changed_text(folder, monkeypatch):
    cpp.build_inline("k", c_sources=TEXT)
    return lambda: cpp.build_inline("k", c_sources=TEXT.replace("1", "2"))


@way()
def changed_compiler_flag(folder, monkeypatch):
    cpp.build_inline("k", c_sources=TEXT)
    return lambda: cpp.build_inline("k", c_sources=TEXT, extra_cflags=["-O1"])


@way()
def changed_linker_flag(folder, monkeypatch):
    cpp.build_inline("k", c_sources=TEXT)
    return lambda: cpp.build_inline("k", c_sources=TEXT, extra_ldflags=["-Wl,-O1"])


@way()
def changed_list_of_exports(folder, monkeypatch):
    text = (
        "TVM_FFI_DLL_EXPORT int __tvm_ffi_f(void* h, const TVMFFIAny* a, int32_t n, TVMFFIAny* r)"
    )
    cpp.build_inline("k", c_sources=f"{text} {{ return 0; }}", functions={"f": "a"})
    return lambda: cpp.build_inline("k", c_sources=f"{text} {{ return 0; }}", functions={"f": "b"})


@way()
def another_name(folder, monkeypatch):
    cpp.build_inline("k", c_sources=TEXT)
    return lambda: cpp.build_inline("other", c_sources=TEXT)


@way()
def an_object_file(folder, monkeypatch):
    cpp.build_inline("k", c_sources=TEXT)
    return lambda: cpp.build_inline("k", c_sources=TEXT, output="k.o")


@way()
def an_embedded_cubin(folder, monkeypatch):
    return lambda: cpp.build_inline("k", c_sources=TEXT, embed_cubin={"a": b"\x7fELF"})


@way()
def cuda_text(folder, monkeypatch):
    monkeypatch.setenv("CUDA_HOME", str(fake_toolkit(folder / "cuda", "nvcc")))
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", "9.0")
    return lambda: cpp.build_inline("k", cuda_sources=CPP, backend="cuda")


@way()
def hip_text(folder, monkeypatch):
    monkeypatch.setenv("ROCM_HOME", str(fake_toolkit(folder / "rocm", "hipcc")))
    monkeypatch.setenv("TVM_FFI_ROCM_ARCH_LIST", "gfx90a")
    return lambda: cpp.build_inline("k", cuda_sources=CPP, backend="hip")


@way("precompiled headers")
def precompiled_headers(folder, monkeypatch):
    monkeypatch.setenv("TVM_FFI_CPP_EXTENSION_PRECOMPILE", "1")
    stop = []

    def only_headers(build):
        if build.kind == "library":
            stop.append(builds.policy("allow").__enter__())
        else:
            stop.pop().__exit__(None, None, None)

    def build():
        with builds.on_build(only_headers):
            cpp.build_inline("k", cpp_sources=CPP, functions="one")

    return build


# ---- Files ---------------------------------------------------------------------------------------


def source(folder: Path, text: str = TEXT, name: str = "k.c") -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return str(path)


@way()
def a_c_file(folder, monkeypatch):
    path = source(folder)
    return lambda: cpp.build("k", sources=path)


@way()
def a_cpp_file_that_is_loaded(folder, monkeypatch):
    path = source(folder, CPP, "k.cc")
    return lambda: cpp.load("k", sources=path)


@way()
def two_files(folder, monkeypatch):
    paths = [source(folder, f"int {name};", f"{name}.c") for name in "ab"]
    return lambda: cpp.build("k", sources=paths)


@way()
def a_changed_file(folder, monkeypatch):
    path = source(folder)
    cpp.build("k", sources=path)
    source(folder, TEXT.replace("1", "2"))
    return lambda: cpp.build("k", sources=path)


@way()
def a_changed_header(folder, monkeypatch):
    path = source(folder, '#include "h.h"\n')
    source(folder, "int x;", "h.h")
    cpp.build("k", sources=path)
    source(folder, "int y;", "h.h")
    return lambda: cpp.build("k", sources=path)


@way()
def a_header_that_shadows_another(folder, monkeypatch):
    path = source(folder, '#include "h.h"\n')
    for name in ("first", "second"):
        (folder / name).mkdir()
    source(folder, "int x;", "second/h.h")
    options = {"extra_include_paths": [str(folder / "first"), str(folder / "second")]}
    cpp.build("k", sources=path, **options)
    source(folder, "int y;", "first/h.h")
    return lambda: cpp.build("k", sources=path, **options)


@way()
def a_changed_object(folder, monkeypatch):
    objects = [cpp.build_inline(f"o{n}", c_sources=f"int v{n};", output="o.o") for n in range(2)]
    given = folder / "given.o"
    shutil.copy(objects[0], given)
    cpp.build("k", sources=str(given))
    shutil.copy(objects[1], given)
    return lambda: cpp.build("k", sources=str(given))


# ---- Cache and environment -----------------------------------------------------------------------


@way()
def another_compiler(folder, monkeypatch):
    cpp.build_inline("k", c_sources=TEXT)
    toolkit = fake_toolkit(folder / "compilers", "fake-cc")
    monkeypatch.setenv("CC", str(toolkit / "bin" / "fake-cc"))
    return lambda: cpp.build_inline("k", c_sources=TEXT)


@way()
def another_search_path_of_the_compiler(folder, monkeypatch):
    cpp.build_inline("k", c_sources=TEXT)
    monkeypatch.setenv("CPATH", str(folder))
    return lambda: cpp.build_inline("k", c_sources=TEXT)


@way()
def a_damaged_library(folder, monkeypatch):
    path = Path(cpp.build_inline("k", c_sources=TEXT))
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    return lambda: cpp.build_inline("k", c_sources=TEXT)


@way()
def a_removed_library(folder, monkeypatch):
    Path(cpp.build_inline("k", c_sources=TEXT)).unlink()
    return lambda: cpp.build_inline("k", c_sources=TEXT)


@way()
def an_empty_cache(folder, monkeypatch):
    cpp.build_inline("k", c_sources=TEXT)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(folder / "empty"))
    return lambda: cpp.build_inline("k", c_sources=TEXT)


# ---- Build folders -------------------------------------------------------------------------------


@way()
def a_build_folder(folder, monkeypatch):
    return lambda: cpp.build_inline("k", c_sources=TEXT, build_directory=str(folder / "b"))


@way()
def a_changed_flag_in_a_build_folder(folder, monkeypatch):
    options = {"c_sources": TEXT, "build_directory": str(folder / "b")}
    cpp.build_inline("k", **options)
    return lambda: cpp.build_inline("k", extra_cflags=["-O1"], **options)


@way()
def a_removed_product_in_a_build_folder(folder, monkeypatch):
    options = {"c_sources": TEXT, "build_directory": str(folder / "b")}
    Path(cpp.build_inline("k", **options)).unlink()
    return lambda: cpp.build_inline("k", **options)


@way()
def ninja(folder, monkeypatch):
    source(folder, "rule touch\n  command = touch $out\nbuild out: touch\n", "build.ninja")
    return lambda: cpp.extension.build_ninja(str(folder))


# ---- Other compilers -----------------------------------------------------------------------------


@way()
def wrapped_library(folder, monkeypatch):
    text = "int twice(int x) { return 2 * x; }"
    library = cpp.build_inline("c_library", c_sources=text)
    return lambda: codegen.wrap_library(library, ["twice(x: int32) -> int32"])


@way("linked library")
def exported_library(folder, monkeypatch):
    file = cpp.build_inline("k", c_sources=TEXT, output="k.o")
    return lambda: export_library(folder / "k.so", objects=file)


@way("NVRTC")
def nvrtc_program(folder, monkeypatch):
    return lambda: nvrtc.nvrtc_compile("__global__ void f() {}", arch="sm_90")


@way("LLVM")
def llvm_module(folder, monkeypatch):
    pytest.importorskip("llvmlite")
    from tvm_ffi.codegen import llvm

    text = "define i32 @__tvm_ffi_f(ptr %h, ptr %a, i32 %n, ptr %r) {\n  ret i32 0\n}\n"
    return lambda: llvm.jit(text)


@way("Numba")
def numba_function(folder, monkeypatch):
    numba = pytest.importorskip("numba")
    return lambda: numba.njit(lambda x: x + 1)(1)


@way("Numba")
def numba_function_for_other_types(folder, monkeypatch):
    function = pytest.importorskip("numba").njit(lambda x: x + 1)
    function(1)
    return lambda: function(1.5)


@way("Numba")
def numba_function_with_a_cache(folder, monkeypatch):
    numba = pytest.importorskip("numba")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    namespace: dict[str, object] = {}
    path = source(folder, "def f(x):\n    return x + 1\n", "module.py")
    exec(compile(Path(path).read_text(), path, "exec"), namespace)
    return lambda: numba.njit(cache=True)(namespace["f"])(1)


@way("Numba")
def numba_kernel(folder, monkeypatch):
    pytest.importorskip("numba")
    from tvm_ffi.interop import numba

    return lambda: numba.kernel("f(x: int64) -> int64")(lambda x: x + 1)


@pytest.mark.parametrize("name", WAYS)
def test_an_error_stops_the_build_and_names_its_key(tmp_path, monkeypatch, name):
    kind, prepare = WAYS[name]
    monkeypatch.setattr(builds, "_default", "allow")
    build = prepare(tmp_path / "files", monkeypatch)
    before = {path for path in tmp_path.rglob("*") if path.suffix in (".so", ".o", ".gch")}
    with builds.policy("error"), pytest.raises(builds.LateBuildError) as caught:
        build()
    assert caught.value.build.kind == kind
    assert re.fullmatch(r"[0-9a-f]{64}", caught.value.build.key)
    assert f"with key {caught.value.build.key} is not built yet, because: " in str(caught.value)
    assert caught.value.build.caller.startswith(f"{__file__}:")
    if kind == "library":
        after = {path for path in tmp_path.rglob("*") if path.suffix in (".so", ".o", ".gch")}
        assert after == before


def test_the_ways_are_many():
    assert len(WAYS) >= 30
