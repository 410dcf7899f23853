# SPDX-License-Identifier: Apache-2.0
"""Functions in source files that check their arguments, for callers in every language."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import Signature, cpp
from tvm_ffi.cli import main
from tvm_ffi.cpp._file_checks import file_checks
from tvm_ffi.cpp._ninja import find_ninja

pytestmark = pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("c++") is None, reason="no compiler is installed"
)

FIRST = "first(x: float64[n] compact) -> float"
C = """
#include <tvm/ffi/extra/c_signature.h>

TVM_FFI_DLL_EXPORT int __tvm_ffi_first(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  const DLTensor* x = args[0].type_index == kTVMFFITensor
      ? TVMFFITensorGetDLTensorPtr(args[0].v_obj) : (const DLTensor*)args[0].v_ptr;
  (void)handle, (void)num_args;
  result->type_index = kTVMFFIFloat;
  result->zero_padding = 0;
  result->v_float64 = ((const double*)((const char*)x->data + x->byte_offset))[0];
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(first, "first(x: float64[n] compact) " /* two parts */ "-> float")
"""
CPP = """
#include <tvm/ffi/tvm_ffi.h>

double Total(tvm::ffi::TensorView x) {
  double sum = 0;
  for (int64_t i = 0; i < x.size(0); ++i) sum += static_cast<const double*>(x.data_ptr())[i];
  return sum;
}
TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(total, Total, "total(x: float64[n] compact) -> float");
TVM_FFI_DLL_EXPORT_TYPED_FUNC(no_signature, Total);
"""


@pytest.fixture
def write(tmp_path):
    def write(name: str, text: str) -> str:
        (tmp_path / name).write_text(text, encoding="utf-8")
        return str(tmp_path / name)

    return write


def load(*paths, **options):
    return cpp.load("files", sources=paths, keep_module_alive=False, **options)


def mark(module, name: str):
    """Return the mark of a function in its metadata: "checked", "unchecked" or None."""
    text = tvm_ffi.get_global_func("pytvmffi.ModuleGetOwnFunctionMetadata")(module, name)
    metadata = json.loads(text)
    return next((key for key in ("checked", "unchecked") if metadata.get(key) is True), None)


# Values of the parameter x that the signatures refuse.
REFUSED = (
    (np.arange(10.0)[::2], "expected a compact tensor, got strides (2,)"),
    (np.arange(10), "expected dtype float64, got int64"),
    (np.ones((3, 3)), "expected 1 dimension, got 2"),
)


def test_functions_in_two_files_refuse_the_arguments_of_native_callers(write, kernels):
    """Only the binding checked these functions; callers in C read wrong memory."""
    module = load(write("first.c", C), write("total.cc", CPP))
    for function in (module.first, module.total):
        name = function.__name__
        for x, text in REFUSED:
            message = f"{name}() argument 'x': {text}"
            assert kernels.catch(function, x).message == message
            with pytest.raises(ValueError, match=re.escape(message)):
                module.get_function_signature(name).check(x)
    assert kernels.catch(module.first, np.arange(3.0) + 5) == module.first(np.arange(3.0) + 5) == 5
    assert kernels.catch(module.total, np.arange(4.0)) == 0 + 1 + 2 + 3
    names = ("first", "total", "no_signature")
    assert [mark(module, name) for name in names] == ["checked", "checked", None]
    assert set(module.functions) == {*names}
    assert module.get_function_signature("first") == Signature.parse(FIRST)


@pytest.mark.parametrize(("name", "text"), [("a.c", C), ("a.cc", CPP)], ids=["C", "C++"])
def test_unchecked_leaves_the_checks_out(write, kernels, name, text):
    module = load(write(name, text), unchecked=True)
    function = module.first if name == "a.c" else module.total
    every_second = np.arange(8.0)[::2] + 1
    assert function(every_second) == kernels.catch(function, every_second)
    assert mark(module, function.__name__) == "unchecked"
    assert module.get_function_signature(function.__name__).unchecked


def test_unchecked_is_a_clause_of_one_signature(write, kernels):
    path = write("first.c", C.replace("-> float", "-> float unchecked"))
    module = load(path)
    assert kernels.catch(module.first, np.arange(8.0)[::2] + 1) == 1
    assert mark(module, "first") is None


def test_a_changed_signature_builds_the_library_again(write, kernels):
    path = write("first.c", C)
    module = load(path)
    assert kernels.catch(module.first, np.arange(3.0)) == 0
    write("first.c", C.replace("float64[n] compact", "float64[4]"))
    error = kernels.catch(load(path).first, np.arange(3.0))
    assert error.message == "first() argument 'x': shape[0] must be 4, got 3"


@pytest.mark.skipif(find_ninja() is None, reason="ninja is not installed")
def test_a_build_directory_is_updated(write, tmp_path, kernels):
    path = write("first.c", C)
    results = []
    for extent in (3, 4):
        write("first.c", C.replace("[n]", f"[{extent}]"))
        library = cpp.build("files", sources=path, build_directory=str(tmp_path / "build"))
        # A copy, because the loader returns a loaded library again although its file is changed.
        copy = shutil.copy(library, tmp_path / f"{extent}.so")
        module = tvm_ffi.load_module(copy, keep_module_alive=False)
        results.append(kernels.catch(module.first, np.arange(3.0)))
    assert results[0] == 0
    assert results[1].message == "first() argument 'x': shape[0] must be 4, got 3"


def test_a_definition_in_an_object_file_stays_as_it_is(write, tmp_path, kernels):
    """The options rename a definition only if it is compiled with them."""
    definition, signature = C.split("TVM_FFI_DLL_EXPORT_SIGNATURE")
    include = [f"-I{path}" for path in tvm_ffi.libinfo.include_paths()]
    compiled = str(tmp_path / "first.o")
    command = ["cc", "-fPIC", *include, "-c", write("first.c", definition), "-o", compiled]
    subprocess.run(command, check=True)
    header = "#include <tvm/ffi/extra/c_signature.h>\nTVM_FFI_DLL_EXPORT_SIGNATURE"
    module = load(compiled, write("signature.c", header + signature))
    assert mark(module, "first") is None
    assert kernels.catch(module.first, np.arange(3.0)) == 0
    with pytest.raises(ValueError, match="expected dtype float64, got int64"):
        module.first(np.arange(3))


DEFINED = "int __tvm_ffi_f(void* h, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) { return 0; }\n"
DAMAGED = 'TVM_FFI_DLL_EXPORT_SIGNATURE(f, "f(x: ")\n'
DECLARED = 'TVM_FFI_DLL_EXPORT_SIGNATURE(f, "f(x: int)")\n'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(DECLARED, id="no definition"),
        pytest.param(DEFINED, id="no signature"),
        pytest.param(DEFINED.replace(" {", ";") + DECLARED, id="declaration"),
        pytest.param(DEFINED + "#if 0\n" + DECLARED + "#endif\n", id="#if 0"),
        pytest.param("#ifdef A\n#if 1\n#endif\n" + DEFINED + "#endif\n" + DECLARED, id="#ifdef"),
        pytest.param(f"{DEFINED}#ifdef A\n{DECLARED}#endif\n{DECLARED}", id="two signatures"),
        pytest.param(f"{DEFINED}// {DECLARED}", id="comment"),
        pytest.param(f"{DEFINED}#define S {DECLARED}S", id="macro"),
        pytest.param(DEFINED + 'TVM_FFI_DLL_EXPORT_SIGNATURE(f, TEXT "")', id="text"),
        pytest.param(DEFINED + 'TVM_FFI_DLL_EXPORT_SIGNATURE(f, "f(*x: int)")', id="variadic"),
        pytest.param(f"{DEFINED}#if 0\n{DAMAGED}#endif\n", id="damaged in #if"),
        pytest.param(f"{DEFINED}#define S {DAMAGED}S", id="damaged in a macro"),
        pytest.param(
            'TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(f, F, TEXT);\nint g = h(1, "f(x: ");',
            id="text in a later call",
        ),
        pytest.param(DEFINED + DECLARED.replace(')")', ') unchecked")'), id="unchecked"),
    ],
)
def test_functions_that_may_not_be_compiled_are_left_alone(write, text):
    assert file_checks([write("f.c", text)]) is None


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        pytest.param(
            DAMAGED.replace('x: "', 'x: flot32[n])"').encode(),
            "character 5 of 'f(x: flot32[n])': 'flot32' is not a dtype",
            id="unknown dtype",
        ),
        pytest.param(DAMAGED.encode(), "'f(x: '", id="cut off"),
        pytest.param(
            DECLARED.replace('"f', '"g').encode(),
            "the signature of function 'f' is for a function 'g'",
            id="other name",
        ),
        pytest.param(
            b"""TVM_FFI_DLL_EXPORT_SIGNATURE(f, "f(x: int) doc '\xe4'")""",
            "expected a signature of function 'f' in UTF-8",
            id="Latin-1",
        ),
        pytest.param(
            b'TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(f, [](int x) { h(x, "a"); }, "f(")',
            "'f('",
            id="lambda",
        ),
        pytest.param(
            b"\x7fELF\2\1\1\0\0",
            "expected C or C++ text, got the control character b'\\x02'",
            id="binary",
        ),
    ],
)
def test_an_invalid_signature_is_an_error_at_its_line(write, tmp_path, capsys, content, problem):
    """The kernel was built without checks, and nothing reported the misspelt signature."""
    path = tmp_path / "f.c"
    path.write_bytes(b"/* Latin-1: \xe4 */\n" + content)
    message = f"{path}:2: "
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        cpp.build("damaged", sources=[write("first.c", C), str(path)])
    assert problem in str(caught.value)
    assert main(["checks", "--output", str(tmp_path / "checks.c"), str(path)]) == 2
    assert f"{message}" in capsys.readouterr().err
    assert not (tmp_path / "checks.c").exists()


def test_definitions_outside_of_conditions_are_found(write):
    text = f'#ifdef __cplusplus\nextern "C" {{\n#endif\n{DEFINED}{DECLARED}'
    made = file_checks([write("f.c", f"#if 1\n#endif\n{text}"), write("g.c", "int g;\xff")])
    assert made is not None
    assert made.options == ("-D__tvm_ffi_f=tvm_ffi_unchecked_f",)


def test_cuda_files_are_compiled_with_the_options(write, fake_compilers, monkeypatch):
    nvcc = fake_compilers.add("nvcc")
    monkeypatch.setenv("CXX", str(fake_compilers.add("c++")))
    monkeypatch.setenv("CUDA_HOME", str(nvcc.parents[1]))
    monkeypatch.setenv("TVM_FFI_CUDA_ARCH_LIST", "9.0")
    cpp.build("device", cuda_files=write("total.cu", CPP), extra_cuda_cflags="-O1 --use_fast_math")
    device, host, _ = sorted(fake_compilers.commands(), key=lambda words: words[-1], reverse=False)
    commands = {command[0]: command for command in (device, host)}
    option = "-D__tvm_ffi_total=tvm_ffi_unchecked_total"
    assert commands["nvcc"].index(option) < commands["nvcc"].index("--use_fast_math")
    assert "checks.cpp" in commands["c++"]
    text = cpp.cache.find("device")[0].path.with_name("checks.cpp").read_text()
    assert "return tvm_ffi_unchecked_total(handle, args, num_args, result);" in text


# ---- the command tvm-ffi checks ------------------------------------------------------------------


def test_the_command_writes_the_checks_and_prints_the_options(write, tmp_path, capsys, kernels):
    source, output = write("first.c", C), tmp_path / "made" / "checks.c"
    assert main(["checks", "--output", str(output), source]) == 0
    options = capsys.readouterr().out.split()
    include = [f"-I{path}" for path in tvm_ffi.libinfo.include_paths()]
    warnings = ["-Wall", "-Wextra", "-Wmissing-prototypes", "-Werror"]
    library = str(tmp_path / "first.so")
    for language in (("-std=c11", *warnings), ("-xc++", "-std=c++17", *warnings[:2], "-Werror")):
        subprocess.run(
            ["cc", *language, *include, "-c", output, "-o", tmp_path / "checks.o"], check=True
        )
    command = ["cc", "-shared", "-fPIC", *options, *include, source, output, "-o", library]
    subprocess.run(list(map(str, command)), check=True)
    function = tvm_ffi.load_module(library, keep_module_alive=False).first
    assert kernels.catch(function, np.arange(3)).message.startswith("first() argument 'x'")
    assert main(["checks", "--output", str(output), write("none.c", "int x;")]) == 0
    assert capsys.readouterr().out == ""
    assert not output.exists()


@pytest.mark.parametrize("text", ["int main(void) { return 0; }\n", C], ids=["no checks", "checks"])
def test_the_command_keeps_files_that_it_has_not_written(write, tmp_path, capsys, text):
    """An output path that leads to the user's file: the file was overwritten or deleted."""
    source, notes = write("mine.c", text), write("notes.txt", "/* Generated by hand. */\n")
    link = tmp_path / "link.c"
    link.symlink_to(source)
    for output, problem in (
        (source, "expected an output file, got one of the source files"),
        (str(link), "expected an output file, got one of the source files"),
        (notes, "expected a new file or an earlier output"),
        (write("empty", ""), "expected a new file or an earlier output"),
        (str(tmp_path), "Is a directory"),
        ("/dev/null", "not a regular file"),
    ):
        assert main(["checks", "--output", output, source]) == 2
        out, err = capsys.readouterr()
        assert problem in err
        assert output in err
        assert out == ""
    assert (tmp_path / "mine.c").read_text(encoding="utf-8") == text
    assert (tmp_path / "notes.txt").read_text() == "/* Generated by hand. */\n"
    assert (tmp_path / "empty").exists()


def test_the_command_keeps_its_output_that_is_also_a_source(write, tmp_path, capsys):
    """A wildcard such as `*.c` names the output of the previous run as a source."""
    source, output = write("first.c", C), str(tmp_path / "checks.c")
    assert main(["checks", "--output", output, source]) == 0
    assert main(["checks", "--output", output, source]) == 0
    text = (tmp_path / "checks.c").read_text()
    capsys.readouterr()
    assert main(["checks", "--output", output, source, output]) == 2
    assert "got one of the source files" in capsys.readouterr().err
    assert (tmp_path / "checks.c").read_text() == text


def test_the_command_names_a_missing_file(tmp_path, capsys):
    assert main(["checks", "--output", str(tmp_path / "c.c"), str(tmp_path / "no.c")]) == 2
    assert "no.c" in capsys.readouterr().err
