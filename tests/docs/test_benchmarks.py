# SPDX-License-Identifier: Apache-2.0
"""Published benchmark numbers: tables and charts agree with docs/benchmarks/results.json."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks"))

import publish  # noqa: E402

RESULTS = json.loads((publish.PUBLISHED / "results.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", publish.outputs_of(RESULTS), ids=lambda path: path.name)
def test_published_files_agree_with_the_results(path):
    """``python benchmarks/publish.py`` generates the files that differ."""
    assert path.read_text(encoding="utf-8") == publish.outputs_of(RESULTS)[path]


def test_a_table_row_has_times_and_ratios():
    row = publish.Row(
        "x", "a <b>", "us", {"ours": publish.Samples([2.0]), "incumbent": publish.Samples([1000.0])}
    )
    assert publish.table_of([row]).splitlines()[-1] == "| a &lt;b> | 2 µs | 1 ms |  | 0.00 |  |"
