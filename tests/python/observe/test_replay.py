# SPDX-License-Identifier: Apache-2.0
"""Replays: tensors as they were, objects, other libraries, comparison, scripts."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import sys

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi.observe import (
    RecordedObject,
    RecordedTensor,
    Recording,
    ReplayMemory,
    call_program,
    call_script,
    compare,
    replay,
)
from tvm_ffi.observe._recording_writer import write_recording

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tvmrec"


@pytest.fixture
def register():
    """Return a function that registers a global function until the end of the test."""
    names = []

    def add(name, body):
        names.append(name)
        tvm_ffi.register_global_func(name, body, override=True)
        return tvm_ffi.get_global_func(name)

    yield add
    for name in names:
        tvm_ffi.remove_global_func(name)


def test_tensors_are_replayed_as_they_were(path, register):
    """Strides, negative strides, overlaps, zero extents and alignments are those of the caller."""
    seen = []

    def look(*tensors):
        views = [np.from_dlpack(tensor) for tensor in tensors]
        addresses = [view.__array_interface__["data"][0] for view in views]
        seen.append(
            [
                (
                    tuple(tensor.shape), tuple(tensor.strides), str(tensor.dtype), view.tolist(),
                    address - addresses[0] if view.size else 0, address % 4096 if view.size else 0,
                )
                for view, tensor, address in zip(views, tensors, addresses)
            ]
        )  # fmt: skip
        views[0][0] = 99

    function = register("replay_test.look", look)
    array = np.arange(60, dtype="float64").reshape(5, 12)
    views = array, array[::-1, ::3], array.T, array[1:4], array[:, :0], array[2:2]
    with tvm_ffi.record(path, contents="all"):
        function(*views)
    report = replay(Recording(path))
    assert (report.num_replayed, report.differences, report.skipped) == (1, [], [])
    recorded, replayed = seen
    assert recorded == replayed
    assert [view[1] for view in recorded[:3]] == [(12, 1), (-12, 3), (1, 12)]
    assert [view[4] for view in recorded[:4]] == [0, 4 * 12 * 8, 0, 12 * 8]


def test_memory_of_overlapping_tensors_is_one_block():
    def tensor(data, shape, strides, byte_offset=0, dtype="int32"):
        return RecordedTensor(
            data, byte_offset, shape, strides, tvm_ffi.dtype(dtype), tvm_ffi.device("cpu"), True,
            None,
        )  # fmt: skip

    row = tensor(0x10010, (8,), None)
    reverse = tensor(0x10000, (4,), (-2,), byte_offset=0x10 + 28)
    other = tensor(0x10030, (2,), (1,))
    nothing = tensor(0, (0, 3), None)
    broadcast = tensor(0x20004, (1000, 2), (0, 1))
    memory = ReplayMemory([row, reverse, other, nothing, broadcast])
    values = np.from_dlpack(memory.tensor(row))
    values[:] = range(8)
    assert np.from_dlpack(memory.tensor(reverse)).tolist() == [7, 5, 3, 1]
    assert np.from_dlpack(memory.tensor(other)).tolist() == [0, 0]
    assert tuple(memory.tensor(nothing).shape) == (0, 3)
    view = np.from_dlpack(memory.tensor(broadcast))
    assert (view.shape, view.strides) == ((1000, 2), (0, 4))
    assert view.__array_interface__["data"][0] % 4096 == 4
    with pytest.raises(ValueError, match="the tensor was not a parameter of the constructor"):
        memory.tensor(tensor(0x10010, (9,), None))
    with pytest.raises(ValueError, match="expected a tensor on the CPU, got cuda:0"):
        memory.tensor(row._replace(device=tvm_ffi.device("cuda")))


def test_state_passes_from_call_to_call_without_contents(path, register):
    """A buffer that one call writes has the same elements when a later call reads it."""

    def fill(x, value):
        np.from_dlpack(x)[...] = value

    fill = register("replay_test.fill", fill)
    total = register("replay_test.sum", lambda x: int(np.from_dlpack(x).sum()))
    array = np.zeros(10, "int64")
    with tvm_ffi.record(path):
        fill(array, 1)
        fill(array[::2], 5)
        assert total(array) == 30
    assert replay(Recording(path)) == (3, [], [], [], [])


def test_objects_pass_from_call_to_call(path):
    new_map, get = (tvm_ffi.get_global_func(name) for name in ("ffi.Dict", "ffi.DictGetItem"))
    with tvm_ffi.record(path):
        table = new_map("a", 7)
        assert get(table, "a") == 7
    report = replay(Recording(path))
    assert (report.num_replayed, report.differences, report.skipped) == (2, [], [])


def test_a_different_result_is_named(path, register):
    function = register("replay_test.changes", lambda x: x + 1)
    with tvm_ffi.record(path):
        for i in range(3):
            function(i)
    register("replay_test.changes", lambda x: x + 1 + (x == 1))
    report = replay(Recording(path))
    ((call, other, text),) = report.differences
    assert (call.number, other, text) == (2, None, "the result is 2, then 3")
    assert report.num_replayed == 3


def test_changed_elements_and_errors_are_named(path, register):
    def scale(x, y, factor=2.0):
        if factor == 0:
            raise ValueError("zero")
        np.from_dlpack(y)[...] = np.from_dlpack(x) * np.float32(factor)

    function = register("replay_test.scale", scale)
    x, y = np.ones(4, "float32"), np.zeros(4, "float32")
    with tvm_ffi.record(path, contents="all"):
        function(x, y)
        with pytest.raises(ValueError, match="zero"):
            function(x, y, 0.0)
    recording = Recording(path)
    assert replay(recording).differences == []
    register("replay_test.scale", lambda x, y, factor=2.0: scale(x, y, 2.001))
    first, second = replay(recording).differences
    assert first.text == "element 0 of argument 1 is 2, then 2.00099993"
    assert second.text == "the result is ValueError: zero, then None"
    assert [d.text for d in replay(recording, tolerance=0.01).differences] == [second.text]


def test_errors_are_compared_by_kind_and_message(path, register):
    """Exceptions have classes that the recorded kinds and messages do not have."""
    errors = {
        KeyError: ("x",),
        OSError: (2, "no such"),
        UnicodeDecodeError: ("utf-8", b"x", 0, 1, "bad"),
    }

    def fail(i):
        cls = list(errors)[i]
        raise cls(*errors[cls])

    function = register("replay_test.fail", fail)
    with tvm_ffi.record(path, "replay_test.*"):
        for i, cls in enumerate(errors):
            with pytest.raises(cls):
                function(i)
    recording = Recording(path)
    kinds = [call.result.kind for call in recording.calls]
    assert kinds == ["KeyError", "RuntimeError", "ValueError"]
    assert replay(recording) == (3, [], [], [], recording.calls)


def test_results_of_all_types_are_compared(path, register):
    """Tensors in containers, functions and pointers have forms of their own."""
    results = [
        lambda x: [x, {"k": x}],
        lambda x: abs,
        lambda x: ctypes.c_void_p(id(x)),
        lambda x: ctypes.c_void_p(None),
        lambda x: tvm_ffi.Shape((1, 2)),
        lambda x: tvm_ffi.system_lib(),
    ]
    function = register("replay_test.results", lambda i, x: results[i](x))
    with tvm_ffi.record(path, "replay_test.*", contents="all"):
        for i in range(len(results)):
            function(i, np.arange(3))
    recording = Recording(path)
    assert replay(recording) == (6, [], [], [], [])
    assert compare(recording, recording) is None
    results[0] = lambda x: [x, {"k": tvm_ffi.from_dlpack(np.arange(1, 4))}]
    results[1] = lambda x: 3
    first, second = replay(recording).differences
    assert first.text == "element 0 of the result[1][0] is 0, then 1"
    assert second.text.endswith("then 3")


def test_the_range_and_the_skipped_calls_are_reported(path, register):
    outer = register("replay_test.outer", lambda f, x: f(x))
    double = register("replay_test.double", lambda x: 2 * x)
    with tvm_ffi.record(path):
        for i in range(4):
            double(i)
        outer(double, 5)
    recording = Recording(path)
    report = replay(recording, first=2, last=3)
    assert report.num_replayed == 2
    report = replay(recording)
    (skipped,) = report.skipped
    assert skipped.call.name == "replay_test.outer"
    assert skipped.reason == "no replayed call returned the ffi.Function of an argument"
    assert report.num_replayed == 5  # the call during the skipped call is replayed
    tvm_ffi.remove_global_func("replay_test.double")
    reasons = {skipped.reason for skipped in replay(recording).skipped}
    register("replay_test.double", abs)
    assert any(
        reason.startswith("no function has the name 'replay_test.double'") for reason in reasons
    )


def test_compare_finds_the_first_call_that_differs(tmp_path, register):
    paths = [tmp_path / str(i) for i in range(3)]
    for path, last in zip(paths, (1.0, 1.0 + 1e-9, float("nan"))):
        function = register("replay_test.compared", lambda x, last=last: last if x == 2 else x)
        with tvm_ffi.record(path, "replay_test.*"):
            for x in range(3):
                function(x)
    first, second, third = map(Recording, paths)
    assert compare(first, first) is None
    assert compare(third, third) is None  # NaN equals NaN
    difference = compare(first, second)
    assert (difference.first.number, difference.second.number) == (3, 3)
    assert difference.text == "the result is 1.0, then 1.000000001"
    assert compare(first, second, 1e-6) is None
    assert compare(first, third, 1e9).text == "the result is 1.0, then nan"
    with tvm_ffi.record(paths[0], "replay_test.*"):
        function(0)
    difference = compare(Recording(paths[0]), second)
    assert difference.text == "only the second recording has the call"
    assert difference.first is None


SCALE = """
#include <tvm/ffi/c_api.h>
int __tvm_ffi_scale(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  DLTensor* x = args[0].type_index == kTVMFFITensor ? TVMFFITensorGetDLTensorPtr(args[0].v_obj)
                                                    : (DLTensor*)args[0].v_ptr;
  char* first = (char*)x->data + x->byte_offset;
  for (int64_t i = 0; i < x->shape[0]; ++i) {
    ((float*)first)[i * (x->strides ? x->strides[0] : 1)] *= FACTOR;
  }
  return 0;
}
"""


def build(folder, name, factor):
    from tvm_ffi import libinfo

    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(SCALE.replace("FACTOR", factor))
    includes = [f"-I{path}" for path in libinfo.include_paths()]
    subprocess.run(
        ["cc", "-shared", "-fPIC", *includes, str(source), "-o", str(library)], check=True
    )
    return library


@needs_compiler
def test_functions_of_libraries_are_replayed_in_another_process(path, tmp_path):
    good, bad = build(tmp_path, "good", "2"), build(tmp_path, "bad", "3")
    array = np.arange(1, 9, dtype="float32")
    scale = tvm_ffi.load_module(str(good))["scale"]
    with tvm_ffi.record(path, "scale", contents="all"):
        scale(array[::-2])
    assert array.tolist() == [1, 4, 3, 8, 5, 12, 7, 16]
    assert [call.library for call in Recording(path).calls] == [str(good)]

    def command(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "tvm_ffi", "replay", str(path), *arguments],
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    process = command()
    assert (process.returncode, process.stdout) == (0, "1 replayed, 0 different, 0 skipped\n")
    process = command("--library", str(bad))
    assert process.returncode == 1
    assert process.stdout == (
        "call 1 of scale: element 0 of argument 0 is 16, then 24\n"
        "1 replayed, 1 different, 0 skipped\n"
    )
    # A rebuilt library is named.
    bad.replace(good)  # a copy would write into the loaded library
    process = command()
    assert process.stdout.startswith(f"{good} has changed since the recording\n")


@needs_compiler
def test_a_script_makes_the_call_with_its_data(path, tmp_path):
    library = build(tmp_path, "good", "2")
    scale = tvm_ffi.load_module(str(library))["scale"]
    with tvm_ffi.record(path, "scale", contents="all"):
        scale(np.arange(4, dtype="float32")[::-1])
    script = tmp_path / "call.py"
    script.write_text(call_script(Recording(path).calls[0]))
    process = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=True
    )
    assert process.stdout == "None\nargument 0: [6. 4. 2. 0.]\n"


def test_a_script_has_values_of_each_type(path, register):
    show = register("replay_test.show", lambda *values: repr(values))
    values = (None, True, 1.5, float("inf"), "a'b", b"\x00", tvm_ffi.dtype("int8"), {"k": [1]})
    with tvm_ffi.record(path, "replay_test.show"):
        expected = show(*values)
        show(tvm_ffi.system_lib())
    call, with_object = Recording(path).calls
    script = call_script(call).replace("print(", "printed.append(")
    printed = []
    exec(script, {"printed": printed})  # this process has the function
    assert printed == [expected]
    with pytest.raises(ValueError, match="a script cannot create the argument ffi.Module at 0x"):
        call_script(with_object)


def run_program(text, folder):
    """Compile an exported program and run it."""
    config = [sys.executable, "-m", "tvm_ffi.config", "--cflags", "--ldflags", "--libs"]
    flags = subprocess.run(config, capture_output=True, text=True, check=True).stdout.split()
    flags += [f"-Wl,-rpath,{flag[2:]}" for flag in flags if flag.startswith("-L")]
    source, program = folder / "calls.c", folder / "calls"
    source.write_text(text)
    subprocess.run(
        ["cc", "-Wall", "-Wextra", "-Werror", str(source), *flags, "-ldl", "-o", str(program)],
        check=True,
    )
    return subprocess.run([str(program)], capture_output=True, text=True, check=False, timeout=60)


@needs_compiler
def test_a_program_makes_the_call_without_python(path, tmp_path):
    good, bad = build(tmp_path, "good", "2"), build(tmp_path, "bad", "3")
    scale = tvm_ffi.load_module(str(good))["scale"]
    array = np.arange(6, dtype="float32").reshape(2, 3)
    with tvm_ffi.record(path, "scale", contents="all"):
        # The kernel reads the first argument only.
        scale(array[::-1, 1], array, array[:0], 1, True, -0.0, float("nan"), "a\"\n?", b"\x00\xff",
              None, tvm_ffi.dtype("bfloat16"), tvm_ffi.device("cpu"))  # fmt: skip
    (call,) = Recording(path).calls

    def run(library):
        return run_program(call_program(call._replace(library=str(library))), tmp_path)

    process = run(good)
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout == "call 1: scale\nas recorded\n"
    process = run(bad)
    assert process.returncode == 1
    assert process.stdout.splitlines()[1:] == [
        "call 1: the elements of an argument differs from the recording",
        "call 1: the elements of an argument differs from the recording",
        "different",
    ]
    unknown = RecordedObject("ffi.Module", 0x10)
    with pytest.raises(ValueError, match="a program cannot create the argument ffi.Module at 0x10"):
        call_program(call._replace(arguments=(unknown,)))


@needs_compiler
def test_a_program_makes_all_calls_of_a_recording(path, tmp_path):
    """Objects, containers, results, errors and state pass from call to call, as in a replay."""
    names = "ffi.Dict", "ffi.DictSetItem", "ffi.DictGetItem", "ffi.Array", "ffi.ArrayGetItem"
    new_dict, put, get, new_array, at = map(tvm_ffi.get_global_func, names)
    scale = tvm_ffi.load_module(str(build(tmp_path, "good", "2")))["scale"]
    array = np.arange(6, dtype="float32")
    with tvm_ffi.record(path, [*names, "scale"], contents="all"):
        table = new_dict("a", 7, "b\0c", 0.5)
        put(table, "tensor", tvm_ffi.from_dlpack(array.reshape(2, 3)[:, ::2].copy()))
        scale(array)
        scale(array[::-2])
        assert get(table, "a") == 7
        assert get(table, "b\0c") == 0.5
        get(table, "tensor")
        with pytest.raises(KeyError):
            get(table, "missing")
        with pytest.raises(IndexError):
            at(new_array(1, "text", [2, None]), 9)
        assert at(new_array(1, "text", [2, None]), 1) == "text"
        at(tvm_ffi.convert([array, {"key": (1.5, tvm_ffi.dtype("int4"))}]), 1)
        new_array(tvm_ffi.convert_func(abs))  # a program cannot create the argument
    recording = Recording(path)
    process = run_program(call_program(recording.calls), tmp_path)
    assert (process.stderr, process.stdout.splitlines()[-1]) == ("", "as recorded")
    called = [line for line in process.stdout.splitlines() if line.startswith("call ")]
    assert len(called) == len(recording.calls) - 1
    changed = [call._replace(result=8) if call.result == 7 else call for call in recording.calls]
    process = run_program(call_program(changed), tmp_path)
    assert process.returncode == 1
    number = next(call.number for call in changed if call.result == 8)
    assert f"call {number}: the result differs from the recording\n" in process.stdout


@needs_compiler
def test_functions_that_calls_look_up_in_modules_are_called_by_name(path, tmp_path):
    """Functions of a module without a library, such as those of a virtual machine."""
    library = str(build(tmp_path, "good", "2"))
    names = "ffi.ModuleLoadFromFile", "ffi.ModuleGetFunction"
    load, look_up = map(tvm_ffi.get_global_func, names)
    with tvm_ffi.record(path, [*names, "scale"], contents="all"):
        look_up(load(library), "scale", False)(np.arange(3, dtype="float32"))
    calls = [call._replace(library="") for call in Recording(path).calls]
    assert [call.name for call in calls] == [*names, "scale"]
    write_recording(calls, path)
    assert replay(Recording(path)) == (3, [], [], [], [])
    process = run_program(call_program(Recording(path).calls), tmp_path)
    assert (process.stderr, process.stdout.splitlines()[-1]) == ("", "as recorded")


def test_methods_of_types_are_replayed(path):
    table = tvm_ffi.testing.TestIntPair(3, 4)
    with tvm_ffi.record(path, "testing.TestIntPair.*"):
        assert table.sum() == 7
        other = tvm_ffi.testing.TestIntPair(5, 6)
        assert other.sum() == 11
    calls = Recording(path).calls
    assert [call.name.rpartition(".")[2] for call in calls] == ["sum", "__ffi_init__", "sum"]
    report = replay(Recording(path))
    assert (report.num_replayed, report.differences) == (2, [])
    (skipped,) = report.skipped  # the pair of the first call existed before the recording
    assert skipped.call == calls[0]


def test_elements_of_no_tensor_are_refused():
    for name, values in [("Read", ()), ("Write", (b"",)), ("Digest", ())]:
        with pytest.raises(TypeError, match="expected a tensor, got None"):
            tvm_ffi.get_global_func(f"pytvmffi.Elements{name}")(None, *values)
