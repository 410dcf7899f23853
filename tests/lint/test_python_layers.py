# SPDX-License-Identifier: Apache-2.0
"""Layers of the Python package: each module imports only modules of lower layers.

Imports inside functions count as well.
"""

from __future__ import annotations

from graphlib import CycleError, TopologicalSorter

import package_imports as tool
import pytest

PACKAGE = "tvm_ffi"

# Modules and subpackages from the lowest to the highest layer. Each imports only units of earlier
# rows.
LAYERS = (
    # these import nothing of this package
    {
        "_internal",
        "_internal.builds",
        "_internal.conflict",
        "_internal.html",
        "_internal.lazy",
        "_internal.platform",
        "_internal.public_name",
        "_internal.regular_file",
        "_internal.suggestion",
        "_internal.terminal",
        "_optional_torch_c_dlpack",
        "_pyinstaller",
        "_schema",
        "_version",
    },
    {"signature"},  # uses only the type language (`_schema`)
    {"_binding", "_internal.distribution_alias"},
    {"_internal.dlpack_codes", "_internal.printing", "_internal.traceback"},  # loaded on demand
    {"_dtype", "error"},
    {"_types"},  # native types
    {"_tensor", "registry"},
    {"_ffi_api", "core"},
    {"access_path", "container", "dataclasses", "observe", "serialization", "stream", "structural"},
    {"_convert", "builds", "module"},
    {"_library", "libinfo"},
    {"export", "inspection", "stub", "utils"},
    {"_new_package", "cpp", "testing"},
    {"config"},  # a program that may need a build
    {"codegen"},  # wrappers generated from signatures, built with `cpp`
    {"dispatches", "_doctor", "cuda"},
    {"interop"},  # adapters, imported by users only
    {"cli", PACKAGE},  # the package itself; it imports most units lazily
    {"__main__"},
)
# Modules that programs import without the rest of the package, with the imports that each may have.
LIGHT = {
    "_version": set(),
    "libinfo": set(),
    "config": {"libinfo"},
}
# Programs; other modules do not import them.
PROGRAMS = {"__main__", "config", "stub.cli"}
# Modules whose import is slow or changes the process.
HEAVY = {"cupy", "jax", "ml_dtypes", "numba", "numpy", "paddle", "tensorflow", "torch"}


@pytest.fixture(scope="module")
def graph():
    """Return all imports of each module of the package."""
    imports = tool.imports_of_package()
    assert f"{PACKAGE}.libinfo" in imports
    return imports


@pytest.fixture(scope="module")
def loaded():
    """Return the imports of each module that run when the module is imported."""
    return tool.imports_of_package(everywhere=False)


def test_each_layer_imports_only_lower_ones(graph):
    row = {unit: number for number, units in enumerate(LAYERS) for unit in units}
    units = tool.imports_of_units(tool.without_upward(graph))
    assert row.keys() == units.keys()
    upward = {
        f"{unit} imports {other}"
        for unit, others in units.items()
        for other in others
        if row[other] >= row[unit]
    }
    assert upward == set()


def test_imports_have_no_cycles(graph):
    """Imports of the package itself count: submodules would see a partly initialized package."""
    listed = tool.without_upward(graph)
    ours = {module: {name for name in names if name in graph} for module, names in listed.items()}
    try:
        TopologicalSorter(ours).prepare()
    except CycleError as error:
        pytest.fail(
            "the modules of the package import each other in a cycle: "
            + " needs ".join(reversed(error.args[1]))
        )


def test_every_allowed_upward_import_exists(graph):
    assert {
        (module, name) for module, name in tool.UPWARD if name in graph.get(module, ())
    } == tool.UPWARD


def test_loading_the_package_loads_no_array_library(loaded):
    """A `cimport numpy` counts, because Cython imports NumPy for it."""
    found = {
        (module, name)
        for module, names in loaded.items()
        if not module.startswith(f"{PACKAGE}.interop.")
        for name in names
        if name.split(".")[0] in HEAVY
    }
    assert found == set()


def test_no_module_imports_adapters(graph):
    """The package must not import frameworks that a program does not use."""
    interop = f"{PACKAGE}.interop"
    found = {
        (module, name)
        for module, names in graph.items()
        for name in names
        if name.startswith(interop) and not module.startswith(interop)
    }
    assert found == set()


def test_the_language_of_types_does_not_depend_on_the_package(graph):
    """`_schema` can be copied and used without the package."""
    ours = tool.imports_of_units(tool.without_upward(graph))
    assert ours["_schema"] == set()
    assert ours["signature"] == {"_schema", "_internal.suggestion"}
    assert ours["_binding"] == {
        "_internal.conflict",
        "_internal.html",
        "_internal.lazy",
        "_internal.platform",
        "_internal.suggestion",
        "_schema",
        "signature",
    }


@pytest.mark.parametrize("name", sorted(LIGHT))
def test_light_modules_import_only_allowed_modules(loaded, name):
    ours = {other for other in loaded[f"{PACKAGE}.{name}"] if other.startswith(PACKAGE)}
    assert ours <= {f"{PACKAGE}.{allowed}" for allowed in LIGHT[name]}


def test_programs_are_not_imported(graph):
    programs = {f"{PACKAGE}.{name}" for name in PROGRAMS}
    importers = {module for module, names in graph.items() if names & programs}
    assert importers == set()


def test_only_the_program_imports_the_command_line(graph):
    """Modules of `cli` parse arguments and print; the functions they call are below `cli`."""
    cli = {name for name in graph if name.startswith(f"{PACKAGE}.cli")}
    importers = {module for module, names in graph.items() if names & cli} - cli
    assert importers == {f"{PACKAGE}.__main__"}


def test_the_import_list_on_the_page_is_up_to_date(graph):
    """`python tools/package_imports.py` updates the generated page."""
    page = tool.PAGE.read_text(encoding="utf-8")
    assert page == tool.page_with(tool.import_list(graph), page)


# ---- Parsing of imports --------------------------------------------------------------------------

MODULE = """
import json, os.path
from . import near, _other
from .sub import thing
from .. import above
if TYPE_CHECKING:
    from .unseen import X
else:
    from .seen import Y
__getattr__ = late_attributes(globals(), {"A": ".late:A", "B": lambda: 1, "C": "..other"})
def f():
    from ..far import Z
    class K:
        import inner
"""


def test_imports_in_functions_branches_and_lazy_attributes_are_found(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(MODULE, encoding="utf-8")
    when_loaded = {
        *("json", "os.path", "p.q.near", "p.q._other", "p.q.sub.thing", "p.above", "p.q.seen.Y"),
    }
    assert tool.python_imports(path, "p.q.module", False) == when_loaded
    everywhere = when_loaded | {"p.q.late", "p.other", "p.far.Z", "inner"}
    assert tool.python_imports(path, "p.q.module", True) == everywhere


def test_a_package_imports_from_itself(tmp_path):
    path = tmp_path / "__init__.py"
    path.write_text("from .a import b\nfrom . import c", encoding="utf-8")
    assert tool.python_imports(path, "p.q", True) == {"p.q.a.b", "p.q.c"}


def test_import_cycles_are_refused():
    with pytest.raises(ValueError, match="import cycle: a -> b -> a"):
        tool.levels({"a": {"b"}, "b": {"a"}})
