# SPDX-License-Identifier: Apache-2.0
"""Handles change hands in one place, so that what calls borrow stays alive: wrappers.md."""

from __future__ import annotations

import re

import pytest

# The place, and what may stand elsewhere: the name that a new, unseen wrapper has been given.
HOME = "object/object.pyx"
ASSIGNMENT = re.compile(r"(\(<\w+>\w+\)|\b\w+)\.chandle(?:[ \t]*,.*)?[ \t]*=(?!=)")
ADDRESS = re.compile(r"&[\w.()<>]*\.chandle\b")
RELEASE = re.compile(r"(?:DecRef|release_object)\([\w.()<>]*\.chandle\)")


def changes_of_seen_wrappers(text):
    """Return the lines that change the handle of a wrapper which was not made just before."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        found = ASSIGNMENT.search(line)
        if found is None:
            continue
        recent = "\n".join(lines[max(0, i - 12) : i])
        is_new = re.search(rf"\b{re.escape(found[1])} = [\w.]+\.__new__\(", recent)
        if is_new is None:
            yield line.strip()


def test_what_the_search_finds():
    new = "cdef CObject made = CObject.__new__(CObject)\nmade.chandle = owned\n"
    assert list(changes_of_seen_wrappers(new)) == []
    assert list(changes_of_seen_wrappers("self.chandle = owned")) == ["self.chandle = owned"]
    assert list(changes_of_seen_wrappers("if a.chandle == b.chandle:")) == []
    assert list(changes_of_seen_wrappers("(<CObject>a).chandle = b")) == [
        "(<CObject>a).chandle = b"
    ]


@pytest.fixture(scope="module")
def sources(repository):
    binding = repository / "src/tvm_ffi/_binding"
    return {
        path.relative_to(binding).as_posix(): path.read_text(encoding="utf-8")
        for path in binding.rglob("*.pyx")
    }


def test_handles_are_changed_in_one_place(sources):
    found = {name: list(changes_of_seen_wrappers(text)) for name, text in sources.items()}
    elsewhere = {name: lines for name, lines in found.items() if lines and name != HOME}
    assert elsewhere == {
        # Both wrappers have been asked for, see `move_handle`.
        "call/constructed.pyx": [
            "(<CObject>made).chandle, (<CObject>target).chandle = (",
        ],
        "call/cycles.pyx": [
            # The collector has found that nobody refers to it, so nobody calls it.
            "handle, (<Function>self).chandle = (<Function>self).chandle, NULL",
        ],
    }


def test_addresses_of_handles_are_for_moving_alone(sources):
    found = {name: ADDRESS.findall(text) for name, text in sources.items()}
    assert {name: lines for name, lines in found.items() if lines} == {
        "values/handle.pyx": ["&obj.chandle"],
        # The owner takes it back when it dies or gets another object.
        "types/reference_link.pyx": ["&owner.chandle"],
    }


def test_no_wrapper_loses_its_reference_elsewhere(sources):
    found = [name for name, text in sources.items() if RELEASE.search(text)]
    assert found == [HOME]
