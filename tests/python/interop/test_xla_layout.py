# SPDX-License-Identifier: Apache-2.0
"""Layout of our declarations of XLA's structs, compared with the header in jaxlib."""

from __future__ import annotations

import ctypes
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tvm_ffi.interop._xla import structs

PIN = re.compile(r"^XLA_FFI_PIN\((\w+), (\w+), (\d+)\);$", re.MULTILINE)
# XLA's names of members that have other names here; some changed between versions 0.3 and 0.4.
STRUCTS = {
    "XLA_FFI_Extension": ("XLA_FFI_InternalExtension", "XLA_FFI_Extension_Base"),
    "XLA_FFI_Api_Version": ("struct XLA_FFI_Api_Version",),
}
MEMBERS = {
    ("XLA_FFI_Args", "values"): "args",
    ("XLA_FFI_Attrs", "values"): "attrs",
    ("XLA_FFI_Error_Create_Args", "code"): "errc",
    ("XLA_FFI_Metadata_Extension", "base"): "extension_base",
}
# ctypes structures, by the names of our C structs.
CTYPES = {
    "XLA_FFI_Extension": structs.Extension,
    "XLA_FFI_Api_Version": structs.ApiVersion,
    "XLA_FFI_Metadata": structs.Metadata,
    "XLA_FFI_Metadata_Extension": structs.MetadataExtension,
    "XLA_FFI_Buffer": structs.Buffer,
    "XLA_FFI_Scalar": structs.Scalar,
    "XLA_FFI_Array": structs.Array,
    "XLA_FFI_Args": structs.Buffers,
    "XLA_FFI_Attrs": structs.Attributes,
    "XLA_FFI_Error_Create_Args": structs.ErrorCreateArguments,
    "XLA_FFI_CallFrame": structs.CallFrame,
}
NUMBERS = {
    "XLA_FFI_Extension_Metadata": 1,
    "XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE": 1,
    "XLA_FFI_ArgType_BUFFER": 1,
    "XLA_FFI_AttrType_ARRAY": 1,
    "XLA_FFI_AttrType_SCALAR": 3,
    "XLA_FFI_AttrType_STRING": 4,
    "XLA_FFI_API_MAJOR": 0,
    "XLA_FFI_DataType_PRED": 1,
    "XLA_FFI_DataType_S64": 5,
    "XLA_FFI_DataType_U64": 9,
    "XLA_FFI_DataType_F64": 12,
    "XLA_FFI_DataType_C64": 15,
    "XLA_FFI_DataType_BF16": 16,
    "XLA_FFI_DataType_C128": 18,
    "XLA_FFI_DataType_F8E5M2": 19,
    "XLA_FFI_DataType_F8E4M3FN": 20,
    "XLA_FFI_DataType_S4": 21,
    "XLA_FFI_DataType_U4": 22,
    "XLA_FFI_DataType_F8E4M3B11FNUZ": 23,
    "XLA_FFI_DataType_F8E5M2FNUZ": 24,
    "XLA_FFI_DataType_F8E4M3FNUZ": 25,
    "XLA_FFI_DataType_S2": 26,
    "XLA_FFI_DataType_U2": 27,
    "XLA_FFI_DataType_F8E4M3": 28,
    "XLA_FFI_DataType_F8E3M4": 29,
    "XLA_FFI_DataType_F4E2M1FN": 32,
    "XLA_FFI_DataType_F8E8M0FNU": 33,
}


@pytest.fixture(scope="module")
def pins():
    """Return the struct, member and offset that each of our static assertions names."""
    repository = Path(__file__).resolve().parents[3]
    text = (repository / "runtime/xla/xla_ffi.h").read_text(encoding="utf-8")
    parsed = [(struct, member, int(offset)) for struct, member, offset in PIN.findall(text)]
    assert len(parsed) > 25
    return parsed


@pytest.fixture(scope="module")
def header():
    """Return the path and the text of the header that jaxlib ships."""
    jax = pytest.importorskip("jax", exc_type=ImportError)
    path = Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h"
    return path, path.read_text(encoding="utf-8")


def name_in_header(text, struct, member):
    """Return the names that a struct and a member have in XLA's header."""
    for name in STRUCTS.get(struct, (f"struct {struct}", struct)):
        if re.search(rf"\b{name.removeprefix('struct ')}\b", text):
            break
    if struct == "XLA_FFI_Api" and member[0].isupper():
        member = f"XLA_FFI_{member}"
    return name, MEMBERS.get((struct, member), member)


def test_offsets_and_constants_match_the_header(pins, header, tmp_path):
    compiler = os.environ.get("CC") or shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler is installed")
    path, text = header
    lines = [f'#include "{path}"']
    for struct, member, offset in pins:
        name, field = name_in_header(text, struct, member)
        lines.append(f'_Static_assert(offsetof({name}, {field}) == {offset}, "{name}.{field}");')
    lines += [f'_Static_assert({name} == {n}, "{name}");' for name, n in NUMBERS.items()]
    source = tmp_path / "layout.c"
    source.write_text("\n".join(lines) + "\n")
    done = subprocess.run(
        [compiler, "-std=c11", "-fsyntax-only", source], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_offsets_match_the_ctypes_structures(pins):
    compared = 0
    for struct, member, offset in pins:
        if struct in CTYPES and hasattr(CTYPES[struct], member):
            assert getattr(CTYPES[struct], member).offset == offset, (struct, member)
            compared += 1
    assert compared == 20
    assert ctypes.sizeof(structs.ByteSpan) == 16
