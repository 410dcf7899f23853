# SPDX-License-Identifier: Apache-2.0
"""`export_library`: shared libraries linked from object files and archives, and link errors."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import libinfo
from tvm_ffi._library.linking import dynamic_symbols

CC = shlex.split(os.environ.get("CC") or "cc")
pytestmark = [
    pytest.mark.skipif(shutil.which("ld") is None, reason="the linker ld is not installed"),
    pytest.mark.skipif(
        shutil.which(CC[0]) is None, reason=f"the C compiler {CC[0]} is not installed"
    ),
]

# The C function returns a power; the exponent is an argument, so that the compiler cannot evaluate
# `pow`.
SOURCE = """
#include <math.h>
#include <tvm/ffi/c_api.h>

int NAME(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = (int64_t)pow(VALUE, num_args == 1 ? (double)args[0].v_int64 : 1.0);
  return 0;
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """Return a function that compiles a C function with a given name and result."""
    folder = tmp_path_factory.mktemp("objects")
    (folder / "source.c").write_text(SOURCE)
    include = [f"-I{path}" for path in libinfo.include_paths()]

    def compile_object(name, value):
        target = folder / f"{name}_{value}.o"
        if not target.exists():
            names = [f"-DNAME={name}", f"-DVALUE={value}.0"]
            command = [*CC, "-std=c11", "-fPIC", *names, *include, "-c", "source.c"]
            subprocess.run([*command, "-o", str(target)], cwd=folder, check=True)
        return target

    return compile_object


def test_one_object(compiled, tmp_path):
    path = tvm_ffi.export_library(tmp_path / "out.so", objects=compiled("__tvm_ffi_two", 2))
    assert path == tmp_path / "out.so"
    module = tvm_ffi.load_module(path)
    assert (module.kind, list(module.imports)) == ("library", [])
    assert module.two(10) == 1024
    assert os.access(path, os.X_OK)
    assert list(tmp_path.iterdir()) == [path]


def test_file_names_with_special_characters(compiled, tmp_path, monkeypatch):
    """Paths with spaces, non-ASCII letters, and names that look like options."""
    monkeypatch.chdir(tmp_path)
    for name in ("-o b.o", "@ü.o", "'\"\\ .o"):
        shutil.copy(compiled("__tvm_ffi_two", 2), name)
        path = tvm_ffi.export_library(f"{name}.so", objects=[name])
        assert tvm_ffi.load_module(path.absolute()).two() == 2
    (tmp_path / "-d é").mkdir()
    tvm_ffi.export_library("-d é/-x.so", objects=compiled("__tvm_ffi_two", 2), functions="two")
    assert tvm_ffi.load_module("./-d é/-x.so").two() == 2


def test_all_members_of_an_archive_are_linked(compiled, tmp_path):
    objects = [compiled("__tvm_ffi_two", 2), compiled("__tvm_ffi_three", 3)]
    subprocess.run(["ar", "rc", tmp_path / "both.a", *objects], check=True)
    path = tvm_ffi.export_library(tmp_path / "out.so", objects=[tmp_path / "both.a"])
    module = tvm_ffi.load_module(path)
    assert (module.two(), module.three()) == (2, 3)


def test_thousands_of_objects(compiled, tmp_path, monkeypatch):
    """The file names exceed the length limit of a command line."""
    folder = tmp_path / ("a long ünder'\"\\ name" * 9)
    folder.mkdir()
    empty = folder / "empty.o"
    subprocess.run([*CC, "-c", "-xc", "/dev/null", "-o", str(empty)], check=True)
    objects = [folder / f"{i}.o" for i in range(1000)]
    for path in objects:
        path.symlink_to(empty)
    objects.append(compiled("__tvm_ffi_two", 2))
    path = tvm_ffi.export_library(tmp_path / "out.so", objects=objects)
    assert tvm_ffi.load_module(path).two() == 2


def test_functions_are_exported_under_given_names(compiled, tmp_path):
    objects = [compiled("kernel_a", 2), compiled("kernel_b", 3), compiled("__tvm_ffi_four", 4)]
    functions = {"two": "kernel_a", "main": "kernel_b", "four": "__tvm_ffi_four"}
    path = tvm_ffi.export_library(tmp_path / "out.so", objects=objects, functions=functions)
    module = tvm_ffi.load_module(path)
    assert (module.two(), module(), module.four()) == (2, 3, 4)


def test_the_c_library_is_a_needed_library(compiled, tmp_path):
    """Otherwise symbols would be bound to their oldest version, which behaves differently."""
    path = tvm_ffi.export_library(tmp_path / "out.so", objects=compiled("__tvm_ffi_two", 2))
    command = [shutil.which("readelf") or pytest.skip("readelf is not installed"), "-dW", str(path)]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.*)\]", text)
    assert [name for name in needed if name.startswith(("libm.", "libc."))] == needed != []


