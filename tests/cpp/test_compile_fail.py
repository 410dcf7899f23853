# SPDX-License-Identifier: Apache-2.0
"""Programs that must not compile, each with a similar program that must compile.

The cases are in ``compile_fail/*.cc``::

    // SHARED
    declarations for all cases of the file
    // CASE name: regular expression that finds the expected diagnostic
    declarations for both programs
    // ACCEPTED
    the program that compiles
    // REJECTED
    the program that does not

``{name}`` in an expression is replaced by the compilers' words for one error, see `DIAGNOSTICS`.
The programs of a compiler share a precompiled header that includes every public header.  Each
compiler and each language standard reads the headers once.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

HERE = Path(__file__).resolve().parent
INCLUDE = HERE.parents[1] / "include"
HEADERS = sorted(path.relative_to(INCLUDE).as_posix() for path in INCLUDE.glob("tvm/**/*.h"))

DIAGNOSTICS = {
    "deleted": r"(use of|uses|invokes a|call to|selected) deleted|explicitly deleted",
    "private": r"is private|is inaccessible|is a private member|private constructor",
    "protected": r"is protected|is a protected member|is inaccessible",
    "no_conversion": r"(could not|cannot) convert|(invalid )?conversion from|cannot bind"
    r"|no viable conversion|no known conversion|cannot initialize",
    "no_match": r"no matching|no match for|no viable overloaded|invalid operands",
    "no_member": r"has no member|no member named|base operand of|is not a pointer",
    "qualifiers": r"discards qualifiers|indirection requires pointer operand",
    "few_arguments": r"too few arguments|no match for call|no matching function",
    "lvalue": r"lvalue required|is not assignable",
}

CASE = re.compile(r"^// CASE (\w+): (.*)\n", re.MULTILINE)
PROGRAM = re.compile(r"^// (?:ACCEPTED|REJECTED)\n", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """Two programs, and the expected diagnostic of the second."""

    name: str
    expected: str
    accepted: str
    rejected: str


def parse(path):
    """Return the cases of a file."""
    head, *rest = CASE.split(path.read_text(encoding="utf-8"))
    shared = head.partition("// SHARED\n")[2]
    for name, words, body in zip(rest[0::3], rest[1::3], rest[2::3]):
        expected = re.sub(r"\{(\w+)\}", lambda mark: f"(?:{DIAGNOSTICS[mark[1]]})", words)
        common, accepted, rejected = PROGRAM.split(body)
        yield Case(
            name,
            expected,
            _program(name, shared + common + accepted),
            _program(name, shared + common + rejected),
        )


def _program(name, body):
    return f"namespace {name} {{\nusing namespace tvm::ffi;\n{body}\n}}  // namespace {name}\n"


FILES = sorted(HERE.glob("compile_fail/*.cc"))


@pytest.fixture(scope="module")
def headers(other_compiler, tmp_path_factory):
    """Return the options that include every public header, precompiled."""
    header = tmp_path_factory.mktemp("headers") / "everything.h"
    header.write_text("".join(f"#include <{name}>\n" for name in HEADERS))
    is_clang = "clang" in other_compiler.program
    output = header.with_suffix(".h.pch" if is_clang else ".h.gch")
    said = other_compiler.run("-x", "c++-header", str(header), "-o", str(output))
    assert said.accepted, said.text
    return ["-include-pch", str(output)] if is_clang else ["-include", str(header)]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_accepted_programs_compile(other_compiler, headers, path):
    said = other_compiler.diagnose("\n".join(case.accepted for case in parse(path)), *headers)
    assert said.accepted, said.text


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_rejected_programs_do_not_compile(other_compiler, headers, path):
    cases = {case.name: case for case in parse(path)}
    assert len(cases) >= 10, "no cases found"
    rejected = {name: case.rejected for name, case in cases.items()}
    said = other_compiler.diagnose_all(rejected, *headers)
    compiled = [name for name, diagnosis in said.items() if diagnosis.accepted]
    assert compiled == []
    unclear = {
        name: diagnosis.text
        for name, diagnosis in said.items()
        if not re.search(cases[name].expected, diagnosis.text)
    }
    assert unclear == {}
