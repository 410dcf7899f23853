# SPDX-License-Identifier: Apache-2.0
"""Fixture `site`: the documentation site, built once per test session."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(build_once):
    """Return the folder of the HTML pages."""
    for module in ("sphinx", "myst_parser", "furo", "clang"):
        pytest.importorskip(module, reason=f"no {module}, see the group docs of pyproject.toml")
    return build_once("site", _build)


def _build(folder: Path) -> None:
    """Build the site with the command of `make docs`."""
    command = [sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-b", "html"]
    built = subprocess.run(
        [*command, str(ROOT / "docs"), str(folder)],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
