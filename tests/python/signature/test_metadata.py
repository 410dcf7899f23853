# SPDX-License-Identifier: Apache-2.0
"""Signatures in libraries: all forms of declarations, and damaged metadata."""

from __future__ import annotations

import inspect
import json
import subprocess
import threading
import time
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated

import pytest

import tvm_ffi
from tvm_ffi import Signature, libinfo
from tvm_ffi.inspection import inspect_library
from tvm_ffi.module import CustomModule

TEXT = (
    "softmax(x: float32[n, m], y: out float32[n, m], *, temperature: float = 1.0)"
    " doc 'Rows that \"sum\" to 1: \\\\ é.'"
)
EXPECTED = Signature.parse(TEXT)
LITERAL = json.dumps(TEXT)  # ASCII text with escapes that are also valid in C

C = f"""
#include <tvm/ffi/extra/c_signature.h>
#ifdef __cplusplus
extern "C" {{
#endif
TVM_FFI_DLL_EXPORT int __tvm_ffi_softmax(void*, const TVMFFIAny*, int32_t, TVMFFIAny*);
#ifdef __cplusplus
}}
#endif
TVM_FFI_DLL_EXPORT int __tvm_ffi_softmax(
    void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {{
  (void)self, (void)args, (void)num_args, (void)result;
  return 0;
}}
TVM_FFI_DLL_EXPORT_SIGNATURE(softmax, {LITERAL})
TVM_FFI_DLL_EXPORT_DOC(softmax, "The documentation.")
""".replace("void*, const TVMFFIAny*, int32_t,", "void* a, const TVMFFIAny* b, int32_t c,").replace(
    "TVMFFIAny*);", "TVMFFIAny* d);"
)

CPP = f"""
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/function.h>
void Softmax(tvm::ffi::TensorView, tvm::ffi::TensorView, double) {{}}
TVM_FFI_DLL_EXPORT_TYPED_FUNC_WITH_SIGNATURE(softmax, Softmax, {LITERAL});
TVM_FFI_DLL_EXPORT_TYPED_FUNC(plain, [](int64_t n) {{ return n; }});
"""


CC = ("cc", "-std=c11", "-x", "c")
CXX = ("c++", "-std=c++17", "-x", "c++")


