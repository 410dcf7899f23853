# SPDX-License-Identifier: Apache-2.0
"""Import trees of modules embedded in exported libraries, and their round trip."""

from __future__ import annotations

import gc
import itertools
import os
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tvm_ffi
from tvm_ffi._library.embedded_modules import EmbeddedModule
from tvm_ffi._library.module_tree import plan_tree
from tvm_ffi.module import CustomModule, ModulePropertyMask

CC = shlex.split(os.environ.get("CC") or "cc")
pytestmark = pytest.mark.skipif(shutil.which("ld") is None, reason="no linker ld")


class Table(CustomModule, kind="test.export.table"):
    """A module that is saved as bytes."""

    def __init__(self, content, *imports):
        self.content = content
        for module in imports:
            self.import_module(module)

    def save_to_bytes(self):
        return self.content

    @classmethod
    def load_from_bytes(cls, data):
        return cls(bytes(data))


class Code(CustomModule, kind="test.export.code", properties=ModulePropertyMask(4)):
    """A module that is exported as an object file."""

    def __init__(self, path, *imports):
        self.path = path
        for module in imports:
            self.import_module(module)

    def write_to_file(self, file_name, fmt=""):
        assert fmt == "o"
        shutil.copy(self.path, file_name)


class Stuck(CustomModule, kind="test.export.stuck"):
    """A module that cannot be exported."""


def described(root):
    """Return the modules of a tree: content and imports of each, in order of discovery."""
    found, entries = {}, []

    def visit(module):
        if module.__chandle__() not in found:
            found[module.__chandle__()] = len(found)
            entry = [module.content if isinstance(module, Table) else module.kind]
            entries.append(entry)
            children = list(module.imports)
            entry.append([visit(child) for child in children])
        return found[module.__chandle__()]

    visit(root)
    return entries


@pytest.fixture(scope="module")
def code_object(tmp_path_factory):
    """Return a function that compiles an object file with a given symbol."""
    if shutil.which(CC[0]) is None:
        pytest.skip(f"no C compiler {CC[0]}")
    folder = tmp_path_factory.mktemp("code")

    def compile_object(symbol):
        target = folder / f"{symbol}.o"
        body = f"int {symbol}(void* h, void* a, int n, long* r) {{ r[0] = 1; r[1] = 7; return 0; }}"
        command = [*CC, "-w", "-fPIC", "-xc", "-", "-c", "-o", str(target)]
        subprocess.run(command, input=body, text=True, check=True)
        return target

    return compile_object


def load(path):
    return tvm_ffi.load_module(path, keep_module_alive=False)


def test_a_tree_without_code(tmp_path):
    """Module 0 is a custom module; a module that two others import stays shared."""
    end = Table(b"")
    root = Table(b"root", Table(b"\x00left", end), Table("é".encode(), end), end)
    path = tvm_ffi.export_library(tmp_path / "out.so", root)
    expected = [
        [b"root", [1, 3, 2]],
        [b"\x00left", [2]],
        [b"", []],
        ["é".encode(), [2]],
    ]
    assert described(root) == expected
    loaded = load(path)
    assert type(loaded) is Table
    assert described(loaded) == expected


def test_code_imports_modules(code_object, tmp_path):
    table = Table(b"table")
    path = tvm_ffi.export_library(
        tmp_path / "out.so",
        objects=code_object("__tvm_ffi_seven"),
        imports=[table, Table(b"other", table)],
    )
    loaded = load(path)
    assert described(loaded) == [["library", [1, 2]], [b"table", []], [b"other", [1]]]
    assert loaded.seven() == 7


def test_a_module_imports_the_code(code_object, tmp_path):
    root = Table(b"root", Table(b"first"))
    path = tvm_ffi.export_library(
        tmp_path / "out.so", root, objects=code_object("__tvm_ffi_seven"), imports=Table(b"last")
    )
    loaded = load(path)
    assert described(loaded) == [
        [b"root", [1, 2, 3]],
        [b"first", []],
        ["library", []],
        [b"last", []],
    ]
    assert loaded.get_function("seven", query_imports=True)() == 7
    assert described(root) == [[b"root", [1]], [b"first", []]]  # unchanged


def test_modules_embedded_in_a_linked_library_are_not_loaded(code_object, tmp_path):
    """`dlsym` also searches the libraries that a library is linked to."""
    tables = tvm_ffi.export_library(tmp_path / "tables.so", Table(b"root"))
    path = tmp_path / "linked.so"
    linked = ["-Wl,--no-as-needed", str(tables), f"-Wl,-rpath,{tmp_path}"]
    code = str(code_object("__tvm_ffi_seven"))
    subprocess.run([*CC, "-shared", "-o", str(path), code, *linked], check=True)
    assert described(load(tables)) == [[b"root", []]]
    loaded = load(path)
    assert described(loaded) == [["library", []]]
    assert loaded.seven() == 7


