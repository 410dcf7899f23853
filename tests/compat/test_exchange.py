# SPDX-License-Identifier: Apache-2.0
"""Values exchanged between libraries built with this project's and the incumbent's headers.

On each runtime, the right library receives values of the left one; pairs of libraries of one
implementation show whether the exchange causes a failure.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from .rows import CONTROL_ROWS, ROWS

pytestmark = pytest.mark.slow

PAIRS = [("ours", "incumbent"), ("incumbent", "ours"), ("incumbent", "incumbent"), ("ours", "ours")]
all_pairs = pytest.mark.parametrize(("left", "right"), PAIRS, ids=map("-".join, PAIRS))
both_runtimes = pytest.mark.parametrize("runtime", ["ours", "incumbent"])


@both_runtimes
@all_pairs
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_exchange(exchange, runtime, left, right, row):
    error = exchange(runtime, left, right).errors[row.name]
    assert error is None, error


@both_runtimes
@all_pairs
def test_both_libraries_use_the_same_runtime(exchange, ours, incumbent, runtime, left, right):
    """Both libraries, linked with different implementations, bind to the process's one runtime."""
    expected = {"ours": ours, "incumbent": incumbent}[runtime].library
    used = [path for path in exchange(runtime, left, right).runtimes if "libtvm_ffi.so" in path]
    assert used == [str(expected.resolve())]


def test_row_names_are_unique():
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))


# Expected error messages by the name of the control row.
NOTICED = {
    "failed check": "AssertionError: failure.cc",
    "leak": "memory grows by",
    "crash": "ended by SIGABRT",
    "no such step": "undefined symbol: __tvm_ffi_no_such_step",
}


@pytest.mark.parametrize("name", NOTICED)
def test_control_rows_fail(exchange, name):
    outcomes = exchange("ours", "ours", "incumbent", CONTROL_ROWS)
    assert NOTICED[name] in outcomes.errors[name]


def test_rows_after_a_crash_run(exchange):
    assert (
        exchange("ours", "ours", "incumbent", CONTROL_ROWS).errors["row after the others"] is None
    )


def unique_symbols(library):
    """Return the unique symbols; the loader keeps one object of each name in the process."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not installed")
    text = subprocess.run(
        [nm, "--dynamic", "--defined-only", "--demangle", str(library)],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    parts = (line.split(maxsplit=2) for line in text.splitlines())
    return {name for _, kind, name in parts if kind == "u"}


SHARED_ON_PURPOSE = re.compile(
    r"(guard variable for )?"
    r"(.*::_type_index"  # a class has one type index in the process
    r"|.*::_GetOrAllocRuntimeTypeIndex\(\)::tindex"
    r"|.*::column"  # pointers into the runtime's tables
    r"|std::.*)"
)


def test_libraries_share_only_constant_data(exchange_libraries):
    """The first loaded library's object serves all other libraries, whatever headers they use."""
    shared = unique_symbols(exchange_libraries["ours"][0])
    assert "exchange::NodeObj::_type_index" in shared
    assert [name for name in sorted(shared) if not SHARED_ON_PURPOSE.fullmatch(name)] == []
