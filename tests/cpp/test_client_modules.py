# SPDX-License-Identifier: Apache-2.0
"""A module class defined in a user's library, inspected from outside and used from Python."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import libinfo

SOURCE = Path(__file__).with_name("client_module_library.cc")
# Class data that the library must import from libtvm_ffi instead of defining a copy.
SHARED_SYMBOLS = {
    "_ZTIN3tvm3ffi9ModuleObjE",
    "_ZN3tvm3ffi9ModuleObj12ImportModuleERKNS0_6ModuleE",
    "_ZN3tvm3ffi9ModuleObj12ClearImportsEv",
}


@pytest.fixture(scope="module")
def client_library(tmp_path_factory):
    """Build the library with users' flags: default visibility, no optimization."""
    library = tmp_path_factory.mktemp("client") / "client.so"
    compiler = shlex.split(os.environ.get("CXX", "c++"))
    include = [f"-I{path}" for path in libinfo.include_paths()]
    command = [*compiler, "-std=c++17", "-O0", "-fPIC", "-shared", *include]
    subprocess.run([*command, str(SOURCE), "-o", str(library)], check=True)
    return library


@pytest.fixture(scope="module")
def client(client_library):
    return tvm_ffi.load_module(client_library)


def test_clients_import_the_class_data_of_modules(client_library):
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not installed")
    command = [nm, "--dynamic", "--undefined-only", "--portability", str(client_library)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    undefined = {line.split()[0] for line in text.splitlines()}
    assert undefined >= SHARED_SYMBOLS
    assert "_ZTVN3tvm3ffi9ModuleObjE" in undefined  # unoptimized constructors store it


def test_an_object_of_a_client_class_is_a_module(client):
    counter = client.make_counter(3, "three")
    assert isinstance(counter, tvm_ffi.Module)
    assert counter.kind == "counter"
    assert counter.is_runnable()
    assert counter.is_binary_serializable()
    assert counter.inspect_source("c") == "three.c"
    assert [counter["next"]() for _ in range(3)] == [3, 4, 5]
    assert counter.label() == "three"
    assert counter.save_to_bytes() == b"three"
    with pytest.raises(AttributeError, match="Module has no function"):
        counter.get_function("none")
    with pytest.raises(ValueError, match="the counter three refuses"):
        counter.get_function("refuse")
    with pytest.raises(RuntimeError, match="counter.* does not support WriteToFile"):
        counter.write_to_file("counter.o")


def test_a_client_library_imports_a_module_of_its_class(client_library):
    library = tvm_ffi.load_module(client_library, keep_module_alive=False)
    counter = library.make_counter(7, "seven")
    library.import_module(counter)
    assert library.get_function("next", query_imports=True)() == 7
    assert library.is_counter(counter)
    assert not library.is_counter(library)
    with pytest.raises(
        RuntimeError, match="a module must not import itself, directly or through other modules"
    ):
        counter.import_module(library)
    library.clear_imports()


def test_modules_are_destroyed_with_their_last_reference(client):
    before = client.count_alive()
    counter = client.make_counter(0, "zero")
    following = counter["next"]
    assert client.count_alive() == before + 1
    del counter
    assert client.count_alive() == before + 1
    assert following() == 0
    del following
    assert client.count_alive() == before


@pytest.mark.skipif(shutil.which("ld") is None, reason="no linker ld")
def test_modules_of_a_client_class_are_exported(client, tmp_path):
    shared = client.make_counter(0, "shared")
    root = client.make_counter(0, "root")
    left = client.make_counter(0, "left")
    left.import_module(shared)
    root.import_module(left)
    root.import_module(shared)
    path = tvm_ffi.export_library(tmp_path / "counters.so", root)

    loader = "ffi.Module.load_from_bytes.counter"
    tvm_ffi.register_global_func(loader, lambda data: client.make_counter(5, data.decode()))
    try:
        loaded = tvm_ffi.load_module(path, keep_module_alive=False)
    finally:
        tvm_ffi.remove_global_func(loader)
    assert client.is_counter(loaded)
    assert (loaded.label(), loaded["next"]()) == ("root", 5)
    assert [module.label() for module in loaded.imports] == ["left", "shared"]
    assert loaded.imports[0].imports[0].same_as(loaded.imports[1])
    for module in (root, left, loaded.imports[0], loaded):
        module.clear_imports()