def test_code_modules_are_merged_into_one(code_object, tmp_path):
    """The merged module imports everything that the code modules imported."""
    table = Table(b"table")
    inner = Code(code_object("__tvm_ffi_inner"), table)
    outer = Code(code_object("__tvm_ffi_outer"), inner, Table(b"mine", table))
    root = Table(b"root", outer, table, inner)
    path = tvm_ffi.export_library(
        tmp_path / "out.so",
        root,
        objects=[code_object("more")],
        functions={"more": "more"},
    )
    loaded = load(path)
    assert described(loaded) == [
        [b"root", [1, 3]],
        ["library", [2, 3]],
        [b"mine", [3]],
        [b"table", []],
    ]
    assert [loaded.imports[0][name]() for name in ("inner", "outer", "more")] == [7, 7, 7]


def test_a_single_module_that_is_code(code_object, tmp_path):
    code = code_object("__tvm_ffi_seven")
    from_module = tvm_ffi.export_library(tmp_path / "module.so", Code(code))
    assert (load(from_module).kind, load(from_module).seven()) == ("library", 7)
    plain = tvm_ffi.export_library(tmp_path / "plain.so", objects=code)
    assert b"__tvm_ffi__library_bin" not in plain.read_bytes()  # no embedded modules


@st.composite
def trees(draw):
    """Return the root of a random acyclic import graph."""
    count = draw(st.integers(1, 7))
    modules = []
    for number in range(count):
        children = draw(st.lists(st.sampled_from(modules), max_size=4)) if modules else []
        modules.append(Table(bytes([number]) + draw(st.binary(max_size=30)), *children))
    return modules[-1]


@settings(max_examples=25)
@given(tree=trees(), more=st.lists(trees(), max_size=2))
def test_round_trip(tmp_path_factory, tree, more):
    path = tmp_path_factory.mktemp("tree") / "out.so"
    tvm_ffi.export_library(path, tree, imports=more)
    for module in more:
        tree.import_module(module)
    assert described(load(path)) == described(tree)


def test_thousands_of_modules(tmp_path):
    """The import chain is deeper than Python's recursion limit."""
    chain = Table(b"0")
    for number in range(1, 3000):
        chain = Table(b"%d" % number, chain)
    wide = Table(b"root", *(Table(b"wide %d" % number) for number in range(3000)), chain)
    path = tvm_ffi.export_library(tmp_path / "out.so", wide)
    loaded = load(path)
    assert len(loaded.imports) == 3001
    assert [module.content for module in itertools.islice(loaded.imports, 3)] == [
        b"wide 0",
        b"wide 1",
        b"wide 2",
    ]
    depth = loaded.imports[3000]
    while len(depth.imports):
        depth = depth.imports[0]
    assert depth.content == b"0"
    del depth
    gc.collect()


def test_the_same_tree_gives_the_same_bytes(tmp_path):
    for name in ("a.so", "b.so"):
        end = Table(b"end")
        tvm_ffi.export_library(tmp_path / name, Table(b"root", Table(b"left", end), end))
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


def test_the_embedded_form_of_a_tree():
    end = Table(b"end")
    tree = plan_tree(Table(b"root", end, end), [end], has_objects=True)
    assert tree.save() == [
        EmbeddedModule("test.export.table", b"root", (1, 1, 2, 1)),
        EmbeddedModule("test.export.table", b"end", ()),
        EmbeddedModule("_lib", None, ()),
    ]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda code: Table(b"root", Stuck()),
            r"'test\.export\.stuck' can neither be saved .* an object file \(property mask 0\)$",
        ),
        (
            lambda code: Code(code, Table(b"between", Code(code))),
            (
                r"in a cycle, because all code becomes one node of the module tree: "
                r"code -> 'test\.export\.table' -> code$"
            ),
        ),
        (
            lambda code: tvm_ffi.system_lib("test_export_"),
            r"a loaded library \(test_export_\) cannot be put into another one",
        ),
    ],
    ids=["no-way", "cycle", "library"],
)
def test_trees_that_cannot_be_exported(code_object, tmp_path, make, message):
    with pytest.raises(ValueError, match=message):
        tvm_ffi.export_library(tmp_path / "out.so", make(code_object("x")))
    assert list(tmp_path.iterdir()) == []


def test_an_import_cycle_is_refused(tmp_path):
    root = Table(b"root")
    with pytest.raises(ValueError, match=r"cycle.*: '.*table' -> '.*table' -> '.*table'$"):
        tvm_ffi.export_library(tmp_path / "out.so", root, imports=[Table(b"above", root)])


def test_functions_without_code(tmp_path):
    with pytest.raises(ValueError, match="would not export f; its functions are: none"):
        tvm_ffi.export_library(tmp_path / "out.so", Table(b"root"), functions=["f"])
    assert list(tmp_path.iterdir()) == []


class Failing(CustomModule, kind="test.export.failing"):
    """A module that raises while it is saved."""

    def save_to_bytes(self):
        raise KeyError("no bytes today")


def test_exceptions_of_modules_are_raised_unchanged(tmp_path):
    (tmp_path / "out.so").write_text("old")
    with pytest.raises(KeyError, match="no bytes today"):
        tvm_ffi.export_library(tmp_path / "out.so", Table(b"root", Failing()))
    assert (tmp_path / "out.so").read_text() == "old"
    assert list(tmp_path.iterdir()) == [tmp_path / "out.so"]
