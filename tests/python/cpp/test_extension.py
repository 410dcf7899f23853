# SPDX-License-Identifier: Apache-2.0
"""`build`, `build_inline`, `load` and `load_inline`: libraries, options and errors."""

from __future__ import annotations

import array
import json
import shlex
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import cpp

# The source exports __tvm_ffi_answer, which returns an int.
ANSWER_C = """
#ifndef ANSWER
#define ANSWER 42
#endif
int __tvm_ffi_answer(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = ANSWER;
  return 0;
}
"""

needs_cc = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
needs_cxx = pytest.mark.skipif(shutil.which("c++") is None, reason="no C++ compiler is installed")


@needs_cc
def test_c_text_needs_only_the_c_compiler(monkeypatch):
    monkeypatch.setenv("CXX", "/nonexistent/c++")
    module = cpp.load_inline("from c", c_sources=ANSWER_C)
    assert isinstance(module, tvm_ffi.Module)
    assert module.answer() == 42


@needs_cc
def test_listed_c_functions_have_documentation():
    doc = 'Says "forty-two"??/ \\ in Zürich.\nAlways.'
    module = cpp.load_inline("documented", c_sources=ANSWER_C, functions={"answer": doc})
    assert module.answer() == 42
    assert module.get_function_doc("answer") == doc


@needs_cc
def test_listed_functions_are_visible_with_hidden_default_visibility():
    flags = ["-fvisibility=hidden"]
    hidden = cpp.load_inline("hidden", c_sources=ANSWER_C, extra_cflags=flags)
    shown = cpp.load_inline("shown", c_sources=ANSWER_C, extra_cflags=flags, functions=["answer"])
    assert not hidden.implements_function("answer")
    assert shown.answer() == 42


@needs_cc
def test_loading_names_a_listed_c_function_that_is_not_defined():
    with pytest.raises(RuntimeError, match="__tvm_ffi_question"):
        cpp.load_inline("undefined", c_sources=ANSWER_C, functions="question")


@needs_cc
def test_a_listed_c_function_of_another_type_does_not_compile():
    with pytest.raises(RuntimeError, match="conflicting types for .__tvm_ffi_answer"):
        cpp.build_inline("typed", c_sources="int __tvm_ffi_answer(void);", functions="answer")


@needs_cc
def test_extra_flags_and_include_paths_are_used(tmp_path, monkeypatch):
    (tmp_path / "my headers").mkdir()
    (tmp_path / "my headers" / "answer.h").write_text("#define ANSWER (BASE + 1)\n")
    monkeypatch.chdir(tmp_path)
    module = cpp.load_inline(
        "flags",
        c_sources=["#include <answer.h>", ANSWER_C],
        extra_cflags=["-DBASE=6"],
        extra_ldflags=["-Wl,-soname,libflags.so"],
        extra_include_paths=["my headers"],
    )
    assert module.answer() == 7
    assert b"libflags.so\0" in Path(cpp.cache.find("flags")[0].path).read_bytes()


@needs_cxx
def test_cpp_functions_have_documentation_and_metadata():
    module = cpp.load_inline(
        "from_cpp",
        cpp_sources=[
            "int64_t add(int64_t a, int64_t b) { return a + b; }",
            "double size(tvm::ffi::TensorView x) { return x.size(0); }",
        ],
        functions={"add": 'Adds "two" numbers.', "size": ""},
        extra_cflags=["-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA=1"],
    )
    assert module.add(40, 2) == 42
    assert module.get_function_doc("add") == 'Adds "two" numbers.'
    assert module.get_function_doc("size") is None
    assert "type_schema" in module.get_function_metadata("add")


@needs_cxx
@pytest.mark.parametrize(
    "body",
    [
        "std::ostringstream text; text << n; return text.str();",
        "std::stringstream text; text << n; return text.str();",
        'int64_t read; std::istringstream("40") >> read; return std::to_string(read + n - 40);',
        "auto end = [](std::ostream& out) { out.flush(); }; (void)end; return std::to_string(n);",
    ],
    ids=["ostringstream", "stringstream", "istringstream", "ostream"],
)
def test_string_streams_need_no_include(body):
    """Sources for the incumbent rely on <sstream>, which its headers include."""
    text = f"tvm::ffi::String text(int64_t n) {{ {body} }}"
    assert cpp.load_inline("streams", cpp_sources=text, functions=["text"]).text(42) == "42"


