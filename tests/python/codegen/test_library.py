# SPDX-License-Identifier: Apache-2.0
"""`wrap_library`: wrappers of libraries that do not use the ABI."""

from __future__ import annotations

import inspect
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tvm_ffi import cpp, libinfo
from tvm_ffi.codegen import c, make_wrapper, wrap_library
from tvm_ffi.inspection import inspect_library

SOURCE = """
#include <stdint.h>
void scale(const float* x, float* y, int32_t n, float a) {
  for (int32_t i = 0; i < n; ++i) y[i] = a * x[i];
}
int fail(int32_t code) { return code; }
"""
# The C declaration does not show that `x` is only read.
HEADER = "#include <stdint.h>\nvoid scale(float* x, float* y, int32_t n, float a);\n"
SCALE = "scale(x: float32*[n], y: out float32*[n], n: int32, a: float32 = 2.0)"


@pytest.fixture(scope="module")
def plain(c_compiler, tmp_path_factory):
    """Return a C library."""
    folder = tmp_path_factory.mktemp("plain library")
    (folder / "scale.h").write_text(HEADER, encoding="utf-8")
    (folder / "plain.c").write_text(SOURCE, encoding="utf-8")
    command = [
        c_compiler,
        "-shared",
        "-fPIC",
        "-o",
        str(folder / "libplain.so"),
        str(folder / "plain.c"),
    ]
    subprocess.run(command, check=True)
    return folder / "libplain.so"


def test_functions_check_their_arguments(plain):
    module = wrap_library(plain, [SCALE, make_wrapper("fail(code: int32)", returns="status")])
    y = np.zeros(2, np.float32)
    module.scale(np.array([1, 2], np.float32), y, 2)
    assert y.tolist() == [2, 4]
    with pytest.raises(ValueError, match=r"^scale\(\) argument 'y': shape\[0\] must be n = 2, got"):
        module.scale(y, np.zeros(3, np.float32), 2)
    with pytest.raises(RuntimeError, match=r"^fail\(\) failed: fail returned 7$"):
        module.fail(7)


def test_headers_are_compared_with_signatures(plain):
    options = {"includes": ["scale.h"], "include_paths": [str(plain.parent)]}
    module = wrap_library(plain, [SCALE], **options)
    assert module.scale(np.zeros(1, np.float32), np.zeros(1, np.float32), 1) is None
    with pytest.raises(
        RuntimeError, match=r"libplain\.so cannot be wrapped: .*scale\.h.*"
    ) as caught:
        wrap_library(plain, ["scale(x: float32*[n], y: out float32*[n])"], **options)
    assert "too few arguments to function" in str(caught.value)
    with pytest.raises(RuntimeError) as caught:
        wrap_library(plain, [SCALE.replace("y: out float32", "y: out float64")], **options)
    for part in ("argument 2 of", "scale", "double *", "float *"):
        assert part in str(caught.value)


XY = "f(x: float32*[n], y: out float32*[n], n: int32)"
SEVERAL = "f(a: inout T*[n]) where T in (float32, float64)"