def compiled(folder: Path, source: str, *command: str) -> Path:
    target = folder / "library.so"
    flags = ["-fPIC", "-shared", "-Wall", "-Wextra", "-pedantic", "-Werror"]
    flags += [f"-I{path}" for path in libinfo.include_paths()]
    done = subprocess.run(
        [*command, *flags, "-o", str(target), "-"],
        input=source,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return target


@pytest.fixture(scope="module")
def c_library(tmp_path_factory) -> Path:
    return compiled(tmp_path_factory.mktemp("c"), C, *CC)


@pytest.fixture(scope="module")
def cpp_library(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("cpp")
    return compiled(folder, CPP, "c++", "-std=c++17", "-Wno-unused-parameter", "-x", "c++")


@pytest.fixture
def module(tmp_path):
    """Return a module with functions f and g without metadata."""
    return load(plain_library(tmp_path))


def load(path: Path) -> tvm_ffi.Module:
    return tvm_ffi.load_module(path, keep_module_alive=False)


def plain_library(folder: Path, more: str = "") -> Path:
    """Compile functions f and g, which count their arguments, and additional source."""
    source = "#include <tvm/ffi/c_api.h>\n#include <stdlib.h>\n#include <string.h>\n"
    for symbol in ("__tvm_ffi_f", "__tvm_ffi_g"):
        source += SYMBOL % (symbol, symbol, COUNT)
    return compiled(folder, source + more, "cc", "-std=gnu11", "-x", "c")


COUNT = """
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = num_args;
  return 0;
"""
SYMBOL = """
int %s(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
int %s(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)self, (void)args, (void)num_args;
  %s
}
"""


# ---- Declarations --------------------------------------------------------------------------------


def softmax(
    x: Annotated[tvm_ffi.Tensor, "float32[n, m]"],
    y: Annotated[tvm_ffi.Tensor, "out float32[n, m]"],
    *,
    temperature: float = 1.0,
) -> None:
    r"""Rows that "sum" to 1: \ é."""


def test_all_declarations_give_equal_signatures(c_library, cpp_library, tmp_path):
    c_as_cpp = compiled(tmp_path, C, *CXX)
    folder = tmp_path / "bare"
    folder.mkdir()
    bare = compiled(folder, C.split("TVM_FFI_DLL_EXPORT_SIGNATURE")[0], *CC)
    described = load(bare)
    described.describe({"softmax": TEXT})
    bare.with_suffix(".signatures").write_text(f"{TEXT}\n", encoding="utf-8")
    by_file = load(bare)
    modules = [load(path) for path in (c_library, c_as_cpp, cpp_library)]
    found = [m.get_function_signature("softmax") for m in (*modules, described, by_file)]
    found.append(Signature.from_function(softmax))
    assert found == [EXPECTED] * 6


def test_other_members_of_metadata_are_unchanged(cpp_library):
    module = load(cpp_library)
    metadata = module.get_function_metadata("softmax")
    params = json.loads(metadata["type_schema"])["named_args"]["params"]
    assert [param["type"] for param in params] == ["DLTensor*", "DLTensor*", "float"]
    assert metadata["signature"] == TEXT


def test_documentation_in_c(c_library):
    assert load(c_library).get_function_doc("softmax") == "The documentation."


def test_documentation_in_the_signature_only(tmp_path):
    path = compiled(tmp_path, C.replace("TVM_FFI_DLL_EXPORT_DOC", "// "), *CC)
    module = load(path)
    assert module.get_function_doc("softmax") == EXPECTED.doc
    assert module.softmax.__doc__.partition("\n\n")[0] == EXPECTED.doc
    assert module.get_function_doc("no_such_function") is None


def test_without_metadata_only_declared_members_are_exported(cpp_library):
    module = load(cpp_library)
    assert module.get_function_metadata("plain") is None
    assert module.get_function_signature("plain") is None


def test_metadata_of_lambda_expressions(tmp_path):
    flag = "-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT=1"
    path = compiled(tmp_path, CPP, "c++", "-std=c++17", flag, "-Wno-unused-parameter", "-x", "c++")
    module = load(path)
    assert str(module.get_function_signature("plain")) == "plain(_0: int, /) -> int"
    assert module.plain(3) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("softmax(x: float32[n], y: float32[n])", "another number of parameters"),
        ("softmax(x: float32[n], *a: int)", "another number of parameters"),
        ("softmax(x: float32[n], y: inout float32, t: float)", "a tensor in the text and a number"),
        ("softmax(x: float32[n], y: {int8, int32}, t: {float32}[n])", "a tensor in the text"),
        ("soft(x: float32[n], y: float32[n], t: float)", "a function with another name"),
    ],
)
def test_the_compiler_compares_text_and_type(tmp_path, text, problem):
    source = CPP.replace(LITERAL, json.dumps(text))
    includes = [f"-I{path}" for path in libinfo.include_paths()]
    done = subprocess.run(
        ["c++", "-std=c++17", "-fsyntax-only", *includes, "-x", "c++", "-"],
        input=source,
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0
    assert problem in done.stderr


@pytest.mark.parametrize(
    "text",
    [
        "softmax(x: T[2*(n), m], /, y: out float32*[n], *, t: float = 1.0,) where T in (int8)",
        'softmax(x: Tensor | None, y: {int8, int32}[...] = None, t: float32 = 0) doc ")(, \\""',
        "(x: unknown, y: Any = (1, [2, 'a,\\',(']), t: float)",
        "softmax(in: float32[n], out: float32[n], inout: float)",
    ],
)
def test_the_compiler_accepts_compatible_types(text):
    source = CPP.replace(LITERAL, json.dumps(text))
    includes = [f"-I{path}" for path in libinfo.include_paths()]
    subprocess.run(
        ["c++", "-std=c++17", "-fsyntax-only", *includes, "-x", "c++", "-"],
        input=source,
        text=True,
        check=True,
    )


def test_registered_functions():
    def softmax(x, y, temperature=1.0):
        pass

    tvm_ffi.register_global_func("test_metadata.softmax", softmax, signature=TEXT)
    try:
        metadata = tvm_ffi.get_global_func_metadata("test_metadata.softmax")
        assert Signature.from_metadata(metadata, "test_metadata.softmax") == EXPECTED
        assert "type_schema" in metadata
    finally:
        tvm_ffi.remove_global_func("test_metadata.softmax")


def test_a_registration_with_a_wrong_signature_registers_nothing():
    with pytest.raises(
        ValueError, match="belongs to function 'softmax', not to function 'test_metadata.f'"
    ):
        tvm_ffi.register_global_func("test_metadata.f", len, signature=TEXT)
    with pytest.raises(ValueError, match="character 2 of"):
        tvm_ffi.register_global_func("test_metadata.f", len, signature="f(")
    with pytest.raises(TypeError, match="expected a Signature or the text of one, got int"):
        tvm_ffi.register_global_func("test_metadata.f", signature=3)(len)
    assert tvm_ffi.get_global_func("test_metadata.f", allow_missing=True) is None


def test_a_failed_registration_keeps_the_existing_metadata(capfd):
    tvm_ffi.register_global_func("test_metadata.taken", len, signature="(obj: str, /) -> int")
    try:
        with pytest.raises(RuntimeError, match="test_metadata.taken"):
            tvm_ffi.register_global_func("test_metadata.taken", len, signature="(x: str, /)")
        metadata = tvm_ffi.get_global_func_metadata("test_metadata.taken")
        assert metadata["signature"] == "(obj: str, /) -> int"
    finally:
        tvm_ffi.remove_global_func("test_metadata.taken")
    assert capfd.readouterr().err == ""


# ---- Inspection of the file ----------------------------------------------------------------------


@pytest.mark.parametrize("language", ["c", "cpp"])
def test_inspection_reads_names_from_the_file(language, request):
    report = inspect_library(request.getfixturevalue(f"{language}_library"))
    function = next(f for f in report.functions if f.name == "softmax")
    shown = "(x: float32[n, m], y: out float32[n, m], *, temperature: float = 1.0)"
    assert function.signature == shown
    assert function.unread == ()


def test_export_rows_of_other_functions_are_ignored(tmp_path):
    path = compiled(tmp_path, C.replace('"softmax(', '"hardmax('), *CC)
    (function,) = inspect_library(path).functions
    assert function.signature is None
    assert function.unread == ("metadata",)


# ---- Damaged metadata ----------------------------------------------------------------------------

SCHEMA = {"type": "ffi.Function", "named_args": {"return": [{"type": "None"}]}}
SCHEMA["named_args"]["params"] = [{"type": "ffi.Tensor"}]


def metadata_in_c(body: str) -> str:
    return SYMBOL % ("__tvm_ffi__metadata_f", "__tvm_ffi__metadata_f", body)


def returning(text: str) -> str:
    return (
        f"static const char text[] = {json.dumps(text)};"
        "TVMFFIByteArray bytes = {text, sizeof(text) - 1};"
        "return TVMFFIStringFromByteArray(&bytes, result);"
    )


DEEP = """
size_t depth = 1000000; char* text = malloc(depth); memset(text, '[', depth);
TVMFFIByteArray bytes = {text, depth};
int code = TVMFFIStringFromByteArray(&bytes, result); free(text); return code;
"""


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (
            '(void)result; TVMFFIErrorSetRaisedFromCStr("ValueError", "no luck"); return -1;',
            "ValueError: no luck",
        ),
        ("result->type_index = kTVMFFIInt; result->v_int64 = 3; return 0;", "TypeError: "),
        (returning("{"), "ValueError: the metadata is not JSON: "),
        (returning("[]"), "ValueError: expected a JSON object, got list"),
        (DEEP, "ValueError: the JSON of the metadata is nested too deep"),
        (
            returning('{"signature": 1}'),
            "member 'signature' of the metadata must be a str, got int",
        ),
        (returning('{"signature": "f("}'), "character 2 of 'f\\('"),
        (returning('{"signature": "g()"}'), "belongs to function 'g', not to function 'f'"),
    ],
    ids=["raises", "no text", "no JSON", "no object", "deep", "no string", "wrong", "another's"],
)
def test_damaged_metadata_removes_parameter_names(tmp_path, body, problem):
    path = plain_library(tmp_path, metadata_in_c(body))
    module = load(path)
    expected = rf"library\.so: the metadata of function 'f' is damaged \(.*{problem}"
    with pytest.warns(RuntimeWarning, match=expected) as caught:
        assert module.get_function_signature("f") is None
    assert len(caught) == 1
    with warnings.catch_warnings():  # once
        warnings.simplefilter("error")
        assert module.get_function_signature("f") is None
        assert module.get_function_signature("g") is None
    assert module.f(1, 2) == 2


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("f(x: Tensor, n: int)", "the signature has 2 parameters, but the function has 1: "),
        (
            "f(n: int)",
            "parameter 'n' is a number in the signature, but a tensor in the function's type",
        ),
    ],
)
def test_a_contradicting_signature_leaves_the_type(tmp_path, text, problem):
    metadata = json.dumps({"type_schema": json.dumps(SCHEMA), "signature": text})
    path = plain_library(tmp_path, metadata_in_c(returning(metadata)))
    module = load(path)
    with pytest.warns(RuntimeWarning, match=problem) as caught:
        found = module.get_function_signature("f")
    assert str(found) == "f(_0: unknown Tensor, /)"
    assert text in str(caught[0].message)
    assert "(Tensor) -> None" in str(caught[0].message)


