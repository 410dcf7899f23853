# SPDX-License-Identifier: Apache-2.0
"""Listing of modules: function names, completion, `repr` and suggestions."""

from __future__ import annotations

import copy
import os
import pickle
import shutil
import subprocess

import pytest

import tvm_ffi
from tvm_ffi import libinfo, load_module
from tvm_ffi.module import CustomModule

SOURCE = """
#include <tvm/ffi/extra/c_env_api.h>
static int Answer(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)args, (void)num_args;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = 42;
  return 0;
}
#define FUNCTION(name)                                                                       \\
  int name(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {       \\
    (void)handle;                                                                            \\
    return Answer(args, num_args, result);                                                   \\
  }
FUNCTION(__tvm_ffi_softmax)
FUNCTION(__tvm_ffi_add)
FUNCTION(__tvm_ffi_kind)
FUNCTION(__tvm_ffi_get_function)
FUNCTION(__tvm_ffi__metadata_orphan)
FUNCTION(__tvm_ffi__doc_orphan)
FUNCTION(not_a_function_of_the_module)
__attribute__((visibility("hidden"))) FUNCTION(__tvm_ffi_hidden)
void* __tvm_ffi__library_ctx;
__attribute__((constructor)) static void Register(void) {
#ifdef SYSTEM_PREFIX
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_" SYSTEM_PREFIX "first", (void*)__tvm_ffi_add);
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_" SYSTEM_PREFIX "again", (void*)__tvm_ffi_add);
  TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi__doc_" SYSTEM_PREFIX "first",
                                      (void*)__tvm_ffi_add);
#endif
}
"""
OWN = ("add", "get_function", "kind", "softmax")


def build(folder, name, *options):
    source = folder / "source.c"
    source.write_text(SOURCE, encoding="utf-8")
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", *options, str(source)]
    command += [f"-I{path}" for path in libinfo.include_paths()]
    subprocess.run([*command, "-o", str(folder / name)], check=True)
    return folder / name


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    return build(tmp_path_factory.mktemp("listing"), "softmax.so")


@pytest.fixture
def module(library):
    return load_module(library, keep_module_alive=False)


# ---- Function names ------------------------------------------------------------------------------


def test_functions_lists_the_functions_of_the_library(module):
    assert module.functions == OWN


@pytest.mark.parametrize("style", ["gnu", "sysv", "both"])
def test_every_symbol_hash_style_is_read(tmp_path, style):
    path = build(tmp_path, "library.so", f"-Wl,--hash-style={style}")
    assert load_module(path, keep_module_alive=False).functions == OWN


def test_functions_match_those_of_inspect_library(kernels, kernel_library):
    inspected = tvm_ffi.inspection.inspect_library(kernel_library).functions
    assert kernels.functions == tuple(function.name for function in inspected)


def test_listing_calls_no_functions(tmp_path):
    path = build(tmp_path, "library.so")
    # Every function in this library aborts the process when it is called.
    text = SOURCE.replace("result->type_index = kTVMFFIInt;", "__builtin_trap();")
    (tmp_path / "trap.c").write_text(text, encoding="utf-8")
    command = [os.environ.get("CC", "cc"), "-shared", "-fPIC", str(tmp_path / "trap.c")]
    command += [f"-I{include}" for include in libinfo.include_paths()]
    subprocess.run([*command, "-o", str(path)], check=True)
    module = load_module(path, keep_module_alive=False)
    assert module.functions == OWN
    assert "softmax" in dir(module)
    assert "softmax" in repr(module)


def test_the_loaded_library_is_listed_after_its_file_changed(tmp_path, library):
    path = tmp_path / "gone.so"
    shutil.copy(library, path)
    module = load_module(path, keep_module_alive=False)
    path.unlink()
    assert module.functions == OWN
    path.write_text("another file")
    assert module.functions == OWN


def test_imported_functions_are_listed_by_their_module_only(module, kernels):
    module.import_module(kernels)
    assert module.functions == OWN
    assert "echo" not in dir(module)
    assert "echo" in module.imports[0].functions


def test_copies_and_pickles_list_the_same(library):
    module = load_module(library)
    for other in (copy.copy(module), pickle.loads(pickle.dumps(module))):
        assert other.functions == OWN


def test_a_module_loaded_by_native_code_lists_its_functions(library):
    loaded = tvm_ffi.get_global_func("ffi.ModuleLoadFromFile")(str(library))
    assert loaded.functions == OWN
    assert repr(loaded).startswith("<tvm_ffi.Module of kind 'library': add, ")


def test_a_system_library_lists_the_functions_with_its_prefix(tmp_path):
    path = build(tmp_path, "system.so", '-DSYSTEM_PREFIX="test_listing_"')
    load_module(path)
    assert tvm_ffi.system_lib("test_listing_").functions == ("again", "first")
    assert {"test_listing_again", "test_listing_first"} <= set(tvm_ffi.system_lib().functions)
    assert tvm_ffi.system_lib("test_listing_none_").functions == ()


def test_empty_wrapper_has_no_functions():
    empty = tvm_ffi.Module.__new__(tvm_ffi.Module)
    assert repr(empty) == "Module(chandle=None)"
    assert "functions" in dir(empty)
    with pytest.raises(ValueError, match="Module is empty"):
        empty.functions  # noqa: B018


