# SPDX-License-Identifier: Apache-2.0
"""The Rust example: the commands of its README print the shown output."""

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
    (folder.parents[1] / "rust").symlink_to(CRATE)  # the path of the crate in Cargo.toml
    [block], [shown] = readme_blocks(NAME, "sh"), readme_blocks(NAME, "")
    if importlib.util.find_spec("torch") is None:
        shown = shown.replace("softmax(x=x, y=y): correct", "not installed, skipped")
    output = run("sh", "-euc", block, cwd=folder, timeout_s=300, RUST_BACKTRACE="0")
    printed = [line for line in output.splitlines() if not is_rust_output(line)]
    assert printed == shown.splitlines()


def is_rust_output(line: str) -> bool:
    """Return True for a line that cargo prints, or for a line of a panic message."""
    words = ("Locking", "Compiling", "Finished", "Adding", "thread", "range end", "note:")
    return not line.strip() or line.strip().startswith(words)
