# SPDX-License-Identifier: Apache-2.0
"""Matrix of results: one Markdown table of several runtimes, written from their results files.

Usage: ``python -m tvm_ffi_conformance.matrix OUTPUT.md NAME=RESULTS.json ...``
"""

from __future__ import annotations

import sys
from pathlib import Path

from .results import Results, read

_MOST_NAMED = 12  # failures of a runtime that the page names


def matrix(runs: dict[str, Results]) -> str:
    """Return the page for results by the name of the runtime."""
    topics = sorted({entry.id.partition(".")[0] for run in runs.values() for entry in run.entries})
    head = "| topic | " + " | ".join(runs) + " |\n|---|" + "--:|" * len(runs) + "\n"
    rows = []
    for topic in topics:
        cells = []
        for run in runs.values():
            required = [e for e in run.entries if e.required and e.id.partition(".")[0] == topic]
            cells.append(
                f"{sum(not e.failed for e in required)}/{len(required)}" if required else "-"
            )
        rows.append(f"| {topic} | " + " | ".join(cells) + " |\n")
    totals = " | ".join(
        f"**{sum(e.required and not e.failed for e in run.entries)}/{run.totals()['required']}**"
        for run in runs.values()
    )
    levels = " | ".join(str(run.subject["level"]) for run in runs.values())
    parts = [
        ("# Results of the conformance kit\n\n"
        "Cases that a runtime must pass at its level, passed and required, by topic. The command\n"
        "`python -m tvm_ffi_conformance.matrix` writes this page from results files.\n\n"),
        head, f"| level | {levels} |\n", *rows, f"| all | {totals} |\n",
    ]  # fmt: skip
    for name, run in runs.items():
        parts.append(f"\n## {name}\n\n")
        if not run.failures:
            parts.append("All required cases passed.\n")
        parts += [f"- `{entry.id}`: {entry.verdict}\n" for entry in run.failures[:_MOST_NAMED]]
        if len(run.failures) > _MOST_NAMED:
            parts.append(f"- and {len(run.failures) - _MOST_NAMED} more cases\n")
    return "".join(parts)


def main(arguments: list[str]) -> int:
    """Write the page."""
    output, *files = arguments
    named = dict(each.split("=", 1) for each in files)
    runs = {name: read(Path(path)) for name, path in named.items()}
    Path(output).write_text(matrix(runs), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