# ---- Completion ----------------------------------------------------------------------------------


def test_dir_has_functions_and_attributes(module):
    assert {*OWN, "functions", "imports", "entry_name"} <= set(dir(module))


def test_index_completion_has_all_names(module):
    assert module._ipython_key_completions_() == list(OWN)


def test_index_and_attribute_return_the_same_function(module):
    assert module["add"] is module.add
    assert module.softmax is module["softmax"]


def test_functions_named_like_module_attributes_are_found_by_index(module):
    assert module["kind"]() == 42
    assert module.kind == "library"
    assert module["get_function"]() == 42
    assert module.get_function("add")() == 42


def test_index_looks_up_a_moved_function_again(module):
    target = tvm_ffi.Function()
    target.__move_handle_from__(module["add"])
    assert module["add"]() == 42


def test_index_ignores_attributes_set_by_the_user(module):
    module.add = "a note"
    assert module["add"]() == 42
    assert module.add == "a note"


# ---- repr ----------------------------------------------------------------------------------------


def test_repr_shows_file_kind_and_functions(module, library):
    assert repr(module) == (
        f"<tvm_ffi.Module '{library}' of kind 'library': add, get_function, kind, softmax>"
    )


def test_repr_shows_the_first_functions_of_many(kernels):
    assert repr(kernels).endswith(f", ... ({len(kernels.functions)} functions)>")
    assert repr(kernels).count(",") == 5


# ---- Suggestions for misspelled names ------------------------------------------------------------


@pytest.mark.parametrize("find", [getattr, lambda m, name: m[name], tvm_ffi.Module.get_function])
def test_error_names_the_nearest_function(module, find):
    message = "^Module has no function 'sotfmax'; did you mean 'softmax'\\?$"
    with pytest.raises(AttributeError, match=message):
        find(module, "sotfmax")


def test_the_error_suggests_nothing_if_no_name_is_similar(module):
    with pytest.raises(AttributeError, match="^Module has no function 'conv2d'$"):
        module.conv2d  # noqa: B018


# ---- Kinds written in Python ---------------------------------------------------------------------


class Listed(CustomModule, kind="test.listed"):
    """A module class that lists its functions."""

    names: object = ("greet", "add")

    def find_function(self, name):
        return (lambda: name) if name in self.names else None

    def function_names(self):
        return self.names


def test_class_lists_its_functions():
    module = Listed()
    assert module.functions == ("greet", "add")
    assert {"greet", "add", "find_function"} <= set(dir(module))
    assert repr(module).endswith("Listed of kind 'test.listed': greet, add>")
    with pytest.raises(AttributeError, match="did you mean 'greet'"):
        module.gret  # noqa: B018


def test_class_that_lists_nothing_has_no_functions():
    class Silent(CustomModule, kind="test.silent"):
        pass

    assert Silent().functions == ()
    assert repr(Silent()).endswith("Silent of kind 'test.silent'>")


def test_the_functions_attribute_may_be_overridden_by_the_instance():
    module = Listed()
    module.functions = {"own": 1}
    assert module.functions == {"own": 1}
    assert "greet" in dir(module)


@pytest.mark.parametrize("names", [("a", 3), None], ids=["int", "None"])
def test_a_failing_listing_raises_in_functions_only(names):
    module = Listed()
    module.names = names
    with pytest.raises(TypeError):
        module.functions  # noqa: B018
    assert "find_function" in dir(module)
    assert "test.listed" in repr(module)


# ---- Files in the working directory --------------------------------------------------------------


def test_a_file_in_the_working_directory_needs_an_explicit_path(tmp_path, library, monkeypatch):
    """The loader searches its own folders; the working directory must not be one of them."""
    shutil.copy(library, tmp_path / "test_listing_here.so")
    monkeypatch.chdir(tmp_path)
    message = r"working directory, write '\./test_listing_here\.so': 'test_listing_here\.so'$"
    with pytest.raises(RuntimeError, match=message):
        load_module("test_listing_here.so")
    assert load_module("./test_listing_here.so", keep_module_alive=False).add() == 42


def test_the_error_about_a_missing_file_does_not_mention_the_working_directory(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError) as caught:
        load_module("test_listing_none.so")
    assert "working directory" not in str(caught.value)


# ---- Third-party kinds ---------------------------------------------------------------------------


def test_a_global_function_lists_the_functions_of_a_kind():
    make = tvm_ffi.get_global_func("pytvmffi.ModuleFromMethods")
    foreign = make("test.foreign", 2, None, {})
    assert foreign.functions == ()
    name = "pytvmffi.Module.function_names.test.foreign"
    try:
        tvm_ffi.register_global_func(name, lambda module: [module.kind, "second"])
        assert foreign.functions == ("test.foreign", "second")
    finally:
        tvm_ffi.remove_global_func(name)


@pytest.mark.parametrize("kind", ["library", "cuda_driver"])
def test_a_module_with_a_false_kind_has_no_functions(kind):
    make = tvm_ffi.get_global_func("pytvmffi.ModuleFromMethods")
    assert make(kind, 2, None, {}).functions == ()