def test_metadata_from_c_is_valid_json(tmp_path):
    """The text contains every character that JSON must escape; it is not a signature."""
    text = "".join(map(chr, range(1, 128))) + "é€😀"
    literal = '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'
    path = compiled(tmp_path, C.replace(LITERAL, literal), *CC)
    module = load(path)
    assert module.get_function_metadata("softmax") == {"signature": text}


# ---- Descriptions of loaded modules --------------------------------------------------------------


def test_descriptions_apply_to_existing_functions(module):
    before = module.f
    module.describe({"f": "(x: float32[n]) doc 'Text.'", "g": Signature.parse("g()")})
    again = tvm_ffi.container.Array([module])[0]  # the read goes through native code
    for wrapper in (before, again.f):
        assert wrapper.__doc__ == "Text.\n\nf(x: float32[n])"
    assert str(again.get_function_signature("f")) == "f(x: float32[n]) doc 'Text.'"
    assert again.get_function_metadata("g")["signature"] == "g()"


def test_descriptions_apply_to_functions_already_called(module, c_library):
    outer = load(c_library)
    outer.import_module(module)
    wrappers = [module.f, module["f"], outer.get_function("f", query_imports=True)]
    wrappers += list(tvm_ffi.container.Array(wrappers))
    for wrapper in wrappers:
        assert wrapper() == 0
        with pytest.raises(TypeError, match="unexpected keyword argument 'n'"):
            wrapper(n=1)
    module.describe({"f": "f(n: int, m: int = 3) non_blocking"})
    for wrapper in wrappers:
        assert wrapper(n=1) == wrapper(1) == 2
        assert not wrapper.release_gil
    module.describe({"f": "f(k: int)"})
    for wrapper in wrappers:
        assert wrapper(k=1) == 1
        assert wrapper.release_gil
        with pytest.raises(TypeError, match="unexpected keyword argument 'n'"):
            wrapper(n=1)


