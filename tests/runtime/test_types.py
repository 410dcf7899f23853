# SPDX-License-Identifier: Apache-2.0
"""Registered types, fields, methods and attributes of the library, compared with the contract."""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
from ctypes import POINTER, Structure, c_char_p, c_int32, c_int64, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any

import pytest

ABI = json.loads(
    (Path(__file__).resolve().parents[1] / "abi" / "abi.json").read_text(encoding="utf-8")
)
TYPE_KEYS = ABI["type_keys"]
# Type keys whose indices depend on the order of registration.
FUNCTION = TYPE_KEYS["ffi.Function"]["type_index"]
KEY_OF_INDEX = {entry["type_index"]: key for key, entry in TYPE_KEYS.items()}

# ---- The structs of c_api.h ----------------------------------------------------------------------


class ByteArray(Structure):
    _fields_ = (("data", c_char_p), ("size", c_size_t))

    def text(self) -> str:
        return ctypes.string_at(self.data, self.size).decode() if self.size else ""


class AnyValue(Structure):
    _fields_ = (("type_index", c_int32), ("padding", c_int32), ("payload", c_uint64))


class FieldInfo(Structure):
    _fields_ = (
        ("name", ByteArray),
        ("doc", ByteArray),
        ("metadata", ByteArray),
        ("flags", c_int64),
        ("size", c_int64),
        ("alignment", c_int64),
        ("offset", c_int64),
        ("getter", c_void_p),
        ("setter", c_void_p),
        ("default", AnyValue),
        ("field_static_type_index", c_int32),
    )


class MethodInfo(Structure):
    _fields_ = (
        ("name", ByteArray),
        ("doc", ByteArray),
        ("metadata", ByteArray),
        ("flags", c_int64),
        ("method", AnyValue),
    )


class TypeMetadata(Structure):
    _fields_ = (
        ("doc", ByteArray),
        ("creator", c_void_p),
        ("total_size", c_int32),
        ("structural_eq_hash_kind", c_int32),
    )


class TypeInfo(Structure):
    pass


TypeInfo._fields_ = (
    ("type_index", c_int32),
    ("type_depth", c_int32),
    ("type_key", ByteArray),
    ("type_ancestors", POINTER(POINTER(TypeInfo))),
    ("type_key_hash", c_uint64),
    ("num_fields", c_int32),
    ("num_methods", c_int32),
    ("fields", POINTER(FieldInfo)),
    ("methods", POINTER(MethodInfo)),
    ("metadata", POINTER(TypeMetadata)),
)


class AttrColumn(Structure):
    _fields_ = (("data", POINTER(AnyValue)), ("size", c_int32), ("begin_index", c_int32))


# ---- Registered types ----------------------------------------------------------------------------


def type_info(library: Any, key: str) -> TypeInfo:
    index = c_int32()
    library.check(
        library.functions.TVMFFITypeKeyToIndex(
            ctypes.byref(library.byte_array(key)), ctypes.byref(index)
        )
    )
    get_info = library.functions.TVMFFIGetTypeInfo
    get_info.restype = POINTER(TypeInfo)
    return get_info(index).contents


def column(library: Any, name: str) -> AttrColumn | None:
    get_column = library.functions.TVMFFIGetTypeAttrColumn
    get_column.restype = POINTER(AttrColumn)
    found = get_column(ctypes.byref(library.byte_array(name)))
    return found.contents if found else None


def schema_of(metadata: ByteArray) -> Any:
    return json.loads(json.loads(metadata.text())["type_schema"])


def fields_of(info: TypeInfo) -> list[dict[str, Any]]:
    numbers = ("flags", "size", "alignment", "offset", "field_static_type_index")
    return [
        {
            "name": field.name.text(),
            **{number: getattr(field, number) for number in numbers},
            "type_schema": schema_of(field.metadata),
        }
        for field in info.fields[: info.num_fields]
    ]


@pytest.mark.parametrize("key", TYPE_KEYS)
def test_type_indices_and_ancestors(library, key):
    expected, info = TYPE_KEYS[key], type_info(library, key)
    if expected["allocated"] == "static":
        assert info.type_index == expected["type_index"]
    assert info.type_depth == expected["depth"]
    assert info.type_key_hash == expected["type_key_hash"]
    ancestors = [info.type_ancestors[i].contents.type_key.text() for i in range(info.type_depth)]
    assert ancestors[-1:] == ([expected["parent"]] if expected["parent"] else [])


@pytest.mark.parametrize("key", TYPE_KEYS)
def test_fields_and_methods(library, key):
    expected, info = TYPE_KEYS[key], type_info(library, key)
    assert fields_of(info) == expected["fields"]
    methods = info.methods[: info.num_methods]
    named = [(method.name.text(), method.flags) for method in methods]
    assert named == [(method["name"], method["flags"]) for method in expected["methods"]]


@pytest.mark.parametrize("key", [key for key in TYPE_KEYS if "total_size" in TYPE_KEYS[key]])
def test_metadata(library, key):
    expected, info = TYPE_KEYS[key], type_info(library, key)
    assert info.metadata, "the registered member has no metadata"
    metadata = info.metadata.contents
    assert metadata.total_size == expected["total_size"]
    assert metadata.structural_eq_hash_kind == expected["structural_eq_hash_kind"]
    assert bool(metadata.creator) == expected["has_creator"]


LIST_COLUMNS = """
import ctypes, sys

class ByteArray(ctypes.Structure):
    _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t))

get_column = ctypes.CDLL(sys.argv[1]).TVMFFIGetTypeAttrColumn
get_column.restype = ctypes.c_void_p
for name in sys.argv[2:]:
    if get_column(ctypes.byref(ByteArray(name.encode(), len(name)))):
        print(name)
"""


def test_columns_exist_right_after_load(library):
    """Clients cache a missing column.  Run in a new process, because types add columns."""
    path = library.functions._name
    names = list(ABI["type_attrs"])
    command = [sys.executable, "-c", LIST_COLUMNS, path, *names]
    process = subprocess.run(command, capture_output=True, text=True, check=True)
    expected = [name for name in names if ABI["type_attrs"][name]["column_exists_after_load"]]
    assert process.stdout.split() == expected


@pytest.mark.parametrize(
    "name", [name for name, entry in ABI["type_attrs"].items() if entry["set_on"]]
)
def test_attributes(library, name):
    expected, found = ABI["type_attrs"][name], column(library, name)
    assert found is not None
    assert found.begin_index == 0
    missing, differing = [], {}
    # Pointers in these two columns become function objects, which clients of all releases call in
    # the same way.
    is_key_hook = name in ("__any_hash__", "__any_equal__")
    for index, pointer_kind in expected["set_on"].items():
        kind = FUNCTION if is_key_hook else pointer_kind
        key = KEY_OF_INDEX[int(index)]
        ours = type_info(library, key).type_index
        if ours >= found.size or found.data[ours].type_index == 0:
            missing.append(key)
        elif found.data[ours].type_index != kind:
            differing[key] = found.data[ours].type_index
    assert (missing, differing) == ([], {})
