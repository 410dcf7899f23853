# SPDX-License-Identifier: Apache-2.0
"""Numbers and texts of the reference equal the vectors of the contract ``tests/abi/abi.json``."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tvm_ffi_conformance import abi
from tvm_ffi_conformance.reference import trampoline
from tvm_ffi_conformance.reference.builtins import LEFT_OUT
from tvm_ffi_conformance.reference.dtypes import format_dtype, parse_dtype
from tvm_ffi_conformance.reference.hashing import stable_hash_bytes
from tvm_ffi_conformance.reference.maps import JUMPS
from tvm_ffi_conformance.reference.types import hash_type_key
from tvm_ffi_conformance.reference.values import Raised

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = json.loads((ROOT / "tests" / "abi" / "abi.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("key", CONTRACT["type_keys"])
def test_hash_of_a_type_key(key):
    assert hash_type_key(key.encode()) == CONTRACT["type_keys"][key]["type_key_hash"]


@pytest.mark.parametrize("text", CONTRACT["stable_hash_bytes_vectors"])
def test_stable_hash_of_bytes(text):
    assert stable_hash_bytes(text.encode()) == CONTRACT["stable_hash_bytes_vectors"][text]


def test_jump_table():
    assert CONTRACT["constants"]["map_jump_distances"] == JUMPS


@pytest.mark.parametrize("vector", CONTRACT["dtype_vectors"]["parse"], ids=lambda v: v["input"])
def test_text_of_a_data_type_is_read(vector):
    if "code" in vector:
        parsed = parse_dtype(vector["input"])

        assert parsed == (vector["code"], vector["bits"], vector["lanes"])
        assert format_dtype(*parsed) == vector["to_string"]
    else:
        with pytest.raises(Raised, match="ValueError"):
            parse_dtype(vector["input"])


def test_data_types_are_written(run_programs):
    """Codes without a text form are errors; custom codes ask a global function."""
    vectors = CONTRACT["dtype_vectors"]["format"]
    program = f"""
write = reference.runtime.dtypes.format
value = [error_of(write, v["code"], v["bits"], v["lanes"]) for v in {vectors!r}]
reference.set_global("dtype.get_custom_type_name", lambda code: f"name{{code}}")
value.append(write(200, 16, 1))
"""
    expected = [vector["result"].replace("ERR ", "") for vector in vectors]

    assert run_programs([program])[0]["value"] == [*expected, "custom[name200]16"]


def test_the_reference_has_at_most_4000_lines():
    """Lines with text: code, comments and docstrings."""
    folder = Path(trampoline.__file__).parent
    lines = [line for path in folder.glob("*.py") for line in path.read_text("utf-8").split("\n")]

    assert sum(bool(line.strip()) for line in lines) <= 4000


def test_the_trampoline_exports_each_c_function():
    source = trampoline.source()
    exported = set(re.findall(r"^EXPORT .*?(TVMFFI\w+)\(", source, re.MULTILINE))

    assert exported == set(CONTRACT["functions"])


PROGRAM = """
import ctypes
from tvm_ffi_conformance import abi
from tvm_ffi_conformance.reference.values import write_any
runtime = reference.runtime
def any_hash(type_index, payload, content=None):
    slot = abi.TVMFFIAny()
    address = ctypes.addressof(slot)
    if content is None:
        write_any(address, type_index, payload)
    else:
        write_any(address, type_index, runtime.strings.new(content.encode(), type_index))
    hashed = runtime.hashing.any_hash(address)
    runtime.values.release(address)
    return hashed
"""


def test_hash_of_values(run_programs):
    """Plain values by their bits; short heap strings like small ones."""
    plain = [
        vector for vector in CONTRACT["hash_vectors"] if vector["type_index"] < abi.kTVMFFISmallStr
    ]
    program = f"""{PROGRAM}
value = [any_hash(v["type_index"], int(v["payload"], 16)) for v in {plain!r}]
value += [any_hash(65, 0, "a"), any_hash(65, 0, "hello world"), any_hash(66, 0, "hello world")]
"""
    expected = [int(vector["any_hash"], 16) for vector in plain]
    expected += [0x9E378A2B, 0xDEF11395, 0xDEF11456]

    assert run_programs([program]) == [{"value": expected, "violations": []}]


def test_child_types_get_the_indices_that_clients_test_inline(run_programs):
    """The slot policy of the contract: 138, 139, 142, 140, 141 and 143."""
    program = """
allocate = reference.runtime.types.allocate
base = allocate("test.Base", -1, 1, 3, True, 64)
first = allocate("test.First", -1, 2, 0, True, base)
other = allocate("test.Other", -1, 1, 0, True, 64)
second = allocate("test.Second", -1, 2, 1, True, base)
child = allocate("test.Child", -1, 3, 0, True, second)
third = allocate("test.Third", -1, 2, 0, True, base)
value = [base, first, other, second, child, third, allocate("test.None", -1, 1, 0, True, -2)]
"""
    expected = [138, 139, 142, 140, 141, 143, -2]

    assert run_programs([program]) == [{"value": expected, "violations": []}]


def test_global_functions_are_those_of_the_contract_without_the_ones_left_out(run_programs):
    program = "value = sorted(reference.runtime.functions.globals)"
    expected = sorted(set(CONTRACT["global_functions"]) - LEFT_OUT)

    assert set(CONTRACT["global_functions"]) > LEFT_OUT
    assert run_programs([program]) == [{"value": expected, "violations": []}]


def test_attribute_columns_exist_before_a_library_is_loaded(run_programs):
    program = "value = sorted(reference.runtime.types._columns)"
    columns = CONTRACT["type_attrs"]
    expected = sorted(name for name in columns if name != "__ffi_convert_type_schema__")

    assert run_programs([program])[0]["value"] == expected