def test_descriptions_apply_through_importing_modules(module, c_library):
    module.describe({"f": "f(n: int)"})
    outer = load(c_library)
    outer.import_module(module)
    assert outer.get_function_signature("f") is None
    assert str(outer.get_function_signature("f", query_imports=True)) == "f(n: int)"


def test_descriptions_override_metadata_of_the_library(c_library):
    module = load(c_library)
    module.describe({"softmax": "softmax(a: Tensor)"})
    module.describe({"softmax": "softmax(b: Tensor, c: int = 0)"})
    assert str(module.get_function_signature("softmax")) == "softmax(b: Tensor, c: int = 0)"
    assert module.get_function_doc("softmax") == "The documentation."


def test_descriptions_keep_other_metadata(tmp_path):
    path = plain_library(tmp_path, metadata_in_c(returning('{"cost": 3}')))
    module = load(path)
    module.describe({"f": "f(n: int)"})
    metadata = module.get_function_metadata("f")
    assert metadata["cost"] == 3
    assert json.loads(metadata["type_schema"])["named_args"]["params"] == [{"type": "int"}]


def test_descriptions_replace_damaged_metadata(tmp_path):
    path = plain_library(tmp_path, metadata_in_c(returning("{")))
    module = load(path)
    module.describe({"f": "f(n: int)"})
    assert str(module.get_function_signature("f")) == "f(n: int)"


