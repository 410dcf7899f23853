# SPDX-License-Identifier: Apache-2.0
"""Fields, creators and attributes of the built-in types of the reference."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

FACTS = Path(__file__).resolve().parents[1] / "abi" / "abi.json"
CONTRACT = json.loads(FACTS.read_text(encoding="utf-8"))
TYPES = CONTRACT["type_keys"]
PRELUDE = """
import ctypes, json
from tvm_ffi_conformance import abi
from tvm_ffi_conformance.reference.memory import read_byte_array, read_pointer
from tvm_ffi_conformance.reference.values import any_at
runtime = reference.runtime
types, reflection, convert = runtime.types, runtime.reflection, runtime.convert
class Slot:
    '''A value in memory.'''
    def __init__(self, content=None):
        self.any, self.keep = abi.TVMFFIAny(), []
        self.address = ctypes.addressof(self.any)
        convert.store(content, self.address, self.keep)
    def take(self):
        found = convert.load(self.address)
        runtime.values.release(self.address)
        return found
def make(key):
    '''Return a new object from the creator in the metadata.'''
    metadata = abi.TVMFFITypeMetadata.from_address(types.info(types.keys[key]).metadata)
    out = ctypes.c_void_p()
    assert abi.callback("TVMFFIObjectCreator")(metadata.creator)(ctypes.addressof(out)) == 0
    runtime.objects.adopt(out.value)
    return Value(runtime, out.value)
def field_of(key, name):
    fields = {read_byte_array(f.name).decode(): f for f in types.fields(types.keys[key])}
    return fields[name]
def get(value, key, name):
    field, out = field_of(key, name), Slot()
    getter = abi.callback("TVMFFIFieldGetter")(field.getter)
    assert getter(value.handle + field.offset, out.address) == 0
    return out.take()
def set_(value, key, name, content):
    field, view = field_of(key, name), Slot(content)
    setter = abi.callback("TVMFFIFieldSetter")(field.setter)
    code = setter(value.handle + field.offset, view.address)
    runtime.values.release(view.address)
    if code:
        raise runtime.errors.take_as_exception(code)
def attribute(key, name):
    '''Return the function that is the attribute of a type.'''
    handle = any_at(types.attribute(types.keys[key], name)).v_obj
    runtime.objects.hold(handle)
    return Function(runtime, handle)
"""


def test_types_have_the_fields_and_metadata_of_the_contract(run_programs):
    program = f"""{PRELUDE}
def describe(field):
    schema = json.loads(json.loads(read_byte_array(field.metadata))["type_schema"])
    names = ("flags", "size", "alignment", "offset", "field_static_type_index")
    return {{"name": read_byte_array(field.name).decode(), "type_schema": schema,
             **{{name: getattr(field, name) for name in names}}}}
value = {{}}
for index, key in [(types.keys[key], key) for key in types.keys]:
    info = types.info(index)
    value[key] = {{"fields": [describe(field) for field in types.fields(index)]}}
    if info.metadata:
        metadata = abi.TVMFFITypeMetadata.from_address(info.metadata)
        value[key].update(total_size=metadata.total_size, has_creator=bool(metadata.creator),
                          structural_eq_hash_kind=metadata.structural_eq_hash_kind)
"""
    names = ("fields", "total_size", "has_creator", "structural_eq_hash_kind")
    expected = {
        key: {name: each[name] for name in names if name in each} for key, each in TYPES.items()
    }

    assert run_programs([program]) == [{"value": expected, "violations": []}]


def test_attributes_are_those_of_the_contract_except_structural_ones_and_text(run_programs):
    program = f"""{PRELUDE}
value = {{name: sorted(index for index in types.infos if types.attribute(index, name))
         for name in types._columns}}
"""
    left_out = {"__s_visit__", "__s_mutate__", "__s_maybe_inplace_mutate__", "__ffi_repr__"}
    columns = {name: each for name, each in CONTRACT["type_attrs"].items() if each["set_on"]}
    expected = {
        name: sorted(map(int, each["set_on"]))
        for name, each in columns.items()
        if name not in left_out
    }
    state, integer = TYPES["ffi.EnumState"]["type_index"], TYPES["ffi.BigInt"]["type_index"]
    expected["__ffi_init__"] = [state]  # that of StructuralKey computes a structural hash
    expected["__any_hash__"] = expected["__any_equal__"] = [integer]
    enums = {TYPES["ffi.IntEnum"]["type_index"], TYPES["ffi.StrEnum"]["type_index"]}
    expected["__ffi_convert__"] = [
        each for each in expected["__ffi_convert__"] if each not in enums
    ]

    found = run_programs([program])[0]["value"]
    assert {name: indices for name, indices in found.items() if indices} == expected


CASES = [
    pytest.param(
        """
