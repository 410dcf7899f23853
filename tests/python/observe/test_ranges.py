# SPDX-License-Identifier: Apache-2.0
"""Ranges: calls in torch.profiler and NVTX, without and with Python."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import libinfo

# A library with the two functions of NVTX that the ranges call.
NVTX = r"""
#include <stdio.h>
static __thread int depth;
int nvtxRangePushA(const char* message) {
  printf("push %d %s\n", depth, message);
  return depth++;
}
int nvtxRangePop(void) {
  printf("pop %d\n", --depth);
  fflush(stdout);
  return depth;
}
"""

# A collector of ITT that prints tasks.  Torch contains the loader of ITT, which opens the library
# that INTEL_LIBITTNOTIFY64 names.
ITT = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct domain { volatile int is_enabled; const char* name; void* unused[4]; };
struct string_handle { const char* text; void* unused[4]; };
struct id { unsigned long long parts[3]; };

const char* __itt_api_version(void) { return "1"; }
struct domain* __itt_domain_create(const char* name) {
  struct domain* domain = calloc(1, sizeof(struct domain));
  domain->is_enabled = 1;
  domain->name = strdup(name);
  return domain;
}
struct string_handle* __itt_string_handle_create(const char* text) {
  struct string_handle* handle = calloc(1, sizeof(struct string_handle));
  handle->text = strdup(text);
  return handle;
}
void __itt_task_begin(const struct domain* domain, struct id task, struct id parent,
                      struct string_handle* name) {
  printf("begin %s: %s\n", domain->name, name->text);
  fflush(stdout);
}
void __itt_task_end(const struct domain* domain) {
  printf("end %s\n", domain->name);
  fflush(stdout);
}
"""

PROGRAM = """
import array
import tvm_ffi
inner = tvm_ffi.register_global_func("ranges_test.inner", lambda *args: None)
outer = tvm_ffi.register_global_func(
    "ranges_test.outer", lambda x: tvm_ffi.get_global_func("ranges_test.inner")(x, "text", 0.5)
)
call = tvm_ffi.get_global_func("ranges_test.outer")
"""


@pytest.fixture
def function():
    """Register `ranges_test.f`, which returns None and fails without arguments."""

    def body(*args):
        if not args:
            raise ValueError("no argument")

    yield tvm_ffi.register_global_func("ranges_test.f", body, override=True) and (
        tvm_ffi.get_global_func("ranges_test.f")
    )
    tvm_ffi.remove_global_func("ranges_test.f")


