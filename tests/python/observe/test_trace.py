# SPDX-License-Identifier: Apache-2.0
"""Call traces: order, threads, arguments, files, the flame view."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from threads_together import run_together

import tvm_ffi
from tvm_ffi.observe._flame import Call, merge_stacks

NUM_PAIRS = int(os.environ.get("TVM_FFI_TESTS_PAIRS", "100000"))


@pytest.fixture
def functions():
    """Register `observe_test.outer`, which calls `observe_test.inner`."""
    inner = tvm_ffi.convert_func(lambda x: None)
    outer = tvm_ffi.convert_func(lambda x: inner(x))  # noqa: PLW0108  (another function object)
    tvm_ffi.register_global_func("observe_test.inner", inner, override=True)
    tvm_ffi.register_global_func("observe_test.outer", outer, override=True)
    yield tvm_ffi.get_global_func("observe_test.outer")
    tvm_ffi.remove_global_func("observe_test.outer")
    tvm_ffi.remove_global_func("observe_test.inner")


def test_calls_have_arguments_and_are_in_the_order_of_their_begin(functions):
    with tvm_ffi.trace(names="observe_test.*") as trace:
        functions(np.zeros((2, 3), "float32"))
        functions("x" * 100)
    calls = list(trace.calls())
    assert [(call.name, call.arguments, call.status) for call in calls] == [
        ("observe_test.outer", "float32[2, 3]", 0),
        ("observe_test.inner", "float32[2, 3]", 0),
        ("observe_test.outer", f"'{'x' * 60}...'", 0),
        ("observe_test.inner", f"'{'x' * 60}...'", 0),
    ]
    outer, inner = calls[:2]
    assert outer.begin_ns <= inner.begin_ns <= inner.end_ns <= outer.end_ns
    assert {call.thread for call in calls} == {1}


def test_each_argument_type_has_a_short_text():
    echo = tvm_ffi.convert_func(lambda *args: None)
    with tvm_ffi.trace() as trace:
        echo(None, True, -5, 0.25, "s", tvm_ffi.Shape((1,)), [1], np.int64(2))
    (arguments,) = (call.arguments for call in trace.calls() if "lambda" in call.name)
    assert arguments == "None, True, -5, 0.25, 's', ffi.Shape, ffi.Array, 2"


def test_the_file_is_a_chrome_trace(functions, tmp_path):
    path = tmp_path / "t.json"
    with tvm_ffi.trace(path, "observe_test.inner"):
        functions(1)
        with pytest.raises(TypeError):
            tvm_ffi.get_global_func("observe_test.inner")()
    content = json.loads(path.read_text(encoding="utf-8"))
    assert content["otherData"] == {"dropped_calls": 0}
    first, second, names = content["traceEvents"]
    assert {key: first[key] for key in ("ph", "cat", "name", "pid", "tid", "args")} == {
        "ph": "X",
        "cat": "call",
        "name": "observe_test.inner",
        "pid": os.getpid(),
        "tid": 1,
        "args": {"arguments": "1"},
    }
    assert second["args"] == {"arguments": "", "ended": "with an error"}
    assert first["ts"] + first["dur"] <= second["ts"] + 0.001
    assert names["ph"] == "M"


def test_loads_and_builds_are_in_the_trace(tmp_path, monkeypatch):
    import tvm_ffi.cpp

    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "t.json"
    with tvm_ffi.trace(path):
        module = tvm_ffi.cpp.load_inline(
            "observe_built", cpp_sources="int one() { return 1; }", functions=["one"]
        )
        assert module.one() == 1
    events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
    assert [e["name"] for e in events if e.get("cat") == "build"] == ["building observe_built"]
    names = [e["name"] for e in events if e.get("cat") == "call"]
    assert "one" in names
    assert any(name.startswith("ffi.Module") and "oad" in name for name in names)


def test_threads_have_logs_of_their_own(functions):
    def run(_):
        for i in range(1000):
            functions(i)

    with tvm_ffi.trace(names="observe_test.outer") as trace:
        run_together(run, 4)
    calls = list(trace.calls())
    assert len(calls) == 4000
    for number in {call.thread for call in calls}:
        arguments = [int(call.arguments) for call in calls if call.thread == number]
        # Threads that do not overlap may share a number.
        assert arguments == list(range(1000)) * (len(arguments) // 1000)


def test_calls_on_four_threads_are_ordered_pairs():
    """Each call has one begin and one end, and the calls of a thread are in their order."""
    shape = tvm_ffi.get_global_func("ffi.Shape")

    def run(_):
        for i in range(NUM_PAIRS // 4):
            shape(i)

    with tvm_ffi.trace(names="ffi.Shape") as trace:
        run_together(run, 4)
    assert trace.num_dropped == 0
    last: dict[int, tuple[int, int]] = {}  # the argument and the end of the thread's last call
    for call in trace.calls():
        argument, end = last.get(call.thread, (-1, 0))
        assert int(call.arguments) == argument + 1
        assert end <= call.begin_ns <= call.end_ns
        last[call.thread] = argument + 1, call.end_ns
    assert [argument for argument, _ in last.values()] == [NUM_PAIRS // 4 - 1] * 4


def test_a_full_trace_counts_the_calls_that_it_drops(functions):
    with tvm_ffi.trace(names="observe_test.outer", max_calls=1024) as trace:
        for i in range(1500):
            functions(i)
    assert len(list(trace.calls())) == 1024
    assert trace.num_dropped == 476


def test_an_unwritable_file_is_an_error_before_the_calls(tmp_path):
    trace = tvm_ffi.trace(tmp_path / "missing" / "t.json")
    with pytest.raises(FileNotFoundError):
        trace.start()
    assert not trace.is_running


def test_a_trace_that_runs_at_exit_writes_its_file(tmp_path):
    script = "import sys, tvm_ffi; tvm_ffi.trace('t.json').start(); tvm_ffi.Shape((1, 2))"
    subprocess.run([sys.executable, "-c", script], cwd=tmp_path, check=True, timeout=60)
    json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))


def test_a_forked_child_leaves_the_file_to_its_parent(functions, tmp_path):
    path = tmp_path / "t.json"
    with tvm_ffi.trace(path, "observe_test.outer") as trace:
        functions(1)
        child = os.fork()
        if child == 0:
            functions(2)
            trace.stop()
            os._exit(0 if path.read_bytes() == b"" else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(json.loads(path.read_text(encoding="utf-8"))["traceEvents"]) == 2


def test_the_flame_view_shows_callees_below_callers(functions):
    pytest.importorskip("rich")
    with tvm_ffi.trace(names="observe_test.*") as trace:
        functions(1)
    file = io.StringIO()
    trace.print_flame(file)
    lines = file.getvalue().splitlines()
    assert len(lines) == 3
    assert "1 calls  observe_test.outer" in lines[1]
    assert "1 calls  observe_test.inner" in lines[2]
    assert lines[2].index("└") > lines[1].index("└")


def call_of(thread, name, begin, end):
    return Call(thread, name, begin, end, "", 0, 0)


def test_stacks_of_all_threads_are_merged():
    root = merge_stacks(
        [
            call_of(1, "f", 0, 10),
            call_of(1, "g", 1, 4),
            call_of(1, "g", 5, 9),
            call_of(1, "g", 10, 12),
            call_of(2, "f", 3, 8),
        ]
    )
    assert (root.calls, root.total_ns) == (3, 17)
    f, g = root.callees["f"], root.callees["g"]
    assert (f.calls, f.total_ns, g.calls, g.total_ns) == (2, 15, 1, 2)
    assert (f.callees["g"].calls, f.callees["g"].total_ns) == (2, 7)
