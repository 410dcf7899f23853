# SPDX-License-Identifier: Apache-2.0
"""Checks of libraries: a right kernel passes; each kind of mistake is found by its check."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "conformance" / "src"), str(Path(__file__).parent)]

import emitted  # noqa: E402
from tvm_ffi_conformance.__main__ import main  # noqa: E402
from tvm_ffi_conformance.libraries import run  # noqa: E402
from tvm_ffi_conformance.libraries.run import run_library  # noqa: E402
from tvm_ffi_conformance.libraries.signature import parse  # noqa: E402
from tvm_ffi_conformance.page import page  # noqa: E402
from tvm_ffi_conformance.terminal import print_results  # noqa: E402

SIGNATURE = "add(x: float32[n], y: out float32[n])"
RIGHT = (ROOT / "docs" / "guides" / "right_kernel.c").read_text(encoding="utf-8")
# Name, replacement in the right kernel, check that must fail.
MISTAKES = [
    ("count", ("if (count != 2)", "if (0)"), "call.add.wrong.count.3"),
    ("dtype", ("t->dtype.code != kDLFloat", "0"), "call.add.wrong.x.dtype_code"),
    ("dimensions", ("t->ndim != 1", "0"), "call.add.wrong.x.dimension_more"),
    ("extents", ("y->shape[0] != x->shape[0]", "0"), "call.add.wrong.y.extent_0"),
    ("device", ("t->device.device_type != kDLCPU", "0"), "call.add.wrong.x.device_of_tensor"),
    ("byte_offset", ("+ t->byte_offset", "+ 0"), "call.add.right.byte_offset"),
    ("strides", ("t->strides[0]", "1"), "call.add.right.gap"),
    ("lanes", ("t->dtype.lanes != 1", "0"), "call.add.wrong.x.lanes"),
    ("other strides", ("step_y = Step(y)", "step_y = Step(x)"), "call.add.right.mixed_strides"),
    ("unwritten", ("i < x->shape[0]", "i + 1 < x->shape[0]"), "call.add.right.outputs"),
    ("accumulated", ("out[i * step_y] =", "out[i * step_y] +="), "call.add.right.outputs"),
    ("overrun", ("i < x->shape[0]", "i <= x->shape[0]"), "call.add.right.compact_guard_after"),
    ("input", ("out[i * step_y]", "in[i * step_x] = out[i * step_y]"), "call.add.inputs_unchanged"),
    ("error", ('TVMFFIErrorSetRaisedFromCStr("TypeError", "add: expected 2 arguments"), ', ""),
     "call.add.wrong.count.3"),
    ("kind", ('"TypeError", "add: expected 2', '"BadError", "add: expected 2'),
     "call.add.wrong.count.3"),
]  # fmt: skip


@pytest.fixture(scope="module")
def check(tmp_path_factory):
    from tvm_ffi import libinfo

    def check(name, source, signatures=(SIGNATURE,), **options):
        folder = tmp_path_factory.mktemp(name)
        (folder / "kernel.c").write_text(source, encoding="utf-8")
        path = folder / "kernel.so"
        include = Path(libinfo.find_include_path())
        command = [
            "cc",
            "-shared",
            "-fPIC",
            f"-I{include}",
            "-o",
            str(path),
            str(folder / "kernel.c"),
        ]
        subprocess.run(command, check=True)
        chosen = {"runtime": libinfo.find_libtvm_ffi(), **options}
        return run_library(str(path), signatures=list(signatures), **chosen)

    return check


def test_right_kernel_passes(check):
    results = check("right", RIGHT)
    assert {entry.id: entry.detail for entry in results.failures} == {}
    assert len(results.entries) > 40


@pytest.mark.parametrize(("name", "change", "found"), MISTAKES, ids=[each[0] for each in MISTAKES])
def test_mistake_is_found(check, name, change, found):
    assert change[0] in RIGHT
    results = check(name, RIGHT.replace(*change), pattern=f"^{found}$")
    assert [entry.id for entry in results.failures] == [found]
    assert results.entries[0].where.startswith("function add")
    assert "--only" in results.entries[0].repeat


def test_without_a_runtime_the_reference_calls_the_library(check, monkeypatch, capsys):
    """The kit installs no runtime; a function without a signature is named."""
    monkeypatch.setattr(run, "find_runtime", lambda: None)
    source = RIGHT + "\nint __tvm_ffi_other(void) { return 0; }\n"
    results = check("alone", source, runtime=None)
    print_results(results)
    assert [entry.id for entry in results.failures] == ["call.other.signature"]
    assert sum(entry.id.startswith("call.add.") for entry in results.entries) > 30
    assert results.subject["runtime"] == "reference"
    assert "not called: no signature; give --signature 'other(...)'" in capsys.readouterr().out
    assert "not called: no signature" in page(results)


def test_without_a_runtime_and_a_compiler_nothing_is_called(check, monkeypatch):
    monkeypatch.setattr(run, "find_runtime", lambda: None)
    monkeypatch.setattr(run, "_reference", lambda folder: None)
    with pytest.raises(ValueError, match="name one with --runtime, or install a C compiler"):
        check("no_compiler", RIGHT, runtime=None)


def test_library_that_the_reference_cannot_load(check, monkeypatch):
    monkeypatch.setattr(run, "find_runtime", lambda: None)
    source = f"{RIGHT}\nvoid needed(void);\nvoid call_needed(void) {{ needed(); }}\n"
    source += "void (*pointer)(void) = needed;\n"
    with pytest.raises(ValueError, match="undefined symbol: needed; name a runtime with --runtime"):
        check("needs_more", source, runtime=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"signatures": ["add"]}, "expected NAME"),
        ({"runtime": "/nowhere/libtvm_ffi.so"}, "/nowhere/libtvm_ffi.so: No such file"),
    ],
    ids=["signature", "runtime"],
)
def test_wrong_option_is_an_error(check, options, message):
    with pytest.raises(ValueError, match=message):
        check("options", RIGHT, **options)


def test_library_without_functions(check):
    results = check("none", "int nothing(void) { return 0; }", static_only=True)
    assert [entry.id for entry in results.failures] == ["static.functions"]


def test_damaged_embedded_tree(check):
    source = RIGHT + "\nconst unsigned long long __tvm_ffi__library_bin[2] = {100, 0};\n"
    assert "static.embedded" in [
        entry.id for entry in check("tree", source, static_only=True).failures
    ]


def test_embedded_tree_with_a_payload(kernel_folder):
    """The tree of `tree.c`: the library and a module of another kind with a payload."""
    results = run_library(str(kernel_folder / "tree.so"), static_only=True)
    found = {entry.id: entry.verdict for entry in results.entries}
    assert found["static.embedded"] == "pass"


@pytest.mark.parametrize(
    ("name", "needs"),
    [
        ("c-printer", "numpy"),
        ("llvm-printer", "llvmlite"),
        ("numba", "numba"),
        ("headers", "numpy"),
    ],
)
def test_emitted_library_passes_all_checks(name, needs):
    pytest.importorskip(needs)
    results = emitted.run(name)
    assert [(entry.id, entry.detail) for entry in results.failures] == []
    assert len(results.entries) > 50


# Functions with plain values and results.  Each has mistakes that only the effect of a call shows.
VALUES = """
#include <tvm/ffi/c_api.h>
#define REFUSE return TVMFFIErrorSetRaisedFromCStr("TypeError", "wrong"), -1
int __tvm_ffi_total(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  if (count != 1 || args[0].type_index != kTVMFFIDLTensorPtr) REFUSE;
  DLTensor* x = (DLTensor*)args[0].v_ptr;
  static double sum;
  if (!KEEPS_SUM) sum = 0;
  for (int64_t i = 0; i < x->shape[0]; ++i) sum += ((double*)x->data)[i];
  result->type_index = kTVMFFIFloat, result->v_float64 = sum;
  return 0;
}
int __tvm_ffi_twice(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  if (count != 1) REFUSE;
  int kind = args[0].type_index;
  if (kind != kTVMFFIFloat && kind != kTVMFFIInt && kind != kTVMFFINone) REFUSE;
  result->type_index = kTVMFFIFloat;
  result->v_float64 = kind == kTVMFFINone ? 0 : 2 * args[0].v_float64;  /* the bits of an int */
  return 0;
}
"""
TOTAL = "total(x: float64[n]) -> float"


@pytest.mark.parametrize(
    ("signature", "keeps_sum", "found", "message"),
    [
        (TOTAL, 0, "call.total.right.gap", "result: expected 28.0 as with compact tensors, got"),
        (TOTAL, 0, "call.total.right.byte_offset", "as with compact tensors, got"),
        (TOTAL, 1, "call.total.right.repeated", "as with the same arguments before, got 56.0"),
        (TOTAL, 1, "call.total.threads", "as with one thread, got"),
        ("twice(x: float)", 0, "call.twice.right.x.int", "result: expected 4.0 as with the same"),
        ("twice(x: float)", 0, "call.twice.wrong.x.none", "wrong arguments were accepted"),
    ],
)
def test_effects_are_compared(check, signature, keeps_sum, found, message):
    source = f"#define KEEPS_SUM {keeps_sum}\n{VALUES}"
    results = check("values", source, [signature], pattern=f"^{found}$")
    assert [entry.id for entry in results.failures] == [found]
    assert message in results.failures[0].detail


def test_parameter_that_may_be_none(check):
    source = f"#define KEEPS_SUM 0\n{VALUES}"
    results = check("none", source, ["twice(x: float | None) -> float"], pattern="none$")
    assert [(entry.id, entry.verdict) for entry in results.entries] == [
        ("call.twice.right.x.none", "pass")
    ]


def test_differing_element_is_described(check):
    found = "call.add.right.byte_offset"
    results = check("offset", RIGHT.replace("+ t->byte_offset", "+ 0"), pattern=f"^{found}$")
    detail = results.failures[0].detail
    assert detail.startswith("argument y, element [4]: expected 6.0 as with compact tensors, got ")
    assert detail.endswith("shape [7], strides [1], byte_offset 12")


def test_function_without_a_signature_fails(check):
    results = check("silent", RIGHT, [])
    assert [(entry.id, entry.verdict) for entry in results.failures] == [
        ("call.add.signature", "not run")
    ]
    assert "give --signature 'add(...)'" in results.failures[0].detail


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("sub(x: float32[n])", r"expected a function of the library \(add\), got sub"),
        ("add(x: flot32[n])", r"signature of add: parameter x: expected int, .*got 'flot32\[n\]'"),
        ("add(x: float32[n] JUNK)", r"got 'float32\[n\] JUNK'"),
        ("add(x: float32[n]) -> flaot", "result: expected int, .*got 'flaot'"),
        ("add(x: float32[n]); sub(x: int)", "expected -> or the end after the parameters"),
        ((SIGNATURE, SIGNATURE), "expected one for each function, got several of add"),
    ],
)
def test_signature_that_cannot_be_called_is_an_error(check, signature, message):
    with pytest.raises(ValueError, match=message):
        check("given", RIGHT, [signature] if isinstance(signature, str) else signature)


def with_metadata(statement):
    head = "int __tvm_ffi__metadata_add(void* h, const TVMFFIAny* a, int32_t n, TVMFFIAny* result)"
    return f"{RIGHT}{head} {{ {statement} }}"


@pytest.mark.parametrize(("kind", "is_required"), [("floaty[n]", True), ("Array[int]", False)])
def test_embedded_signature_that_cannot_be_called(check, kind, is_required):
    text = json.dumps(json.dumps({"signature": f"add(x: {kind})"}))
    statement = f"TVMFFIByteArray b = {{{text}, sizeof({text}) - 1}}; "
    source = with_metadata(statement + "return TVMFFIStringFromByteArray(&b, result);")
    results = check("embedded", source, [], pattern="^call|^metadata")
    assert [(entry.id, entry.verdict, entry.required) for entry in results.entries] == [
        ("metadata.add", "pass", True),
        ("call.add.signature", "not run", is_required),
    ]
    assert f"got '{kind}'" in results.entries[1].detail


LEAKY = """
int __tvm_ffi_first(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  TVMFFIByteArray text = {"more than seven bytes", 21};
  TVMFFIAny name;
  if (count != 1) return TVMFFIErrorSetRaisedFromCStr("TypeError", "first: one argument"), -1;
  if (args[0].type_index == kTVMFFIInt) return 0;
  TVMFFIStringFromByteArray(&text, &name);
  return TVMFFIErrorSetRaisedFromCStr("TypeError", "first: expected an int"), -1;
}
"""


def test_leak_of_each_refused_call_is_found(check):
    source = f"#include <tvm/ffi/c_api.h>\n{LEAKY}"
    results = check("leaky", source, ["first(x: int)"], pattern="^checked.first.wrong$")
    assert [entry.id for entry in results.failures] == ["checked.first.wrong"]


def test_metadata_that_is_not_text(check):
    source = with_metadata("result->type_index = kTVMFFIInt; return 0;")
    results = check("metadata", source, [], pattern="^metadata")
    assert (
        results.failures[0].detail
        == "expected a string or a small string as result, got type index 1"
    )


def test_verify_runs_the_library_again(check, tmp_path, capsys):
    results = check("verify", RIGHT, pattern="count")
    results.write(tmp_path / "results.json")
    path = results.subject["path"]
    assert main(["verify", str(tmp_path / "results.json"), "--against", path]) == 0
    other = check("other", RIGHT.replace("if (count != 2)", "if (0)"), pattern="count")
    found = main(["verify", str(tmp_path / "results.json"), "--against", other.subject["path"]])
    assert found == 1
    assert (
        "call.add.wrong.count.3: the file says pass, the library says fail"
        in capsys.readouterr().err
    )


def test_signature_text():
    found = parse("f(x: float32[n, 4], y: out int8[n], s: str = 'a, b', z: weird[1]) -> int")
    assert [each.name for each in found.parameters] == ["x", "y", "s", "z"]
    assert [each.direction for each in found.parameters[:2]] == ["in", "out"]
    assert found.returns == "int"
    assert found.problem.startswith("parameter z: expected int, ")
    found = parse(
        "g(x: T*[n] on cpu, n: int32, s: out T[n]) where T in (float16, float32) doc 'D in (a)'"
    )
    assert [each.kind for each in found.parameters] == ["tensor", "int", "tensor"]
    assert [(each.dtype, each.compact) for each in found.parameters[::2]] == [
        ((2, 16), True),
        ((2, 16), False),
    ]
    with pytest.raises(ValueError, match="expected NAME"):
        parse("f(x)")
