# SPDX-License-Identifier: Apache-2.0
"""Modules: loading libraries, looking up functions, imports, paths and lifetime."""

from __future__ import annotations

import copy
import errno
import gc
import os
import pickle
import shutil
import subprocess
import textwrap
from pathlib import Path

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import Module, get_global_func, libinfo, load_module, module
from tvm_ffi.module import ModulePropertyMask


def test_functions_are_found_by_attribute_index_and_method(kernels):
    for function in (kernels.count, kernels["count"], kernels.get_function("count")):
        assert isinstance(function, tvm_ffi.Function)
        assert function(1, 2) == 2
        assert function.__name__ == "count"
    assert kernels.count is kernels.count  # cached
    assert kernels.implements_function("count")
    assert not kernels.implements_function("no_such_function")


def test_calling_a_module_calls_main(kernels):
    assert Module.entry_name == "main"
    assert kernels(1, 2, 3) == 3


@pytest.mark.parametrize("name", ["no_such_function", "__tvm_ffi_count", "", "counT", "a\0b"])
def test_missing_function_is_an_attribute_error(kernels, name):
    for find in (kernels.get_function, kernels.__getitem__, lambda n: getattr(kernels, n)):
        with pytest.raises(AttributeError, match="Module has no function"):
            find(name)


CALLS_MISSING = """
int no_such_function(void);
int __tvm_ffi_f(void* handle, const void* args, int num_args, void* result) {
  (void)handle, (void)args, (void)result;
  return num_args > 0 ? no_such_function() : 0;
}
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_a_missing_function_is_reported_when_the_library_is_loaded(tmp_path, capfd):
    """The first call of the function ended the process, without an earlier message."""
    (tmp_path / "missing.c").write_text(CALLS_MISSING)
    command = ["cc", "-fPIC", "-shared", "missing.c", "-o", "missing.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    module = load_module(tmp_path / "missing.so", keep_module_alive=False)
    assert module.f() is None
    message = f"warning: {tmp_path}/missing.so is loaded, but it needs `no_such_function`"
    assert message in capfd.readouterr().err


CALLS_MISSING_WHEN_LOADED = """
int no_such_function(void);
__attribute__((constructor)) static void call(void) { no_such_function(); }
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
def test_the_warning_comes_before_an_initialiser_ends_the_process(tmp_path, run_python):
    """Regression: the process ended before the warning that names the function."""
    (tmp_path / "missing.c").write_text(CALLS_MISSING_WHEN_LOADED)
    command = ["cc", "-fPIC", "-shared", "-Wl,-z,lazy", "missing.c", "-o", "missing.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    done = run_python(f"import tvm_ffi; tvm_ffi.load_module({str(tmp_path / 'missing.so')!r})")
    assert done.returncode != 0
    first, _, rest = done.stderr.partition("\n")
    assert first.startswith(f"warning: {tmp_path}/missing.so is loaded, but it needs `no_such")
    assert "symbol lookup error" in rest


@pytest.mark.unsanitized("the sanitizer's functions exist")
@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
@pytest.mark.parametrize("symbol", ["__asan_init", "__tsan_init"])
def test_a_library_without_its_sanitizer_is_refused(tmp_path, symbol):
    """Regression: loading a library that was compiled with -fsanitize ended the process."""
    source = CALLS_MISSING_WHEN_LOADED.replace("no_such_function", symbol)
    (tmp_path / "checked.c").write_text(source)
    command = ["cc", "-fPIC", "-shared", "checked.c", "-o", "checked.so"]
    subprocess.run(command, cwd=tmp_path, check=True)
    message = f"compiled with -fsanitize and needs `{symbol}`; link it with the same option"
    with pytest.raises(RuntimeError, match=message):
        load_module(tmp_path / "checked.so")


@pytest.mark.parametrize("key", [0, None, b"count", ("count",)], ids=repr)
def test_index_of_another_type_is_a_value_error(kernels, key):
    with pytest.raises(ValueError, match="module index: expected a function name, got "):
        kernels[key]


def test_documentation_and_metadata(kernels):
    assert kernels.get_function_doc("echo") == "Return the argument."
    assert kernels.get_function_metadata("echo") == {"type_schema": "{}", "cost": 3}
    assert kernels.get_function_doc("count") is None
    assert kernels.get_function_metadata("count") is None


def test_properties(kernels):
    assert kernels.kind == "library"
    assert kernels.get_property_mask() == 3
    assert kernels.is_runnable() is True
    assert kernels.is_binary_serializable() is True
    assert kernels.is_compilation_exportable() is False
    assert ModulePropertyMask.RUNNABLE == 2


def test_bits_used_by_properties_match_the_enumeration():
    """The property bits are defined twice, because few programs import the enumeration."""
    bits = {
        "BINARY_SERIALIZABLE": module._BINARY_SERIALIZABLE,
        "RUNNABLE": module._RUNNABLE,
        "COMPILATION_EXPORTABLE": module._COMPILATION_EXPORTABLE,
    }
    assert bits == {bit.name: bit.value for bit in ModulePropertyMask}


def test_library_has_no_source_and_cannot_be_written(kernels, tmp_path):
    assert kernels.inspect_source() == ""
    assert list(kernels.get_write_formats()) == []
    with pytest.raises(RuntimeError, match="library"):
        kernels.write_to_file(str(tmp_path / "out.so"))


def test_library_cannot_be_saved_to_bytes(kernels):
    with pytest.raises(RuntimeError, match=r"Module\[library\] does not support SaveToBytes"):
        kernels.save_to_bytes()


def test_copying_a_module_returns_the_same_object(kernels):
    for use in (copy.copy, copy.deepcopy):
        assert use(kernels) is kernels


def test_modules_cannot_be_constructed():
    with pytest.raises(TypeError, match="use load_module"):
        Module()


def test_modules_are_values(kernels, echo):
    again = echo(kernels)
    assert isinstance(again, Module)
    assert again == kernels
    assert again.count(1) == 1


def test_module_without_a_library_is_an_error():
    empty = Module.__new__(Module)
    for use in (lambda: empty.kind, lambda: empty.f, empty, lambda: empty["f"]):
        with pytest.raises(ValueError, match="Module is empty"):
            use()


def test_imported_functions_are_found_on_request(kernel_library, tmp_path):
    copied = tmp_path / "other.so"
    shutil.copy(kernel_library, copied)
    module = load_module(kernel_library, keep_module_alive=False)
    other = load_module(copied, keep_module_alive=False)
    module.import_module(other)
    assert module.get_function("count", query_imports=True)(1) == 1
    with pytest.raises(RuntimeError, match="cycl|import"):
        other.import_module(module)
    module.clear_imports()


def test_imports_are_listed_in_order(kernel_library, tmp_path):
    module = load_module(kernel_library, keep_module_alive=False)
    assert list(module.imports) == []
    others = []
    for name in ("first.so", "second.so"):
        shutil.copy(kernel_library, tmp_path / name)
        others.append(load_module(tmp_path / name, keep_module_alive=False))
        module.import_module(others[-1])
    for imports in (module.imports, module.imports_):
        assert isinstance(imports, tvm_ffi.Array)
        assert list(imports) == others
    module.clear_imports()
    assert len(module.imports_) == 0


def test_imports_of_a_module_cannot_be_set(kernels):
    for name in ("imports", "imports_"):
        with pytest.raises(AttributeError):
            setattr(kernels, name, [])


def test_system_library_is_one_module_per_prefix():
    first, same, other = (
        tvm_ffi.system_lib(prefix) for prefix in ("test_a_", "test_a_", "test_b_")
    )
    assert first == same
    assert first != other
    assert first.kind == "library"
    assert tvm_ffi.system_lib() == tvm_ffi.system_lib("")
    with pytest.raises(AttributeError, match="Module has no function 'missing'"):
        first.missing  # noqa: B018


# ---- paths -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain.so", "with space.so", "caf\u00e9 \U0001f600.so", "a.b.so"])
def test_library_is_loaded_from_any_path(kernel_library, tmp_path, name):
    folder = tmp_path / "a folder \u00fc"
    folder.mkdir()
    path = folder / name
    shutil.copy(kernel_library, path)
    for form in (path, str(path)):
        assert load_module(form, keep_module_alive=False).count(1) == 1


@pytest.mark.parametrize("name", [b"\xff\xfe.so", b"a.so\xff.so", b"\xff" * 9 + b".so"])
def test_library_is_loaded_from_a_path_that_is_not_utf8(kernel_library, tmp_path, name):
    """Python decodes bytes that are not UTF-8 to lone surrogates, which UTF-8 cannot encode."""
    path = os.path.join(os.fsencode(tmp_path), name)  # noqa: PTH118  (bytes)
    shutil.copy(kernel_library, path)
    assert load_module(os.fsdecode(path), keep_module_alive=False).count(1) == 1


def test_a_path_with_a_nul_is_refused(kernel_library, tmp_path):
    """Regression: the loader read up to the NUL and opened a file with another suffix."""
    shutil.copy(kernel_library, tmp_path / "kernel")
    with pytest.raises(RuntimeError, match="no file has a NUL in its name"):
        load_module(f"{tmp_path}/kernel\0.so")


def test_missing_file_whose_name_is_not_utf8_is_a_runtime_error(tmp_path):
    with pytest.raises(RuntimeError, match=r"missing"):
        load_module(tmp_path / os.fsdecode(b"missing\xff.so"))


@pytest.mark.parametrize("suffix", ["dso", "dll", "dylib"])
def test_other_suffixes_of_libraries_are_loaded(kernel_library, tmp_path, suffix):
    path = tmp_path / f"library.{suffix}"
    shutil.copy(kernel_library, path)
    assert load_module(path, keep_module_alive=False).count(1) == 1


def test_relative_path_is_loaded(kernel_library, tmp_path, monkeypatch):
    shutil.copy(kernel_library, tmp_path / "library.so")
    monkeypatch.chdir(tmp_path)
    assert load_module("./library.so", keep_module_alive=False).count(1) == 1


@pytest.mark.parametrize("name", ["missing.so", "missing.so.1.2", "missing.dll"])
def test_missing_file_is_a_file_not_found_error_and_a_runtime_error(tmp_path, name):
    """Regression: only a RuntimeError, which does not say in its type that no file is there."""
    with pytest.raises(FileNotFoundError) as caught:
        load_module(tmp_path / name)
    assert isinstance(caught.value, RuntimeError)
    assert (caught.value.errno, caught.value.filename) == (errno.ENOENT, str(tmp_path / name))
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_missing_library_of_the_system_is_a_file_not_found_error():
    with pytest.raises(FileNotFoundError, match=r"does not find the library: 'libno_such\.so\.6'"):
        load_module("libno_such.so.6")


def test_missing_file_has_the_error_kind_of_the_exception(tmp_path):
    with pytest.raises(Exception, match=r"missing\.so: the file does not exist") as caught:
        get_global_func("ffi.ModuleLoadFromFile")(str(tmp_path / "missing.so"))
    assert caught.value.__tvm_ffi_error__.kind == "FileNotFoundError"


def test_a_loader_in_python_raises_its_own_exception():
    error = FileNotFoundError(errno.ENOENT, "no such object", "s3://bucket/x.test_own")

    def load(path, form):
        raise error

    tvm_ffi.register_global_func("ffi.Module.load_from_file.test_own", load)
    try:
        with pytest.raises(FileNotFoundError, match="no such object") as caught:
            load_module("s3://bucket/x.test_own")
    finally:
        tvm_ffi.remove_global_func("ffi.Module.load_from_file.test_own")
    assert caught.value is error


@pytest.mark.parametrize("name", ["versioned.so.6", "versioned.so.1.20.3"])
def test_a_version_may_follow_the_suffix(kernel_library, tmp_path, name):
    """Regression: "Loader for `.6` files is not registered"."""
    shutil.copy(kernel_library, tmp_path / name)
    assert load_module(tmp_path / name, keep_module_alive=False).count(1) == 1


def test_a_versioned_library_of_the_system_is_loaded():
    assert load_module("libm.so.6", keep_module_alive=False).kind == "library"


@pytest.mark.parametrize("name", ["a.1.2", "a.so.1x", "a.so..1", "so.1"])
def test_numbers_after_another_suffix_are_the_suffix(tmp_path, name):
    with pytest.raises(RuntimeError, match="Loader for"):
        load_module(tmp_path / name)


@pytest.mark.parametrize("content", [b"", b"no library at all", b"\x7fELF" + b"\0" * 100])
def test_a_file_that_is_not_a_library_is_a_runtime_error(tmp_path, content):
    path = tmp_path / "text.so"
    path.write_bytes(content)
    with pytest.raises(RuntimeError, match=r"text\.so"):
        load_module(path)


def test_folder_is_a_runtime_error(tmp_path):
    folder = tmp_path / "folder.so"
    folder.mkdir()
    with pytest.raises(RuntimeError, match=r"folder\.so: it is a folder, not a file"):
        load_module(folder)


@pytest.mark.parametrize("name", ["library", "library.", "library.unknown", "", "."])
def test_unknown_suffix_is_a_runtime_error(tmp_path, kernel_library, name):
    if name not in ("", "."):
        shutil.copy(kernel_library, tmp_path / name)
        name = str(tmp_path / name)
    with pytest.raises(RuntimeError, match=r"loader|format|suffix|extension|Unknown|[Cc]annot"):
        load_module(name)


@pytest.mark.parametrize("path", [None, 3, 1.5], ids=repr)
def test_path_of_another_type_is_a_type_error(path):
    with pytest.raises(TypeError):
        load_module(path)


def test_path_with_a_nul_is_an_error():
    with pytest.raises((RuntimeError, ValueError)):
        load_module("a\0b.so")


# ---- lifetime ----------------------------------------------------------------------------------


def test_results_outlive_module_and_function(kernel_library, tmp_path):
    path = tmp_path / "short_lived.so"
    shutil.copy(kernel_library, path)
    module = load_module(path, keep_module_alive=False)
    text = module.copy_text("made by the library")
    tensor = module.new_like(np.zeros((2, 3), np.float32))
    function = module["count"]
    keeper = module["keep"]
    keeper(tensor)
    kept = module["kept"]()
    module["forget"]()
    del module, keeper
    gc.collect()
    assert function(1, 2) == 2
    del function
    gc.collect()
    assert text == "made by the library"
    tensor.numpy()[:] = 4
    assert kept.numpy().sum() == 24
    del tensor, kept
    gc.collect()


def test_error_outlives_the_module_that_raised_it(kernel_library, tmp_path):
    path = tmp_path / "failing.so"
    shutil.copy(kernel_library, path)
    module = load_module(path, keep_module_alive=False)
    with pytest.raises(ValueError, match="raised in C") as caught:
        module.raise_here()
    del module
    gc.collect()
    assert caught.value.__tvm_ffi_error__.message == "raised in C"


def test_library_loaded_twice_is_one_library(kernels, kernel_library):
    again = load_module(kernel_library, keep_module_alive=False)
    again.keep(17)
    assert kernels.kept() == 17
    kernels.forget()


def test_a_library_that_is_kept_alive_is_loaded_once(kernel_library, tmp_path, monkeypatch):
    """Regression: each load created another module that was never released."""
    path = tmp_path / "stays.so"
    (tmp_path / "folder").mkdir()
    shutil.copy(kernel_library, path)
    module = load_module(path)
    monkeypatch.chdir(tmp_path)
    assert load_module(path) == module
    assert load_module("./stays.so") == module
    assert load_module(str(path), keep_module_alive=True) == module
    for spelling in (".//stays.so", "/./stays.so", "//stays.so", "/folder/../stays.so"):
        assert load_module(f"{tmp_path}{spelling}" if spelling[0] == "/" else spelling) == module
    assert load_module(path, keep_module_alive=False) != module


def test_file_that_changed_is_loaded_again(kernel_library, tmp_path):
    path = tmp_path / "changes.so"
    shutil.copy(kernel_library, path)
    module = load_module(path)
    path.unlink()
    shutil.copy(kernel_library, path)
    again = load_module(path)
    assert again != module
    assert again.count(1, 2) == 2
    assert load_module(path) == again


def _write_library(path, number):
    """Replace the file at `path` by a library whose function `count` returns `number`."""
    source = path.with_name(f"number_{number}.c")
    source.write_text(f"""
    #include <tvm/ffi/c_api.h>
    TVM_FFI_DLL_EXPORT int __tvm_ffi_count(void* self, const TVMFFIAny* args, int32_t num_args,
                                           TVMFFIAny* result) {{
      result->type_index = kTVMFFIInt;
      result->zero_padding = 0;
      result->v_int64 = {number};
      return 0;
    }}
    """)
    built = source.with_suffix(".so")
    folders = [libinfo.find_include_path(), libinfo.find_dlpack_include_path()]
    flags = [f"-I{folder}" for folder in folders]
    subprocess.run(["cc", "-shared", "-fPIC", *flags, source, "-o", built], check=True)
    built.replace(path)


@pytest.mark.parametrize("keep_module_alive", [True, False])
def test_a_library_that_was_replaced_is_loaded_beside_the_first(tmp_path, keep_module_alive):
    """Regression: the dynamic loader returned the first library for the path, silently."""
    path = tmp_path / "replaced.so"
    counts = []
    for number in (100, 200, 300):
        _write_library(path, number)
        module = load_module(path, keep_module_alive=keep_module_alive)
        counts.append(module["count"])
        assert load_module(path, keep_module_alive=keep_module_alive).count() == number
        assert pickle.loads(pickle.dumps(module)).count() == number
    assert [count() for count in counts] == [100, 200, 300]


@pytest.mark.parametrize("is_other_path", [False, True], ids=["same path", "other path"])
def test_a_loaded_library_whose_file_was_written_to_is_refused(tmp_path, run_python, is_other_path):
    """Regression: the process ended when a damaged library was loaded again."""
    path, other = tmp_path / "written.so", tmp_path / "other.so"
    _write_library(path, 100)
    os.link(path, other)
    code = f"""
        import os, tvm_ffi
        path = {str(path)!r}
        content = open(path, "rb").read()
        assert tvm_ffi.load_module(path).count() == 100
        with open(path, "wb") as file:
            file.write(content)
        try:
            tvm_ffi.load_module({str(other if is_other_path else path)!r})
        except RuntimeError as error:
            print(error, flush=True)
        os._exit(0)  # the damaged library cannot run its finalisers
    """
    done = run_python(textwrap.dedent(code))
    assert done.returncode == 0, done.stderr
    assert "it is loaded, and its file was written to since then" in done.stdout


def test_a_relative_path_is_a_file_of_the_present_working_directory(tmp_path, monkeypatch):
    """Regression: after `chdir`, the loader returned the library of the previous folder."""
    for number in (100, 200):
        folder = tmp_path / str(number)
        folder.mkdir()
        _write_library(folder / "same.so", number)
        monkeypatch.chdir(folder)
        assert load_module("./same.so").count() == number


@pytest.mark.parametrize("make_folder", [False, True], ids=["deleted", "folder"])
def test_a_library_whose_file_is_gone_is_an_error(kernel_library, tmp_path, make_folder):
    """Regression: the dynamic loader returned the library that the path had before."""
    path = tmp_path / "gone.so"
    shutil.copy(kernel_library, path)
    count = load_module(path)["count"]
    path.unlink()
    if make_folder:
        path.mkdir()
    with pytest.raises(RuntimeError if make_folder else FileNotFoundError, match=r"gone\.so"):
        load_module(path)
    assert count(1, 2) == 2


def test_library_whose_imports_changed_is_loaded_again(kernel_library, kernels, tmp_path):
    path = tmp_path / "imports.so"
    shutil.copy(kernel_library, path)
    module = load_module(path)
    module.import_module(kernels)
    again = load_module(path)
    assert again != module
    assert list(again.imports) == []


def test_functions_keep_their_module(kernel_library, tmp_path):
    path = tmp_path / "kept_by_function.so"
    shutil.copy(kernel_library, path)
    count = load_module(path, keep_module_alive=False)["count"]
    gc.collect()
    assert count(1, 2, 3) == 3


@pytest.mark.parametrize("keep_module_alive", [True, False])
def test_fifos_and_devices_cannot_be_loaded(tmp_path, keep_module_alive):
    """Regression: the dynamic loader blocked on the FIFO until a process wrote to it."""
    os.mkfifo(tmp_path / "fifo.so")
    (tmp_path / "device.so").symlink_to("/dev/zero")
    for name in ("fifo.so", "device.so"):
        with pytest.raises(RuntimeError, match=rf"{name} cannot be loaded: it is not a regular f"):
            load_module(tmp_path / name, keep_module_alive=keep_module_alive)


def test_a_signature_file_that_is_not_a_regular_file_is_refused(kernel_library, tmp_path):
    """Regression: opening a FIFO blocked, and a device was read until the memory was exhausted."""
    path = tmp_path / "library.so"
    shutil.copy(kernel_library, path)
    side_file = path.with_suffix(".signatures")
    os.mkfifo(side_file)
    with pytest.raises(OSError, match=r"the path is not a regular file: '.*library\.signatures'"):
        load_module(path, keep_module_alive=False)
    side_file.unlink()
    side_file.symlink_to("/dev/zero")
    with pytest.raises(OSError, match="the path is not a regular file"):
        load_module(path, keep_module_alive=False)


def test_a_signature_file_that_is_too_long_is_refused(kernel_library, tmp_path):
    path = tmp_path / "library.so"
    shutil.copy(kernel_library, path)
    path.with_suffix(".signatures").touch()
    os.truncate(path.with_suffix(".signatures"), 1 << 32)
    with pytest.raises(OSError, match="expected a file of at most [0-9]+ bytes"):
        load_module(path, keep_module_alive=False)


def test_type_info():
    info = tvm_ffi.Module.__tvm_ffi_type_info__
    assert (info.type_key, info.type_cls) == ("ffi.Module", tvm_ffi.Module)
    assert [field.name for field in info.fields] == ["imports_"]


class _OwnPath:
    """A path-like object that is not a `pathlib.Path`."""

    def __init__(self, text):
        self.text = text

    def __fspath__(self):
        return self.text


def test_a_relative_path_object_is_a_file_of_the_working_directory(
    kernel_library, tmp_path, monkeypatch
):
    """Regression: `Path` removes the "./", and the dynamic loader then searched for the file."""
    shutil.copy(kernel_library, tmp_path / "here.so")
    monkeypatch.chdir(tmp_path)
    expected = load_module("./here.so")
    for path in (Path("./here.so"), Path("here.so"), _OwnPath("here.so"), _OwnPath("./here.so")):
        assert load_module(path).count(1) == 1
        assert load_module(path) is expected or load_module(path) == expected
        assert load_module(path, keep_module_alive=False).count(1) == 1
    with pytest.raises(RuntimeError, match=r"here\.so"):
        load_module("here.so")  # the dynamic loader does not search in the working directory


def test_the_side_file_of_a_relative_path_object_is_read(kernel_library, tmp_path, monkeypatch):
    shutil.copy(kernel_library, tmp_path / "beside.so")
    (tmp_path / "beside.signatures").write_text("count(x: int) -> int\n")
    monkeypatch.chdir(tmp_path)
    for path in ("./beside.so", Path("./beside.so"), _OwnPath("beside.so")):
        loaded = load_module(path, keep_module_alive=False)
        assert loaded.get_function_signature("count") is not None


def test_a_missing_file_in_the_working_directory_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RuntimeError, match=r"no_such_file\.so"):
        load_module(Path("no_such_file.so"))


@pytest.mark.parametrize(
    "path", [None, 3, b"kernels.so", _OwnPath(b"x.so")], ids=["None", "int", "bytes", "path"]
)
def test_other_types_of_paths_are_refused(path):
    """Regression: for bytes, the message was about the operator `in`."""
    with pytest.raises(TypeError, match=r"os\.PathLike"):
        load_module(path)
