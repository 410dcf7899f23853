# SPDX-License-Identifier: Apache-2.0
"""Tests of JAX programs, run with the JAX release of this environment."""

from __future__ import annotations

import sys
from pathlib import Path

import jax
import pytest
from guide_page import run_guide

TESTS = Path(__file__).resolve().parents[2] / "python" / "interop"
NAMES = ("test_jax.py", "test_jax_programs.py", "test_xla_layout.py")

print(f"jax {jax.__version__}, jaxlib {jax.lib.__version__}, Python {sys.version.split()[0]}")
run_guide("choosing-implementations.md")  # a dispatch in a jitted function
status = pytest.main(
    ["-q", "--noconftest", "-p", "no:cacheprovider", *(str(TESTS / name) for name in NAMES)]
)
if status == 0:
    print("done")
sys.exit(status)
