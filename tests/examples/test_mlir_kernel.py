# SPDX-License-Identifier: Apache-2.0
"""The MLIR example: the commands of its README print the shown output."""

from __future__ import annotations

import pytest

NAME = "mlir_kernel"


def test_commands_of_the_readme(example, run, readme_blocks):
    for package in ("llvmlite", "xdsl"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    (block,) = readme_blocks(NAME, "sh")
    (shown,) = readme_blocks(NAME, "")
    assert run("sh", "-euc", block, cwd=example(NAME)) == shown
