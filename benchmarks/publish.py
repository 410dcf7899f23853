# SPDX-License-Identifier: Apache-2.0
"""Published benchmark numbers:  ``python benchmarks/publish.py [build/bench/results.json]``.

Writes docs/benchmarks (results without samples, tables, charts) and the table in README.md.
Without an argument, tables and charts are generated again from docs/benchmarks/results.json.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from chart import draw_chart
from results import FLOOR, INCUMBENT, OURS, Row, Samples

ROOT = Path(__file__).resolve().parents[1]
PUBLISHED = ROOT / "docs" / "benchmarks"
README = ROOT / "README.md"

# Rows of the table in README.md, in its order.
ASKED = (
    *("noop", "noop_ints", "noop_mixed", "noop_numpy", "noop_torch", "echo_torch"),
    *("callback_new", "raise_error", "array_index", "import"),
)
# Tables of rows.md: the title, and the name of the first row.  Results are in this order.
TABLES = (
    ("Calls from Python", "noop"),
    ("Values and objects in Python", "array_index"),
    ("C++ API", "cpp_call_0"),
    ("Import, modules and builds", "import"),
)
_TABLE_IN_README = re.compile(
    r"(?<=<!-- table: benchmarks/publish.py -->\n\n).*?(?=\n\n)", re.DOTALL
)
_UNITS = {1e9: "s", 1e6: "ms", 1e3: "µs", 1: "ns"}
_NS = {"ns": 1.0, "us": 1e3, "ms": 1e6}

Measured = dict[str, Any]


def without_samples(results: Measured) -> Measured:
    """Return the results with only the minimum and median of each cell, rounded to four digits."""
    kept = {name: results[name] for name in ("date", "command", "machine", "python", "versions")}
    kept["rows"] = [
        {
            "name": row["name"],
            "label": row["label"],
            "unit": row["unit"],
            "cells": {
                name: {kind: float(f"{cell[kind]:.4g}") for kind in ("min", "median")}
                for name, cell in row["cells"].items()
                if "min" in cell
            },
        }
        for row in results["rows"]
    ]
    return kept


def rows_of(results: Measured) -> list[Row]:
    """Return the rows; the only sample of a cell is its minimum."""
    return [
        Row(
            row["name"],
            row["label"],
            row["unit"],
            {name: Samples([cell["min"]]) for name, cell in row["cells"].items()},
        )
        for row in results["rows"]
    ]


def table_of(rows: Sequence[Row]) -> str:
    """Return a Markdown table with times and the ratios of the minima."""
    lines = [
        "| | ours | incumbent | floor | ours / incumbent | ours / floor |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        times = (_time(row, name) for name in (OURS, INCUMBENT, FLOOR))
        ratios = (_ratio(row.ratio(OURS, reference)) for reference in (INCUMBENT, FLOOR))
        label = row.label.replace("<", "&lt;")
        lines.append(f"| {label} | {' | '.join((*times, *ratios))} |")
    return "\n".join(lines)


def _time(row: Row, implementation: str) -> str:
    samples = row.samples(implementation)
    if samples is None:
        return ""
    if row.unit not in _NS:
        return f"{samples.minimum / 2**20:.2f} MiB" if row.unit == "bytes" else f"{samples.minimum}"
    nanoseconds = samples.minimum * _NS[row.unit]
    scale = next(scale for scale in _UNITS if nanoseconds >= scale or scale == 1)
    return f"{float(f'{nanoseconds / scale:.3g}'):g} {_UNITS[scale]}"


def _ratio(ratio: float | None) -> str:
    return "" if ratio is None else f"{ratio:.2f}"


def page_of(results: Measured) -> str:
    """Return the text of rows.md."""
    rows = rows_of(results)
    names = [row.name for row in rows]
    starts = [names.index(first) for _, first in TABLES]
    parts = [setting_of(results)]
    for (title, _), start, end in zip(TABLES, starts, [*starts[1:], len(rows)]):
        parts.append(f"## {title}\n\n{table_of(rows[start:end])}")
    return "\n\n".join(parts) + "\n"


def setting_of(results: Measured) -> str:
    """Return one sentence with the machine and the versions."""
    ours, incumbent = results["versions"][OURS], results["versions"][INCUMBENT]
    return (
        f"{results['machine']}; {results['python']}, NumPy {ours['numpy']}, torch {ours['torch']}; "
        f"the incumbent is `apache-tvm-ffi` {incumbent['tvm_ffi']}."
    )


def charts_of(results: Measured) -> dict[str, str]:
    """Return the charts by file name."""
    rows = {row.name: row for row in rows_of(results)}
    cpp = [row for name, row in rows.items() if name.startswith("cpp_")]
    python = [row for name, row in rows.items() if not name.startswith("cpp_")]
    caption = f"{results['machine']}; {results['python']}"
    return {
        "asked.svg": draw_chart([rows[name] for name in ASKED], caption),
        "python.svg": draw_chart(python, caption),
        "cpp.svg": draw_chart(cpp, caption),
    }


def outputs_of(results: Measured) -> dict[Path, str]:
    """Return the text of each generated file."""
    rows = {row.name: row for row in rows_of(results)}
    asked = table_of([rows[name] for name in ASKED])
    readme = README.read_text(encoding="utf-8")
    files = {PUBLISHED / name: text for name, text in charts_of(results).items()}
    return {
        **files,
        PUBLISHED / "results.json": json.dumps(results, indent=1, ensure_ascii=False) + "\n",
        PUBLISHED / "rows.md": page_of(results),
        README: _TABLE_IN_README.sub(lambda _: asked, readme),
    }


def main(arguments: Sequence[str]) -> None:
    """Write all generated files."""
    source = Path(arguments[0]) if arguments else PUBLISHED / "results.json"
    results = without_samples(json.loads(source.read_text(encoding="utf-8")))
    PUBLISHED.mkdir(exist_ok=True)
    for path, text in outputs_of(results).items():
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
