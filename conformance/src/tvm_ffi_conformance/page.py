# SPDX-License-Identifier: Apache-2.0
"""HTML page of results: one row for each rule, grouped by document and heading."""

from __future__ import annotations

import html
from itertools import groupby
from pathlib import Path

from .results import Entry, Results, kit_version

_STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; }
td, th { border-bottom: 1px solid #8884; padding: .25rem .5rem; text-align: left; vertical-align: top; }
h2 { margin: 2rem 0 .3rem; font-size: 1.05rem; }
code { font-size: .85em; overflow-wrap: anywhere; }
.pass { color: #0a7d33; } .bad { color: #c21010; font-weight: bold; } .other { color: #9a6700; }
.detail { color: #c21010; white-space: pre-wrap; }
@media (prefers-color-scheme: dark) { body { background: #151515; color: #ddd; } }
"""


def write_page(results: Results, path: Path) -> None:
    """Write the page of `results`."""
    path.write_text(page(results), encoding="utf-8")


def page(results: Results) -> str:
    """Return the page of `results` as HTML; it loads nothing from elsewhere."""
    subject, totals = results.subject, results.totals()
    title = f"Conformance of {Path(subject['path']).name}"
    facts = "".join(
        f"<tr><th>{_text(key)}</th><td><code>{_text(value)}</code></td></tr>"
        for key, value in subject.items()
        if value and isinstance(value, str)
    )
    summary = (
        f"{totals['required'] - totals['failed']} of {totals['required']} required rules hold; "
        f"{totals['pass']} of {len(results.entries)} cases passed."
    )
    ordered = sorted(
        results.entries, key=lambda entry: (entry.document, _order(entry.heading), entry.id)
    )
    parts = [
        f"<h2>{_text(document)}: {_text(heading)}</h2><table>"
        "<tr><th>result</th><th>case</th><th>rule</th></tr>"
        + "".join(map(_row, entries))
        + "</table>"
        for (document, heading), entries in groupby(
            ordered, lambda entry: (entry.document, entry.heading)
        )
    ]
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{_text(title)}</title>'
        f"<style>{_STYLE}</style><h1>{_text(title)}</h1><p>{summary}</p><table>{facts}</table>"
        f"{''.join(parts)}<p>tvm-ffi-conformance {_text(kit_version())}</p></html>\n"
    )


def _order(heading: str) -> tuple[int, ...]:
    """Return the sort key of a heading: its number."""
    return tuple(
        int(part) for part in heading.split(" ", maxsplit=1)[0].split(".") if part.isdigit()
    )


def _row(entry: Entry) -> str:
    style = "pass" if entry.verdict == "pass" else "bad" if entry.required else "other"
    verdict = entry.verdict if entry.required else f"{entry.verdict} (not required)"
    extra = ""
    if entry.verdict != "pass":
        extra = (
            f'<div class="detail">{_text(" - ".join(filter(None, (entry.where, entry.detail))))}</div>'
            f"<code>{_text(entry.repeat)}</code>"
        )
    return (
        f'<tr id="{_text(entry.id)}"><td class="{style}">{verdict}</td>'
        f"<td><code>{_text(entry.id)}</code></td><td>{_text(entry.rule)}{extra}</td></tr>"
    )


def _text(value: object) -> str:
    return html.escape(str(value))