@needs_cxx
def test_other_sources_do_not_compile_the_stream_headers():
    checked = """#ifdef _GLIBCXX_SSTREAM
    #error "<sstream> is included"
    #endif
    int64_t my_stringstream_size(int64_t n) { return n; }"""
    module = cpp.load_inline("plain", cpp_sources=checked, functions=["my_stringstream_size"])
    assert module.my_stringstream_size(3) == 3


@needs_cxx
def test_an_error_message_takes_a_device():
    text = """void refuse(tvm::ffi::TensorView x) {
      TVM_FFI_THROW(ValueError) << "got " << x.device();
    }"""
    module = cpp.load_inline("refuse", cpp_sources=text, functions=["refuse"])
    with pytest.raises(ValueError, match=r"^got cpu:0$"):
        module.refuse(array.array("d", [1]))


@needs_cc
def test_a_compiler_error_shows_the_command_and_the_line():
    with pytest.raises(RuntimeError, match=r"^\w[^ ]* exited with status 1\nstdout:\n") as caught:
        cpp.build_inline("broken", c_sources=["int one;", "int two;\nint three = ;"])
    message = str(caught.value)
    assert "ninja" not in message  # one source file is built without ninja
    assert "-fPIC -O2" in message
    assert "broken.1.c:2:13: error:" in message
    assert "int three = ;" in message


UNUSED_C = "static int unused(void) { return 1; }\n"
WALL = {"extra_cflags": ["-Wall"]}


@needs_cc
@pytest.mark.parametrize("num_sources", [1, 2])  # built without ninja and with ninja
@pytest.mark.parametrize("has_folder", [False, True])
def test_warnings_of_the_compiler_are_one_python_warning(tmp_path, num_sources, has_folder):
    """Regression: a build that succeeded swallowed the warnings of its compiler."""
    paths = []
    for name in ("first", "second")[:num_sources]:
        path = tmp_path / f"{name}.c"
        answer = f"#include <tvm/ffi/c_api.h>\n{ANSWER_C}" if name == "first" else ""
        path.write_text(UNUSED_C.replace("unused", name) + answer)
        paths.append(str(path))
    folder = str(tmp_path / "build") if has_folder else None
    with pytest.warns(UserWarning, match="^warned was built with warnings:\n") as caught:
        module = cpp.load("warned", sources=paths, build_directory=folder, **WALL)
    (warning,) = caught
    text = str(warning.message)
    assert "'first' defined but not used" in text.replace("\u2018", "'").replace("\u2019", "'")
    assert text.count("[-Wunused-function]") == num_sources
    assert " -c " not in text  # the commands are left out
    assert warning.filename == __file__
    assert module.answer() == 42
    assert cpp.load("warned", sources=paths, build_directory=folder, **WALL).answer() == 42


@needs_cc
def test_a_warning_that_is_an_exception_keeps_the_build():
    with pytest.raises(UserWarning, match=r"raised was built with warnings:\nraised\.c:1:12: "):
        cpp.load_inline("raised", c_sources=UNUSED_C + ANSWER_C, **WALL)
    assert cpp.load_inline("raised", c_sources=UNUSED_C + ANSWER_C, **WALL).answer() == 42


@needs_cxx
def test_warnings_of_builds_with_precompiled_headers(monkeypatch):
    monkeypatch.setenv("TVM_FFI_CPP_EXTENSION_PRECOMPILE", "1")
    text = f"{UNUSED_C}int one() {{ return 1; }}"
    with pytest.warns(UserWarning, match=r"cxx\.cpp:1:12: warning: .*unused") as caught:
        module = cpp.load_inline("cxx", cpp_sources=text, functions="one", **WALL)
    assert len(caught) == 1
    assert module.one() == 1


