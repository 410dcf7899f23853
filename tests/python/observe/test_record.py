# SPDX-License-Identifier: Apache-2.0
"""Flight recorder: values, contents, threads, forks, killed processes, full disks."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi.observe import (
    RecordedContainer,
    RecordedError,
    RecordedObject,
    RecordedText,
    Recording,
)

KILLS = int(os.environ.get("TVM_FFI_TESTS_KILLS", "20"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.tvmrec"


@pytest.fixture
def echo():
    """Register `record_test.echo`, which returns its first argument and doubles tensors."""

    def body(*args):
        if not args:
            raise ValueError("no argument")
        for arg in args:
            if isinstance(arg, tvm_ffi.Tensor):
                array = np.from_dlpack(arg)
                array *= 2
        return args[0]

    tvm_ffi.register_global_func("record_test.echo", body, override=True)
    yield tvm_ffi.get_global_func("record_test.echo")
    tvm_ffi.remove_global_func("record_test.echo")


def values_of(path, name="record_test.echo"):
    return [call for call in Recording(path).calls if call.name == name]


def test_each_kind_of_value_is_recorded(path, echo):
    with tvm_ffi.record(path, "record_test.*") as recorder:
        echo(None, True, -5, 0.25, "short", "x" * 300, b"\x00\xff", b"y" * 300)
        echo(tvm_ffi.dtype("bfloat16"), tvm_ffi.device("cuda:3"), tvm_ffi.Shape((2, 3)))
        echo([1, "two", [3.5]], {"key": 4})
        with pytest.raises(ValueError, match="no argument"):
            echo()
    echo(1)  # not recorded
    assert (recorder.num_calls, recorder.num_dropped, recorder.error) == (4, 0, "")
    first, second, third, fourth = Recording(path).calls
    assert first.arguments == (
        None, True, -5, 0.25, "short", "x" * 300, b"\x00\xff", b"y" * 300
    )  # fmt: skip
    assert [type(argument) for argument in first.arguments[1:3]] == [bool, int]
    assert (first.number, first.thread, first.caller, first.stream) == (1, 1, 0, 0)
    assert (first.status, first.result) == (0, None)
    assert second.arguments[:2] == (tvm_ffi.dtype("bfloat16"), tvm_ffi.device("cuda:3"))
    assert second.arguments[2] == RecordedContainer("ffi.Shape", 0, (2, 3))
    array, table = third.arguments
    assert (array.type_key, array.elements[:2]) == ("ffi.Array", (1, "two"))
    assert array.elements[2].elements == (3.5,)
    assert (table.type_key, table.elements) == ("ffi.Map", (("key", 4),))
    assert third.result.address == array.address
    assert (fourth.status, fourth.result) == (-1, RecordedError("ValueError", "no argument"))


def test_the_library_of_a_function_is_recorded_with_its_digest(path):
    with tvm_ffi.record(path):
        tvm_ffi.get_global_func("ffi.Shape")(2)
    (call,) = Recording(path).calls
    assert "libtvm_ffi" in call.library
    digest = tvm_ffi.get_global_func("pytvmffi.FileDigest")(call.library)
    assert call.library_digest == digest % 2**64 != 0


def test_digests_are_xxh64():
    digest = tvm_ffi.get_global_func("pytvmffi.ElementsDigest")
    known = {b"": 0xEF46DB3751D8E999, b"a": 0xD24EC4F1A98C6E5B, b"abc": 0x44BC2CF5AD770999}
    for content, expected in known.items():
        array = np.frombuffer(bytearray(content), "uint8")
        assert digest(tvm_ffi.from_dlpack(array)) % 2**64 == expected


def test_objects_are_recorded_by_type_and_address(path, echo):
    module = tvm_ffi.system_lib()
    with tvm_ffi.record(path):
        echo(module, abs)
    arguments = values_of(path)[0].arguments
    assert [type(argument) for argument in arguments] == [RecordedObject] * 2
    assert [argument.type_key for argument in arguments] == ["ffi.Module", "ffi.Function"]
    assert values_of(path)[0].result == arguments[0]


def test_tensors_are_recorded_as_they_are(path, echo):
    array = np.arange(24, dtype="int16").reshape(4, 6)
    with tvm_ffi.record(path, contents="all"):
        echo(array, array[::-2, 1::2], array[:0])
    whole, view, empty = values_of(path)[0].arguments
    assert (whole.shape, whole.strides, str(whole.dtype)) == ((4, 6), (6, 1), "int16")
    assert (view.shape, view.strides) == ((2, 3), (-12, 2))
    assert view.data + view.byte_offset == whole.data + whole.byte_offset + (18 + 1) * 2
    assert empty.shape == (0, 6)
    assert whole.content == np.arange(24, dtype="int16").tobytes()
    assert view.content == np.arange(24, dtype="int16").reshape(4, 6)[::-2, 1::2].tobytes()
    assert empty.content == b""


@pytest.mark.parametrize("contents", ["none", "digest", "all", "error"])
def test_the_policy_selects_the_contents(path, echo, contents):
    array = np.ones(3, "float32")
    with tvm_ffi.record(path, "record_test.*", contents=contents):
        echo(array)
    (call,) = Recording(path).calls
    before, after = np.ones(3, "float32").tobytes(), array.tobytes()
    assert array.tolist() == [2, 2, 2]
    if contents in ("none", "error"):
        assert (call.arguments[0].content, call.contents) == (None, {})
    elif contents == "all":
        assert (call.arguments[0].content, call.contents) == (before, {(0, 0): after})
    else:
        digest = tvm_ffi.get_global_func("pytvmffi.ElementsDigest")
        expected = [
            digest(tvm_ffi.from_dlpack(np.frombuffer(bytearray(content), "uint8"))) % 2**64
            for content in (before, after)
        ]
        assert [call.arguments[0].content, call.contents[0, 0]] == expected


def test_contents_on_error_are_those_of_the_failed_call(path):
    def fail(x):
        np.from_dlpack(x)[0] = 7
        raise RuntimeError("half way")

    function = tvm_ffi.convert_func(fail)
    with tvm_ffi.record(path, contents="error"), pytest.raises(RuntimeError, match="half way"):
        function(np.zeros(2, "uint8"))
    (call,) = (call for call in Recording(path).calls if call.status != 0)
    assert call.contents == {(0, 0): b"\x07\x00"}


def test_large_contents_are_digests_and_large_strings_are_cut(path, echo):
    with tvm_ffi.record(path, contents="all", max_bytes=8):
        echo("a long string", np.zeros(9, "uint8"), np.zeros(8, "uint8"))
    text, large, small = values_of(path)[0].arguments
    assert text == RecordedText("a long s")
    assert type(large.content) is int
    assert small.content == bytes(8)


def test_a_change_of_a_large_tensor_is_recorded(path, echo):
    array = np.ones(1 << 20, "uint8")
    with tvm_ffi.record(path, contents="all", max_bytes=1 << 21):
        for _ in range(3):
            echo(array)
    calls = values_of(path)
    for i, call in enumerate(calls):
        assert call.arguments[0].content == bytes([2**i]) * (1 << 20)
        assert call.contents[0, 0] == bytes([2 ** (i + 1)]) * (1 << 20)


def test_calls_of_calls_name_their_caller(path):
    inner = tvm_ffi.convert_func(lambda x: x)
    tvm_ffi.register_global_func("record_test.outer", lambda x: inner(x) + inner(x), override=True)
    with tvm_ffi.record(path):
        assert tvm_ffi.get_global_func("record_test.outer")(4) == 8
    tvm_ffi.remove_global_func("record_test.outer")
    outer, first, second = Recording(path).calls
    assert (outer.name, outer.caller, outer.result) == ("record_test.outer", 0, 8)
    assert [call.caller for call in (first, second)] == [outer.number] * 2


def test_threads_have_numbers_and_keep_their_order(path, echo):
    def run():
        for i in range(5000):
            echo(i)

    with tvm_ffi.record(path, "record_test.*") as recorder:
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert recorder.num_calls == 20_000
    calls = Recording(path).calls
    assert [call.number for call in calls] == list(range(1, 20_001))
    for number in (1, 2, 3, 4):
        own = [call for call in calls if call.thread == number]
        assert [call.arguments for call in own] == [(i,) for i in range(5000)]
        assert all(call.status == 0 and call.result == call.arguments[0] for call in own)


def test_many_short_threads_share_the_chunks_of_the_file(path, echo):
    with tvm_ffi.record(path, "record_test.*"):
        for i in range(300):
            thread = threading.Thread(target=echo, args=(i,))
            thread.start()
            thread.join()
    assert [call.arguments for call in Recording(path).calls] == [(i,) for i in range(300)]
    assert path.stat().st_size < 2_000_000


def test_a_ring_keeps_the_last_calls(path, echo):
    with tvm_ffi.record(path, "record_test.*", last=1000) as recorder:
        for i in range(50_000):
            echo(i, "text that is longer than a small string", np.zeros(3))
    assert recorder.num_calls == 50_000
    calls = Recording(path).calls
    assert [call.number for call in calls] == list(range(calls[0].number, 50_001))
    assert len(calls) >= 1000
    assert calls[-1].arguments[:1] == (49_999,)
    assert path.stat().st_size < 3_000_000


def test_two_recorders_record_the_same_calls(tmp_path, echo):
    first, second = tmp_path / "1", tmp_path / "2"
    with tvm_ffi.record(first, "record_test.*"), tvm_ffi.record(second, "record_test.*"):
        echo(1)
        echo(2)
    for path in (first, second):
        assert [call.arguments for call in Recording(path).calls] == [(1,), (2,)]


def test_a_recorder_that_starts_again_empties_its_file(path, echo):
    recorder = tvm_ffi.record(path, "record_test.*")
    for i in (1, 2):
        with recorder:
            echo(i)
    assert [call.arguments for call in Recording(path).calls] == [(2,)]


def test_misuse_is_one_clear_error(tmp_path):
    with pytest.raises(ValueError, match=r"expected contents to be one of 'none', .* got 'some'"):
        tvm_ffi.record("x", contents="some")
    with pytest.raises(ValueError, match="expected last to be at least 1, got 0"):
        tvm_ffi.record("x", last=0)
    with pytest.raises(ValueError, match="expected max_bytes of at least 0, got -1"):
        tvm_ffi.record("x", max_bytes=-1)
    recorder = tvm_ffi.record(tmp_path / "missing" / "run.tvmrec")
    assert recorder.num_calls == 0
    with pytest.raises(OSError, match=r"cannot create the recording .*missing/run.tvmrec: No such"):
        recorder.start()
    assert not recorder.is_running


def run_script(tmp_path, script, **options):
    return subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, check=False, timeout=120,
        capture_output=True, text=True, **options
    )  # fmt: skip


# Starts children that record on three threads, kills them and checks their files.
KILLER = """
import os, random, signal, sys, threading, time
import numpy as np, tvm_ffi
from tvm_ffi.observe import Recording

