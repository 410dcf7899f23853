# SPDX-License-Identifier: Apache-2.0
"""Layers of the Rust crate: the `use` graph between the files of `rust/src` has no cycle.

An edge is a path that begins with `crate::`, `$crate::` or `super::`, in a `use` declaration or
elsewhere, and a `pub use` of a submodule. A name that the root re-exports, such as `crate::Any`, is
an edge to the file that defines it. Comments do not count: documentation may link to higher layers.
Neither do calls of methods, which need no path.
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter

import pytest

# Files from the lowest to the highest layer: each uses only files of earlier rows.
LAYERS = (
    {"abi"},
    {"bytes", "object", "parameter_type", "type_names"},
    {"error"},
    {"any"},
    {"convert"},
    {"arguments", "boundary", "dtype", "handle"},
    {"environment", "tensor_description"},
    {"borrows"},
    {"function"},
    {"container", "module", "tensor_view"},
    {"tensor"},
    {"signature/cursor", "signature/types"},
    {"signature/agreement", "signature/checks", "signature/dtype_names"},
    {"signature/text"},
    {"signature"},
    {"export"},
)

COMMENT = re.compile(r"//[^\n]*")
PATH = re.compile(r"(\$?crate|super)::((?:\w+::)*)(\w+!?|\{)")
RE_EXPORT = re.compile(r"^pub use (\w+)::(?:(\w+)|\{([^}]*)\});", re.MULTILINE)
MACRO = re.compile(r"#\[macro_export\]\s*macro_rules! (\w+)")


def read_sources(folder):
    """Return {module path: text without comments}; the root `lib.rs` is the module ""."""
    sources = {}
    for path in folder.rglob("*.rs"):
        module = path.relative_to(folder).with_suffix("").as_posix()
        module = "" if module == "lib" else module.removesuffix("/mod")
        sources[module] = COMMENT.sub("", path.read_text(encoding="utf-8"))
    return sources


def root_names(sources):
    """Return {name in the crate root: its module}, for re-exports and exported macros."""
    names = {}
    for module, single, several in RE_EXPORT.findall(sources[""]):
        names.update(dict.fromkeys(re.findall(r"\w+", single or several), module))
    for module, text in sources.items():
        names.update({f"{name}!": module for name in MACRO.findall(text)})
    return names


def used_names(text, begin):
    """Return the names in a brace group that begins at an offset, without nested groups."""
    depth, end = 1, begin
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    group = re.sub(r"::\{.*?\}", "", text[begin : end - 1], flags=re.DOTALL)
    return [name.split("::")[0].split()[0] for name in group.split(",") if name.strip()]


def use_graph(sources):
    """Return {module: modules that it uses}; the crate root is left out."""
    at_root = root_names(sources)
    graph = {module: set() for module in sources if module}
    for module, used in graph.items():
        text = sources[module]
        for match in PATH.finditer(text):
            anchor, middle, last = match.groups()
            base = module.rpartition("/")[0] if anchor == "super" else ""
            parts = [part for part in (*base.split("/"), *middle.split("::")) if part]
            for name in used_names(text, match.end()) if last == "{" else [last]:
                path = "/".join([*parts, name])
                while path and path not in graph:
                    shorter = path.rpartition("/")[0]
                    path = shorter or at_root[name if not parts else parts[0]]
                used.add(path)
        for child, *_ in RE_EXPORT.findall(text):
            used.add(f"{module}/{child}")
        used.discard(module)
    return graph


def find_cycle(graph):
    """Return the modules on one cycle of uses, in order, or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


@pytest.fixture(scope="session")
def graph(repository):
    return use_graph(read_sources(repository / "rust/src"))


def test_no_file_uses_itself_through_other_files(graph):
    assert find_cycle(graph) is None


def test_each_file_uses_only_files_of_lower_layers(graph):
    assert set(graph) == set().union(*LAYERS)
    level = {module: index for index, layer in enumerate(LAYERS) for module in layer}
    for module, used in graph.items():
        for other in used:
            assert level[other] < level[module], f"{module} uses {other}"


def test_the_graph_contains_declarations_paths_re_exports_and_macros():
    sources = {
        "": "pub use any::{Any, AnyView};\npub use error::Error;\n",
        "any": "use crate::convert::{From, Into};\n",
        "convert": "fn f() -> crate::Any {}\n",
        "error": "use crate::export_row!;\n",
        "export": "#[macro_export]\nmacro_rules! export_row {}\n",
        "signature": "mod text;\npub use text::parse;\n",
        "signature/text": "use super::types::{Kind, Extent};\nuse crate::{any::{Any}, Error};\n",
        "signature/types": "",
    }
    graph = use_graph(sources)
    assert graph == {
        "any": {"convert"},
        "convert": {"any"},
        "error": {"export"},
        "export": set(),
        "signature": {"signature/text"},
        "signature/text": {"signature/types", "any", "error"},
        "signature/types": set(),
    }
    assert set(find_cycle(graph)) == {"any", "convert"}