@needs_cc
def test_an_error_after_the_text_names_the_generated_file():
    with pytest.raises(RuntimeError, match=r"main\.c:\d+:\d+: error") as caught:
        cpp.build_inline("after", c_sources="#define TVMFFISafeCallType ;", functions="f")
    assert "tvm_ffi_listed" in str(caught.value)


def test_a_missing_compiler_is_named(monkeypatch):
    monkeypatch.setenv("CC", "no-such-compiler")
    with pytest.raises(RuntimeError, match=r"no-such-compiler is not found.*\$CC"):
        cpp.build_inline("nothing", c_sources=ANSWER_C)


@pytest.mark.parametrize("function", [cpp.build_inline, cpp.load_inline, cpp.build, cpp.load])
def test_a_build_without_sources_is_an_error(function):
    with pytest.raises(AssertionError, match=r"^sources must be provided\.$"):
        function("empty")


def test_the_file_name_of_the_manifest_is_reserved():
    """Regression: the manifest replaced the product, and its path was returned."""
    with pytest.raises(ValueError, match=r"name must not be 'manifest\.json'"):
        cpp.build_inline("nothing", c_sources=ANSWER_C, output="manifest.json")


@pytest.mark.parametrize("name", ["", "..", "a/b", "a\nb"])
def test_names_that_are_not_file_names_are_errors(name):
    with pytest.raises(ValueError, match="name must be a valid file name"):
        cpp.build_inline(name, c_sources=ANSWER_C)


def test_a_name_that_a_ninja_file_cannot_express_is_an_error():
    with pytest.raises(ValueError, match=r"name must not contain '\|'.*got 'a\|b"):
        cpp.build_inline("a|b", c_sources=ANSWER_C)


@pytest.mark.parametrize("variable", ["CC", "CXX"])
def test_a_compiler_variable_with_an_invalid_command_is_named(monkeypatch, variable):
    monkeypatch.setenv(variable, "'unterminated")
    sources = {"c_sources": ANSWER_C} if variable == "CC" else {"cpp_sources": "int x;"}
    with pytest.raises(
        ValueError, match=rf"\${variable} must be a shell command, got .*\"'unterminated\""
    ):
        cpp.build_inline("unterminated", **sources)


def test_an_unknown_backend_argument_is_an_error():
    with pytest.raises(ValueError, match="""backend must be "cuda" or "hip", got 'metal'"""):
        cpp.build_inline("backend", cpp_sources="", backend="metal")


# ---- Objects and cubins --------------------------------------------------------------------------


@needs_cc
def test_an_object_file_can_be_built_and_linked_later():
    built = cpp.build_inline("part", c_sources=ANSWER_C, output="part.o")
    assert Path(built).name == "part.o"
    module = cpp.load("whole", sources=built)
    assert module.answer() == 42


@needs_cc
@pytest.mark.skipif(shutil.which("ld") is None, reason="no ld")
def test_several_objects_are_merged(tmp_path):
    (tmp_path / "one.c").write_text("int one(void) { return 1; }")
    (tmp_path / "two.c").write_text(
        "#include <tvm/ffi/c_api.h>\nint one(void);\n"
        "int __tvm_ffi_two(void* h, const TVMFFIAny* a, int32_t n, TVMFFIAny* result) {\n"
        "  result->type_index = kTVMFFIInt;\n"
        "  result->zero_padding = 0;\n  result->v_int64 = one() + 1;\n  return 0;\n}\n"
    )
    sources = [str(tmp_path / "one.c"), str(tmp_path / "two.c")]
    merged = cpp.build("merged", sources=sources, output="merged.o")
    assert cpp.load("linked", sources=merged).two() == 2


CUBIN_C = """
#include <string.h>
extern const char __tvm_ffi__cubin_first[], __tvm_ffi__cubin_first_end[];
extern const char __tvm_ffi__cubin_second[], __tvm_ffi__cubin_second_end[];
int __tvm_ffi_sizes(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  long first = __tvm_ffi__cubin_first_end - __tvm_ffi__cubin_first;
  long second = __tvm_ffi__cubin_second_end - __tvm_ffi__cubin_second;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = first * 100 + second;
  return memcmp(__tvm_ffi__cubin_second, "1234567", 7);
}
"""


