# SPDX-License-Identifier: Apache-2.0
"""Layers of the C and C++ sources: checks of the include graph between folders and between files.

runtime/platform ──────────────┬────────────────┐
abi (C headers)  ─>  runtime/core               │
        └─────────>  C++ headers  ─>  runtime/extra, runtime/testing

An arrow reads "is used by"; nothing points back.  EXTRA_FOLDERS lists the order of the folders of
runtime/extra.  Inside a folder, no file includes itself through others.
"""

from __future__ import annotations

import re
from graphlib import CycleError, TopologicalSorter

import pytest

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

DLPACK, C_API, C_ENV_API = "dlpack/dlpack.h", "tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h"
C_HOST_CALL, C_OBSERVE = "tvm/ffi/extra/c_host_call.h", "tvm/ffi/extra/c_observe.h"
C_PREPARED = "tvm/ffi/extra/c_prepared.h"
# C headers, each with the headers that it may include in addition to the C standard library.
C_HEADERS = {
    DLPACK: set(),
    C_API: {DLPACK},
    C_ENV_API: {C_API},
    C_HOST_CALL: {C_ENV_API},
    C_PREPARED: {C_ENV_API},
    C_OBSERVE: {C_API},
}
C_STANDARD_LIBRARY = {"stdbool.h", "stddef.h", "stdint.h"}

# The folders of runtime/extra, each with the folders before it that it may use.
EXTRA_FOLDERS = {
    "walk": set(),
    "reflection": set(),
    "json": {"walk"},
    "content": {"walk"},
    "structural": {"walk", "content"},
    "host": set(),
    "module": {"walk"},
    "checks": {"module", "content"},
    "cuda": {"module", "content", "checks"},
    "dispatch": {"content", "checks", "cuda"},
    "globals": {"walk", "module"},
    "observe": {"walk", "module"},
}
# The header that declares the registration functions of all folders.
REGISTRATION = "registration.h"
# The only header of the core that runtime/extra may include: it declares functions that the C ABI
# lacks.
CORE_INTERFACE = "../core/extra_layer.h"

# The headers through which the other folders of the runtime use the system.
PLATFORM = {
    "../platform/platform.h",
    "../platform/forced_unwinding.h",
    "../platform/probe.h",
    "../platform/return_address.h",
}

# Folders whose files must not include each other in a cycle.
FOLDERS_WITHOUT_CYCLES = ["platform", "core", "testing", "tvm_backend", "xla"] + [
    f"extra/{folder}" for folder in EXTRA_FOLDERS
]


def includes(path):
    """Return (is_quoted, name) for each include directive of a file."""
    found = INCLUDE.findall(path.read_text(encoding="utf-8"))
    return [(mark == '"', name) for mark, name in found]


def c_files(repository, folder):
    found = [
        path for path in (repository / folder).rglob("*") if path.suffix in {".c", ".cc", ".h"}
    ]
    assert found, f"no C sources in {folder}"
    return found


def include_graph(runtime, folder):
    """Return {unit: units that it includes} for the files below a folder of the runtime.

    A unit is a header together with the source file of the same name: "object" includes every
    file that object.h or object.cc includes.  Includes of other folders are left out.
    """
    top = runtime / folder
    roots = [runtime / "extra"] if folder.startswith("extra/") else []
    graph = {}
    for path in c_files(runtime, folder):
        unit = path.relative_to(top).with_suffix("").as_posix()
        included = graph.setdefault(unit, set())
        for is_quoted, name in includes(path):
            found = [root / name for root in (path.parent, *roots) if (root / name).is_file()]
            if is_quoted and found and found[0].resolve().is_relative_to(top.resolve()):
                other = found[0].resolve().relative_to(top.resolve())
                included.add(other.with_suffix("").as_posix())
        included.discard(unit)
    return graph


