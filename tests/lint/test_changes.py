# SPDX-License-Identifier: Apache-2.0
"""News in `changes`: each file has headings of sections, and list items below them."""

from __future__ import annotations

import re
import sys

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def sections(repository):
    text = (repository / "pyproject.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)["tool"]["scriv"]["categories"]


def defects(text: str, sections: list[str]) -> list[str]:
    """Return a sentence for each block of a file that is not as CONTRIBUTING.md describes it."""
    found, has_heading = [], False
    for block in text.strip().split("\n\n"):
        if block.startswith("### "):
            has_heading = True
            if block[4:] not in sections:
                found.append(f"no section {block[4:]!r}")
            continue
        if not has_heading:
            found.append("text above the first heading")
        for item in re.split(r"\n(?=\S)", block):
            if not re.fullmatch(r"- \S[^\n]*(?:\n  \S[^\n]*)*", item) or item[-1] != ".":
                found.append(f"not a list item that ends with a full stop: {item[:40]!r}")
        found += [f"{len(line)} characters" for line in block.splitlines() if len(line) > 120]
    return found if has_heading else ["no heading"]


def test_news_are_well_formed(repository, files, sections):
    wrong = {
        path.as_posix(): found
        for path in files
        if path.parts[0] == "changes"
        and (found := defects((repository / path).read_text(encoding="utf-8"), sections))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("### Python\n\n- Do this.\n- Do\n  that.\n", []),
        ("- Do this.\n", ["no heading"]),
        ("### Pythons\n\n- Do this.\n", ["no section 'Pythons'"]),
        ("Do this.\n\n### Python\n\n- Do.\n", [
            "text above the first heading",
            "not a list item that ends with a full stop: 'Do this.'",
        ]),
        ("### Python\n\n- Do this\n", ["not a list item that ends with a full stop: '- Do this'"]),
        ("### Python\n\n- " + "x" * 119 + ".\n", ["122 characters"]),
    ],
)  # fmt: skip
def test_defects_are_found(text, expected, sections):
    assert defects(text, sections) == expected


def test_the_changelog_has_a_place_for_the_next_release(repository):
    text = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    assert text.count("<!-- scriv-insert-here -->\n") == 1
