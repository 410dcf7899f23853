# SPDX-License-Identifier: Apache-2.0
"""The crate's cargo tests, lints and documentation, and its SAFETY comments."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

CRATE = Path(__file__).resolve().parents[2] / "rust"


def test_tests_and_examples_of_the_crate_pass(cargo):
    output = cargo("test", cwd=CRATE)
    passed = [int(count) for count in re.findall(r"test result: ok\. (\d+) passed", output)]
    # Number of test results: one per test file, one for unit tests, one for doc tests.
    assert len(passed) == 2 + len(list((CRATE / "tests").glob("*.rs")))
    assert sum(count > 0 for count in passed) == len(passed) - 1  # the crate has no unit tests


def test_the_crate_has_no_dependencies(cargo):
    tree = cargo("tree", "--edges", "normal,build,dev", cwd=CRATE)
    assert len(tree.splitlines()) == 1


@pytest.mark.skipif(shutil.which("cargo-clippy") is None, reason="no cargo-clippy")
def test_clippy_reports_no_warnings(cargo):
    cargo("clippy", "--all-targets", "--config", "build.rustflags=['-Dwarnings']", cwd=CRATE)


def test_the_documentation_has_no_broken_links(cargo):
    cargo("doc", "--no-deps", "--config", "build.rustdocflags=['-Dwarnings']", cwd=CRATE)


def test_each_unsafe_block_has_a_safety_comment():
    """The SAFETY comment precedes the unsafe block, or the statement that contains the block."""
    sources = sorted((CRATE / "src").rglob("*.rs"))
    assert sources
    missing = []
    for source in sources:
        lines = source.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            code = line.split("//")[0]
            if not re.search(r"\bunsafe (\{|impl\b)", code):
                continue
            above = lines[max(0, number - 7) : number + 1]
            if not any("SAFETY" in other for other in above):
                missing.append(f"{source.relative_to(CRATE)}:{number + 1}")
    assert missing == []
