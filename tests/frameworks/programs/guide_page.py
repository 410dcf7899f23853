# SPDX-License-Identifier: Apache-2.0
"""Code blocks of the guide's pages, for the programs that run them in their environments."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def run_guide(name: str) -> None:
    """Run the code blocks of a page in the same way as the tests of the documentation."""
    runner, page = ROOT / "tests" / "docs" / "run_page.py", ROOT / "docs" / "guides" / name
    command = [sys.executable, str(runner), str(page)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    print("guide")
