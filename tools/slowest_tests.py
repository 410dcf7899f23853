# SPDX-License-Identifier: Apache-2.0
"""Table of the twenty slowest tests in JUnit files of CTest and pytest."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree

NUMBER_SHOWN = 20


def read_durations(path: Path) -> list[tuple[float, str]]:
    """Return the duration in seconds and the name of each test in a JUnit file."""
    return [
        (float(case.get("time", 0)), _name(case))
        for case in ElementTree.parse(path).iter("testcase")
    ]


def format_table(durations: Iterable[tuple[float, str]]) -> str:
    """Return the table as text, slowest test first."""
    slowest = sorted(durations, reverse=True)[:NUMBER_SHOWN]
    return "\n".join(f"{seconds:8.1f} s  {name}" for seconds, name in slowest)


def _name(case: ElementTree.Element) -> str:
    name, group = case.get("name", "?"), case.get("classname", "")
    return name if group in ("", name) else f"{group}::{name}"


if __name__ == "__main__":
    print("The slowest tests (tests ran in parallel):")
    print(format_table(row for name in sys.argv[1:] for row in read_durations(Path(name))))
