# SPDX-License-Identifier: Apache-2.0
"""Layers of the Python package, seen in its import statements.

binding  ─>  python package  ─>  cli, config        "is used by"; nothing points back
"""

from __future__ import annotations

import ast
import re
from graphlib import CycleError, TopologicalSorter

import pytest

PACKAGE = "tvm_ffi"
# Importing one of these takes long or changes the process: only what needs it imports it.
HEAVY = {"cupy", "jax", "ml_dtypes", "numba", "numpy", "paddle", "tensorflow", "torch"}
# A module or subpackage, and all that it may import from the package when it is loaded.
MAY_IMPORT = {
    "_version": set(),
    "libinfo": set(),
    "config": {"libinfo"},
}
# Nobody imports these: they are programs.
PROGRAMS = {"__main__", "config", "stub.cli"}

CYTHON_IMPORT = re.compile(
    r"^(\s*)(?:from\s+([\w.]+)\s+)?c?import\s+\(?\s*([\w.]+(?:\s*,\s*\w+)*)?"
)


def python_imports(path, module):
    """Return the absolute names that a module imports when it is loaded."""
    return set(_imports_of(ast.parse(path.read_text(encoding="utf-8")).body, module, path))


def _imports_of(body, module, path):
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from _names_of(node, module, path)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from _imports_of(node.orelse, module, path)
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _imports_of(ast.iter_child_nodes(node), module, path)


def _names_of(node, module, path):
    """Return what `from X import a, b` loads: X, or X.a and X.b when those are modules."""
    base = node.module or ""
    if node.level:
        package = module.split(".")[: None if path.stem == "__init__" else -1]
        package = package[: len(package) - node.level + 1]
        base = ".".join([*package, *filter(None, [node.module])])
    return {f"{base}.{alias.name}" for alias in node.names} if base == PACKAGE else {base}


def cython_imports(path, everywhere=False):
    """Return the absolute names that a Cython file imports: when loaded, or also in functions."""
    found = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        match = CYTHON_IMPORT.match(line)
        if match is None or (match[1] and not everywhere):
            continue
        base, names = match[2], re.split(r"\s*,\s*", match[3] or "")
        # `from package cimport module` names modules, `from module cimport name` does not.
        is_package = base is None or base in (PACKAGE, f"{PACKAGE}._binding")
        prefix = f"{base}." if base else ""
        found |= {prefix + name for name in names if name} if is_package else {base}
    return found


@pytest.fixture(scope="module")
def graph(repository):
    """Return for each module of the package what it imports when it is loaded."""
    root = repository / "src"
    imports = {}
    for path in sorted((root / PACKAGE).rglob("*")):
        if path.suffix not in {".py", ".pyx", ".pxd"}:
            continue
        module = ".".join(path.relative_to(root).with_suffix("").parts)
        module = module[: -len(".__init__")] if module.endswith(".__init__") else module
        names = python_imports(path, module) if path.suffix == ".py" else cython_imports(path)
        imports.setdefault(module, set()).update(names - {module})
    assert f"{PACKAGE}.libinfo" in imports
    return imports


def test_loading_the_package_loads_no_array_library(graph):
    """A `cimport numpy` counts: Cython imports NumPy for it."""
    found = {
        (module, name)
        for module, names in graph.items()
        for name in names
        if name.split(".")[0] in HEAVY
    }
    assert found == set()


def test_the_binding_knows_only_itself(repository):
    """Not even inside functions."""
    binding = repository / "src" / PACKAGE / "_binding"
    for path in sorted(binding.rglob("*.p[yx]*")):
        if path.suffix not in {".pyx", ".pxd"}:
            continue
        ours = {name for name in cython_imports(path, everywhere=True) if name.startswith(PACKAGE)}
        assert all(name.startswith(f"{PACKAGE}._binding") for name in ours), path.name


@pytest.mark.parametrize("name", sorted(MAY_IMPORT))
def test_light_modules_stay_light(graph, name):
    ours = {other for other in graph[f"{PACKAGE}.{name}"] if other.startswith(PACKAGE)}
    assert ours <= {f"{PACKAGE}.{allowed}" for allowed in MAY_IMPORT[name]}


def test_programs_are_not_imported(graph):
    programs = {f"{PACKAGE}.{name}" for name in PROGRAMS}
    importers = {module for module, names in graph.items() if names & programs}
    assert importers == set()


def test_the_command_line_is_imported_by_its_program_alone(graph):
    """Its modules read arguments and print; programs call what is below."""
    cli = {name for name in graph if name.startswith(f"{PACKAGE}.cli")}
    importers = {module for module, names in graph.items() if names & cli} - cli
    assert importers == {f"{PACKAGE}.__main__"}


def test_no_module_needs_itself(graph):
    """Submodules that import the package itself meet it half initialized, so that counts, too."""
    ours = {module: {name for name in names if name in graph} for module, names in graph.items()}
    try:
        TopologicalSorter(ours).prepare()
    except CycleError as error:
        pytest.fail("import cycle: " + " needs ".join(reversed(error.args[1])))
