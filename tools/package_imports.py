# SPDX-License-Identifier: Apache-2.0
"""Import graph of the Python package, printed as a list in docs/design/architecture.md.

The graph includes imports inside functions and lazy imports by `late_attributes`, but not imports
under ``TYPE_CHECKING``.

    python tools/package_imports.py           rewrite the list
    python tools/package_imports.py --check   exit status 1 if the list is out of date
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

PACKAGE = "tvm_ffi"
ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "design" / "architecture.md"
BEGIN = "<!-- begin: tools/package_imports.py -->\n"
END = "<!-- end: tools/package_imports.py -->\n"

Graph = dict[str, set[str]]

# Allowed imports from a lower into a higher layer, (module, imported module), with their reasons.
# The list on the page does not include them.
UPWARD = {
    # `module` imports the class CustomModule on first access; `_custom` imports its base class
    # Module from `module`.
    ("tvm_ffi.module", "tvm_ffi.module._custom"),
    # Builds print the checks of a signature with the printer of `codegen`.
    ("tvm_ffi.cpp._file_checks", "tvm_ffi.codegen.c"),
    ("tvm_ffi.cpp._source", "tvm_ffi.codegen.c"),
    # Methods of Module import `_signatures` on first use, as most programs do not need it.
    ("tvm_ffi.module", "tvm_ffi.module._signatures"),
    # `signature` works without native code, except for reading annotations and checking arguments,
    # which import native code on first use.
    ("tvm_ffi.signature._annotations", "tvm_ffi._types.annotation"),
    ("tvm_ffi.signature._check_program", "tvm_ffi._binding.values"),
    ("tvm_ffi.signature._check_program", "tvm_ffi._dtype"),
    ("tvm_ffi.signature._values", "tvm_ffi._binding.call"),
    ("tvm_ffi.signature._values", "tvm_ffi._binding.object"),
    ("tvm_ffi.signature._values", "tvm_ffi._binding.values"),
    ("tvm_ffi.signature._values", "tvm_ffi._types.type_index"),
    ("tvm_ffi.signature._values", "tvm_ffi._types.schema"),
}

CYTHON_IMPORT = re.compile(
    r"^(\s*)(?:from\s+([\w.]+)\s+)?c?import\s+\(?\s*([\w.]+(?:\s*,\s*\w+)*)?"
)


# ---- Parsing of imports --------------------------------------------------------------------------


def imports_of_package(root: Path = ROOT, everywhere: bool = True) -> Graph:
    """Return the absolute names that each module of the package imports.

    If `everywhere` is false, imports in functions and lazy imports are excluded.
    """
    graph: Graph = {}
    folder = root / "src"
    for path in sorted((folder / PACKAGE).rglob("*")):
        if path.suffix not in {".py", ".pyx", ".pxd", ".pxi"}:
            continue
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        module = module.removesuffix(".__init__")
        is_part = path.suffix in {".pxd", ".pxi"} and path.with_name("__init__.pyx").exists()
        if is_part and path.stem != "__init__":  # a part of the folder's extension module
            module = module.rpartition(".")[0]
        read = python_imports if path.suffix == ".py" else cython_imports
        graph.setdefault(module, set()).update(read(path, module, everywhere) - {module})
    known = set(graph)
    return {module: {_module_of(name, known) for name in names} for module, names in graph.items()}


def _module_of(name: str, known: set[str]) -> str:
    """Return the module that the imported name X.a refers to: X.a if it is a module, else X."""
    parent = name.rpartition(".")[0]
    return name if name in known or parent not in known else parent


def python_imports(path: Path, module: str, everywhere: bool) -> set[str]:
    """Return the names that a Python file imports."""
    return set(
        _names_in(ast.parse(path.read_text(encoding="utf-8")).body, path, module, everywhere)
    )


def _names_in(body: Iterable[ast.AST], path: Path, module: str, everywhere: bool) -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute("." * node.level + (node.module or ""), path, module)
            yield from (f"{base}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            yield from _names_in(node.orelse, path, module, everywhere)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("late_attributes"):
            if everywhere:
                yield from (_absolute(name, path, module) for name in _lazy_modules(node))
        elif everywhere or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _names_in(ast.iter_child_nodes(node), path, module, everywhere)


def _lazy_modules(call: ast.Call) -> Iterator[str]:
    """Yield the modules that a call of `late_attributes` imports lazily."""
    sources = call.args[1]
    assert isinstance(sources, ast.Dict), "late_attributes takes a literal"
    for value in sources.values:
        if isinstance(value, ast.Constant):
            yield str(value.value).partition(":")[0]


def _absolute(name: str, path: Path, module: str) -> str:
    rest = name.lstrip(".")
    level = len(name) - len(rest)
    if level == 0:
        return name
    parts = module.split(".")
    parts = parts[: len(parts) - level + (path.stem == "__init__")]
    return ".".join([*parts, *([rest] if rest else [])])


def cython_imports(path: Path, module: str, everywhere: bool) -> set[str]:
    """Return the names that a Cython file imports; all its imports are absolute."""
    found: set[str] = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        match = CYTHON_IMPORT.match(line)
        if match is None or (match[1] and not everywhere):
            continue
        names = {name for name in re.split(r"\s*,\s*", match[3] or "") if name}
        found |= {f"{match[2]}.{name}" for name in names} | {match[2]} if match[2] else names
    return found


# ---- The list in docs/design/architecture.md -----------------------------------------------------


def without_upward(graph: Mapping[str, set[str]]) -> Graph:
    """Return the import graph without the allowed imports from a lower into a higher layer."""
    return {
        module: {name for name in names if (module, name) not in UPWARD}
        for module, names in graph.items()
    }


def unit_of(module: str) -> str:
    """Return the unit of a module: the module or subpackage directly below the package.

    Each module of `_internal` is a unit, because these modules are independent of each other.
    """
    parts = module.split(".")
    if parts[1:2] == ["_internal"]:
        return ".".join(parts[1:])
    return parts[1] if len(parts) > 1 else module


def imports_of_units(graph: Mapping[str, set[str]]) -> Graph:
    """Return the import graph between units."""
    units: Graph = {}
    for module, names in graph.items():
        ours = {unit_of(name) for name in names if name in graph}
        units.setdefault(unit_of(module), set()).update(ours - {unit_of(module)})
    return units


def levels(units: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the level of each unit: 0 without imports, otherwise above all imported units."""
    found: dict[str, int] = {}

    def level(unit: str, above: tuple[str, ...]) -> int:
        if unit in above:
            raise ValueError("import cycle: " + " -> ".join([*above, unit]))
        if unit not in found:
            below = [level(other, (*above, unit)) for other in units[unit]]
            found[unit] = 1 + max(below, default=-1)
        return found[unit]

    for unit in units:
        level(unit, ())
    return found