def is_accepted(compiler, folder, header, signature, options):
    """Return True if the compiler finds no difference between a header and a signature."""
    text = c.source_of([make_wrapper(signature, **options)], includes=["header.h"])
    includes = "#include <stdbool.h>\n#include <stddef.h>\n#include <tvm/ffi/c_api.h>\n"
    (folder / "header.h").write_text(f"{includes}{header}\n", encoding="utf-8")
    (folder / "wrapper.c").write_text(text, encoding="utf-8")
    command = [compiler, "-std=c11", "-Wall", "-Wextra", "-fsyntax-only", f"-I{folder}"]
    command += [f"-I{libinfo.find_include_path()}", str(folder / "wrapper.c")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0 or not done.stderr
    return done.returncode == 0


@pytest.mark.parametrize(
    ("header", "signature", "options"),
    [
        ("void f(const float*, float*, int);", XY, {}),
        ("void f(const void*, void*, const int);", XY, {}),
        ("void f(const float* restrict, float* restrict, int64_t);", XY, {}),
        ("float* f(const float*, float*, int);", XY, {}),  # the address is ignored
        ("static inline void f(const float* x, float* y, int n) { y[n] = x[n]; }", XY, {}),
        ("void f(const float*, float*, int);\n#define f(x, y, n) f(x, y)", XY, {}),
        ("void f_v2(const float*, float*, int);\n#define f f_v2", XY, {}),
        ("void args(const float*, float*, int);", XY, {"callee": "args"}),
        ("void f(long);", "f(n: int64)", {}),
        ("void f(long long);", "f(n: int64)", {}),
        ("void f(size_t);", "f(n: uint64)", {}),
        ("void f(double);", "f(a: float32)", {}),
        ("typedef unsigned number; void f(number);", "f(n: uint32)", {}),
        ("enum mode { A, B }; void f(enum mode);", "f(n: uint32)", {}),
        ("void f(long long*, const char*);", "f(a: inout int64*[n], b: int8*[n])", {}),
        ("void f(long*, const unsigned char*);", "f(a: inout int64*[n], b: bool*[n])", {}),
        ("void f(uint16_t*);", "f(a: inout float16*[n])", {}),
        ("void f(void*);", SEVERAL, {}),
        ("void f_float32(float*); void f_float64(double*);", SEVERAL, {"callee": "f_{T}"}),
        (
            "typedef struct queue* queue; void f(float*, int, queue, float*, int, void*);",
            "f(a: inout float32*[n] on cuda)",
            {"arguments": ["a", "int32 n", "stream", "workspace(4*n)", "128", "null"]},
        ),
        (
            "void f(const DLTensor*, const long long*, int64_t*, int, size_t);",
            "f(a: float32[n])",
            {"arguments": ["a.tensor", "a.shape", "a.strides", "a.ndim", "uint64 a.size"]},
        ),
        ("void f(const char*, const uint8_t*);", "f(s: str, b: bytes)", {}),
        ("struct handle; void f(struct handle*);", "f(h: ctypes.c_void_p)", {}),
        ("void f(const int*);", "f(n: int32 | None)", {}),
        ("int f(const char*, ...);", "f(s: str, n: int32) -> int64", {}),
        ("enum status { OK }; enum status f(void);", "f()", {"returns": "status"}),
        ("int f(double*);", "f() -> float", {"returns": "error"}),
    ],
)
def test_equal_types_are_accepted(c_compiler, tmp_path, header, signature, options):
    assert is_accepted(c_compiler, tmp_path, header, signature, options)


@pytest.mark.parametrize(
    ("header", "signature", "options"),
    [
        ("void f(const double*, double*, int);", XY, {}),
        ("void f(const float*, double*, int);", XY, {}),
        ("void f(float*, const float*, int);", XY, {}),
        ("void f(const float*, float*, short);", XY, {}),
        ("void f(const float*, float*, unsigned);", XY, {}),
        ("void f(const float*, float*, int, int);", XY, {}),
        ("void f(const float*, int, float*);", XY, {}),
        ("int f(const float*, float*, int);", XY, {}),
        ("void g(const float*, float*, int);", XY, {}),
        ("void f_v2(const double*, float*, int);\n#define f f_v2", XY, {}),
        ("void args(const float*, double*, int);", XY, {"callee": "args"}),
        ("void f(int);", "f(n: int64)", {}),
        ("void f(size_t);", "f(n: int64)", {}),
        ("void f(float);", "f(n: int64)", {}),
        ("void f(float);", "f(a: float)", {}),
        ("void f(short);", "f(a: float32[n])", {"arguments": ["70000"]}),
        ("void f(unsigned*);", "f(a: inout int32*[n])", {}),
        ("void f(int*);", "f(a: inout int64*[n])", {}),
        ("void f(const long*);", "f(n: int32 | None)", {}),
        ("void f(float*);", SEVERAL, {}),
        ("void f(float*);", "f(a: inout Tensor*[n])", {}),
        ("void f_float32(float*); void f_float64(float*);", SEVERAL, {"callee": "f_{T}"}),
        ("long f(void);", "f() -> int32", {}),
        ("void f(void);", "f() -> int32", {}),
        ("double f(void);", "f() -> float32", {}),
        ("long f(void);", "f()", {"returns": "status"}),
        ("int f(float*);", "f() -> float", {"returns": "error"}),
    ],
)
def test_different_types_are_refused(c_compiler, tmp_path, header, signature, options):
    """Regression: the wrapper of a header's function truncated integers, or took other pointers.

    A `double*` kernel with the signature `float32*` overwrote memory behind the array.
    """
    assert not is_accepted(c_compiler, tmp_path, header, signature, options)


def test_warnings_of_headers_are_shown(plain, tmp_path):
    (tmp_path / "warned.h").write_text(f"{HEADER}#warning obsolete header\n", encoding="utf-8")
    options = {"includes": ["warned.h"], "include_paths": [str(tmp_path)]}
    with pytest.warns(UserWarning, match="obsolete header") as caught:
        wrap_library(plain, [SCALE], **options)
    assert [warning.filename for warning in caught] == [__file__]
    wrap_library(plain, [SCALE], **options)


def test_headers_may_omit_const(c_compiler, plain, tmp_path):
    text = c.source_of([make_wrapper(SCALE)], includes=["scale.h"])
    (tmp_path / "wrapper.c").write_text(text, encoding="utf-8")
    command = [c_compiler, "-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-c"]
    command += [
        f"-I{plain.parent}",
        f"-I{libinfo.find_include_path()}",
        str(tmp_path / "wrapper.c"),
    ]
    subprocess.run([*command, "-o", str(tmp_path / "wrapper.o")], check=True)


def test_the_wrapper_library_can_be_distributed(plain, tmp_path):
    """A program that does not know the signature loads the library from another folder."""
    target = tmp_path / "wrapped.so"
    wrap_library(plain, [SCALE], output=target)
    program = (
        "import sys, tvm_ffi, numpy as np\n"
        "y = np.zeros(2, np.float32)\n"
        "tvm_ffi.load_module(sys.argv[1]).scale(np.ones(2, np.float32), y, 2, 3.0)\n"
        "print(y.tolist())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(target)], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[3.0, 3.0]\n"
    (function,) = inspect_library(target).functions
    assert function.name == "scale"


def test_the_output_may_be_in_the_current_folder(plain, tmp_path, monkeypatch):
    """Regression: a name without a folder was searched on the loader's path."""
    monkeypatch.chdir(tmp_path)
    module = wrap_library(plain, [SCALE], output="wrapped.so")
    assert (tmp_path / "wrapped.so").is_file()
    y = np.zeros(2, np.float32)
    module.scale(np.ones(2, np.float32), y, 2, 3.0)
    assert y.tolist() == [3, 3]


def test_the_library_is_found_in_the_folder_of_the_wrappers(plain, tmp_path):
    elsewhere = tmp_path / "libcopy.so"
    shutil.copyfile(plain, elsewhere)
    target = tmp_path / "wrapped.so"
    wrap_library(elsewhere, [SCALE], output=target)
    moved = tmp_path / "moved"
    moved.mkdir()
    shutil.move(elsewhere, moved)
    shutil.move(target, moved)
    program = "import sys, tvm_ffi; print(tvm_ffi.load_module(sys.argv[1]).scale)"
    command = [sys.executable, "-c", program, str(moved / "wrapped.so")]
    assert "Function" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_missing_functions_are_named(plain):
    with pytest.raises(ValueError, match=r"has no function 'scal'; did you mean 'scale'\?"):
        wrap_library(plain, ["scal(x: float32*[n])"])


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "libtext.so"
    path.write_text("text", encoding="utf-8")
    with pytest.raises(ValueError, match="libtext.so"):
        wrap_library(path, [SCALE])
    with pytest.raises(FileNotFoundError):
        wrap_library(Path(tmp_path / "libnone.so"), [SCALE])


def test_python_shows_the_signature(plain):
    module = wrap_library(plain, [SCALE])
    assert len(inspect.signature(module.scale).parameters) == 4


FILL = (
    "fill(x: T[n], y: out T[n], value: float) where T in (float32, float64) doc 'Fill y.' "
    "doc y 'Every element becomes value.' doc value 'A number.'"
)


def test_functions_show_themselves_in_the_words_of_callers():
    callee = "void fill_T(const void* x, void* y, double v) { (void)x, (void)y, (void)v; }"
    sources = [c.source_of([make_wrapper(FILL, "fill_T")]), callee]
    fill = cpp.load_inline("shown", c_sources=sources).fill
    x, y = "{float32, float64}[n] compact on cpu", "out {float32, float64}[n] compact on cpu"
    assert repr(fill) == f"<tvm_ffi.Function fill(x: {x}, y: {y}, value: float) -> None>"
    assert list(map(str, inspect.signature(fill).parameters.values())) == [
        f"x: '{x}'",
        f"y: '{y}'",
        "value: 'float'",
    ]
    variables = "where T in (float32, float64)"
    assert (
        fill.__doc__
        == f"""Fill y.

Parameters
----------
y : {y}
    Every element becomes value.
value : float
    A number.

fill(x: T[n] compact on cpu, y: out T[n] compact on cpu, value: float) {variables}"""
    )
    with pytest.raises(TypeError) as caught:
        fill(3, 4, 5)
    assert str(caught.value) == f"fill() argument 'x': expected {x}, got int"
