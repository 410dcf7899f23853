# SPDX-License-Identifier: Apache-2.0
"""The kernels in Rust, built by the commands of their README and called from Python."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest

NAME = "rust_kernel"
CRATE = Path(__file__).resolve().parents[2] / "rust"

pytestmark = pytest.mark.skipif(shutil.which("cargo") is None, reason="no cargo")


def test_commands_of_the_readme(example, run, readme_blocks):
    folder = example(NAME)
    (folder.parents[1] / "rust").symlink_to(CRATE)  # what the example depends on, by its path
    [block], [shown] = readme_blocks(NAME, "sh"), readme_blocks(NAME, "")
    if importlib.util.find_spec("torch") is None:
        shown = shown.replace("softmax(x=x, y=y): correct", "not installed, skipped")
    output = run("sh", "-euc", block, cwd=folder, timeout_s=300, RUST_BACKTRACE="0")
    printed = [line for line in output.splitlines() if not is_of_rust(line)]
    assert printed == shown.splitlines()


def is_of_rust(line: str) -> bool:
    """Whether a line is one of cargo's, or of what Rust prints when something panics."""
    words = ("Locking", "Compiling", "Finished", "Adding", "thread", "range end", "note:")
    return not line.strip() or line.strip().startswith(words)
