# SPDX-License-Identifier: Apache-2.0
"""C++ names that the headers declare, compared with the contract, header by header.

The contract is not part of this repository: ``TVM_FFI_CONTRACT`` names the folder that holds its
listing, ``cpp-api.json``, and the comparison, ``cpp_coverage.py``, which reads headers with the
libclang of PyPI.  Intended differences are in ``contract_differences.txt``.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
CONTRACT = Path(os.environ.get("TVM_FFI_CONTRACT", ""))


def intended():
    """Return the differences that have a reason."""
    lines = (HERE / "contract_differences.txt").read_text(encoding="utf-8").splitlines()
    entries = [line.partition("  # ") for line in lines if line and not line.startswith("#")]
    assert all(reason for _, _, reason in entries)
    return {difference for difference, _, _ in entries}


@pytest.mark.skipif(
    not (CONTRACT / "cpp_coverage.py").is_file(),
    reason="TVM_FFI_CONTRACT names no folder with cpp_coverage.py",
)
def test_headers_declare_the_names_of_the_contract():
    pytest.importorskip("clang.cindex", reason="libclang is not installed")
    done = subprocess.run(
        [sys.executable, str(CONTRACT / "cpp_coverage.py"), "--include", str(INCLUDE)],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[-1].startswith("covered "), done.stderr
    found = {line.strip() for line in done.stdout.splitlines() if line.startswith("  ")}
    assert found == intended()
