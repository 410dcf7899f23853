# SPDX-License-Identifier: Apache-2.0
"""Checks of libraries: a right kernel passes; each kind of mistake is found by its check."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "conformance" / "src"), str(Path(__file__).parent)]

import emitted  # noqa: E402
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

    def check(name, source, **options):
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
        chosen = {"runtime": libinfo.find_libtvm_ffi(), "signatures": [SIGNATURE], **options}
        return run_library(str(path), **chosen)

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
    assert {entry.id: entry.detail for entry in results.failures} == {}
    assert sum(entry.id.startswith("call.add.") for entry in results.entries) > 30
    assert results.subject["runtime"] == "reference"
    assert results.subject["called"] == ["add"]
    assert "not called: other: no signature" in capsys.readouterr().out
    assert "not called: other" in page(results)


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
        ({"signatures": ["sub(n: int)"]}, "does not export __tvm_ffi_sub"),
        ({"runtime": "/nowhere/libtvm_ffi.so"}, "/nowhere/libtvm_ffi.so: No such file"),
    ],
    ids=["signature", "function", "runtime"],
)
def test_wrong_option_is_an_error(check, options, message):
    with pytest.raises(ValueError, match=message):
        check("options", RIGHT, **options)


def test_parameter_that_the_kit_cannot_make_is_named(check):
    results = check("unknown", RIGHT, signatures=["add(x: weird[n], y: int)"])
    assert results.subject["called"] == []
    assert results.subject["not_called"] == {"add": "the kit knows no argument for `x`"}


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


def test_signature_text():
    found = parse("f(x: float32[n, 4], y: out int8[n], s: str = 'a, b', z: weird[1]) -> int")
    assert [each.name for each in found.parameters] == ["x", "y", "s", "z"]
    assert [each.direction for each in found.parameters[:2]] == ["in", "out"]
    assert (found.returns, found.callable) == ("int", False)
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