def profile_events(torch, calls):
    """Return the name, the shapes and the numbers of each event."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    with torch.profiler.profile(record_shapes=True, activities=activities) as profile:
        calls()
    return [
        (event.name, event.input_shapes, event.concrete_inputs)
        for event in profile.events()
        if event.name.startswith("ranges_test")
    ]


def test_torch_profiler_shows_functions_with_shapes(function):
    torch = pytest.importorskip("torch")
    zeros = torch.zeros(4)
    moved = tvm_ffi.convert([1, 2])

    def calls():
        function(np.zeros((2, 3), "float32"), 7, "text", [1], zeros, moved)
        with pytest.raises(ValueError, match="no argument"):
            function()

    with tvm_ffi.ranges("ranges_test.*") as ranges:
        assert "torch" in ranges.profilers
        events = profile_events(torch, calls)
        function(1)  # the profiler has stopped
    assert events == [
        ("ranges_test.f", [[2, 3], [], [], [], [4], []], [None, 7, None, None, None, None]),
        ("ranges_test.f", [], []),
    ]
    assert profile_events(torch, calls) == []


def test_a_tensor_without_a_torch_dtype_is_passed_as_text(function):
    torch = pytest.importorskip("torch")
    tensor = tvm_ffi.from_dlpack(np.zeros(4, "uint8"))
    view = tvm_ffi.get_global_func("pytvmffi.MemoryView")(
        tensor, 0, tvm_ffi.Shape((2,)), None, tvm_ffi.dtype("float4_e2m1fn"), 0
    )
    with tvm_ffi.ranges("ranges_test.*"):
        events = profile_events(torch, lambda: function(view, np.zeros(5)))
    assert events == [("ranges_test.f", [[], [5]], [None, None])]


def test_torch_is_not_imported(tmp_path):
    script = PROGRAM + (
        "import sys\n"
        "with tvm_ffi.ranges('ranges_test.*') as ranges:\n"
        "    call(1)\n"
        "print(ranges.profilers, 'torch' in sys.modules)\n"
    )
    assert lines_of(script, None) == ["[] False"]


@pytest.fixture(scope="module")
def nvtx(tmp_path_factory):
    """Return an environment in which a library with the name of NVTX is found."""
    folder = tmp_path_factory.mktemp("nvtx")
    (folder / "nvtx.c").write_text(NVTX, encoding="utf-8")
    command = ["cc", "-shared", "-fPIC", "-o", folder / "libnvToolsExt.so.1", folder / "nvtx.c"]
    subprocess.run(command, check=True, timeout=60)
    return {**os.environ, "LD_LIBRARY_PATH": str(folder)}


def lines_of(script, environment):
    """Run a Python script and return the lines that it prints."""
    command = [sys.executable, "-c", script]
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return done.stdout.splitlines()


@pytest.mark.skipif(shutil.which("bpftrace") is None, reason="bpftrace not found")
def test_bpftrace_counts_calls_by_function():
    """The one-liner of docs/guides/profile-calls.md."""
    library = libinfo.find_libtvm_ffi()
    expression = f"usdt:{library}:tvm_ffi:call__begin {{ @[str(arg0)] = count(); }}"
    # The probes are ready when BEGIN runs.
    command = ["bpftrace", "-e", 'BEGIN { printf("ready\\n"); } ' + expression]
    tracer = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1
    )
    while (line := tracer.stdout.readline()) not in ("ready\n", ""):
        pass
    if not line:
        pytest.skip(f"bpftrace cannot run here: {tracer.communicate()[1].splitlines()[-1:]}")
    lines_of(PROGRAM + "for i in range(7): call(i)\n", {**os.environ, "TVM_FFI_RANGES": "*"})
    tracer.send_signal(signal.SIGINT)
    output = tracer.communicate(timeout=60)[0].splitlines()
    assert "@[ranges_test.outer]: 7" in output
    assert "@[ranges_test.inner]: 7" in output


RANGES = [
    "push 0 ranges_test.outer(int8[3])",
    "push 1 ranges_test.inner(int8[3], 'text', 0.5)",
    "pop 1",
    "pop 0",
]


def test_calls_are_nested_ranges_of_nvtx(nvtx):
    script = PROGRAM + (
        "with tvm_ffi.ranges('ranges_test.*') as ranges:\n"
        "    assert ranges.profilers == ['nvtx']\n"
        "    call(array.array('b', [1, 2, 3]))\n"
        "call(array.array('b', [1]))\n"
    )
    assert lines_of(script, nvtx) == RANGES


def test_calls_are_tasks_of_itt(tmp_path):
    """`torch.profiler.emit_itt` sends the ranges to the collector."""
    pytest.importorskip("torch")
    (tmp_path / "itt.c").write_text(ITT, encoding="utf-8")
    command = ["cc", "-shared", "-fPIC", "-o", tmp_path / "libcollector.so", tmp_path / "itt.c"]
    subprocess.run(command, check=True, timeout=60)
    environment = {
        **os.environ,
        "INTEL_LIBITTNOTIFY64": str(tmp_path / "libcollector.so"),
        "INTEL_ITTNOTIFY_GROUPS": "all",
    }
    script = (
        f"import torch\n{PROGRAM}"
        "if not torch.profiler.itt.is_available(): print('not available')\n"
        "emit = torch.autograd.profiler.emit_itt()\n"
        "with emit, tvm_ffi.ranges('ranges_test.*'):\n"
        "    call(array.array('b', [1, 2, 3]))\n"
        "call(array.array('b', [1]))\n"
    )
    lines = lines_of(script, environment)
    if lines == ["not available"]:
        pytest.skip("this torch has no ITT")
    assert lines == [
        "begin PyTorch: ranges_test.outer",
        "begin PyTorch: ranges_test.inner",
        "end PyTorch",
        "end PyTorch",
    ]


def test_a_call_that_fails_ends_its_range(nvtx):
    script = PROGRAM + (
        "with tvm_ffi.ranges('ranges_test.*'):\n"
        "    for i in range(2):\n"
        "        try: call()\n"
        "        except TypeError: pass\n"
    )
    assert lines_of(script, nvtx) == ["push 0 ranges_test.outer()", "pop 0"] * 2


@pytest.mark.parametrize("names", ["*", "other,ranges_test.*"])
def test_the_environment_starts_ranges(nvtx, names):
    script = PROGRAM + "call(array.array('b', [1, 2, 3]))\n"
    lines = lines_of(script, {**nvtx, "TVM_FFI_RANGES": names})
    assert [line for line in lines if "ranges_test" in line] == RANGES[:2]
