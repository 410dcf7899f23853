# SPDX-License-Identifier: Apache-2.0
"""The tables of ``tvm_ffi_conformance.abi`` equal the contract ``tests/abi/abi.json``."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path

import pytest
from tvm_ffi_conformance import abi

CONTRACT = json.loads(
    (Path(__file__).resolve().parents[1] / "abi" / "abi.json").read_text(encoding="utf-8")
)
TABLES = {"ModulePropertyMask": abi.MODULE_PROPERTY_MASK, "ReferenceCount": abi.REFERENCE_COUNT}
CPP_TYPES = re.compile(r"FunctionObj|AnyView|Any &|Visitor|Mutator")


def layout(struct: type[ctypes.Structure]) -> dict[str, object]:
    """Return size, alignment and fields of `struct` in the form of the contract."""
    return {
        "size": ctypes.sizeof(struct),
        "align": ctypes.alignment(struct),
        "fields": {
            name: {
                "offset": getattr(struct, name).offset,
                "size": getattr(struct, name).size,
            }
            for name in dir(struct)
            if hasattr(getattr(struct, name), "offset") and not re.fullmatch(r"_[a-z]\w+", name)
        },
    }


@pytest.mark.parametrize("name", CONTRACT["structs"])
def test_structs_have_the_layout_of_the_contract(name):
    assert layout(abi.STRUCTS[name]) == CONTRACT["structs"][name]


@pytest.mark.parametrize("enum", CONTRACT["enums"])
def test_numbers_equal_the_contract(enum):
    table = TABLES.get(enum) or {name: getattr(abi, name) for name in CONTRACT["enums"][enum]}

    assert table == CONTRACT["enums"][enum]


def test_static_type_keys_equal_the_contract():
    keys = {
        entry["type_index"]: key
        for key, entry in CONTRACT["type_keys"].items()
        if entry["allocated"] == "static"
    }

    assert keys == {**abi.VALUE_TYPE_KEYS, **abi.OBJECT_TYPE_KEYS}


def plain(text: str) -> str:
    """Return a C type in one spelling: no space before an asterisk."""
    return re.sub(r"\s*\*\s*", "*", text).replace("*(", "* (").strip()


def comparable(prototypes):
    """Return name to (result, parameters) with one spelling of each type."""
    return {
        name: (
            plain(entry["returns"]),
            [(parameter["name"], plain(parameter["type"])) for parameter in entry["params"]],
        )
        for name, entry in prototypes.items()
        if not CPP_TYPES.search(str(entry))
    }


@pytest.mark.parametrize(
    ("table", "section"), [(abi.FUNCTIONS, "functions"), (abi.FUNCTION_TYPES, "function_types")]
)
def test_prototypes_equal_the_contract(table, section):
    ours = {
        name: (
            plain(prototype.returns),
            [(parameter.name, plain(parameter.c_type)) for parameter in prototype.parameters],
        )
        for name, prototype in table.items()
    }

    assert ours == comparable(CONTRACT[section])


def test_names_in_libraries_equal_the_contract():
    constants = CONTRACT["constants"]

    assert constants["symbol_prefix"] == abi.SYMBOL_PREFIX
    assert constants["main_symbol"] == abi.MAIN_SYMBOL
    assert constants["library_ctx_symbol"] == abi.LIBRARY_CTX_SYMBOL
    assert constants["library_bin_symbol"] == abi.LIBRARY_BIN_SYMBOL
    assert constants["metadata_symbol_prefix"] == abi.METADATA_SYMBOL_PREFIX
    assert constants["doc_symbol_prefix"] == abi.DOC_SYMBOL_PREFIX
    assert constants["small_str_max_len"] == abi.SMALL_STR_MAX_LEN
    assert tuple(CONTRACT["abi"]["dlpack_version"]) == abi.DLPACK_VERSION
    assert tuple(CONTRACT["abi"]["reported_version"]) == abi.VERSION
