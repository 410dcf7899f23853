# SPDX-License-Identifier: Apache-2.0
"""The site, built once for all tests; TVM_FFI_SITE names one that `make docs` has built."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    """Return the folder of the pages."""
    if os.environ.get("TVM_FFI_SITE"):
        return Path(os.environ["TVM_FFI_SITE"])
    for module in ("sphinx", "myst_parser", "furo", "clang"):
        pytest.importorskip(module, reason=f"no {module}, see the group docs of pyproject.toml")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-E", "-W", "--keep-going", "-b", "html"]
    built = subprocess.run(
        [*command, str(ROOT / "docs"), str(folder)],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert (built.returncode, built.stderr) == (0, "")
    return folder
