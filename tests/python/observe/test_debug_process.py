# SPDX-License-Identifier: Apache-2.0
"""Debug context in processes: invalid accesses, the variable, the command, forks."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

# If two contexts check a call, the first one makes the repairs, also of forged faults.
pytestmark = pytest.mark.undebugged("the context of the process changes the faults")

# ---- Invalid accesses ----------------------------------------------------------------------------

READ_ONLY = """
import mmap, sys
import numpy as np, tvm_ffi
open("x", "wb").write(bytes(1 << 20))
x = np.memmap("x", "float32", "r")
faulty = tvm_ffi.load_module(sys.argv[1])
before = sys.argv[2] == "handler" and __import__("faulthandler").enable()
with tvm_ffi.debug():
    faulty.writes_input(x, np.zeros(x.size, "float32"))
"""


@pytest.mark.unsanitized("AddressSanitizer handles SIGSEGV itself")
@pytest.mark.parametrize("handler", ["handler", "none"])
def test_a_write_to_read_only_memory_names_the_call_before_the_process_dies(
    fault_library, tmp_path, handler
):
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, str(fault_library), handler],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == -11
    assert "in a call of writes_input\n  in the memory of the argument 0 x, byte 4" in done.stderr
    assert ("Fatal Python error" in done.stderr) == (handler == "handler")


LOSES_TENSORS = """
import sys, tvm_ffi
faulty = tvm_ffi.load_module(sys.argv[1])
with tvm_ffi.debug() as found:
    for i in range(8):
        faulty.loses_tensor(i + 1)
for fault in found:
    print(repr((fault.function, fault.argument, fault.rule.id, fault.count)))
    print(fault.message, fault.stack)
"""


@pytest.mark.unsanitized("the shadow memory is larger than the memory that is searched")
@pytest.mark.skipif(sys.platform != "linux", reason="the system does not list its memory")
def test_tensors_that_a_function_creates_and_loses_are_leaks(fault_library, tmp_path):
    """In a small process: the search reads at most 4 GiB, and old copies of pointers hide leaks."""
    script = tmp_path / "script.py"  # a file, so that the stack has the lines
    script.write_text(LOSES_TENSORS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(script), str(fault_library)],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    first, *rest = done.stdout.splitlines()
    assert first == "('loses_tensor', '', 'object.leaked', 1)"
    assert done.stdout.count("object.leaked") == 1
    assert "tensors that the function allocated exist" in rest[0]
    assert "faulty.loses_tensor(i + 1)" in "".join(rest)


HANDLED = """
import tvm_ffi
def is_handled():
    line = next(x for x in open("/proc/self/status") if x.startswith("SigCgt:"))
    return int(line.split()[1], 16) >> 10 & 1
before = is_handled()
with tvm_ffi.debug():
    inside = is_handled()
print(before, inside, is_handled())
"""


@pytest.mark.unsanitized("AddressSanitizer handles SIGSEGV itself")
def test_the_handler_of_the_process_is_restored():
    done = subprocess.run(
        [sys.executable, "-c", HANDLED], capture_output=True, text=True, check=True
    )
    assert done.stdout == "0 1 0\n"


# ---- Processes -----------------------------------------------------------------------------------

SCRIPT = "import sys, tvm_ffi; getattr(tvm_ffi.load_module(sys.argv[1]), sys.argv[2])()"


def run_script(fault_library, name, *prefix, **variables):
    return subprocess.run(
        [*prefix, sys.executable, "-c", SCRIPT, str(fault_library), name],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.parametrize(("value", "count"), [("1", 1), ("0", 0), ("", 0)])
def test_the_variable_checks_a_process(fault_library, tmp_path, value, count):
    path = tmp_path / "faults.jsonl"
    path.touch()
    done = run_script(fault_library, "bool_two", TVM_FFI_DEBUG=value, TVM_FFI_DEBUG_FILE=str(path))
    assert done.returncode == 0
    assert done.stderr.count("tvm_ffi: bool_two, result: a bool with the payload 0x2\n") == count
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert [row["rule"] for row in rows] == ["any.bool"] * count


@pytest.mark.parametrize(
    ("name", "status", "text"),
    [("bool_two", 1, "1 fault"), ("right", 0, "no fault"), ("fails_silently", 1, "1 fault")],
)
def test_the_command_fails_if_a_fault_was_found(fault_library, name, status, text):
    command = [sys.executable, "-m", "tvm_ffi", "debug", "--"]
    done = run_script(fault_library, name, *command)
    assert done.stderr.splitlines()[-1] == f"tvm-ffi debug: {text}"
    assert done.returncode == status


def test_the_command_returns_the_status_of_its_program(tmp_path):
    command = [sys.executable, "-m", "tvm_ffi", "debug"]
    exits = [*command, "--", sys.executable, "-c", "raise SystemExit(7)"]
    assert subprocess.run(exits, check=False, capture_output=True).returncode == 7
    missing = subprocess.run(
        [*command, str(tmp_path / "missing")], check=False, capture_output=True, text=True
    )
    assert missing.returncode == 2
    assert "No such file" in missing.stderr


FORKS = """
import os, sys, threading
import numpy as np, tvm_ffi

faulty = tvm_ffi.load_module(sys.argv[1])

def call():
    x = faulty.make_tensor(8)
    faulty.keeps_argument(x)  # a fault: the lock of the list of kept arguments
    faulty.release(x, 1)
    faulty.bool_two()  # a fault: the lock of the list of faults
    faulty.writes_at(large, -1)  # the lock of the guarded pages

large = np.zeros(1 << 17, "float32")
with tvm_ffi.debug() as found:
    call()  # imports modules: locks of imports are not free in a child
    stopped = threading.Event()
    def run():
        while not stopped.is_set():
            call()
    threads = [threading.Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(60):
        child = os.fork()
        if child == 0:
            try:
                call()
                os._exit(7)
            finally:
                os._exit(8)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    stopped.set()
    for thread in threads:
        thread.join()
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.unsanitized("forks of a process with threads")
def test_a_fork_during_calls_of_other_threads_leaves_no_lock_acquired(fault_library):
    """The child called a function that waited for the lock of a thread that the child lacks."""
    done = subprocess.run(
        [sys.executable, "-c", FORKS, str(fault_library)],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
