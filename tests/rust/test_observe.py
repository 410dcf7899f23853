# SPDX-License-Identifier: Apache-2.0
"""Observers see the calls that Rust makes, also on threads of Rust."""

from __future__ import annotations

import os

import tvm_ffi

NUM_PAIRS = int(os.environ.get("TVM_FFI_TESTS_PAIRS", "100000"))

LIBRARY = """
use pytvmffi::{Function, Result};

fn call_on_threads(name: String, count: i64) -> Result<()> {
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let name = name.clone();
            std::thread::spawn(move || -> Result<()> {
                let function = Function::global(&name)?;
                for i in 0..count {
                    function.call::<i64>((i,))?;
                }
                Ok(())
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap()?;
    }
    Ok(())
}
pytvmffi::export!(call_on_threads, "call_on_threads(name: str, count: int) -> None");

fn increment(x: i64) -> i64 {
    x + 1
}
pytvmffi::export!(increment, "increment(x: int) -> int");
"""


def test_calls_on_four_threads_are_ordered_pairs(build_library):
    """Each call has one begin and one end, and the calls of a thread are in their order."""
    module = tvm_ffi.load_module(build_library("observed", LIBRARY))
    tvm_ffi.register_global_func("rust_test.increment", module.increment, override=True)
    with tvm_ffi.trace(names=["rust_test.increment", "increment"]) as trace:
        module.call_on_threads("rust_test.increment", NUM_PAIRS // 4)
    tvm_ffi.remove_global_func("rust_test.increment")
    calls = list(trace.calls())
    assert len(calls) == NUM_PAIRS
    ends: dict[int, int] = {}
    arguments: dict[int, list[int]] = {}
    for call in calls:
        assert ends.get(call.thread, 0) <= call.begin_ns <= call.end_ns
        ends[call.thread] = call.end_ns
        arguments.setdefault(call.thread, []).append(int(call.arguments))
    # A thread that begins after another has ended may have its number.
    for of_thread in arguments.values():
        assert of_thread == list(range(NUM_PAIRS // 4)) * (len(of_thread) * 4 // NUM_PAIRS)
