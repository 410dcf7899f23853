# SPDX-License-Identifier: Apache-2.0
"""``tvm-ffi-stubgen --library``: interface files (`.pyi`) for the functions of a library."""

from __future__ import annotations

import ast
import os
import shlex
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tvm_ffi import Signature, libinfo
from tvm_ffi.stub._stubgen.python.library_file import HEADER, library_file

from .test_command import lines_of, stubgen  # (the fixture)

__all__ = ["stubgen"]

TOP = [HEADER, "# ruff: noqa", "# fmt: off", "# isort: off"]


def file_of(*texts: str, class_name=None) -> list[str]:
    """Return the lines of an interface file after the formatter comments."""
    signatures = [Signature.parse(text) for text in texts]
    lines = library_file({signature.name: signature for signature in signatures}, class_name, 4)
    assert lines[: len(TOP)] == TOP
    assert ast.parse("\n".join(lines))
    return lines[len(TOP) :]


def stub_of(text: str) -> str:
    """Return a function's line in the stub, without documentation."""
    line = next(line for line in file_of(text) if line.startswith("def "))
    return line[: line.rindex(":")]


# ---- Functions ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "stub"),
    [
        ("f()", "def f() -> None"),
        ("f(x: int, /, y: int = 2)", "def f(x: int, /, y: int = 2) -> None"),
        ("f(x: int, *, y: int)", "def f(x: int, *, y: int) -> None"),
        ("f(x: int, *rest: Any, y: int)", "def f(x: int, *rest: Any, y: int) -> None"),
        ("f(x: int) -> (a: int, b: str)", "def f(x: int) -> tuple[int, str]"),
        ("f(x: int = -1, y: str = 'a\"b')", "y: str | PathLike[str] = 'a\"b') -> None"),
        ("f(x: float = inf, y: float = 0.5)", "def f(x: float = ..., y: float = 0.5) -> None"),
        ("f(x: Array[int] = (1, 2))", "def f(x: Sequence[int] = (1, 2)) -> None"),
        ("f(x: Array[float] = (1, inf))", "def f(x: Sequence[float] = ...) -> None"),
    ],
)
def test_names_kinds_and_defaults(text, stub):
    assert stub_of(text).endswith(stub)


@pytest.mark.parametrize(
    ("type_", "annotation"),
    [
        ("float32[n, m]", "TensorLike"),
        ("Tensor | None", "TensorLike | None"),
        ("Array[Tensor]", "Sequence[TensorLike]"),
        ("float32", "float"),
        ("uint8", "int"),
        ("str", "str | PathLike[str]"),
        ("str | None", "str | None | PathLike[str]"),
        ("Array[str]", "Sequence[str]"),
        ("dtype", "dtype | str"),
        ("Device | None", "Device | str | None"),
        ("Shape", "Sequence[int]"),
        ("List[int]", "Sequence[int]"),
        ("Map[str, Shape]", "Mapping[str, Sequence[int]]"),
        # Type checkers treat keys of mappings as invariant.
        ("Map[dtype, dtype]", "Mapping[dtype, dtype | str]"),
        ("int | str", "int | str"),
        ("tuple[int, str]", "tuple[int, str]"),
        ("tuple", "tuple[Any, ...]"),
        ("Object", "Object"),
        ("no.such.Class", "Object"),
        # Stubs annotate a callback's parameters as results, and its result as a parameter.
        ("Callable[[Array[int], dtype], Shape]", "Callable[[Sequence[int], dtype], Sequence[int]]"),
        ("Callable[..., Any]", "Callable[..., Any]"),
    ],
)
def test_annotations_of_parameters_include_convertible_types(type_, annotation):
    assert stub_of(f"f(x: {type_})") == f"def f(x: {annotation}) -> None"


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("f() -> float32[2]", "Tensor"),
        ("f(x: int) -> Array[Tensor]", "Sequence[Tensor]"),
        # With torch tensors as arguments, results are torch tensors.
        ("f(x: float32[n]) -> float32[n]", "Any"),
        ("f(x: Array[Tensor]) -> (a: int, b: Tensor)", "tuple[int, Any]"),
        ("f() -> dtype", "dtype"),
        ("f() -> Shape", "Shape"),
        ("f() -> List[str]", "MutableSequence[str]"),
        ("f() -> Callable[[dtype], Array[int]]", "Callable[[dtype | str], Sequence[int]]"),
    ],
)
def test_annotations_of_results(text, result):
    assert stub_of(text).rpartition(" -> ")[2] == result


