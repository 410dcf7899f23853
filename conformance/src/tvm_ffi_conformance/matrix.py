# SPDX-License-Identifier: Apache-2.0
"""Matrix of results: one Markdown table of several runtimes or libraries, from results files.

Usage: ``python -m tvm_ffi_conformance.matrix OUTPUT.md NAME=RESULTS.json [REASONS.txt] ...``

A file of reasons belongs to the results before it. It has a line for each intended deviation: the
identifier of the case, which may have ``*`` for any text, then a text.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path

from .results import Entry, Results, read

_MOST_NAMED = 6  # cases of one rule that the page names
_HEADS = {
    "runtime": """\
# Results of the conformance kit

Cases that a runtime must pass at its level, passed and required, by topic. Below the table each
deviation has its rule, the paragraph that states the rule, and the cases. The command
`python -m tvm_ffi_conformance.matrix` writes this page from results files.

""",
    "library": """\
# Results for libraries

Checks that a library must pass, passed and required, by kind of check, and each deviation with its rule. The libraries
are emitted by compilers and headers; `tvm-ffi-conform library` checked them.

""",
}


def read_reasons(path: Path) -> dict[str, str]:
    """Return the text of each line by the identifier at its start; ``#`` begins a comment."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return dict(line.split(maxsplit=1) for line in lines if line[:1] not in ("", "#"))


def matrix(runs: dict[str, Results], reasons: Mapping[str, Mapping[str, str]]) -> str:
    """Return the page for results by the name of the subject, and for reasons by that name."""
    topics = sorted({_topic(entry) for run in runs.values() for entry in run.entries})
    head = "| topic | " + " | ".join(runs) + " |\n|---|" + "--:|" * len(runs) + "\n"
    rows = []
    for topic in topics:
        cells = []
        for run in runs.values():
            required = [each for each in run.entries if each.required and _topic(each) == topic]
            passed = sum(not each.failed for each in required)
            cells.append(f"{passed}/{len(required)}" if required else "-")
        rows.append(f"| {topic} | " + " | ".join(cells) + " |\n")
    totals = " | ".join(
        f"**{sum(e.required and not e.failed for e in run.entries)}/{run.totals()['required']}**"
        for run in runs.values()
    )
    levels = " | ".join(str(run.subject.get("level", "-")) for run in runs.values())
    first = next(iter(runs.values()))
    parts = [_HEADS[first.kind], head, f"| level | {levels} |\n", *rows, f"| all | {totals} |\n"]
    for name, run in runs.items():
        parts += [f"\n## {name}\n\n", _deviations(run, reasons.get(name, {}))]
    return "".join(parts)


def _topic(entry: Entry) -> str:
    return entry.id.partition(".")[0]


def _deviations(run: Results, reasons: Mapping[str, str]) -> str:
    """Return a list of the broken rules of a subject, with the cases of each."""
    found: dict[tuple[str, str, str], list[Entry]] = {}
    patterns = {each: text for each, text in reasons.items() if "*" in each}
    limits: dict[str, int] = {}
    for entry in run.failures:
        limit = next((t for each, t in patterns.items() if fnmatchcase(entry.id, each)), None)
        if limit:
            limits[limit] = limits.get(limit, 0) + 1
            continue
        # Cases of one table differ in the last word of the identifier, which the rule may quote.
        key = entry.rule.replace(entry.id.rpartition(".")[2], "...")
        found.setdefault((key, entry.document, entry.heading), []).append(entry)
    if not found and not limits:
        return "All required cases passed.\n"
    lines = [f"- {text} (cases: {count}). Intended.\n" for text, count in limits.items()]
    for (key, document, heading), entries in found.items():
        rule = key if len({entry.rule for entry in entries}) > 1 else entries[0].rule
        names = [f"`{entry.id}`" for entry in entries[:_MOST_NAMED]]
        if len(entries) > _MOST_NAMED:
            names.append(f"{len(entries) - _MOST_NAMED} more")
        why = sorted({reasons[entry.id] for entry in entries if entry.id in reasons})
        intended = f" Intended: {'; '.join(why)}." if why else ""
        lines.append(
            f"- {rule} ({document}, {heading}) Verdict {entries[0].verdict}: "
            f"{', '.join(names)}.{intended}\n"
        )
    return "".join(lines)


def main(arguments: list[str]) -> int:
    """Write the page."""
    output, *files = arguments
    runs: dict[str, Results] = {}
    reasons: dict[str, dict[str, str]] = {}
    for each in files:
        name, equals, path = each.partition("=")
        if equals:
            runs[name] = read(Path(path))
        else:
            reasons[list(runs)[-1]] = read_reasons(Path(each))
    Path(output).write_text(matrix(runs, reasons), encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
