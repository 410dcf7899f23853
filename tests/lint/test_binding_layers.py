# SPDX-License-Identifier: Apache-2.0
"""Layers of the binding: imports between its folders and modules, and the order of conversion."""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter

import pytest

ROOT = "tvm_ffi._binding"
# Each folder may use the folders before it, and C declarations next to the folders.
FOLDERS = ["object", "convert", "values", "tensor", "call", "containers", "types"]
# Imports all other modules of the binding; only the package imports this module.
LOADER = f"{ROOT}.load"

# Matches `from A import b, c` and `import A` in Cython, also in functions; the names may be in
# parentheses.
CYTHON_FROM = re.compile(
    r"^[ \t]*from[ \t]+([\w.]+)[ \t]+c?import[ \t]+(\([^)]*\)|[^\n#]*)", re.MULTILINE
)
CYTHON_IMPORT = re.compile(r"^[ \t]*c?import[ \t]+([\w.]+)", re.MULTILINE)


def cython_imports(text):
    """Return pairs (module, names) for all imports of a Cython file, also those in functions."""
    for module, names in CYTHON_FROM.findall(text):
        yield module, re.findall(r"\w+", re.sub(r"\bas\s+\w+", "", names))
    for module in CYTHON_IMPORT.findall(text):
        yield module, []


def python_imports(text, package):
    """Return the pairs (module, names) of a Python file in this package."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            parts = package.split(".")
            base = parts[: len(parts) - node.level + 1] if node.level else []
            module = ".".join([*base, *filter(None, [node.module])])
            yield module, [alias.name for alias in node.names]


def module_of(path, source):
    """Return the module that contains a file; the Cython files of a folder are one module."""
    parts = path.relative_to(source).with_suffix("").parts
    if path.suffix == ".pxi" or (path.suffix == ".pxd" and path.parent.name in FOLDERS):
        parts = parts[:-1]
    return ".".join(parts).removesuffix(".__init__")


@pytest.fixture(scope="module")
def binding(repository):
    return repository / "src" / ROOT.replace(".", "/")


@pytest.fixture(scope="module")
def graph(repository, binding):
    """Return {module: other modules of the binding that it imports, also in functions}."""
    source = repository / "src"
    files = {
        path: module_of(path, source)
        for path in binding.rglob("*")
        if path.suffix in {".py", ".pyx", ".pxd", ".pxi"} and module_of(path, source) != ROOT
    }
    modules = set(files.values())
    found = {module: set() for module in modules}
    for path, module in files.items():
        text = path.read_text(encoding="utf-8")
        package = module.rpartition(".")[0]
        imports = python_imports(text, package) if path.suffix == ".py" else cython_imports(text)
        for base, names in imports:
            found[module] |= {base, *(f"{base}.{name}" for name in names)} & modules
        found[module].discard(module)
    assert found[f"{ROOT}.call"] >= {f"{ROOT}.abi", f"{ROOT}.cpython", f"{ROOT}.tensor"}
    return found


def folder_of(module):
    """Return the folder of a module of the binding; None for C declarations next to the folders."""
    name = module.removeprefix(f"{ROOT}.").split(".")[0]
    return name if name in FOLDERS else None


def test_all_folders_have_a_position(graph, binding):
    assert {folder_of(module) for module in graph} == {None, *FOLDERS}
    folders = {path.parent.name for path in binding.glob("*/__init__.p*")}
    assert folders == set(FOLDERS)


@pytest.mark.parametrize("folder", FOLDERS)
def test_each_file_of_a_folder_is_included_once(binding, folder):
    for module, suffix in (("__init__.pyx", ".pxi"), ("__init__.pxd", ".pxd")):
        text = (binding / folder / module).read_text(encoding="utf-8")
        included = [
            name for name in re.findall(r'^include "(.*)"', text, re.MULTILINE) if "/" not in name
        ]
        files = {path.name for path in (binding / folder).glob(f"*{suffix}")} - {module}
        assert sorted(included) == sorted(files)


@pytest.mark.parametrize("folder", FOLDERS)
def test_cython_files_import_no_compiled_name_of_their_own_module(binding, folder):
    """Cython would import the module from itself, but a module's names need no import."""
    for path in (binding / folder).glob("*.p[xy][xid]"):
        modules = [module for module, _ in cython_imports(path.read_text(encoding="utf-8"))]
        assert f"{ROOT}.{folder}" not in modules


def test_folders_import_only_earlier_folders(graph):
    upward = {
        f"{module} -> {other}"
        for module, others in graph.items()
        for other in others
        if folder_of(module) is not None
        and folder_of(other) is not None
        and FOLDERS.index(folder_of(other)) > FOLDERS.index(folder_of(module))
    }
    assert upward == set()


def test_declarations_next_to_the_folders_import_no_folder(graph):
    beside = [module for module in graph if folder_of(module) is None and module != LOADER]
    assert len(beside) >= 5
    assert {module: graph[module] for module in beside if graph[module]} == {}


def test_no_module_of_the_binding_imports_its_loader(graph):
    assert [module for module, others in graph.items() if LOADER in others] == []


def test_imports_of_the_binding_have_no_cycles(graph):
    """Imports inside functions count as well."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(
            "modules of the binding import each other in a cycle: "
            + " needs ".join(reversed(error.args[1]))
        )


# ---- Hooks ---------------------------------------------------------------------------------------


def test_the_table_of_hooks_describes_each_field(binding):
    text = (binding / "hooks.pxd").read_text(encoding="utf-8")
    table, _, declaration = text.partition("cdef class Hooks")
    described = re.findall(r"^#   (\w+) {2,}\S", table, re.MULTILINE)
    assert described[0] == "field"
    assert described[1:] == re.findall(r"^    cdef public object (\w+)", declaration, re.MULTILINE)


# ---- The order of conversion ---------------------------------------------------------------------


def test_each_precedence_belongs_to_one_rule_and_one_documented_step(repository, binding):
    """Regression: two conversion rules had the same number; the import order decided."""
    text = (binding / "convert/precedence.pxd").read_text(encoding="utf-8")
    declared = re.findall(r"^    ([A-Z]\w+)", text.partition("cdef enum")[2], re.MULTILINE)
    assert declared.pop() == "NUM_PRECEDENCES"
    used = []
    for path in binding.rglob("*.pxi"):
        used += re.findall(r"^add_rule\(Precedence\.(\w+), ", path.read_text("utf-8"), re.MULTILINE)
    page = (repository / "docs/concepts/conversion-order.md").read_text(encoding="utf-8")
    assert sorted(used) == sorted(declared)
    assert len(re.findall(r"^\d+\. ", page, re.MULTILINE)) == len(used)