def test_errors_list_all_problems_of_a_description(module):
    with pytest.raises(
        ValueError, match=r"Module\.describe: invalid signatures for the module .*library\.so:"
    ) as caught:
        module.describe({"f": "f(n: int", "g": "f()", "h": "h()", "f ": 3, 4: "f()"})
    lines = str(caught.value).splitlines()[1:]
    expected = [
        "'f': character 8 of 'f(n: int': expected ')', got the end of the text",
        "'g': the signature belongs to function 'f', not to function 'g'",
        "'h': the module has no function 'h'",
        "'f ': the module has no function 'f '",
        "4: expected a str as the name of a function, got int",
    ]
    assert [line.strip() for line in lines] == expected
    assert module.get_function_signature("f") is None
    with pytest.raises(TypeError, match="expected a mapping from function names .*, got list"):
        module.describe(["f()"])


def test_contradicting_descriptions_are_refused(cpp_library):
    module = load(cpp_library)
    with pytest.raises(ValueError, match="the signature has 1 parameters, but the function has 3"):
        module.describe({"softmax": "softmax(x: Tensor)"})


def test_modules_written_in_python_can_be_described():
    class Kind(CustomModule, kind="test_metadata"):
        def find_function(self, name):
            return abs if name == "abs" else None

    module = Kind()
    module.describe({"abs": "abs(x: int) -> int"})
    assert str(module.get_function_signature("abs")) == "abs(x: int) -> int"


# ---- Side files ----------------------------------------------------------------------------------

SIDE_FILE = """\
# Functions of a library.
f(x: float32[n, m],
  # in the middle
  y: out float32[n, m],
) -> int

g()
  doc "# is no comment here"
"""


def load_with_side_file(folder: Path, text: str):
    path = plain_library(folder, metadata_in_c(returning('{"signature": "f(own: int)"}')))
    path.with_suffix(".signatures").write_text(text, encoding="utf-8")
    return load(path)


def test_side_files_describe_the_library(tmp_path):
    module = load_with_side_file(tmp_path, SIDE_FILE)
    shown = "f(x: float32[n, m], y: out float32[n, m]) -> int"
    assert str(module.get_function_signature("f")) == shown
    assert module.get_function_doc("g") == "# is no comment here"
    module.describe({"f": "f(last: int)"})
    assert str(module.get_function_signature("f")) == "f(last: int)"


@pytest.mark.parametrize(
    ("text", "line", "problem"),
    [
        ("f()\n\nother()\n", 3, "the module has no function 'other'"),
        ("\n\nf(x: int\n  y: int)\n", 3, r"character 11 of .*: expected '\)', got 'y'"),
        ("f()\nf()\n", 2, "function 'f' has two signatures in the file"),
        ("(x: int)\n", 1, r"the signature '\(x: int\)' has no function name"),
        ("  f()\n= 3\n", 2, "expected the name of a function"),
    ],
)
def test_errors_in_side_files_name_the_line(tmp_path, text, line, problem):
    with pytest.raises(ValueError, match=rf"library\.signatures:{line}: .*{problem}"):
        load_with_side_file(tmp_path, text)


def test_reading_side_files_takes_linear_time(tmp_path):
    """Regression: each continuation line copied all earlier lines."""
    times = []
    for number in (50_000, 500_000):
        text = "f(x: int\n" + " \\\n" * number
        start = time.process_time()
        with pytest.raises(ValueError, match=r"library\.signatures:1: .*expected '\)'"):
            load_with_side_file(tmp_path, text)
        times.append(time.process_time() - start)
    assert times[1] < 30 * times[0] + 1  # quadratic time would take 100 times as long


