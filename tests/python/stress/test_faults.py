# SPDX-License-Identifier: Apache-2.0
"""Fault injection: some failing allocations and system calls; `make test-faults` tests all."""

from __future__ import annotations

import importlib.util
import sysconfig
from pathlib import Path

import pytest

pytestmark = pytest.mark.unsanitized("what lets requests fail takes the place of its allocator")

FOLDER = Path(__file__).resolve().parents[2] / "faults"


@pytest.fixture(scope="module")
def faults():
    spec = importlib.util.spec_from_file_location("every_fault", FOLDER / "every_fault.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["native", "python"])
def test_failing_allocations_are_handled(faults, kernel_library, tmp_path, kind):
    """The exception may lack its traceback if memory fails; Cython's code did not expect this."""
    if kind == "python" and sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("free-threaded Python 3.13 crashes if the allocation of a list fails")
    preloaded = faults.compile_preloaded("failing_memory", tmp_path)
    steps = [step for step in faults.MEMORY_STEPS if step not in faults.LONG_STEPS]
    arguments = ["--every", "3", kind, str(kernel_library), *steps]
    result = faults.run_session("memory_session.py", preloaded, *arguments)
    assert result.problems == []
    assert [outcome.step for outcome in result.outcomes] == steps
    assert all(outcome.failures > 0 for outcome in result.outcomes)


def test_failing_system_calls_are_handled(faults, kernel_library, tmp_path):
    preloaded = faults.compile_preloaded("failing_calls", tmp_path)
    arguments = ["--every", "7", str(kernel_library), "load", "inspect", "export"]
    result = faults.run_session("system_session.py", preloaded, *arguments)
    assert result.problems == []
    assert sum(outcome.failures for outcome in result.outcomes) > 20
