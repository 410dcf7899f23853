# SPDX-License-Identifier: Apache-2.0
"""Report of benchmark results as text for the terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from results import FLOOR, INCUMBENT, OURS, Row, Samples, Unavailable
from targets import ABSOLUTE, Verdict

IMPLEMENTATIONS = (OURS, INCUMBENT, FLOOR)
LABEL_WIDTH = 32
VALUE_WIDTH = 15

_STATES = {True: "met", False: "MISSED", None: "not measured"}


# ---- Report as text -------------------------------------------------------------------------


def format_report(
    setting: Mapping[str, Any], rows: Sequence[Row], verdicts: Sequence[Verdict]
) -> str:
    """Return the setting, the table, the targets and the missing values as text."""
    blocks = [
        "\n".join(f"{key}: {_flat(value)}" for key, value in setting.items()),
        format_table(rows),
        format_verdicts(verdicts, rows),
        format_reasons(rows),
    ]
    return "\n\n".join(block for block in blocks if block)


def _flat(value: Any) -> str:
    """Return a nested mapping on one line: commas inside a group, semicolons between groups."""
    if not isinstance(value, Mapping):
        return str(value)
    separator = "; " if any(isinstance(item, Mapping) for item in value.values()) else ", "
    return separator.join(f"{key} {_flat(item)}" for key, item in value.items() if item)


def format_table(rows: Sequence[Row]) -> str:
    """Return one line per row: minimum and median of each implementation, and the ratios.

    A ratio divides our minimum by the other minimum; below 1, ours is faster.
    """
    names = [name for name in IMPLEMENTATIONS if any(name in row.cells for row in rows)]
    headings = [f"{name} {kind}" for name in names for kind in ("min", "med")]
    headings += [f"{OURS}/{name}" for name in (INCUMBENT, FLOOR) if name in names]
    lines = [f"{'':{LABEL_WIDTH}}{'unit':5}" + "".join(f"{h:>{VALUE_WIDTH}}" for h in headings)]
    lines.append("-" * len(lines[0]))
    lines += [_format_row(row, names) for row in rows]
    return "\n".join(lines)


def _format_row(row: Row, names: Sequence[str]) -> str:
    texts: list[str] = []
    for name in names:
        samples = row.samples(name)
        values = (None, None) if samples is None else (samples.minimum, samples.median)
        texts += [_format_value(value, row.unit) for value in values]
    for name in (INCUMBENT, FLOOR):
        if name in names:
            ratio = row.ratio(OURS, name)
            texts.append("-" if ratio is None else f"{ratio:.2f}")
    cells = "".join(f"{text:>{VALUE_WIDTH}}" for text in texts)
    return f"{row.label:{LABEL_WIDTH}}{row.unit:5}{cells}"


def _format_value(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{value:.0f}" if unit == "bytes" else f"{value:.1f}"


def format_verdicts(verdicts: Sequence[Verdict], rows: Sequence[Row]) -> str:
    """Return one line per target, and the number of targets that are met."""
    by_name = {row.name: row for row in rows}
    lines = ["targets"]
    for verdict in verdicts:
        target = verdict.target
        row = by_name[target.row]
        limit = f"<= {target.limit:g} " + _describe_reference(target.reference, row, by_name)
        value = "" if verdict.value is None else f"{verdict.value:.2f}"
        lines.append(f"  {row.label:{LABEL_WIDTH}}{limit:34}{value:>8}  {_STATES[verdict.is_met]}")
    met = sum(verdict.is_met is True for verdict in verdicts)
    judged = sum(verdict.is_met is not None for verdict in verdicts)
    lines.append(f"  {met} of {judged} measured targets met, {len(verdicts) - judged} not measured")
    return "\n".join(lines)


def _describe_reference(reference: str, row: Row, rows: Mapping[str, Row]) -> str:
    if reference == ABSOLUTE:
        return row.unit
    label = rows[reference].label if reference in rows else reference
    return f"of the {label}"


def format_reasons(rows: Sequence[Row]) -> str:
    """Return the reasons for empty cells, each once with its rows."""
    concerned: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for name, cell in row.cells.items():
            if isinstance(cell, Unavailable):
                concerned.setdefault((name, cell.reason), []).append(row.label)
    lines = [
        f"  {name}: {reason}\n    ({'; '.join(labels)})"
        for (name, reason), labels in concerned.items()
    ]
    return "\n".join(["not available", *lines]) if lines else ""


# ---- Report as JSON -------------------------------------------------------------------------


def to_json(
    setting: Mapping[str, Any], rows: Sequence[Row], verdicts: Sequence[Verdict]
) -> dict[str, Any]:
    """Return setting, rows and targets as one JSON-compatible object."""
    return {
        **setting,
        "rows": [_row_to_json(row) for row in rows],
        "targets": [_verdict_to_json(verdict) for verdict in verdicts],
    }


def _row_to_json(row: Row) -> dict[str, Any]:
    cells: dict[str, Any] = {}
    for name, cell in row.cells.items():
        if isinstance(cell, Samples):
            cells[name] = {
                "min": cell.minimum,
                "median": cell.median,
                "samples": cell.values,
            }
        else:
            cells[name] = {"unavailable": cell.reason}
    ratios = {f"{OURS}/{name}": row.ratio(OURS, name) for name in (INCUMBENT, FLOOR)}
    return {"name": row.name, "label": row.label, "unit": row.unit, "cells": cells, **ratios}


def _verdict_to_json(verdict: Verdict) -> dict[str, Any]:
    return {
        "row": verdict.target.row,
        "reference": verdict.target.reference,
        "limit": verdict.target.limit,
        "value": verdict.value,
        "met": verdict.is_met,
    }