last, kills = eval(sys.argv[1]), int(sys.argv[2])
echo = tvm_ffi.convert_func(lambda *args: args[0])

def record(pipe):
    tvm_ffi.record("run.tvmrec", contents="all", last=last).start()
    def run(start):
        arrays = [np.zeros(n, "uint8") for n in (0, 5, 3000)]
        for i in range(start, 10**9):
            echo(i, "x" * (i % 50), arrays[i % 3])
    for _ in range(2):
        threading.Thread(target=run, args=[0], daemon=True).start()
    echo(0, "", np.zeros(0, "uint8"))
    os.write(pipe, b"r")
    run(1)

def check(calls):
    assert {call.thread for call in calls} <= {1, 2, 3}
    # At most one call of each thread has a number and no record.
    assert last or not calls or len(calls) >= calls[-1].number - 3
    for thread in {call.thread for call in calls}:
        own = [call for call in calls if call.thread == thread]
        firsts = [call.arguments[0] for call in own]
        assert firsts == list(range(firsts[0], firsts[0] + len(own)))
        assert all(call.status == 0 for call in own[:-1])
        for call in own:
            assert call.arguments[1] == "x" * (call.arguments[0] % 50)
            assert call.arguments[2].content == bytes(call.arguments[2].shape[0])

random.seed(5)
total = 0
for _ in range(kills):
    ready, pipe = os.pipe()
    child = os.fork()
    if child == 0:
        record(pipe)
    assert os.read(ready, 1) == b"r"
    time.sleep(random.random() * 0.01)
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    os.close(ready), os.close(pipe)
    calls = Recording("run.tvmrec").calls
    check(calls)
    total += len(calls)
