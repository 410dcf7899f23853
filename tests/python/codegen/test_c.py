# SPDX-License-Identifier: Apache-2.0
"""Properties of the generated C: warnings, long strings, undefined behaviour."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from tvm_ffi import cpp, libinfo
from tvm_ffi.codegen import c, make_launch_plan

from .test_agreement import WRAPPERS as IDLE_WRAPPERS
from .test_calls import WRAPPERS


@pytest.mark.parametrize(
    "compiler", ["gcc -std=c11", "g++ -std=c++17", "clang -std=c11", "clang++ -std=c++17"]
)
def test_compilers_give_no_warnings(tmp_path, compiler):
    program, standard = compiler.split()
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    text = c.source_of([*WRAPPERS.values(), *IDLE_WRAPPERS.values()])
    source = tmp_path / ("wrappers.cc" if "++" in program else "wrappers.c")
    source.write_text(text, encoding="utf-8")
    warnings = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    command = [program, standard, *warnings, "-O2", "-fPIC", f"-I{libinfo.find_include_path()}"]
    command += ["-c", str(source), "-o", str(tmp_path / "wrappers.o")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == ("", "")
    assert done.returncode == 0


def test_long_strings_are_not_literals():
    doc = "é" * 5000
    text = c.wrapper(f"f(x: int) doc '{doc}'")
    assert max(map(len, text.splitlines())) > 10000
    assert "{102, 40, 120" in text


CALL = """
#include <stdlib.h>
int64_t f(const int8_t* x, int64_t size, int64_t stride) {
  return x != NULL || size != 0 || stride != (int64_t)1 << 40;
}
int main(void) {
  int64_t shape[] = {(int64_t)1 << 40, (int64_t)1 << 40, 0};
  DLTensor tensor = {(void*)1, {kDLCPU, 0}, 3, {kDLInt, 8, 1}, shape, NULL, (uint64_t)-1};
  TVMFFIAny arg = {kTVMFFIDLTensorPtr, {0}, {0}}, result;
  arg.v_ptr = &tensor;
  return __tvm_ffi_f(NULL, &arg, 1, &result) != 0 || result.v_int64 != 0;
}
"""


def test_extents_and_addresses_cause_no_undefined_behaviour(tmp_path, c_compiler):
    """Regression: the number of elements overflowed a signed integer."""
    wrapper = c.wrapper("f(x: int8*[n, m, k]) -> int64", arguments=["x", "x.size", "x.strides[0]"])
    source, program = tmp_path / "call.c", tmp_path / "call"
    source.write_text(wrapper + CALL, encoding="utf-8")
    command = [c_compiler, "-std=c11", "-O1", "-fsanitize=undefined", str(source), "-w"]
    command += ["-fsanitize-undefined-trap-on-error", f"-I{libinfo.find_include_path()}"]
    library = Path(libinfo.find_libtvm_ffi())
    command += [str(library), f"-Wl,-rpath,{library.parent}", "-o", str(program)]
    subprocess.run(command, check=True)
    assert subprocess.run([str(program)], check=False).returncode == 0


SUM = """
#include <tvm/ffi/c_api.h>
TVM_FFI_DLL_EXPORT int __tvm_ffi_sum(void* handle, const TVMFFIAny* args, int32_t num_args,
                                     TVMFFIAny* result) {
  (void)handle;
  double sum = (double)args[1].v_int64;
  for (int32_t i = 0; i < num_args; ++i) {
    if (i != 1 && args[i].type_index != kTVMFFINone) sum += args[i].v_float64;
  }
  *result = (TVMFFIAny){.type_index = kTVMFFIFloat, .v_float64 = sum};
  return 0;
}
"""


def test_packed_functions_get_floats_for_float_parameters():
    """Regression: a function that reads v_float64 got the payload of an integer, 4e-323 for 8."""
    text = "sum(a: float, n: int, b: float32 | None = None, c: float = 0.0) -> float"
    module = cpp.load_inline("sums", c_sources=SUM, functions={"sum": text})
    for a, expected in ((8, 11), (True, 4), (np.int64(8), 11), (np.float32(0.5), 3.5), (-2.5, 0.5)):
        assert module.sum(a, 3) == expected
    assert module.sum(1, 2, 4) == 7
    assert module.sum(1.0, 2, None, 8) == 11
    assert module.sum(True, 2, np.int8(4), False) == 7


FIRST = "double first_of(const double* x, int64_t n) { return n > 0 ? x[0] : 0; }\n"
SIZE = "double size_of(void* scratch, int64_t n) { return scratch == 0 ? -1.0 : (double)n; }\n"
PTX = ".version 8.0\n.target sm_80\n.visible .entry f(.param .u64 x) { ret; }\n"


def test_several_texts_are_one_source_file():
    """Regression: each text defined the same static arrays, so only one fitted into a build."""
    first = c.wrapper("first(x: float64[n]) -> float", "first_of", arguments=["x", "n"])
    # The second text is the first one that needs a workspace.
    scratch = c.wrapper(
        "scratch(x: float64[n]) -> float", "size_of", arguments=["workspace(8*n)", "n"]
    )
    plans = [
        c.source_of([make_launch_plan(f"{name}(x: float32[n])", PTX, "f", arguments=["x"])])
        for name in ("one", "two")
    ]
    module = cpp.load_inline("texts", c_sources=[FIRST, SIZE, first, scratch, *plans])
    assert module.first(np.array([2.5, 1])) == 2.5
    assert module.scratch(np.array([2.5, 1])) == 2
    assert set(module.functions) == {"first", "scratch", "one", "two"}
    signatures = [str(module.get_function_signature(name)) for name in ("first", "two")]
    assert signatures == ["first(x: float64*[n] on cpu) -> float", "two(x: float32*[n] on cuda)"]
