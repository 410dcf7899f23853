# SPDX-License-Identifier: Apache-2.0
"""Seeded faults: a sample that the kit must catch, and the published table."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import mutations  # noqa: E402

PAGE = HERE.parents[1] / "docs" / "conformance" / "mutations.md"


def caught(faults):
    return {fault.text: bool(fault.caught) for fault in faults}


def test_edits_of_a_line():
    """Each edit keeps the line's meaning while its fault is off."""
    fault = "tvm_ffi_fault(@)"
    assert dict(mutations.c_edits("  if (a == b) return false;", "{")) == {
        "negated condition": f"  if ({fault} != !!(a == b)) return false;",
        "other result": f"  if (a == b) return {fault} != false;",
    }
    assert dict(mutations.c_edits("  count = a + b;", "{")) == {
        "sum plus one": f"  count = a + {fault} + b;",
        "statement left out": f"  ({fault} ? (void)0 : (void)(count = a + b));",
    }
    assert list(mutations.c_edits("  int64_t count = a;", "{")) == []


@pytest.fixture(scope="module")
def runtime():
    from tvm_ffi import libinfo

    return libinfo.find_libtvm_ffi()


def test_sample_of_faulty_kernels(runtime, tmp_path):
    faults = mutations.run_on_kernels(tmp_path, 6, runtime)
    assert len(faults) == 6
    reasons = mutations.read_reasons()
    assert [fault.id for fault in faults if not fault.caught and fault.id not in reasons] == []


def test_sample_of_a_faulty_reference(tmp_path):
    library, faults = mutations.build_reference(tmp_path, 5, ["strings"])
    mutations.run_on_runtime(library, faults, tmp_path / "src", r"^(string|bytes|bigint)\.")
    assert len(faults) == 5
    reasons = mutations.read_reasons()
    assert [fault.id for fault in faults if not fault.caught and fault.id not in reasons] == []


def test_fault_that_no_case_reaches_is_missed(tmp_path):
    library, faults = mutations.build_reference(tmp_path, 1, ["modules"])
    mutations.run_on_runtime(library, faults, tmp_path / "src", r"^string\.small\.length_7\.bits$")
    assert [fault.caught for fault in faults] == [""]


def test_page_names_each_missed_fault():
    page = PAGE.read_text(encoding="utf-8")
    assert sum(page.count(f"| {part} |") for part in mutations.FAULTS_OF_PART) == 3
    assert [each for each in mutations.read_reasons() if f"| `{each}` |" not in page] == []
