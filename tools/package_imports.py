# SPDX-License-Identifier: Apache-2.0
"""What imports what in the Python package, and the picture of it in docs/design/architecture.md.

All imports count: those inside functions, and what `late_attributes` loads when it is asked for.
Those for type checkers alone do not.

    python tools/package_imports.py           rewrite the picture
    python tools/package_imports.py --check   exit status 1 if it is not what would be written
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

# Imports of what stands above, by module, with the reason.  The picture is without them.
UPWARD = {
    # Its public place is there; a kind of modules written in Python derives from what is there.
    ("tvm_ffi.module", "tvm_ffi.module._custom"),
    # Its methods; most programs describe nothing, and import faster without it.
    ("tvm_ffi.module", "tvm_ffi.module._signatures"),
    # Signatures need nothing native but to read annotations, which are classes of the package, and
    # to check arguments.
    ("tvm_ffi.signature._annotations", "tvm_ffi._types.annotation"),
    ("tvm_ffi.signature._values", "tvm_ffi._binding.call"),
    ("tvm_ffi.signature._values", "tvm_ffi._binding.object"),
    ("tvm_ffi.signature._values", "tvm_ffi._binding.values"),
    ("tvm_ffi.signature._values", "tvm_ffi._types.type_index"),
    ("tvm_ffi.signature._values", "tvm_ffi._types.schema"),
}

CYTHON_IMPORT = re.compile(
    r"^(\s*)(?:from\s+([\w.]+)\s+)?c?import\s+\(?\s*([\w.]+(?:\s*,\s*\w+)*)?"
)


# ---- Reading -------------------------------------------------------------------------------------


def imports_of_package(root: Path = ROOT, everywhere: bool = True) -> Graph:
    """Return for each module of the package the absolute names that it imports.

    With `everywhere` false, only what it imports when it is loaded.
    """
    graph: Graph = {}
    folder = root / "src"
    for path in sorted((folder / PACKAGE).rglob("*")):
        if path.suffix not in {".py", ".pyx", ".pxd", ".pxi"}:
            continue
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        module = module.removesuffix(".__init__")
        is_part = path.suffix in {".pxd", ".pxi"} and path.with_name("__init__.pyx").exists()
        if is_part and path.stem != "__init__":  # of the compiled module that the folder is
            module = module.rpartition(".")[0]
        read = python_imports if path.suffix == ".py" else cython_imports
        graph.setdefault(module, set()).update(read(path, module, everywhere) - {module})
    known = set(graph)
    return {module: {_module_of(name, known) for name in names} for module, names in graph.items()}


def _module_of(name: str, known: set[str]) -> str:
    """Return the module where `from X import a` has to be looked up: X.a if that is one, or X."""
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
                yield from (_absolute(place, path, module) for place in _places(node))
        elif everywhere or not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield from _names_in(ast.iter_child_nodes(node), path, module, everywhere)


def _places(call: ast.Call) -> Iterator[str]:
    """Return the modules that a call of `late_attributes` names."""
    places = call.args[1]
    assert isinstance(places, ast.Dict), "late_attributes takes a literal"
    for value in places.values:
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
    """Return the names that a Cython file imports; it imports by absolute names only."""
    found: set[str] = set()
    for line in path.read_text(encoding="utf-8").splitlines():
        match = CYTHON_IMPORT.match(line)
        if match is None or (match[1] and not everywhere):
            continue
        names = {name for name in re.split(r"\s*,\s*", match[3] or "") if name}
        found |= {f"{match[2]}.{name}" for name in names} | {match[2]} if match[2] else names
    return found


# ---- The picture ---------------------------------------------------------------------------------


def without_upward(graph: Mapping[str, set[str]]) -> Graph:
    """Return the imports but for those that are listed with their reason."""
    return {
        module: {name for name in names if (module, name) not in UPWARD}
        for module, names in graph.items()
    }


def unit_of(module: str) -> str:
    """Return the unit of a module: the module or subpackage directly below the package.

    The modules of `_internal` have only the folder in common, so each one is a unit.
    """
    parts = module.split(".")
    if parts[1:2] == ["_internal"]:
        return ".".join(parts[1:])
    return parts[1] if len(parts) > 1 else module


def imports_of_units(graph: Mapping[str, set[str]]) -> Graph:
    """Return the same between the modules and subpackages directly below the package."""
    units: Graph = {}
    for module, names in graph.items():
        ours = {unit_of(name) for name in names if name in graph}
        units.setdefault(unit_of(module), set()).update(ours - {unit_of(module)})
    return units


def levels(units: Mapping[str, set[str]]) -> dict[str, int]:
    """Return for each unit how many stand below it, one upon the other."""
    found: dict[str, int] = {}

    def level(unit: str, above: tuple[str, ...]) -> int:
        if unit in above:
            raise ValueError("circle of imports: " + " -> ".join([*above, unit]))
        if unit not in found:
            below = [level(other, (*above, unit)) for other in units[unit]]
            found[unit] = 1 + max(below, default=-1)
        return found[unit]

    for unit in units:
        level(unit, ())
    return found


def picture(graph: Mapping[str, set[str]]) -> str:
    """Return a line for each unit, the highest first: what it imports and nothing else brings."""
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
    """Return the page with another picture between the marks."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise ValueError(f"{PAGE}: expected the lines {BEGIN.strip()} and {END.strip()}")
    return f"{before}{begin}\n```text\n{text}```\n\n{end}{after}"


def main(arguments: list[str]) -> int:
    """Run the command line; return the exit status."""
    page = PAGE.read_text(encoding="utf-8")
    wanted = page_with(picture(imports_of_package()), page)
    if arguments == ["--check"]:
        return int(page != wanted)
    PAGE.write_text(wanted, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
