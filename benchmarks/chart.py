# SPDX-License-Identifier: Apache-2.0
"""SVG bar chart of results: our time relative to the incumbent's; shorter is better."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from results import FLOOR, INCUMBENT, OURS, Row

WIDTH = 960
LEFT = 250  # x coordinate of the left end of all bars; labels are left of it
RIGHT = 260  # width reserved for the numbers at the right of the longest bar
TOP = 64
LINE_HEIGHT = 26
BAR_HEIGHT = 16
# Largest ratio that a bar shows; longer bars are clipped, their numbers are exact.
LONGEST_RATIO = 1.25

TITLE = "Time relative to apache-tvm-ffi (minimum of all rounds; shorter is better)"

_STYLE = """\
text { font: 13px sans-serif; fill: #222 }
.title { font-size: 16px; font-weight: bold }
.number { fill: #555 }
.ours { fill: #2f6db5 }
.floor { fill: #d9822b }
.incumbent { stroke: #888; stroke-dasharray: 4 3 }"""


def draw_chart(rows: Sequence[Row], caption: str) -> str:
    """Return the SVG text.

    Parameters
    ----------
    rows : sequence of Row
        Rows without our value show only the floor's mark; rows without the incumbent's value
        are omitted.
    caption : str
        Machine and versions, one line below the title.
    """
    drawn = [row for row in rows if row.samples(INCUMBENT) is not None]
    height = TOP + LINE_HEIGHT * len(drawn) + 40
    bottom = height - 34
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}">'
        ),
        f"<style>{_STYLE}</style>",
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        _text(16, 24, TITLE, "title"),
        _text(16, 44, caption, "number"),
        *(part for i, row in enumerate(drawn) for part in _draw_row(row, TOP + i * LINE_HEIGHT)),
        f'<line class="incumbent" x1="{_x(1)}" y1="{TOP - 8}" x2="{_x(1)}" y2="{bottom}"/>',
        *_legend(bottom + 22),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _x(ratio: float) -> float:
    """Return the horizontal position of a ratio."""
    shown = min(ratio, LONGEST_RATIO)
    return round(LEFT + shown / LONGEST_RATIO * (WIDTH - LEFT - RIGHT), 1)


def _text(x: float, y: float, text: str, css: str = "", anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" class="{css}" text-anchor="{anchor}">{escape(text)}</text>'


def _draw_row(row: Row, top: float) -> list[str]:
    baseline = top + BAR_HEIGHT - 3
    parts = [_text(LEFT - 10, baseline, row.label, anchor="end")]
    ours, floor = row.ratio(OURS, INCUMBENT), row.ratio(FLOOR, INCUMBENT)
    if ours is not None:
        width = round(_x(ours) - LEFT, 1)
        parts.append(
            f'<rect class="ours" x="{LEFT}" y="{top}" width="{width}" height="{BAR_HEIGHT}"/>'
        )
    if floor is not None:
        parts.append(
            f'<rect class="floor" x="{_x(floor) - 1.5}" y="{top - 2}" width="3" '
            f'height="{BAR_HEIGHT + 4}"/>'
        )
    number_x = max(_x(ratio) for ratio in (ours or 0, floor or 0, 1)) + 8
    parts.append(_text(number_x, baseline, _numbers(row, ours), "number"))
    return parts


def _numbers(row: Row, ratio: float | None) -> str:
    ours, incumbent = row.samples(OURS), row.samples(INCUMBENT)
    incumbent_text = "-" if incumbent is None else f"{incumbent.minimum:,.0f}"
    if ours is None or ratio is None:
        return f"not measured (incumbent {incumbent_text} {row.unit})"
    return f"{ratio:.2f}  ({ours.minimum:,.0f} / {incumbent_text} {row.unit})"


def _legend(y: float) -> list[str]:
    return [
        f'<rect class="ours" x="{LEFT}" y="{y - 11}" width="14" height="12"/>',
        _text(LEFT + 20, y, OURS),
        f'<rect class="floor" x="{LEFT + 80}" y="{y - 12}" width="3" height="14"/>',
        _text(LEFT + 90, y, "floor (hand-written extension)"),
        f'<line class="incumbent" x1="{LEFT + 310}" y1="{y - 12}" x2="{LEFT + 310}" y2="{y + 2}"/>',
        _text(LEFT + 318, y, "apache-tvm-ffi = 1"),
    ]
