# SPDX-License-Identifier: Apache-2.0
"""Call statistics: counts, errors, durations, threads, Prometheus text."""

from __future__ import annotations

import re
import threading
import time

import pytest

import tvm_ffi


@pytest.fixture
def add_one():
    name = "observe_test.add_one"
    yield tvm_ffi.register_global_func(name, lambda x: x + 1, override=True) and (
        tvm_ffi.get_global_func(name)
    )
    tvm_ffi.remove_global_func(name)


def test_counts_calls_and_errors(add_one):
    with tvm_ffi.stats("observe_test.*") as stats:
        for i in range(10):
            assert add_one(i) == i + 1
        with pytest.raises(TypeError):
            add_one("text")
    add_one(0)  # not observed
    row = stats["observe_test.add_one"]
    assert (row.calls, row.errors) == (11, 1)
    assert 0 < row.p50 <= row.p99 <= row.total < 10
    assert list(stats.functions) == ["observe_test.add_one"]


def test_durations_are_seconds_including_callees(add_one):
    slow = tvm_ffi.convert_func(lambda: time.sleep(0.02))
    with tvm_ffi.stats() as stats:
        slow()
    (row,) = (row for name, row in stats.functions.items() if "lambda" in name)
    assert 0.02 <= row.total < 1
    assert row.p50 == pytest.approx(row.total, rel=0.07)


def test_a_million_calls_on_four_threads_are_counted_exactly():
    double = tvm_ffi.get_global_func("ffi.Shape")
    with tvm_ffi.stats(["ffi.Shape"]) as stats:
        threads = [
            threading.Thread(target=lambda: [double() for _ in range(250_000)]) for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert stats["ffi.Shape"].calls == 1_000_000


def test_functions_that_python_code_held_before_are_observed():
    before = tvm_ffi.convert_func(lambda: 3)
    with tvm_ffi.stats() as stats:
        during = tvm_ffi.convert_func(abs)
        assert before() == 3
        assert during(-2) == 2
    names = stats.functions
    assert names["abs"].calls == 1
    assert sum(row.calls for name, row in names.items() if "<lambda>" in name) == 1


def test_prometheus_text_has_a_summary_and_a_counter_per_function(add_one):
    with tvm_ffi.stats("observe_test.add_one") as stats:
        add_one(1)
        with pytest.raises(TypeError):
            add_one(None)
    text = re.sub(r"(?<=} )[0-9.]+(e-[0-9]+)?$", "N", stats.prometheus(), flags=re.MULTILINE)
    label = 'function="observe_test.add_one"'
    assert text.splitlines() == [
        "# HELP tvm_ffi_call_duration_seconds Durations of function calls.",
        "# TYPE tvm_ffi_call_duration_seconds summary",
        f'tvm_ffi_call_duration_seconds{{{label},quantile="0.5"}} N',
        f'tvm_ffi_call_duration_seconds{{{label},quantile="0.99"}} N',
        f"tvm_ffi_call_duration_seconds_sum{{{label}}} N",
        f"tvm_ffi_call_duration_seconds_count{{{label}}} N",
        "# HELP tvm_ffi_call_errors_total Function calls that failed.",
        "# TYPE tvm_ffi_call_errors_total counter",
        f"tvm_ffi_call_errors_total{{{label}}} N",
    ]
    assert f"_count{{{label}}} 2\n" in stats.prometheus()
    assert f"errors_total{{{label}}} 1\n" in stats.prometheus()


@pytest.mark.undebugged("the debug context is one of the eight observers")
def test_misuse_is_one_clear_error(add_one):
    stats = tvm_ffi.stats("observe_test.add_one")
    assert stats.functions == {}
    stats.stop()  # not running
    with stats, pytest.raises(RuntimeError, match="running already"):
        stats.start()
    with pytest.raises(KeyError, match="no call of a function named 'other' was observed"):
        stats["other"]
    with pytest.raises(TypeError, match="expected names of functions as str, got 3"):
        tvm_ffi.stats([3])
    many = [tvm_ffi.stats("none") for _ in range(8)]
    for each in many:
        each.start()
    with pytest.raises(RuntimeError, match="expected fewer than 8 observers"):
        stats.start()
    for each in many:
        each.stop()
    with stats:
        assert add_one(1) == 2
    assert stats["observe_test.add_one"].calls == 1


def test_an_observer_without_references_is_removed():
    names = [f"observe_test.{i}" for i in range(10)]
    for name in names:
        tvm_ffi.stats(name).start()  # more than eight
