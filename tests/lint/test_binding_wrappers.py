# SPDX-License-Identifier: Apache-2.0
"""Handles of wrappers change in one file, so that borrowed objects stay alive: wrappers.md."""

from __future__ import annotations

import re

import pytest

# The file that changes the handles of wrappers. Other files may only set the handle of a new
# wrapper.
HOME = "object/object.pxi"
ASSIGNMENT = re.compile(r"(\(<\w+>\w+\)|\b\w+)\.chandle(?:[ \t]*,.*)?[ \t]*=(?!=)")
ADDRESS = re.compile(r"&[\w.()<>]*\.chandle\b")
RELEASE = re.compile(r"(?:DecRef|release_object)\([\w.()<>]*\.chandle\)")


def changes_of_existing_wrappers(text):
    """Return the lines that change the handle of an existing wrapper."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        found = ASSIGNMENT.search(line)
        if found is None:
            continue
        recent = "\n".join(lines[max(0, i - 12) : i])
        # Creates a wrapper of a class without a `__new__` method, which could return an existing
        # wrapper.
        is_new = re.search(rf"\b{re.escape(found[1])} = ([\w.]+)\.__new__\(\1\)", recent)
        if is_new is None:
            yield line.strip()


def test_the_search_for_changed_handles():
    new = "cdef CObject made = CObject.__new__(CObject)\nmade.chandle = owned\n"
    assert list(changes_of_existing_wrappers(new)) == []
    assert list(changes_of_existing_wrappers("self.chandle = owned")) == ["self.chandle = owned"]
    assert list(changes_of_existing_wrappers("if a.chandle == b.chandle:")) == []
    assert list(changes_of_existing_wrappers("(<CObject>a).chandle = b")) == [
        "(<CObject>a).chandle = b"
    ]


@pytest.fixture(scope="module")
def sources(repository):
    binding = repository / "src/tvm_ffi/_binding"
    return {
        path.relative_to(binding).as_posix(): path.read_text(encoding="utf-8")
        for path in binding.rglob("*.pxi")
    }


def test_handles_are_changed_in_one_file(sources):
    found = {name: list(changes_of_existing_wrappers(text)) for name, text in sources.items()}
    elsewhere = {name: lines for name, lines in found.items() if lines and name != HOME}
    assert elsewhere == {}


def test_addresses_of_handles_are_only_used_for_moves(sources):
    found = {name: ADDRESS.findall(text) for name, text in sources.items()}
    assert {name: lines for name, lines in found.items() if lines} == {
        "values/handle.pxi": ["&obj.chandle"],
    }


def test_no_other_file_releases_the_reference_of_a_wrapper(sources):
    found = [name for name, text in sources.items() if RELEASE.search(text)]
    assert found == [HOME]


# Compiled wrapper classes that do not call `declare_readable_types`, with the reason.
UNDECLARED = {
    "LinkedObject": "owns references to the values that it reports",
    "StateOwner": "compares the address with that of its module",
    "CContainerBase": "has no methods",
    "Method": "derives from Function",
    "BorrowedTensor": "derives from Tensor",
}


def test_compiled_classes_declare_the_types_that_their_methods_read(sources):
    """A wrapper does not check the types of objects if its class declares no readable types."""
    classes, declared = {"CObject"}, set()
    for text in sources.values():
        declared.update(re.findall(r"^ *declare_readable_types\((\w+),", text, re.M))
    bases = {
        found[1]: found[2]
        for text in sources.values()
        for found in re.finditer(r"^cdef class (\w+)\((\w+)\):", text, re.M)
    }
    while True:
        more = {name for name, base in bases.items() if base in classes} - classes
        if not more:
            break
        classes |= more
    assert classes - {"CObject"} - declared == set(UNDECLARED)


# An object of a class that is in a variable is created and assigned to a variable of a compiled
# class.
NEW_OBJECT = re.compile(
    r"^ *(?:cdef (?!object )\w+ )?(\w+) = (.*(?:\b_?(?!str|bytes)[a-z]\w*\.__new__|\.tp_new)\(.*)$",
    re.M,
)


def test_new_objects_are_checked_for_none(sources):
    """None passes as an instance of any compiled class, so the memory of None would be written."""
    lines_found = [
        f"{name}: {found[2]}"
        for name, text in sources.items()
        for found in NEW_OBJECT.finditer(text)
    ]
    assert len(lines_found) == 5
    assert [line for line in lines_found if "?>" not in line] == []


# Calls that may run third-party code; that code may empty a wrapper and free its object.
HANDLE_READ = re.compile(
    r"^\s+(?:cdef [\w.* ]+[ *])?(\w+) = (?:<[^>]+>)*(?:handle_of\(|[^=]*\.chandle$)"
)
RUNS_CODE = re.compile(r"\.clear\(\)|\.append\(|\.__new__\(|\bgetattr\(|[a-z]\w*\.pop\(")
# Wrappers that only one function can access, so that other code cannot empty them.
PRIVATE = re.compile(r"\b(own|made|plain|unseen)\b")


def handles_that_outlive_code(text):
    """Return the function and name of each handle that is used after a third-party call."""
    for function in re.split(r"^(?= *(?:cdef|cpdef|def) .*\()", text, flags=re.M):
        name = re.match(r" *(?:cdef|cpdef|def) [^(]*?(\w+)\(", function)
        handles: dict[str, bool] = {}
        for line in function.split("\n"):
            code = line.split("#")[0]
            for handle, is_stale in handles.items():
                if is_stale and re.search(rf"\b{handle}\b(?! = )", code):
                    yield f"{name[1] if name else '?'}: {handle}"
                    handles[handle] = False
            found = HANDLE_READ.search(code)
            if found and not PRIVATE.search(code):
                handles[found[1]] = False
            elif RUNS_CODE.search(code):
                handles = dict.fromkeys(handles, True)


def test_the_search_for_old_handles():
    lines = [
        "cdef int f(CObject owner):",
        "    header = <char*>owner.chandle",
        "    {}",
        "    g(header)",
    ]
    text = "\n".join(lines)
    assert list(handles_that_outlive_code(text.format("values.clear()"))) == ["f: header"]
    assert list(handles_that_outlive_code(text.format("x = Link.__new__(Link)"))) == ["f: header"]
    assert list(handles_that_outlive_code(text.format("x = 5"))) == []
    again = text.replace("    g(", "    header = <char*>owner.chandle\n    g(")
    assert list(handles_that_outlive_code(again.format("values.clear()"))) == []


def test_no_handle_is_used_after_a_call_of_third_party_code(sources):
    found = {name: sorted(set(handles_that_outlive_code(text))) for name, text in sources.items()}
    assert {name: uses for name, uses in found.items() if uses} == {}