state = make("ffi.EnumState")
value = [get(state, "ffi.EnumState", name) for name in ("entries", "indexes", "attrs")]
""",
        [[], {}, {}],
        id="default containers",
    ),
    pytest.param(
        """
enum = make("ffi.StrEnum")
value = [get(enum, "ffi.Enum", "_int_index"), get(enum, "ffi.StrEnum", "value")]
set_(enum, "ffi.Enum", "_str_index", "a string of the heap")
set_(enum, "ffi.Enum", "_int_index", True)
value += [get(enum, "ffi.Enum", "_int_index"), get(enum, "ffi.StrEnum", "value")]
""",
        [0, "", 1, "a string of the heap"],
        id="field of the base",
    ),
    pytest.param(
        """
step, path = make("ffi.reflection.AccessStep"), make("ffi.reflection.AccessPath")
set_(step, "ffi.reflection.AccessStep", "kind", -2)
set_(step, "ffi.reflection.AccessStep", "key", 2.5)
set_(path, "ffi.reflection.AccessPath", "step", step)
found = get(path, "ffi.reflection.AccessPath", "step")
value = [get(found, "ffi.reflection.AccessStep", name) for name in ("kind", "key")]
value.append(found.handle == step.handle)
set_(path, "ffi.reflection.AccessPath", "step", None)
value.append(get(path, "ffi.reflection.AccessPath", "step"))
""",
        [-2, 2.5, True, None],
        id="objects and plain values",
    ),
    pytest.param(
        """
path = make("ffi.reflection.AccessPath")
value = [error_of(set_, path, "ffi.reflection.AccessPath", name, content)
         for name, content in (("depth", "1"), ("step", path), ("step", 1))]
value.append(error_of(set_, make("ffi.Enum"), "ffi.Enum", "_str_index", 3))
""",
        [
            "TypeError: Expected `int` but got `ffi.SmallStr`",
            "TypeError: Expected `ffi.reflection.AccessStep` but got `ffi.reflection.AccessPath`",
            "TypeError: Expected `ffi.reflection.AccessStep` but got `int`",
            "TypeError: Expected `ffi.String` but got `int`",
        ],
        id="wrong values",
    ),
    pytest.param(
        """
key = make("ffi.StructuralKey")
set_(key, "ffi.StructuralKey", "key", "a string of the heap")
set_(key, "ffi.StructuralKey", "hash_i64", 7)
copied = attribute("ffi.StructuralKey", "__ffi_shallow_copy__")(key)
set_(key, "ffi.StructuralKey", "key", None)
value = [get(copied, "ffi.StructuralKey", name) for name in ("key", "hash_i64")]
copy_enum = attribute("ffi.Enum", "__ffi_shallow_copy__")
value += [copied.handle != key.handle, error_of(copy_enum, key)[:9]]
""",
        ["a string of the heap", 7, True, "TypeError"],
        id="shallow copy",
    ),
    pytest.param(
        """
value = [attribute(key, name)().type_key for key, name in (
    ("ffi.IntEnum", "__ffi_new__"), ("ffi.EnumState", "__ffi_init__"))]
value.append(reference.get_global("ffi.VisitInterrupt")("the value of an interrupt").type_key)
final = lambda key: any_at(types.attribute(types.keys[key], "__ffi_type_final__")).v_int64
value += [final("ffi.Enum"), final("ffi.Module")]
""",
        ["ffi.IntEnum", "ffi.EnumState", "ffi.VisitInterrupt", 0, 1],
        id="new and init",
    ),
    pytest.param(
        """
new = reference.get_global
as_list = lambda *elements: new("ffi.List").call_for_object(*elements)
def converted(key, content):
    found = attribute(key, "__ffi_convert__").call_for_object(content)
    return [found.type_key, found.to_python()] if isinstance(found, Value) else found
value = [converted("ffi.Array", as_list(1, 2)), converted("ffi.List", [3]),
         converted("ffi.Shape", [4, True]), converted("ffi.Dict", {"a": 1}),
         converted("ffi.Map", new("ffi.Dict").call_for_object("b", 2)),
         converted("ffi.String", RawString("raw")), converted("ffi.Object", [5])]
value += [error_of(converted, key, content) for key, content in (
    ("ffi.Shape", ["x"]), ("ffi.Map", [1]), ("ffi.Bytes", "text"))]