def test_positional_only_str_parameters_accept_no_paths():
    lines = library_file({"f": Signature.parse("f(x: str, /)")}, None, 4)
    assert lines[-1] == "def f(x: str, /) -> None: ..."


def test_docstrings_show_the_full_signature():
    assert file_of("f(x: float32[n], y: out float32[2*n]) raises ValueError doc 'Doubles.'") == [
        "from tvm_ffi import TensorLike",
        "",
        "def f(x: TensorLike, y: TensorLike) -> None:",
        '    """Doubles.',
        "",
        "    ``f(x: float32[n], y: out float32[2*n]) raises ValueError``",
        '    """',
    ]


def test_docstrings_contain_the_documentation_of_parameters():
    text = "f(x: T*[n], a: float = 2) where T in (int8, bool) doc 'Scale.' doc a 'Factor,\\nnot 0.'"
    assert file_of(text)[3:] == [
        '    """Scale.',
        "",
        "    Parameters",
        "    ----------",
        "    a : float, default 2.0",
        "        Factor,",
        "        not 0.",
        "",
        "    ``f(x: T[n] compact, a: float = 2.0) where T in (int8, bool)``",
        '    """',
    ]


@given(st.text())
def test_any_documentation_is_a_docstring(doc):
    signature = Signature.parse("f(x: int)")
    text = f"{doc.strip()}\n\n``f(x: int)``" if doc.strip() else "``f(x: int)``"
    made = Signature(signature.parameters, signature.results, "f", doc=doc or None)
    tree = ast.parse("\n".join(library_file({"f": made}, None, 4)))
    got = ast.get_docstring(tree.body[-1])
    expected = [line.split() for line in text.splitlines()]
    assert [line.split() for line in got.splitlines()] == expected


def test_a_function_without_a_signature_takes_and_returns_any():
    lines = library_file({"f": None}, None, 4)
    assert lines[-3:] == ["from typing import Any", "", "def f(*args: Any) -> Any: ..."]


def test_functions_without_a_python_name_are_listed_in_a_comment():
    lines = library_file({"a.b": None, "if": None, "int": None}, None, 4)
    assert lines[-3:] == [
        "# function 'a.b' has no Python name: use get_function",
        "# function 'if' has no Python name: use get_function",
        "def int(*args: Any) -> Any: ...",
    ]


def test_functions_do_not_hide_types():
    lines = file_of("int(x: int) -> int", "dtype(x: dtype) -> dtype")
    assert [line for line in lines if line.startswith("def ")] == [
        "def int(x: _int) -> _int:",
        "def dtype(x: _dtype | str) -> _dtype:",
    ]


def test_functions_of_a_class():
    signatures = {
        "first": Signature.parse("first(x: int, /) -> int"),
        "functions": Signature.parse("functions()"),
    }
    assert library_file(signatures, "Kernels", 2)[len(TOP) :] == [
        "from tvm_ffi import Module",
        "",
        "class Kernels(Module):",
        "  @staticmethod",
        "  def first(x: int, /) -> int: ...",
        "  # function 'functions' is hidden by the class: use get_function",
        "  ...",
    ]


# ---- Files -------------------------------------------------------------------------------------