def find_cycle(graph):
    """Return the names on one cycle of includes, in order, or None."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return None


def test_c_headers_need_only_the_standard_library_and_the_layer_below(repository):
    for header, allowed in C_HEADERS.items():
        names = {name for _, name in includes(repository / "include" / header)}
        assert names <= C_STANDARD_LIBRARY | allowed, header


def test_public_headers_include_only_public_headers_and_the_standard_library(repository):
    public = repository / "include"
    for path in c_files(repository, "include"):
        for is_quoted, name in includes(path):
            ours = is_quoted or name.startswith(("tvm/", "dlpack/"))
            assert not ours or (public / name).is_file(), f"{path.name} includes {name}"
            assert name != "Python.h", path.name


def test_the_platform_includes_only_itself_and_the_system(repository):
    for path in c_files(repository, "runtime/platform"):
        for is_quoted, name in includes(path):
            assert not is_quoted or (path.parent / name).is_file(), f"{path.name} includes {name}"
            assert ".." not in name, f"{path.name} includes {name}"
            assert not name.startswith(("tvm/", "dlpack/")), f"{path.name} includes {name}"


def test_runtime_core_includes_only_itself_the_platform_and_the_c_abi(repository):
    for path in c_files(repository, "runtime/core"):
        for is_quoted, name in includes(path):
            if is_quoted:
                assert (path.parent / name).is_file(), f"{path.name} includes {name}"
                assert "/" not in name or name in PLATFORM, f"{path.name} includes {name}"
            elif "/" in name or name == "Python.h":
                assert name in C_HEADERS, f"{path.name} includes {name}"


def test_runtime_extra_includes_only_itself_public_headers_the_platform_and_one_core_header(
    repository,
):
    extra = repository / "runtime/extra"
    for path in c_files(repository, "runtime/extra"):
        for is_quoted, name in includes(path):
            if is_quoted:
                assert (extra / name).is_file(), f"{path.name} includes {name}"
                allowed = ".." not in name or name in {CORE_INTERFACE, *PLATFORM}
                assert allowed, f"{path.name} includes {name}"
            else:
                assert name != "Python.h", path.name


def test_folders_of_runtime_extra_include_only_the_folders_that_the_table_allows(repository):
    extra = repository / "runtime/extra"
    assert {path.name for path in extra.iterdir() if path.is_dir()} == set(EXTRA_FOLDERS)
    for path in c_files(repository, "runtime/extra"):
        folder, *rest = path.relative_to(extra).parts
        if not rest:  # the file that includes every folder's registration
            continue
        allowed = {folder} | EXTRA_FOLDERS[folder]
        for is_quoted, name in includes(path):
            if is_quoted and name not in {REGISTRATION, CORE_INTERFACE, *PLATFORM}:
                assert name.split("/")[0] in allowed, f"{folder}/{path.name} includes {name}"


@pytest.mark.parametrize("folder", FOLDERS_WITHOUT_CYCLES)
def test_files_of_a_folder_do_not_include_each_other_in_a_cycle(repository, folder):
    graph = include_graph(repository / "runtime", folder)
    assert find_cycle(graph) is None


def test_the_cycle_check_joins_a_source_file_with_its_header(tmp_path):
    folder = tmp_path / "core"
    folder.mkdir()
    (folder / "a.h").write_text('#include "b.h"\n')
    (folder / "b.h").write_text("")
    assert find_cycle(include_graph(tmp_path, "core")) is None
    (folder / "b.cc").write_text('#include "b.h"\n#include "a.h"\n')
    assert set(find_cycle(include_graph(tmp_path, "core"))) == {"a", "b"}


def test_the_table_of_folders_is_ordered():
    seen = set()
    for folder, allowed in EXTRA_FOLDERS.items():
        assert allowed <= seen, folder
        seen.add(folder)


def test_the_table_of_folders_has_no_unused_entries(repository):
    """An entry that is not used would hide a new dependency."""
    for folder, allowed in EXTRA_FOLDERS.items():
        used = {
            name.split("/")[0]
            for path in c_files(repository, f"runtime/extra/{folder}")
            for is_quoted, name in includes(path)
            if is_quoted
        }
        assert allowed <= used, f"{folder} does not use {allowed - used}"


def test_the_testing_library_includes_only_public_headers(repository):
    for path in c_files(repository, "runtime/testing"):
        for is_quoted, name in includes(path):
            assert not is_quoted, f"{path.name} includes {name}"
            assert name != "Python.h", path.name


def test_runtime_extra_has_no_static_initialisers_that_register(repository):
    """A static link drops an object file that is referenced only by its own initialisers."""
    for path in c_files(repository, "runtime/extra"):
        text = path.read_text(encoding="utf-8")
        assert "TVM_FFI_STATIC_INIT_BLOCK" not in text, f"{path.name}: use registration.cc"


def test_examples_and_benchmarks_include_only_public_headers(repository):
    for folder in ("examples", "benchmarks"):
        for path in c_files(repository, folder):
            for is_quoted, name in includes(path):
                assert "runtime/" not in name, f"{path.name} includes {name}"
                assert not is_quoted or (path.parent / name).is_file(), f"{path.name}: {name}"


def test_the_architecture_names_each_file_of_the_runtime_in_its_folder(repository):
    runtime = repository / "runtime"
    layers = {path.name for path in runtime.iterdir()}
    text = (repository / "docs/design/architecture.md").read_text(encoding="utf-8")
    named, folder = set(), ""
    for row in re.findall(r"^\|([^|\n]*)\|([^|\n]*)\|[^|\n]*\|$", text, re.MULTILINE):
        folder = row[0].strip(" `") or folder  # an empty cell has the text of the cell above
        if folder.split("/")[0] in layers:
            named |= {f"{folder}/{stem}" for stem in re.findall(r"`(\w+)`", row[1])}
    files = c_files(repository, "runtime")
    assert named == {path.relative_to(runtime).with_suffix("").as_posix() for path in files}