@needs_cc
@pytest.mark.skipif(
    shutil.which("ld") is None or shutil.which("objcopy") is None,
    reason="GNU binutils are not installed",
)
def test_cubins_are_embedded():
    cubins = {"first": b"\x7fELF", "second": b"1234567"}
    assert cpp.load_inline("cubins", c_sources=CUBIN_C, embed_cubin=cubins).sizes() == 407


def test_cubin_names_must_be_c_identifiers():
    with pytest.raises(
        ValueError,
        match="embed_cubin: expected names of ASCII letters, digits and underscores, got 'a-b'",
    ):
        cpp.build_inline("cubin", c_sources=CUBIN_C, embed_cubin={"a-b": b""})


# ---- Files ---------------------------------------------------------------------------------------


def test_the_suffix_of_a_file_selects_the_language(fake_compilers, monkeypatch, tmp_path):
    monkeypatch.setenv("CC", str(fake_compilers.add("my-cc")))
    monkeypatch.setenv("CXX", shlex.join([str(fake_compilers.add("my-cxx")), "-m64"]))
    for name in ("a.c", "b.cc", "c.cpp", "d.o"):
        (tmp_path / name).touch()
    paths = [str(tmp_path / name) for name in ("a.c", "b.cc", "c.cpp", "d.o")]
    cpp.build("kinds", sources=paths, extra_cflags=["-DX"], extra_ldflags=["-lmine"])
    lines = sorted(fake_compilers.commands(), key=lambda line: "-shared" in line)
    headers = f"-I{tvm_ffi.libinfo.find_include_path()}"
    library = f"-L{Path(tvm_ffi.libinfo.find_libtvm_ffi()).parent}"
    flags = ["-O2", "-DX", headers]
    c_flags = ["-O2", "-Werror=implicit-function-declaration", *flags[1:]]
    metadata = "-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT=1"
    cpp_flags = ["-std=c++17", "-fPIC", "-O2", metadata, *flags[1:]]
    one, two, three, four = paths
    assert sorted(lines[:3]) == [
        ["my-cc", "-MD", "-MF", "c_0.o.d", "-fPIC", *c_flags, "-c", one, "-o", "c_0.o"],
        ["my-cxx", "-m64", "-MD", "-MF", "cpp_0.o.d", *cpp_flags, "-c", two, "-o", "cpp_0.o"],
        ["my-cxx", "-m64", "-MD", "-MF", "cpp_1.o.d", *cpp_flags, "-c", three, "-o", "cpp_1.o"],
    ]
    objects = ["c_0.o", "cpp_0.o", "cpp_1.o", four]
    own_flags = [*(["-Wl,-z,defs"] if sys.platform == "linux" else []), "-lmine"]
    link_flags = ["-shared", *own_flags, library, "-ltvm_ffi", "-lm", "-ldl", "-lpthread"]
    assert lines[3:] == [["my-cxx", "-m64", *objects, *link_flags, "-o", "kinds.so"]]


@needs_cc
def test_a_file_is_compiled_at_its_path(tmp_path):
    folder = tmp_path / "it's a föld$er"
    folder.mkdir()
    (folder / "answer.h").write_text("#define ANSWER 5\n")
    source = folder / "answer kernel.c"
    source.write_text(f'#include "answer.h"\n#include <tvm/ffi/c_api.h>\n{ANSWER_C}')
    assert cpp.load("file", sources=str(source)).answer() == 5


def test_a_missing_source_file_is_named():
    with pytest.raises(RuntimeError, match="source file not found: .*nowhere.c"):
        cpp.build("missing", sources="nowhere.c")