def test_binary_side_files_are_refused(tmp_path):
    path = plain_library(tmp_path)
    path.with_suffix(".signatures").write_bytes(b"\xff\xfe")
    with pytest.raises(
        ValueError, match=r"library\.signatures: expected signatures as UTF-8 text: "
    ):
        load(path)


# ---- Descriptions during the first call ---------------------------------------------------------

SLOW = """
#include <tvm/ffi/c_api.h>

static int Call(const char* name, size_t size, TVMFFIAny* result) {
  const TVMFFIByteArray text = {name, size};
  TVMFFIObjectHandle function = NULL;
  int code;
  if (TVMFFIFunctionGetGlobal(&text, &function) != 0 || function == NULL) return -1;
  code = TVMFFIFunctionCall(function, NULL, 0, result);
  TVMFFIObjectDecRef(function);
  return code;
}

/* Returns the second argument. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_f(void* a, const TVMFFIAny* args, int32_t n, TVMFFIAny* result) {
  (void)a;
  if (n != 2) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "expected 2 arguments");
    return -1;
  }
  *result = args[1];
  return 0;
}
TVM_FFI_DLL_EXPORT int __tvm_ffi__metadata_f(void* a, const TVMFFIAny* b, int32_t n,
                                             TVMFFIAny* result) {
  (void)a, (void)b, (void)n;
  return Call("test_metadata.metadata", 22, result);
}
"""
SLOW_TEXT = '{"signature": "f(x: int, y: int = 1)"}'


@pytest.fixture
def slow(tmp_path):
    """Return a module, the barrier at which reading its metadata waits twice, and the readers."""
    barrier, readers = threading.Barrier(2, timeout=60), []

    @tvm_ffi.register_global_func("test_metadata.metadata", override=True)
    def metadata() -> str:
        readers.append(threading.get_ident())
        if len(readers) == 1:  # reads inside the description function do not wait
            barrier.wait()
            barrier.wait()
        return SLOW_TEXT

    yield load(compiled(tmp_path, SLOW, *CC)), barrier
    tvm_ffi.registry.remove_global_func("test_metadata.metadata")


def test_a_description_during_the_first_call_wins(slow):
    """Regression: the call kept the signature that it was reading, also for later calls."""
    module, barrier = slow
    function, other = module.f, module.get_function("f")
    with ThreadPoolExecutor() as pool:
        first = pool.submit(function, 0)
        barrier.wait()  # the first call is reading its signature
        module.describe({"f": "f(x: int, z: int = 2)"})
        barrier.wait()
        assert first.result() == 2
    assert (function(0), other(0), module.f(0)) == (2, 2, 2)
    assert function(0, z=3) == 3
    with pytest.raises(TypeError, match="unexpected keyword argument 'y'"):
        other(0, y=3)
    assert [p.name for p in inspect.signature(function).parameters.values()] == ["x", "z"]


def test_calls_during_the_first_call_have_the_signature(slow):
    """Regression: such calls had no signature, and thus no defaults and no parameter names."""
    module, barrier = slow
    function = module.f
    with ThreadPoolExecutor() as pool:
        first = pool.submit(function, 0)
        barrier.wait()
        assert function(0) == 1
        assert function(0, y=5) == 5
        barrier.wait()
        assert first.result() == 1


def test_concurrent_descriptions_and_calls(c_library):
    """Each call is bound by a signature that the function had at some time during the call."""
    module = load(c_library)
    stop = threading.Event()
    seen: list[str] = []

    def call() -> None:
        while not stop.is_set():
            try:
                module.softmax(nothing=1)
            except TypeError as error:
                seen.append(str(error))

    with ThreadPoolExecutor() as pool:
        calls = [pool.submit(call) for _ in range(3)]
        for i in range(100):
            module.describe({"softmax": f"softmax(x: Tensor, y: Tensor, nothing_{i % 10}: float)"})
        stop.set()
        for done in calls:
            done.result()
    known = {f"'nothing_{i}'?" for i in range(10)} | {"'nothing'"}
    assert {text.rpartition(" ")[2] for text in seen} <= known
    with pytest.raises(TypeError, match="did you mean 'nothing_9'"):
        module.softmax(nothing=1)
