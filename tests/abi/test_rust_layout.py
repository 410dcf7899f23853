# SPDX-License-Identifier: Apache-2.0
"""Declarations of ``rust/src/abi.rs`` equal the binary contract ``abi.json``.

The tests compile Rust programs of constant assertions and do not run them.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ABI = json.loads((HERE / "abi.json").read_text(encoding="utf-8"))
SOURCE = HERE.parents[1] / "rust" / "src" / "abi.rs"
TEXT = SOURCE.read_text(encoding="utf-8")

pytestmark = pytest.mark.skipif(shutil.which("rustc") is None, reason="no rustc")

# Structs of the contract that belong to C++ classes; Rust does not declare them.
ENUMS_ELSEWHERE = {"ModulePropertyMask", "ReferenceCount"}
# Padding fields of the C structs; they give 32-bit platforms the same size.
NOT_DECLARED = {"TVMFFIObject.__ensure_align"}
IMPORTS = """\
use std::ffi::{c_char, c_int, c_void};
use std::mem::{align_of, offset_of, size_of, MaybeUninit};
use std::ptr::addr_of;
"""
# Members of anonymous C unions; in Rust these unions need names.
UNIONS = {
    "TVMFFIAny": {
        **dict.fromkeys(("zero_padding", "small_str_len"), "padding"),
        **{name: "payload" for name in ABI["structs"]["TVMFFIAny"]["fields"] if name[:2] == "v_"},
    }
}
RUST_TYPES = {
    "void": "c_void",
    "int": "c_int",
    "char": "c_char",
    "size_t": "usize",
    "int32_t": "i32",
    "int64_t": "i64",
    "uint64_t": "u64",
}


def rust_type(text: str) -> str:
    """Return the Rust spelling of a C type."""
    text = text.strip()
    pointer = re.fullmatch(r"(.*)\(\*\)\((.*)\)", text)
    if pointer:
        # The contract gives the parameters of some function pointers names; Rust types have none.
        types = [re.sub(r"(?<=\*)\w+$", "", part.strip()) for part in pointer[2].split(",")]
        return function_type(pointer[1], types)
    if text.endswith("*const"):
        text = text.removesuffix("const").strip()
    if text.endswith("*"):
        target = text[:-1].strip()
        if target.startswith("const ") and not target.endswith("*"):
            return f"*const {rust_type(target[6:])}"
        return f"*mut {rust_type(target)}"
    return RUST_TYPES.get(text, text)


def function_type(returns: str, parameters: list[str]) -> str:
    """Return the type of a nullable function pointer."""
    result = "" if returns.strip() == "void" else f" -> {rust_type(returns)}"
    return f'Option<unsafe extern "C" fn({", ".join(map(rust_type, parameters))}){result}>'


@pytest.fixture
def compile_text(tmp_path):
    """Return a function that compiles declarations together with the file under test."""

    def compile_text(*lines: str) -> subprocess.CompletedProcess[str]:
        source = tmp_path / "lib.rs"
        head = (
            f'#![allow(dead_code, unused_imports)]\n#[path = "{SOURCE}"]\nmod abi;\nuse abi::*;\n'
        )
        source.write_text(head + IMPORTS + "\n".join(lines) + "\n", encoding="utf-8")
        command = ["rustc", "--edition", "2021", "--crate-type", "lib", "--emit", "metadata"]
        return subprocess.run(
            [*command, str(source), "-o", str(tmp_path / "out")],
            capture_output=True,
            text=True,
            check=False,
        )

    return compile_text


def equal(code: str, value: int) -> str:
    return f"const _: () = assert!({code} == {value});"


def assert_compiles(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr


def test_structs_have_the_layout_of_the_contract(compile_text):
    lines = []
    for name, layout in ABI["structs"].items():
        lines.append(equal(f"size_of::<{name}>()", layout["size"]))
        lines.append(equal(f"align_of::<{name}>()", layout["align"]))
        for field, position in layout["fields"].items():
            if f"{name}.{field}" in NOT_DECLARED:
                continue
            union = UNIONS.get(name, {}).get(field)
            path = f"{union}.{field}" if union else field
            lines.append(equal(f"offset_of!({name}, {path})", position["offset"]))
            member = f"addr_of!((*MaybeUninit::<{name}>::uninit().as_ptr()).{path})"
            lines.append(equal(f"size_of_value(unsafe {{ {member} }})", position["size"]))
    lines.append("const fn size_of_value<T>(_: *const T) -> usize { size_of::<T>() }")
    assert_compiles(compile_text(*lines))


def test_a_wrong_size_is_a_compile_error(compile_text):
    """Prove that the assertions of the tests above are evaluated: a wrong one must fail."""
    done = compile_text(equal("size_of::<TVMFFIAny>()", 8))
    assert done.returncode != 0
    assert "assertion failed" in done.stderr


def test_constants_have_the_values_of_the_contract(compile_text):
    enums = {name: values for name, values in ABI["enums"].items() if name not in ENUMS_ELSEWHERE}
    lines = [equal(name, value) for values in enums.values() for name, value in values.items()]
    declared = re.findall(r"^ +(k\w+|DLPACK_FLAG\w+) = ", TEXT, flags=re.MULTILINE)
    assert sorted(declared) == sorted(name for values in enums.values() for name in values)
    version, dlpack = ABI["abi"]["reported_version"], ABI["abi"]["dlpack_version"]
    lines += [equal(f"TVM_FFI_VERSION.{i}", number) for i, number in enumerate(version)]
    lines += [equal(f"DLPACK_VERSION.{i}", number) for i, number in enumerate(dlpack)]
    assert_compiles(compile_text(*lines))


def test_functions_have_the_prototypes_of_the_contract(compile_text):
    declared = re.findall(r"pub fn (TVMFFI\w+)\(", TEXT)
    assert sorted(declared) == sorted(ABI["functions"])
    lines = []
    for name, entry in ABI["functions"].items():
        type_ = function_type(
            entry["returns"], [parameter["type"] for parameter in entry["params"]]
        )
        lines.append(f"const _{name}: {type_} = Some({name});")
    assert_compiles(compile_text(*lines))


def test_function_types_equal_the_contract(compile_text):
    lines = []
    for name, entry in ABI["function_types"].items():
        if name.startswith(("TVMFFI", "DLPack")):
            type_ = function_type(
                entry["returns"], [parameter["type"] for parameter in entry["params"]]
            )
            lines.append(f"fn same_{name}(value: {name}) -> {type_} {{ value }}")
    assert len(lines) == 9
    assert_compiles(compile_text(*lines))
