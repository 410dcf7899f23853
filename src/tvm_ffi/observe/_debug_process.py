# SPDX-License-Identifier: Apache-2.0
"""Debug context of a whole process: the variable ``TVM_FFI_DEBUG``, and commands that run with it.

A process prints each fault when it finds it, because a later call may crash.  It also appends the
fault to the file ``TVM_FFI_DEBUG_FILE``, from which `run_command` reads the faults of all child
processes.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ._debug import Debug, Fault

__all__ = ["debug_process", "run_command"]

_contexts: list[Debug] = []  # the context of this process; never stopped


def debug_process() -> None:
    """Check the calls of this process until it exits, as the variable ``TVM_FFI_DEBUG`` says."""
    value = os.environ.get("TVM_FFI_DEBUG")
    if value not in ("1", "not-finite"):
        return
    # Caches that live until the process exits are not leaks.
    context = Debug(leaks=False, not_finite=value == "not-finite", on_fault=_print_fault)
    context.start()
    atexit.register(lambda: context.faults)  # finds uses of released objects, and reports them
    _contexts.append(context)


def _print_fault(fault: Fault) -> None:
    print(f"tvm_ffi: {fault}", file=sys.stderr, flush=True)
    path = os.environ.get("TVM_FFI_DEBUG_FILE")
    if not path:
        return
    row = {"function": fault.function, "argument": fault.argument, "rule": fault.rule.id}
    line = json.dumps({**row, "message": fault.message, "stack": fault.stack}) + "\n"
    # One write, because processes append concurrently.
    with Path(path).open("ab", buffering=0) as file:
        file.write(line.encode())


def run_command(
    command: Sequence[str], *, not_finite: bool = False
) -> tuple[int, list[dict[str, str]]]:
    """Run a command whose processes check their calls.

    Parameters
    ----------
    command : sequence of str
        Program and arguments.
    not_finite : bool
        True to find NaN and infinity in outputs.

    Returns
    -------
    tuple
        The return code as of `subprocess.run`, and the faults with the members ``function``,
        ``argument``, ``rule``, ``message`` and ``stack``.

    Raises
    ------
    OSError
        If the program cannot be started.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "faults.jsonl"
        path.touch()
        value = "not-finite" if not_finite else "1"
        variables = {"TVM_FFI_DEBUG": value, "TVM_FFI_DEBUG_FILE": str(path)}
        process = subprocess.run(command, env={**os.environ, **variables}, check=False)
        lines = path.read_text(encoding="utf-8").splitlines()
    return process.returncode, [json.loads(line) for line in lines]
