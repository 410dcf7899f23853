# SPDX-License-Identifier: Apache-2.0
"""Index pages: complete lists of design notes and examples."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
GUIDES = ROOT / "docs" / "guides" / "index.md"
NOTES = ROOT / "docs" / "design"


def test_the_index_names_every_design_note():
    index = (NOTES / "README.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| \[[\w-]+\]\(([\w-]+\.md)\) \|", index, re.MULTILINE)
    notes = {path.name for path in NOTES.glob("*.md")} - {"README.md"}
    assert sorted(named) == sorted(notes)


def test_the_guides_name_every_example():
    named = re.findall(r"^\| `examples/(\w+)` \|", GUIDES.read_text(encoding="utf-8"), re.MULTILINE)
    examples = [path.name for path in (ROOT / "examples").iterdir() if path.is_dir()]
    assert sorted(named) == sorted(examples)
