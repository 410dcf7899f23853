# SPDX-License-Identifier: Apache-2.0
"""Environment variables: docs/reference/environment.md names exactly those in the sources."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "reference" / "environment.md"
READ = re.compile(
    r"""environ(?:\.get)?[\[(]\s*"(\w+)"|"(\w+)"\s+(?:not\s+)?in\s+os\.environ|getenv\("(\w+)"\)"""
    r"""|\$ENV\{(\w+)\}|compiler_command\("(\w+)\""""
)
# Tables that list names of environment variables, which a loop in the sources looks up.
NAMES = re.compile(r"^_VARIABLES = \((.*?)^\)|_home\(\(([^)]*)\)|loader = \{(.*?)\}", re.M | re.S)
# Environment variables of other operating systems.
NOT_ON_LINUX = {"DYLD_LIBRARY_PATH"}


def variables_read() -> set[str]:
    found = {"LD_LIBRARY_PATH", "PATH"}
    for folder in ("src", "include", "runtime", "cmake"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix not in {".py", ".pxi", ".pyx", ".h", ".c", ".cc", ".cmake", ".in"}:
                continue
            text = path.read_text(encoding="utf-8")
            found |= {name for match in READ.findall(text) for name in match if name}
            tables = "".join(part for match in NAMES.findall(text) for part in match)
            found |= set(re.findall(r'"([A-Z]\w+)"', tables))
    return found - NOT_ON_LINUX


def test_the_page_names_exactly_the_variables_that_the_sources_read():
    first_cells = re.findall(r"^\| (`[A-Z].*?) \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    named = re.findall(r"`(\w+)`", " ".join(first_cells))
    assert sorted(named) == sorted(variables_read())