def test_the_same_input_gives_the_same_bytes(compiled, tmp_path):
    for name in ("a.so", "b.so"):
        tvm_ffi.export_library(
            tmp_path / name,
            objects=[compiled("one", 1), compiled("two", 2)],
            functions={"x": "one", "y": "two"},
        )
    assert (tmp_path / "a.so").read_bytes() == (tmp_path / "b.so").read_bytes()


def test_the_linker_command_can_be_replaced(compiled, tmp_path, monkeypatch):
    linker = tmp_path / "my linker"
    linker.write_text(f'#!/bin/sh\necho "$0" "$@" >>{shlex.quote(str(tmp_path))}/log\nexec ld "$@"')
    linker.chmod(0o755)
    objects = [compiled("__tvm_ffi_two", 2)]
    tvm_ffi.export_library(tmp_path / "a.so", objects=objects, linker=[str(linker)])
    monkeypatch.setenv("LD", shlex.quote(str(linker)) + " -O1")
    tvm_ffi.export_library(tmp_path / "b.so", objects=objects, link_args=["-soname=b.so.1"])
    first, second = (tmp_path / "log").read_text().splitlines()
    assert first.startswith(f"{linker} -shared ")
    assert second.startswith(f"{linker} -O1 -shared ")
    assert " -soname=b.so.1" in second


CXX_SOURCE = """
struct Noisy { Noisy(); ~Noisy(); };
Noisy::Noisy() {}
Noisy::~Noisy() {}
int Fail();
#ifdef STATIC
Noisy noisy;
#endif
int Fail() { throw 3; }
extern "C" int __tvm_ffi_catch(void*, const void*, int, long* result) {
  try {
    return Fail();
  } catch (int number) {
    result[0] = 1;
    result[1] = number;
    return 0;
  }
}
"""


@pytest.mark.parametrize("defines", [[], ["-DSTATIC"]], ids=["exceptions", "static objects"])
def test_cxx_objects_must_be_linked_by_the_cxx_compiler(tmp_path, defines):
    cxx = os.environ.get("CXX") or "c++"
    if shutil.which(shlex.split(cxx)[0]) is None:
        pytest.skip(f"the C++ compiler {cxx} is not installed")
    (tmp_path / "code.cc").write_text(CXX_SOURCE)
    command = [*shlex.split(cxx), "-fPIC", *defines, "-c", "code.cc"]
    subprocess.run(command, cwd=tmp_path, check=True)
    target, code = tmp_path / "out.so", tmp_path / "code.o"
    with pytest.raises(RuntimeError, match=r'which the C\+\+ compiler links: driver="c\+\+"$'):
        tvm_ffi.export_library(target, objects=code)
    assert not target.exists()
    path = tvm_ffi.export_library(target, objects=code, driver=cxx, functions=["catch"])
    assert tvm_ffi.load_module(path).catch() == 3


@pytest.fixture
def old(tmp_path):
    """Return the path of an existing library; check that a failed export does not change it."""
    path = tmp_path / "out.so"
    path.write_text("old")
    yield path
    assert path.read_text() == "old"
    assert list(tmp_path.glob(".export*")) == []