print(total)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize("last", [None, 200])
def test_the_file_of_a_killed_process_is_whole(tmp_path, last):
    """A process that is killed at any moment loses only the records that it was writing."""
    process = subprocess.run(
        [sys.executable, "-c", KILLER, str(last), str(KILLS)], cwd=tmp_path, check=False,
        capture_output=True, text=True,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    assert int(process.stdout) > 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_forked_child_does_not_record(tmp_path):
    script = """
import os, tvm_ffi
double = tvm_ffi.convert_func(lambda x: os._exit(double(3)) if x == 2 and os.fork() == 0 else 2 * x)
with tvm_ffi.record("run.tvmrec"):
    assert double(1) == 2
    assert double(2) == 4  # the child calls and exits in the call
    assert os.waitstatus_to_exitcode(os.wait()[1]) == 6
    if os.fork() == 0:
        double(5)
        os._exit(0)
    os.wait()
    double(7)
"""
    process = run_script(tmp_path, script)
    assert process.returncode == 0, process.stderr
    calls = Recording(tmp_path / "run.tvmrec").calls
    assert [call.arguments for call in calls] == [(1,), (2,), (7,)]
    assert [call.result for call in calls] == [2, 4, 14]


def test_the_file_is_whole_without_stop(tmp_path):
    script = """
import sys, tvm_ffi
tvm_ffi.record("run.tvmrec").start()
tvm_ffi.get_global_func("ffi.Shape")(1, 2)
sys.exit(3)
"""
    assert run_script(tmp_path, script).returncode == 3
    assert [call.name for call in Recording(tmp_path / "run.tvmrec").calls] == ["ffi.Shape"]


def test_a_full_disk_ends_the_recording_but_not_the_program(tmp_path):
    script = """
import resource, tvm_ffi
resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
echo = tvm_ffi.convert_func(lambda x: x)
with tvm_ffi.record("run.tvmrec") as recorder:
    for i in range(20_000):
        assert echo("x" * 100 + str(i)) == "x" * 100 + str(i)
print(recorder.num_calls, recorder.num_dropped, recorder.error)
"""
    process = run_script(tmp_path, script)
    assert process.returncode == 0, process.stderr
    num_calls, num_dropped, error = process.stdout.split(" ", 2)
    assert error == "File too large\n"
    assert int(num_calls) + int(num_dropped) == 20_000
    assert int(num_dropped) > 1000
    recording = Recording(tmp_path / "run.tvmrec")
    assert recording.num_dropped == int(num_dropped)
    texts = [call.arguments[0] for call in recording.calls]
    assert texts == ["x" * 100 + str(i) for i in range(int(num_calls))]
