# SPDX-License-Identifier: Apache-2.0
"""Values that cross between libraries built with our headers and with the peer's.

On either runtime, the library on the left makes what the one on the right takes; the pairs of one
kind tell whether it is the crossing that fails.
"""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

from .rows import CONTROL_ROWS, ROWS

PAIRS = [("ours", "peer"), ("peer", "ours"), ("peer", "peer"), ("ours", "ours")]
all_pairs = pytest.mark.parametrize(("left", "right"), PAIRS, ids=map("-".join, PAIRS))
both_runtimes = pytest.mark.parametrize("runtime", ["ours", "peer"])


@both_runtimes
@all_pairs
@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_exchange(exchange, runtime, left, right, row):
    error = exchange(runtime, left, right).errors[row.name]
    assert error is None, error


@both_runtimes
@all_pairs
def test_one_runtime_serves_both_libraries(exchange, ours, peer, runtime, left, right):
    """The library is linked with the other implementation, but finds the one in the process."""
    expected = {"ours": ours, "peer": peer}[runtime].library
    used = [path for path in exchange(runtime, left, right).runtimes if "libtvm_ffi.so" in path]
    assert used == [str(expected.resolve())]


def test_rows_have_names_of_their_own():
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))


# What has to be noticed, by name of the control row.
NOTICED = {
    "failed check": "AssertionError: failure.cc",
    "leak": "memory grows by",
    "crash": "ended by SIGABRT",
    "no such step": "undefined symbol: __tvm_ffi_no_such_step",
}


@pytest.mark.parametrize("name", NOTICED)
def test_what_goes_wrong_is_noticed(exchange, name):
    outcomes = exchange("ours", "ours", "peer", CONTROL_ROWS)
    assert NOTICED[name] in outcomes.errors[name]


def test_rows_after_a_crash_run(exchange):
    assert exchange("ours", "ours", "peer", CONTROL_ROWS).errors["row after the others"] is None


def unique_symbols(library):
    """Return the names that are one object in the whole process, whoever defines them."""
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
    r"(.*::_type_index"  # a class has one index in the process
    r"|.*::_GetOrAllocRuntimeTypeIndex\(\)::tindex"
    r"|.*::column"  # pointers into the runtime's tables
    r"|std::.*)"
)


def test_libraries_share_only_what_never_changes(exchange_libraries):
    """The first library's object serves all others, whatever release of the headers made them."""
    shared = unique_symbols(exchange_libraries["ours"][0])
    assert "exchange::NodeObj::_type_index" in shared
    assert [name for name in sorted(shared) if not SHARED_ON_PURPOSE.fullmatch(name)] == []
