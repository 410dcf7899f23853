# SPDX-License-Identifier: Apache-2.0
"""Layers of the C and C++ sources, seen in their include directives.

abi (C headers)  ─>  runtime/core
        └─────────>  C++ headers  ─>  runtime/extra, runtime/testing

An arrow reads "is used by"; nothing points back.  The folders of runtime/extra have an order of
their own, in the table below.
"""

from __future__ import annotations

import re

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.MULTILINE)

DLPACK, C_API, C_ENV_API = "dlpack/dlpack.h", "tvm/ffi/c_api.h", "tvm/ffi/extra/c_env_api.h"
C_HOST_CALL = "tvm/ffi/extra/c_host_call.h"
# A C header and what it may include beside the C standard library.
C_HEADERS = {DLPACK: set(), C_API: {DLPACK}, C_ENV_API: {C_API}, C_HOST_CALL: {C_ENV_API}}
C_STANDARD_LIBRARY = {"stdbool.h", "stddef.h", "stdint.h"}

# A folder of runtime/extra and those it may use beside itself; each stands below what it uses.
EXTRA_FOLDERS = {
    "walk": set(),
    "reflection": set(),
    "json": {"walk"},
    "content": {"walk"},
    "structural": {"walk", "content"},
    "host": set(),
    "module": {"walk"},
    "cuda": {"module", "content"},
    "globals": {"walk", "module"},
}
# The list of what is registered, which each folder adds to.
REGISTRATION = "registration.h"
# What it may ask of the core that the C ABI does not tell.
SEAM = "../core/extra_layer.h"


def includes(path):
    """Return (is_quoted, name) of each directive of a file."""
    found = INCLUDE.findall(path.read_text(encoding="utf-8"))
    return [(mark == '"', name) for mark, name in found]


def c_files(repository, folder):
    found = [
        path for path in (repository / folder).rglob("*") if path.suffix in {".c", ".cc", ".h"}
    ]
    assert found, f"no C sources in {folder}"
    return found


def test_c_headers_need_only_the_standard_library_and_the_layer_below(repository):
    for header, allowed in C_HEADERS.items():
        names = {name for _, name in includes(repository / "include" / header)}
        assert names <= C_STANDARD_LIBRARY | allowed, header


def test_public_headers_do_not_know_the_runtime_or_python(repository):
    """What they include is public as well, or comes with the compiler."""
    public = repository / "include"
    for path in c_files(repository, "include"):
        for is_quoted, name in includes(path):
            ours = is_quoted or name.startswith(("tvm/", "dlpack/"))
            assert not ours or (public / name).is_file(), f"{path.name} includes {name}"
            assert name != "Python.h", path.name


def test_runtime_core_knows_only_itself_and_the_c_abi(repository):
    for path in c_files(repository, "runtime/core"):
        for is_quoted, name in includes(path):
            if is_quoted:
                assert (path.parent / name).is_file(), f"{path.name} includes {name}"
                assert "/" not in name, f"{path.name} includes {name}"
            elif "/" in name or name == "Python.h":
                assert name in C_HEADERS, f"{path.name} includes {name}"


def test_runtime_extra_knows_itself_and_the_public_headers(repository):
    """It reaches the core as every client does, through C, and through one header beside it."""
    extra = repository / "runtime/extra"
    for path in c_files(repository, "runtime/extra"):
        for is_quoted, name in includes(path):
            if is_quoted:
                assert (extra / name).is_file(), f"{path.name} includes {name}"
                assert ".." not in name or name == SEAM, f"{path.name} includes {name}"
            else:
                assert name != "Python.h", path.name


def test_the_folders_of_runtime_extra_use_those_above_them_in_the_table(repository):
    extra = repository / "runtime/extra"
    assert {path.name for path in extra.iterdir() if path.is_dir()} == set(EXTRA_FOLDERS)
    for path in c_files(repository, "runtime/extra"):
        folder, *rest = path.relative_to(extra).parts
        if not rest:  # the registration is above all
            continue
        allowed = {folder} | EXTRA_FOLDERS[folder]
        for is_quoted, name in includes(path):
            if is_quoted and name not in {REGISTRATION, SEAM}:
                assert name.split("/")[0] in allowed, f"{folder}/{path.name} includes {name}"


def test_the_table_of_folders_is_an_order():
    seen = set()
    for folder, allowed in EXTRA_FOLDERS.items():
        assert allowed <= seen, folder
        seen.add(folder)


def test_the_table_of_folders_allows_nothing_that_is_not_used(repository):
    """An entry that nothing needs any more would let a new use in unseen."""
    for folder, allowed in EXTRA_FOLDERS.items():
        used = {
            name.split("/")[0]
            for path in c_files(repository, f"runtime/extra/{folder}")
            for is_quoted, name in includes(path)
            if is_quoted
        }
        assert allowed <= used, f"{folder} does not use {allowed - used}"


def test_the_testing_library_is_a_client_like_any_other(repository):
    for path in c_files(repository, "runtime/testing"):
        for is_quoted, name in includes(path):
            assert not is_quoted, f"{path.name} includes {name}"
            assert name != "Python.h", path.name


def test_runtime_extra_registers_in_one_place(repository):
    """A static link leaves out files that nothing but their own initialisers would call."""
    for path in c_files(repository, "runtime/extra"):
        text = path.read_text(encoding="utf-8")
        assert "TVM_FFI_STATIC_INIT_BLOCK" not in text, f"{path.name}: use registration.cc"


def test_examples_and_benchmarks_use_public_headers(repository):
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
        folder = row[0].strip(" `") or folder  # an empty cell: the folder of the row above
        if folder.split("/")[0] in layers:
            named |= {f"{folder}/{stem}" for stem in re.findall(r"`(\w+)`", row[1])}
    files = c_files(repository, "runtime")
    assert named == {path.relative_to(runtime).with_suffix("").as_posix() for path in files}