SOURCE = """
#include <tvm/ffi/extra/c_signature.h>

#define EXPORT(name)                                                                            \\
  TVM_FFI_DLL_EXPORT int __tvm_ffi_##name(void* handle, const TVMFFIAny* args, int32_t num_args, \\
                                          TVMFFIAny* result) {                                  \\
    (void)handle, (void)args, (void)num_args, (void)result;                                     \\
    return 0;                                                                                   \\
  }

EXPORT(named)
TVM_FFI_DLL_EXPORT_SIGNATURE(named, "named(a: int, /, b: int = 3, *, c: dtype)")
TVM_FFI_DLL_EXPORT_DOC(named, "Names.")
EXPORT(nameless)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Return the path of a library with two functions, one of which has a signature."""
    path = tmp_path_factory.mktemp("library") / "kernels.so"
    command = [*shlex.split(os.environ.get("CC", "cc")), "-std=c11", "-shared", "-fPIC", "-x", "c"]
    command += [f"-I{folder}" for folder in libinfo.include_paths()]
    subprocess.run([*command, "-", "-o", path], input=SOURCE, text=True, check=True)
    return path


@pytest.fixture
def output(tmp_path):
    return tmp_path / "kernels.pyi"


def test_a_library_becomes_an_interface_file(stubgen, library, output):
    assert stubgen("--library", library, "--output", output) == (0, "")
    assert lines_of(output)[len(TOP) :] == [
        "from tvm_ffi import dtype",
        "from typing import Any",
        "",
        "def named(a: int, /, b: int = 3, *, c: dtype | str) -> None:",
        '    """Names.',
        "",
        "    ``named(a: int, /, b: int = 3, *, c: dtype)``",
        '    """',
        "def nameless(*args: Any) -> Any: ...",
    ]
    before = output.stat().st_mtime_ns
    assert stubgen("--library", library, "--output", output) == (0, "")
    assert output.stat().st_mtime_ns == before


def test_a_library_of_the_working_directory(stubgen, library, tmp_path, monkeypatch):
    shutil.copy(library, tmp_path / "kernels.so")
    monkeypatch.chdir(tmp_path)
    assert stubgen("--library", "kernels.so", "--output", "kernels.pyi") == (0, "")
    assert lines_of(tmp_path / "kernels.pyi")[0] == HEADER


def test_check_reports_an_outdated_file(stubgen, library, output):
    arguments = ("--library", library, "--output", output)
    status, message = stubgen(*arguments, "--check")
    assert (status, "[Stale]" in message, output.exists()) == (1, True, False)
    stubgen(*arguments)
    assert stubgen(*arguments, "--check") == (0, "")
    text = output.read_text(encoding="utf-8").replace("b: int = 3", "b: int = 4")
    output.write_text(text, encoding="utf-8")
    status, message = stubgen(*arguments, "--check")
    assert (status, "[Stale]" in message) == (1, True)
    assert output.read_text(encoding="utf-8") == text


def test_dry_runs_write_nothing(stubgen, library, output):
    status, message = stubgen("--library", library, "--output", output, "--dry-run", "--verbose")
    assert (status, output.exists()) == (0, False)
    assert "+def nameless(*args: Any)" in message


def test_files_not_written_by_the_tool_are_refused(stubgen, library, output):
    output.write_text("def mine() -> None: ...\n", encoding="utf-8")
    status, message = stubgen("--library", library, "--output", output)
    assert status == 2
    assert "expected a file written by --library" in message
    assert lines_of(output) == ["def mine() -> None: ..."]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--library", "a.so"], "--library and --output must be provided together"),
        (["--output", "a.pyi"], "--library and --output must be provided together"),
        (["--library", "a.so", "--output", "a.py"], "--output must be a .pyi file"),
        (
            ["--library", "a.so", "--output", "a.pyi", "b.py"],
            "--library cannot be combined with PATH",
        ),
        (
            ["--library", "a.so", "--output", "a.pyi", "--class", "if"],
            "expected a class name, got 'if'",
        ),
        (["--class", "K"], "--class needs --library"),
    ],
)
def test_invalid_option_combinations_are_refused(stubgen, arguments, message):
    status, printed = stubgen(*arguments)
    assert status == 2
    assert message in printed


def test_libraries_that_cannot_be_read(stubgen, tmp_path, output):
    (tmp_path / "text.so").write_text("no library", encoding="utf-8")
    status, message = stubgen("--library", tmp_path / "text.so", "--output", output)
    assert (status, output.exists()) == (2, False)
    assert f'[Failed] File "{tmp_path / "text.so"}"' in message