def test_an_existing_library_is_replaced_atomically(compiled, tmp_path):
    path = tmp_path / "out.so"
    tvm_ffi.export_library(path, objects=compiled("__tvm_ffi_two", 2))
    old = tvm_ffi.load_module(path)
    tvm_ffi.export_library(path, objects=compiled("__tvm_ffi_two", 3))
    assert old.two() == 2
    # Under the old path, the loader would return the library that is already in memory.
    assert tvm_ffi.load_module(path.rename(tmp_path / "new.so")).two() == 3


def test_a_failing_linker_is_an_error(compiled, old):
    code = compiled("two", 2)
    with pytest.raises(RuntimeError) as caught:
        tvm_ffi.export_library(old, objects=[code, code], linker="ld -O1")
    message = str(caught.value)
    assert message.startswith("the linker failed with status 1:\n    ld -O1 -shared -o ")
    assert f" {shlex.quote(str(code))} " in message
    assert "multiple definition of `two'" in message


def test_a_missing_linker_is_an_error(compiled, old):
    with pytest.raises(RuntimeError, match=r"(?s)cannot start .*'no-ld'.*\nInstall one \(binutils"):
        tvm_ffi.export_library(old, objects=compiled("two", 2), linker="no-ld")


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        (
            ["four", "five"],
            ValueError,
            "the library would not export four, five; its functions are: two",
        ),
        ({"four": "nothing"}, RuntimeError, "nothing"),
        ({"four": "a+b"}, ValueError, r"'a\+b' is not a valid symbol name"),
        ({"f=1": "two"}, ValueError, "'__tvm_ffi_f=1' is not a valid symbol name"),
    ],
)
def test_unknown_functions_are_refused(compiled, old, functions, error, message):
    with pytest.raises(error, match=message):
        tvm_ffi.export_library(old, objects=compiled("__tvm_ffi_two", 2), functions=functions)


def test_files_that_are_not_object_files_are_refused(kernel_library, old, tmp_path):
    (tmp_path / "text.o").write_text("int x;")
    with pytest.raises(ValueError, match="'.*text.o' is neither an object file"):
        tvm_ffi.export_library(old, objects=[tmp_path / "text.o"])
    with pytest.raises(ValueError, match=r"kernels.so' is a shared library, which cannot be put"):
        tvm_ffi.export_library(old, objects=str(kernel_library))
    with pytest.raises(FileNotFoundError, match=r"none\.o"):
        tvm_ffi.export_library(old, objects=tmp_path / "none.o")


def test_invalid_arguments_are_refused(compiled, kernels, old):
    code = compiled("two", 2)
    with pytest.raises(
        ValueError, match="expected a module, objects, or both to export, got neither"
    ):
        tvm_ffi.export_library(old)
    with pytest.raises(ValueError, match="mutually exclusive: pass one of them"):
        tvm_ffi.export_library(old, objects=code, linker="ld", driver="cc")
    with pytest.raises(ValueError, match="the command of the linker is empty"):
        tvm_ffi.export_library(old, objects=code, linker=[])
    with pytest.raises(TypeError, match="expected a tvm_ffi.Module, got builtins.str"):
        tvm_ffi.export_library(old, "two.o")
    with pytest.raises(ValueError, match=r"loaded library \(/.*/kernels\.so\) cannot be put into"):
        tvm_ffi.export_library(old, kernels)
    with pytest.raises(FileNotFoundError, match="'/none'"):
        tvm_ffi.export_library("/none/out.so", objects=code)


def test_symbols_of_a_library(kernel_library):
    exported, needed = dynamic_symbols(kernel_library)
    assert "__tvm_ffi_echo" in exported
    assert "TVMFFIErrorSetRaisedFromCStr" in needed
    assert not exported & needed


def test_importing_the_package_does_not_load_the_exporter():
    code = "import sys, tvm_ffi; print('tvm_ffi.export' in sys.modules, tvm_ffi.export_library)"
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert output.startswith("False <function export_library")
    assert Path(tvm_ffi.__file__).with_name("export.py").exists()
