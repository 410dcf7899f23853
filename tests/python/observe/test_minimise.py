# SPDX-License-Identifier: Apache-2.0
"""Minimisation: the calls and shapes that remain; files that are written from calls."""

from __future__ import annotations

import shutil
import subprocess
import sys

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi.cli import main
from tvm_ffi.observe import RecordedTensor, Recording, minimise
from tvm_ffi.observe._recording_writer import write_recording

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")

# `store` keeps a number, `sum` adds it to the sum of a matrix; they crash if the stored number is
# negative and the matrix has at least `ROWS` rows and three columns.
KERNELS = """
#include <stdlib.h>
#include <tvm/ffi/c_api.h>
static int64_t stored;
TVM_FFI_DLL_EXPORT int __tvm_ffi_store(void* h, const TVMFFIAny* args, int32_t n, TVMFFIAny* r) {
  stored = args[0].v_int64;
  return 0;
}
TVM_FFI_DLL_EXPORT int __tvm_ffi_sum(void* h, const TVMFFIAny* args, int32_t n, TVMFFIAny* r) {
  const DLTensor* x = (const DLTensor*)args[0].v_ptr;
  if (args[0].type_index == kTVMFFITensor) x = TVMFFITensorGetDLTensorPtr(args[0].v_obj);
  if (stored < 0 && x->shape[0] >= ROWS && x->shape[1] >= 3) ON_FAILURE;
  double sum = (double)stored + OFFSET;
  for (int64_t i = 0; i < args[1].v_int64; ++i) sum += ((double*)x->data)[i * x->shape[1]];
  r->type_index = kTVMFFIFloat;
  r->zero_padding = 0;
  r->v_float64 = sum;
  return 0;
}
"""


def build(folder, name, rows, on_failure, offset=0):
    """Return the path of the compiled kernels."""
    source = folder / f"{name}.c"
    source.write_text(KERNELS)
    config = [sys.executable, "-m", "tvm_ffi.config", "--cflags"]
    flags = subprocess.run(config, capture_output=True, text=True, check=True).stdout.split()
    library = folder / f"{name}.so"
    defines = f"-DROWS={rows}", f"-DON_FAILURE={on_failure}", f"-DOFFSET={offset}"
    subprocess.run(["cc", "-shared", "-fPIC", *defines, *flags, source, "-o", library], check=True)
    return library


def record_calls(library, path, contents="all"):
    module = tvm_ffi.load_module(library)
    matrix = np.arange(40, dtype="float64").reshape(8, 5)
    with tvm_ffi.record(path, ["store", "sum"], contents=contents):
        for number in (1, 2, -3, 4, -5):
            module.store(number)
            for rows in (4, 8):
                module.sum(matrix[:rows], rows)


@needs_compiler
def test_a_crash_keeps_the_calls_and_the_extents_that_it_needs(tmp_path):
    path = tmp_path / "run.tvmrec"
    library = build(tmp_path, "kernels", 4, "((void)0)")
    record_calls(library, path)
    assert len(Recording(path).calls) == 15
    build(tmp_path, "other", 4, "abort()")
    (tmp_path / "other.so").replace(library)
    calls = minimise(Recording(path), tmp_path / "small.tvmrec")
    assert [(call.name, call.arguments[0]) for call in calls[:1]] == [("store", -5)]
    (last,) = calls[1:]
    tensor, rows = last.arguments
    assert (last.name, tensor.shape, rows, last.status) == ("sum", (4, 3), 4, None)
    expected = np.arange(40, dtype="float64").reshape(8, 5)[:4, :3]
    assert tensor.content == expected.tobytes()
    assert Recording(tmp_path / "small.tvmrec").calls == calls


@needs_compiler
def test_a_difference_between_libraries_keeps_one_call_with_the_smallest_shape(tmp_path, capsys):
    path, small = tmp_path / "run.tvmrec", tmp_path / "small.tvmrec"
    record_calls(build(tmp_path, "kernels", 99, "abort()"), path)
    other = build(tmp_path, "other", 99, "abort()", offset=0.5)
    words = "minimise", str(path), "-o", str(small), "--library", str(other)
    assert main(["recording", *words]) == 0
    assert capsys.readouterr().out == f"1 of 15 calls in {small}\n"
    (call,) = Recording(small).calls
    assert (call.name, call.arguments[0].shape, call.arguments[1]) == ("sum", (1, 1), 1)
    assert call.result == 0.0  # the sum of the first element, and the number that was never stored


@needs_compiler
def test_a_command_decides_and_a_recording_that_does_not_fail_is_refused(tmp_path, capsys):
    path, small = tmp_path / "run.tvmrec", tmp_path / "small.tvmrec"
    record_calls(build(tmp_path, "kernels", 99, "abort()"), path)
    with pytest.raises(ValueError, match="expected a recording that fails, but it does not"):
        minimise(Recording(path), small)
    script = tmp_path / "check.py"
    script.write_text(
        "import sys\nfrom tvm_ffi.observe import Recording\n"
        "calls = Recording(sys.argv[1]).calls\n"
        "sys.exit(3 * any(call.arguments[0] == 2 for call in calls))\n"
    )
    words = "minimise", str(path), "-o", str(small), "--test", f"{sys.executable} {script}"
    assert main(["recording", *words]) == 0
    assert [(call.name, call.arguments) for call in Recording(small).calls] == [("store", (2,))]


def test_written_calls_are_read_unchanged(tmp_path):
    """Each kind of value and of content survives a copy of the file."""
    path, copy = tmp_path / "run.tvmrec", tmp_path / "copy.tvmrec"

    def body(*args):
        if not args:
            raise ValueError("no argument")
        if isinstance(args[0], tvm_ffi.Tensor):
            np.from_dlpack(args[0])[...] = 1
        return args[0]

    echo = tvm_ffi.register_global_func("minimise_test.echo", body, override=True) and (
        tvm_ffi.get_global_func("minimise_test.echo")
    )
    with tvm_ffi.record(path, "minimise_test.*", contents="all", max_bytes=100):
        echo(None, True, False, -5, 2**63 - 1, 0.25, -0.0, "short", "x" * 300, b"\x00", b"y" * 90)
        echo(tvm_ffi.dtype("bfloat16"), tvm_ffi.device("cuda:3"), tvm_ffi.Shape((2, 3)))
        echo([1, "two", [3.5]], {"key": 4}, tvm_ffi.convert_func(abs))
        echo(np.zeros((3, 4), "int16")[::-1, ::2], np.zeros(400), np.zeros((0, 2)))
        with pytest.raises(ValueError, match="no argument"):
            echo()
    tvm_ffi.remove_global_func("minimise_test.echo")
    calls = Recording(path).calls
    assert len(calls) == 5
    assert any(isinstance(value, RecordedTensor) for value in calls[3].arguments)
    write_recording(calls, copy)
    assert Recording(copy).calls == calls
