# SPDX-License-Identifier: Apache-2.0
"""Header comments for the C and C++ reference: each name has one, and quoted regions exist."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
C_API = ROOT / "include" / "tvm" / "ffi" / "c_api.h"

pytest.importorskip("clang.cindex", reason="no libclang")
pytest.importorskip("sphinx", reason="no Sphinx")
sys.path.insert(0, str(ROOT / "docs" / "extensions"))

import c_reference  # noqa: E402
import cpp_reference  # noqa: E402
from header_index import c_declarations, cpp_declarations  # noqa: E402
from header_text import parts_of, prototype_of  # noqa: E402

EXPORTED = [
    entry
    for entry in c_declarations()
    if entry.kind == "function"
    and c_reference.section_at(entry.header, entry.line) != c_reference.ACCESSORS
]
COMPOUNDS = [entry for entry in c_declarations() if entry.kind in ("class", "enum")]


def named(entry):
    return entry.name


def test_the_c_abi_has_fifty_functions_and_fifteen_are_ours():
    own_headers = {f"tvm/ffi/extra/c_{name}.h" for name in ("host_call", "observe", "prepared")}
    ours = [entry for entry in EXPORTED if entry.header in own_headers]
    assert (len(EXPORTED) - len(ours), len(ours)) == (50, 15)


@pytest.mark.parametrize("entry", EXPORTED, ids=named)
def test_each_c_function_documents_parameters_errors_and_threads(entry):
    parameters = c_reference.parameters_of(entry.prototype)
    described = parts_of(entry.comment, parameters)
    documented = {name for names, _ in described.parameters for name in names.split(", ")}
    if "Parameters" not in described.phrases:
        assert documented == set(parameters)
    assert {"Fails", "Threads"} <= set(described.phrases)
    assert described.paragraphs


@pytest.mark.parametrize("entry", COMPOUNDS, ids=named)
def test_each_c_struct_and_enum_has_a_comment(entry):
    assert entry.comment


def test_each_cpp_class_function_and_macro_has_a_comment():
    uncommented = []
    before = None
    for entry in cpp_declarations():
        shares = before is not None and cpp_reference.shares_comment(entry, before)
        if not (entry.comment or shares) and entry.kind in ("class", "function", "macro"):
            uncommented.append(f"{entry.header}:{entry.line}: {entry.name}")
        before = entry
    assert uncommented == []


@pytest.mark.parametrize(
    "name", ["TVMFFIAny", "TVMFFIObject", "TVMFFIFunctionCell", "TVMFFIErrorCell"]
)
def test_pages_can_quote_the_struct(name):
    """The reference quotes the text of a header between these marks."""
    text = C_API.read_text(encoding="utf-8")
    begin, end = f"[{name}.begin]", f"[{name}.end]"
    assert (text.count(begin), text.count(end)) == (1, 1)
    region = text[text.index(begin) : text.index(end)]
    assert re.findall(r"^typedef struct (\w+) \{$", region, re.MULTILINE) == [name]
    assert re.findall(r"^\} (\w+);$", region, re.MULTILINE) == [name]


# ---- Header parsing ------------------------------------------------------------------------------


def test_comments_are_parsed():
    described = parts_of(
        "Do a thing.\n\n  a  drawing\n\na, b     first\n         line two.\n"
        "Returns: it.\nFails: never.     Threads: any.",
        ("a", "b"),
    )
    assert described.paragraphs == ["Do a thing.", "  a  drawing"]
    assert described.parameters == [("a, b", "first line two.")]
    assert described.phrases == {"Returns": "it.", "Fails": "never.", "Threads": "any."}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inline int f(int a = 1) { return a; }", "int f(int a = 1)"),
        ("A(int a) : b(a) {}", "A(int a)"),
        ("TVM_FFI_DLL int f(void);", "int f(void)"),
        ("A() = default;", "A()"),
        ("void g(std::string s /* text */) const;", "void g(std::string s ) const"),
    ],
)
def test_a_prototype_ends_before_the_body(text, expected):
    assert prototype_of(text, 0, len(text)) == expected


def test_conditions_are_separated_from_a_prototype():
    condition = "std::enable_if_t<detail::ok_v<T> && sizeof(T) <= 8>"
    text = f"template <typename T, typename = {condition}> A(T a)"
    assert cpp_reference.without_conditions(text) == (
        "template<typename T> A(T a)",
        ["ok_v<T> && sizeof(T) <= 8"],
    )