def import_list(graph: Mapping[str, set[str]]) -> str:
    """Return the list for the page: a line per unit with its imports, highest level first.

    An import is omitted if another imported unit imports the same unit, directly or indirectly.
    """
    units = imports_of_units(without_upward(graph))
    level = levels(units)
    reached: Graph = {}
    for unit in sorted(units, key=level.__getitem__):
        reached[unit] = units[unit].union(*(reached[other] for other in units[unit]))
    width = max(map(len, units))
    lines, before = [], None
    for unit in sorted(units, key=lambda unit: (-level[unit], unit)):
        if before is not None and level[unit] != before:
            lines.append("")
        before = level[unit]
        through = set().union(*(reached[other] for other in units[unit]))
        direct = sorted(units[unit] - through, key=lambda other: (-level[other], other))
        lines.append(f"{unit:{width}} ─> {' '.join(direct)}" if direct else unit)
    return "\n".join(lines) + "\n"


def page_with(text: str, page: str) -> str:
    """Return the page with the list `text` between the lines `BEGIN` and `END`."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE}: expected the lines {BEGIN.strip()} and {END.strip()}")
    return f"{before}{begin}\n```text\n{text}```\n\n{end}{after}"


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    page = PAGE.read_text(encoding="utf-8")
    wanted = page_with(import_list(imports_of_package()), page)
    if arguments == ["--check"]:
        return int(page != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
