# SPDX-License-Identifier: Apache-2.0
"""The crate's own tests, and what its tools say of it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

CRATE = Path(__file__).resolve().parents[2] / "rust"


def test_tests_and_examples_of_the_crate_pass(cargo):
    output = cargo("test", cwd=CRATE)
    passed = [int(count) for count in re.findall(r"test result: ok\. (\d+) passed", output)]
    # Each file of tests, and the documentation.
    assert len(passed) == 2 + len(list((CRATE / "tests").glob("*.rs")))
    assert sum(count > 0 for count in passed) == len(passed) - 1  # there are none beside sources


def test_the_crate_depends_on_nothing(cargo):
    tree = cargo("tree", "--edges", "normal,build,dev", cwd=CRATE)
    assert len(tree.splitlines()) == 1


@pytest.mark.skipif(shutil.which("cargo-clippy") is None, reason="no cargo-clippy")
def test_clippy_has_nothing_to_say(cargo):
    cargo("clippy", "--all-targets", "--config", "build.rustflags=['-Dwarnings']", cwd=CRATE)


def test_the_documentation_has_no_broken_links(cargo):
    cargo("doc", "--no-deps", "--config", "build.rustdocflags=['-Dwarnings']", cwd=CRATE)


def test_each_unsafe_block_says_why():
    """A comment that begins with SAFETY stands above it, or above the statement it is in."""
    sources = sorted((CRATE / "src").rglob("*.rs"))
    assert sources
    silent = []
    for source in sources:
        lines = source.read_text(encoding="utf-8").splitlines()
        for number, line in enumerate(lines):
            code = line.split("//")[0]
            if not re.search(r"\bunsafe (\{|impl\b)", code):
                continue
            above = lines[max(0, number - 7) : number + 1]
            if not any("SAFETY" in text for text in above):
                silent.append(f"{source.relative_to(CRATE)}:{number + 1}")
    assert silent == []