@pytest.mark.undebugged("the debug context imports subprocess")
def test_imports_are_deferred():
    """`tvm_ffi` does not import `tvm_ffi.cpp`, which imports no module that only builds need."""
    code = """
        import sys, tvm_ffi
        assert "tvm_ffi.cpp" not in sys.modules
        tvm_ffi.cpp
        tools = {"logging", "ninja", "numpy", "rich", "subprocess", "torch"}
        assert not tools & set(sys.modules), tools & set(sys.modules)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], check=True)


# ---- Missing definitions -------------------------------------------------------------------------

CALLS_HELPER = """
TVM_FFI_DLL_EXPORT int __tvm_ffi_f(
    void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle, (void)args, (void)num_args, (void)result;
  return num_args > 0 ? helper() : 0;
}
"""


@needs_cc
@pytest.mark.skipif(sys.platform != "linux", reason="the option is one of ELF linkers")
def test_a_missing_definition_is_an_error_of_the_build():
    """The library was loaded, and the first call of the missing function ended the process."""
    source = "int helper(void);\n" + CALLS_HELPER
    with pytest.raises(RuntimeError) as caught:
        cpp.build_inline("lacking", c_sources=source)
    assert "helper" in str(caught.value)
    assert 'defines it, pass extra_ldflags=["-Wl,-z,undefs"]' in str(caught.value)


@needs_cc
@pytest.mark.skipif(sys.platform != "linux", reason="the option is one of ELF linkers")
def test_the_loading_process_may_define_a_function(capfd):
    """For example the functions of Python, which has no library to link."""
    source = "int PyGILState_Check(void);\n" + CALLS_HELPER.replace("helper", "PyGILState_Check")
    with pytest.raises(RuntimeError, match="PyGILState_Check"):
        cpp.build_inline("of_python", c_sources=source)
    options = "-O1 -Wl,-z,undefs"
    module = cpp.load_inline("of_python", c_sources=source, extra_ldflags=options)
    assert module.f() is None
    assert "warning" not in capfd.readouterr().err


@needs_cc
def test_an_undeclared_function_is_an_error_in_c():
    """The function got the type int(), with one of the warnings that nobody reads."""
    with pytest.raises(RuntimeError, match=r"undeclared\.c:5:\d+: error: implicit declaration"):
        cpp.build_inline("undeclared", c_sources=CALLS_HELPER)


@needs_cc
def test_functions_of_the_c_library_need_no_options():
    source = """
    #include <dlfcn.h>
    #include <math.h>
    #include <pthread.h>
    int __tvm_ffi_f(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
      pthread_once_t once = PTHREAD_ONCE_INIT;
      (void)handle, (void)num_args, (void)once;
      result->type_index = kTVMFFIFloat;
      result->zero_padding = 0;
      result->v_float64 = hypot(args[0].v_float64, 4) + (dlsym(NULL, "no such symbol") != NULL);
      return 0;
    }
    """
    assert cpp.load_inline("c_library", c_sources=source, functions="f").f(3.0) == 5


@needs_cc
def test_options_in_a_string_are_words():
    """A string was split into its characters."""
    source = CALLS_HELPER.replace("helper()", "(int)sizeof(TEXT)")
    path = cpp.build_inline("words", c_sources=source, extra_cflags="-O1 '-DTEXT=\"a b\"'")
    command = next(step for step in _commands_of(path) if "-O1" in step)
    assert '-DTEXT="a b"' in command


def _commands_of(path: str) -> list[list[str]]:
    manifest = json.loads(Path(path).with_name("manifest.json").read_text(encoding="utf-8"))
    return [parts for name, parts in manifest["parts"].items() if name.startswith("command for ")]


@needs_cc
def test_a_string_that_is_no_shell_command_is_refused():
    with pytest.raises(TypeError, match=r"^extra_cflags must contain str, got 1$"):
        cpp.load_inline("words", c_sources=ANSWER_C, extra_cflags=[1])
    message = r"extra_ldflags must be words of a shell command, got \"'open\": No closing quotation"
    with pytest.raises(ValueError, match=message):
        cpp.build_inline("open", c_sources=ANSWER_C, extra_ldflags="'open")