""",
        [
            ["ffi.Array", [1, 2]],
            ["ffi.List", [3]],
            ["ffi.Shape", [4, 1]],
            ["ffi.Dict", {"a": 1}],
            ["ffi.Map", {"b": 2}],
            "raw",
            ["ffi.Array", [5]],
            "TypeError: Expected `int` but got `ffi.SmallStr`",
            "TypeError: Expected `ffi.Map` but got `ffi.Array`",
            "TypeError: Expected `ffi.Bytes` but got `ffi.SmallStr`",
        ],
        id="conversion",
    ),
    pytest.param(
        """
hook = lambda name: attribute("ffi.BigInt", name)
big, other = 2**70, -(2**80)
value = [hook("__any_hash__")(big) == hook("__ffi_hash__")(big, None),
         hook("__any_equal__")(big, big), hook("__any_equal__")(big, other),
         hook("__ffi_eq__")(big, other, None), hook("__ffi_eq__")(big, big, None),
         [hook("__ffi_compare__")(a, b, None) for a, b in ((big, other), (other, big), (big, big))],
         hook("__data_to_json__")(other), hook("__data_from_json__")(str(big)) == big]
""",
        [True, True, False, False, True, [1, -1, 0], str(-(2**80)), True],
        id="hooks of big integers",
    ),
    pytest.param(
        """
import struct
memory = ctypes.create_string_buffer(16)
field = ctypes.addressof(memory)
def getter(index, *numbers):
    memory[:] = struct.pack(*numbers).ljust(16, b"\\0")
    address, out = reference.get_global("ffi.MakeFieldGetter")(index), Slot()
    assert abi.callback("TVMFFIFieldGetter")(address)(field, out.address) == 0
    return repr(out.take())
value = [getter(1, "q", -5), getter(2, "B", 1), getter(3, "d", 0.5), getter(4, "Q", 64),
         getter(5, "BBH", 2, 32, 1), getter(6, "ii", 2, 1), getter(-1, "iiq", 1, 0, 9),
         getter(71, "Q", 0), error_of(reference.get_global("ffi.MakeFieldGetter"), 8)]
""",
        [
            "-5",
            "True",
            "0.5",
            "Pointer(address=64)",
            "DataType(text='float32')",
            "Device(device_type=2, device_id=1)",
            "9",
            "None",
            "ValueError: a field cannot have the type index 8",
        ],
        id="MakeFieldGetter",
    ),
    pytest.param(
        """
memory = ctypes.create_string_buffer(16)
field = Pointer(ctypes.addressof(memory))
@ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
def convert_fn(converter, view, out):
    if any_at(view).type_index == abi.kTVMFFIBool:
        runtime.errors.store(Raised("TypeError", "nothing to convert"))
        return -1
    runtime.values.to_owned(view, out)
    return 0
address = ctypes.cast(convert_fn, ctypes.c_void_p).value
def setter(index):
    return reference.get_global("ffi.MakeFieldSetter")(index, 0, address)
setter(3)(field, 0.25)
value = [ctypes.c_double.from_buffer(memory).value]
setter(1)(field, -7)
value += [ctypes.c_int64.from_buffer(memory).value, error_of(setter(1), field, True)]
memory[:] = bytes(16)
setter(-1)(field, "a string of the heap")
value.append(runtime.strings.read(field.address).decode())
setter(-1)(field, 1)
memory[:] = bytes(16)
setter(71)(field, [1, 2])
value.append(len(runtime.sequences.elements(read_pointer(field.address))))
setter(71)(field, None)
value.append(read_pointer(field.address))
""",
        [0.25, -7, "TypeError: nothing to convert", "a string of the heap", 2, 0],
        id="MakeFieldSetter",
    ),
    pytest.param(
        """
described = lambda name: json.loads(json.loads(
    reference.get_global("ffi.GetGlobalFuncMetadata")(name))["type_schema"])
value = [described(name) for name in ("ffi.Array", "ffi.GetRegisteredTypeKeys", "ffi.MapCount")]
""",
        [
            CONTRACT["global_function_schemas"]["ffi.Array"],
            {
                "type": "ffi.Function",
                "named_args": {
                    "return": [{"type": "ffi.Array", "args": [{"type": "ffi.String"}]}],
                    "params": [],
                },
            },
            {
                "type": "ffi.Function",
                "named_args": {
                    "return": [{"type": "int"}],
                    "params": [{"type": "ffi.Map"}, {"type": "Any"}],
                },
            },
        ],
        id="schemas of global functions",
    ),
]


@pytest.fixture(scope="module")
def results(run_programs):
    return run_programs([PRELUDE + case.values[0] for case in CASES])


@pytest.mark.parametrize("number", range(len(CASES)), ids=[case.id for case in CASES])
def test_reflection_behaves_as_specified(results, number):
    assert results[number] == {"value": CASES[number].values[1], "violations": []}
