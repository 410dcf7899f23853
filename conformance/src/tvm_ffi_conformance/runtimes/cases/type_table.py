# SPDX-License-Identifier: Apache-2.0
"""Cases: type table, type information, allocation of indices, type attributes."""

from __future__ import annotations

import ctypes

from ... import abi
from .. import hashing
from ..case import ABORT_STATUS, Options, Topic, equal, expect
from ..data import load
from ..subject import Runtime, byte_array, header, read_bytes, strong
from ..values import Object, bits, view

types = Topic("type", "6.6")
allocation = Topic("type.allocate", "11.1")
attributes = Topic("type.attribute", "12.1")

TYPES = load("types")
SINCE = {
    "ffi.List": "0.1.9", "ffi.Dict": "0.1.9", "ffi.VisitInterrupt": "0.1.13", "ffi.BigInt": "0.1.14",
    "ffi.Unchanged": "0.1.14", "ffi.EnumState": "0.1.14", "ffi.Enum": "0.1.14",
    "ffi.IntEnum": "0.1.14", "ffi.StrEnum": "0.1.14", "ffi.StructuralVisitor": "0.1.13",
    "ffi.StructuralMutator": "0.1.14", "ffi.VisitErrorContext": "0.1.12",
    "ffi.StructuralKey": "0.1.9", "ffi.reflection.AccessStep": "0.1.0",
}  # fmt: skip
ROWS = [
    (
        key.replace("const ", "const_").replace("*", "_pointer"),
        key,
        Options(since=SINCE.get(key, "0.1.0")),
    )
    for key in TYPES
]
STATIC = [row for row in ROWS if TYPES[row[1]]["allocated"] == "static"]
SIZED = [row for row in ROWS if "total_size" in TYPES[row[1]]]
FIELDS = [
    (f"{key}.{field['name']}", key, field, Options(since=SINCE.get(key, "0.1.0")))
    for key, each in TYPES.items()
    for field in each["fields"]
]


@types.each("index.{}", STATIC, "The key `{}` has its static index.", cites="2.1")
def index(runtime: Runtime, key: str) -> None:
    equal("type index", runtime.index(key), TYPES[key]["type_index"])


@types.each("key.{}", ROWS, "The type information names the key.", cites="5")
def key_text(runtime: Runtime, key: str) -> None:
    number = runtime.index(key)
    info = runtime.info(number)
    equal("index and key", (info.type_index, read_bytes(info.type_key).decode()), (number, key))


@types.each("key_hash.{}", ROWS, "type_key_hash is the Murmur2A hash of the key.", cites="10.5")
def key_hash(runtime: Runtime, key: str) -> None:
    equal("hash", runtime.info(runtime.index(key)).type_key_hash, hashing.key(key.encode()))


@types.each("ancestors.{}", ROWS, "Depth and ancestors, root first.", cites="2.1")
def ancestors(runtime: Runtime, key: str) -> None:
    expected: list[str] = []
    parent = TYPES[key]["parent"]
    while parent:
        expected.insert(0, parent)
        parent = TYPES[parent]["parent"]
    info = runtime.info(runtime.index(key))
    equal("depth", info.type_depth, len(expected))
    addresses = (
        (ctypes.c_void_p * info.type_depth).from_address(info.type_ancestors or 0)
        if expected
        else []
    )
    found = [
        read_bytes(abi.TVMFFITypeInfo.from_address(each).type_key).decode() for each in addresses
    ]
    equal("ancestors", found, expected)


@types.each("stable.{}", ROWS, "The pointer to type information is stable.")
def stable(runtime: Runtime, key: str) -> None:
    number = runtime.index(key)
    before = runtime.TVMFFIGetTypeInfo(number)
    for other in range(200):
        runtime.allocate(f"kit.Stable{other}")
    equal("address", runtime.TVMFFIGetTypeInfo(number), before)


@types.each("size.{}", SIZED, "The metadata has the size of the object.", cites="2.2")
def size(runtime: Runtime, key: str) -> None:
    address = runtime.info(runtime.index(key)).metadata
    expect(address, "expected metadata, got null")
    equal(
        "total_size",
        abi.TVMFFITypeMetadata.from_address(address).total_size,
        TYPES[key]["total_size"],
    )


@types.each(
    "equality_kind.{}", SIZED, "The metadata has the structural equality kind.", cites="2.2"
)
def kind(runtime: Runtime, key: str) -> None:
    address = runtime.info(runtime.index(key)).metadata
    expect(address, "expected metadata, got null")
    found = abi.TVMFFITypeMetadata.from_address(address).structural_eq_hash_kind
    equal("structural_eq_hash_kind", found, TYPES[key]["structural_eq_hash_kind"])


@types.each("creator.{}", [row for row in SIZED if TYPES[row[1]]["has_creator"]],
            "The creator makes an object with one reference.", cites="11.3")  # fmt: skip
def creator(runtime: Runtime, key: str) -> None:
    number = runtime.index(key)
    address = runtime.info(number).metadata
    expect(address, "expected metadata, got null")
    function = abi.TVMFFITypeMetadata.from_address(address).creator
    expect(function, "expected a creator, got null")
    out = ctypes.c_void_p()
    runtime.check(abi.callback("TVMFFIObjectCreator")(function)(ctypes.addressof(out)))
    equal("type index", header(out.value).type_index, number)
    equal("combined count", header(out.value).combined_ref_count, abi.REFERENCE_COUNT["Initial"])


def field_info(runtime: Runtime, key: str, name: str) -> abi.TVMFFIFieldInfo:
    """Return the information of a field."""
    info = runtime.info(runtime.index(key))
    for field in (abi.TVMFFIFieldInfo * info.num_fields).from_address(info.fields or 8):
        if read_bytes(field.name).decode() == name:
            return field
    raise AssertionError(f"{key} has no field {name}")


@types.each(
    "field.{}.layout", FIELDS, "The field has its offset, size and alignment.", cites="11.2"
)
def field_layout(runtime: Runtime, key: str, field: dict) -> None:
    found = field_info(runtime, key, field["name"])
    equal("offset, size, alignment", (found.offset, found.size, found.alignment),
          (field["offset"], field["size"], field["alignment"]))  # fmt: skip


@types.each("field.{}.static_type", FIELDS, "The field has its static type index.", cites="2.1")
def field_type(runtime: Runtime, key: str, field: dict) -> None:
    found = field_info(runtime, key, field["name"])
    equal(
        "field_static_type_index", found.field_static_type_index, field["field_static_type_index"]
    )


@types.case("unknown_key", "An unknown key is an InternalError.")
def unknown(runtime: Runtime) -> None:
    with runtime.fails("InternalError", "Cannot find type `kit.Unknown`"):
        runtime.index("kit.Unknown")


@types.case("unknown_key.output", "Outputs are untouched on failure.", cites="6.1")
def unknown_output(runtime: Runtime) -> None:
    out = ctypes.c_int32(-77)
    runtime.TVMFFITypeKeyToIndex(ctypes.byref(byte_array(b"kit.Unknown")), ctypes.byref(out))
    equal("output", out.value, -77)


@types.case("keys_listed", "GetRegisteredTypeKeys lists all keys.", cites="16.1", since="0.1.3")
def keys_listed(runtime: Runtime) -> None:
    runtime.allocate("kit.Listed")
    found = runtime.result("ffi.GetRegisteredTypeKeys")
    wanted = {key for _, key, *_ in STATIC if key in found} | {"kit.Listed", "ffi.Object", "int"}
    equal("missing keys", sorted(wanted - set(found)), [])


@allocation.case("first", "A dynamic index is at least 128.")
def first(runtime: Runtime) -> None:
    expect(runtime.allocate("kit.A") >= abi.kTVMFFIDynObjectBegin, "expected an index from 128")


@allocation.case("again", "A registered key keeps its index; other arguments are not checked.")
def again(runtime: Runtime) -> None:
    number = runtime.allocate("kit.A")
    equal("index", runtime.allocate("kit.A", 71, depth=9, slots=5, overflow=0, static=99), number)


@allocation.case(
    "query.unknown", "Query mode gives -2 for an unknown key and registers nothing.", since="0.1.13"
)
def query(runtime: Runtime) -> None:
    equal("index", runtime.allocate("kit.Q", -2, depth=0), -2)
    equal("index again", runtime.allocate("kit.Q", -2, depth=0), -2)


@allocation.case("query.known", "Query mode gives the index of a known key.")
def query_known(runtime: Runtime) -> None:
    number = runtime.allocate("kit.A")
    equal("index", runtime.allocate("kit.A", -2, depth=0), number)


@allocation.case("consecutive", "Types without child slots take one index each.")
def consecutive(runtime: Runtime) -> None:
    numbers = [runtime.allocate(f"kit.N{each}") for each in range(5)]
    equal("differences", [b - a for a, b in zip(numbers, numbers[1:])], [1] * 4)


@allocation.case("slots.example", "Children take the reserved slots, then overflow.")
def example(runtime: Runtime) -> None:
    base = runtime.allocate("kit.Base", slots=3)
    child = runtime.allocate("kit.Child1", base, depth=2)
    other = runtime.allocate("kit.Other")
    second = runtime.allocate("kit.Child2", base, depth=2, slots=1)
    grandchild = runtime.allocate("kit.Grand", second, depth=3)
    third = runtime.allocate("kit.Child3", base, depth=2)
    equal("indices relative to the base",
          [each - base for each in (child, other, second, grandchild, third)], [1, 4, 2, 3, 5])  # fmt: skip


@allocation.each("slots.reserve_{}", [(str(n), n) for n in (0, 1, 2, 10, 1000)],
                 "The next unrelated type follows the reserved slots.")  # fmt: skip
def reserve(runtime: Runtime, n: int) -> None:
    base = runtime.allocate("kit.Base", slots=n)
    equal("distance", runtime.allocate("kit.Next") - base, n + 1)


@allocation.case("slots.exhausted_no_overflow", "A full parent that cannot overflow ends the process.",
                 ends=ABORT_STATUS)  # fmt: skip
def exhausted(runtime: Runtime) -> None:
    base = runtime.allocate("kit.Base", slots=1, overflow=0)
    runtime.allocate("kit.Child1", base, depth=2, overflow=0)
    runtime.allocate("kit.Child2", base, depth=2, overflow=0)


@allocation.case("static.free_index", "A free static index is accepted.")
def static(runtime: Runtime) -> None:
    equal("index", runtime.allocate("kit.Static100", static=100), 100)


@allocation.case("info", "Type information of a new type: key, depth, parent.")
def new_info(runtime: Runtime) -> None:
    base = runtime.allocate("kit.Base", slots=2)
    child = runtime.allocate("kit.Child", base, depth=2)
    info = runtime.info(child)
    parents = (ctypes.c_void_p * 2).from_address(info.type_ancestors)
    found = [abi.TVMFFITypeInfo.from_address(each).type_index for each in parents]
    equal("depth and ancestors", (info.type_depth, found), (2, [abi.kTVMFFIObject, base]))
    equal("hash", info.type_key_hash, hashing.key(b"kit.Child"))


@allocation.each("key.{}", [("empty", ""), ("utf8", "größe.Ω"), ("long", "k" * 5000), ("spaces", "a b")],
                 "A key is any text.")  # fmt: skip
def key_forms(runtime: Runtime, text: str) -> None:
    number = runtime.allocate(text)
    equal("index of the key", runtime.index(text), number)
    equal("key", read_bytes(runtime.info(number).type_key).decode(), text)


@allocation.case("key.copied", "The key is copied.", cites="6.1")
def key_copied(runtime: Runtime) -> None:
    array = byte_array(b"kit.Copied")
    number = runtime.TVMFFITypeGetOrAllocIndex(ctypes.byref(array), -1, 1, 0, 1, abi.kTVMFFIObject)
    ctypes.memset(array.data, 0x58, array.size)
    equal("index of the key", runtime.index("kit.Copied"), number)


COLUMNS = {
    "__ffi_new__": "0.1.10", "__ffi_init__": "0.1.10", "__ffi_convert__": "0.1.9",
    "__ffi_shallow_copy__": "0.1.9", "__ffi_type_final__": "0.1.14", "__any_hash__": "0.1.9",
    "__any_equal__": "0.1.9", "__ffi_repr__": "0.1.9", "__ffi_hash__": "0.1.10", "__ffi_eq__": "0.1.10",
    "__ffi_compare__": "0.1.10", "__data_to_json__": "0.1.0", "__data_from_json__": "0.1.0",
    "__s_equal__": "0.1.0", "__s_hash__": "0.1.0", "__ffi_enum__": "0.1.14", "__s_visit__": "0.1.13",
    "__s_mutate__": "0.1.14", "__s_maybe_inplace_mutate__": "0.1.14",
}  # fmt: skip
SET = {
    "__any_hash__": {"ffi.BigInt": 4}, "__any_equal__": {"ffi.BigInt": 4},
    "__ffi_hash__": {"ffi.BigInt": 68}, "__ffi_eq__": {"ffi.BigInt": 68},
    "__ffi_compare__": {"ffi.BigInt": 68}, "__data_to_json__": {"ffi.BigInt": 68},
    "__data_from_json__": {"ffi.BigInt": 68},
    "__ffi_repr__": {"ffi.reflection.AccessStep": 68, "ffi.reflection.AccessPath": 68},
    "__s_visit__": dict.fromkeys(("ffi.Array", "ffi.Map", "ffi.List", "ffi.Dict"), 4),
    "__s_mutate__": dict.fromkeys(
        ("ffi.String", "ffi.Bytes", "ffi.Array", "ffi.Map", "ffi.List", "ffi.Dict", "ffi.BigInt"), 4),
    "__s_maybe_inplace_mutate__": dict.fromkeys(("ffi.Array", "ffi.Map", "ffi.List", "ffi.Dict"), 4),
    "__ffi_convert__": dict.fromkeys(
        ("ffi.Object", "ffi.String", "ffi.Bytes", "ffi.Error", "ffi.Function", "ffi.Shape", "ffi.Tensor",
         "ffi.Array", "ffi.Map", "ffi.List", "ffi.Dict"), 68),
    "__ffi_type_final__": {"ffi.Module": 2, "ffi.BigInt": 2, "ffi.StructuralKey": 2},
    "__ffi_new__": {"ffi.VisitInterrupt": 68, "ffi.StructuralKey": 68},
    "__ffi_init__": {"ffi.StructuralKey": 68, "ffi.EnumState": 68},
}  # fmt: skip
COLUMN_ROWS = [(name, name, Options(since=since)) for name, since in COLUMNS.items()]


def column(runtime: Runtime, name: str) -> abi.TVMFFITypeAttrColumn | None:
    """Return the column of an attribute, or None."""
    address = runtime.TVMFFIGetTypeAttrColumn(ctypes.byref(byte_array(name.encode())))
    return abi.TVMFFITypeAttrColumn.from_address(address) if address else None


def entry(runtime: Runtime, name: str, number: int) -> abi.TVMFFIAny:
    """Return the value of an attribute for a type index; None where there is none."""
    found = column(runtime, name)
    expect(found, f"the column {name} does not exist")
    if number >= found.size:
        return abi.TVMFFIAny()
    return abi.TVMFFIAny.from_address(found.data + 16 * number)


@attributes.each(
    "column.{}.exists", COLUMN_ROWS, "The column `{}` exists after load.", cites="12.2"
)
def column_exists(runtime: Runtime, name: str) -> None:
    found = column(runtime, name)
    expect(found, f"the column {name} does not exist")
    equal("begin_index", found.begin_index, 0)


@attributes.each(
    "entry.{}",
    [(f"{name}.{key}", name, key, kind, Options(since="0.1.16"))
     for name, entries in SET.items() for key, kind in entries.items()],
    "The built-in entry has the kind of value.", cites="12.2",
)  # fmt: skip
def built_in(runtime: Runtime, name: str, key: str, kind: int) -> None:
    found = entry(runtime, name, runtime.index(key)).type_index
    if name in ("__any_hash__", "__any_equal__"):
        expect(found in (4, 68), f"expected a native hook or a Function, got type index {found}")
    else:
        equal("type index of the value", found, kind)


def set_attribute(runtime: Runtime, number: int, name: str, value: object) -> None:
    """Register an attribute."""
    given = runtime.any(value)
    runtime.check(
        runtime.TVMFFITypeRegisterAttr(
            number, ctypes.byref(byte_array(name.encode())), ctypes.byref(given)
        )
    )


@attributes.case("absent_column", "A column that was never created is null.")
def absent_column(runtime: Runtime) -> None:
    equal("column", column(runtime, "__kit_none__"), None)


@attributes.case("create_column", "Index 0 creates the column only.")
def create_column(runtime: Runtime) -> None:
    set_attribute(runtime, 0, "__kit_new__", None)
    expect(column(runtime, "__kit_new__"), "expected a column, got null")


@attributes.each("set.{}", [("none_index_gap", 60), ("object", 64), ("array", 71), ("unregistered", 5000)],
                 "The value is stored for exactly this index; gaps are None.")  # fmt: skip
def set_value(runtime: Runtime, number: int) -> None:
    set_attribute(runtime, number, "__kit_set__", 42)
    equal("value", bits(entry(runtime, "__kit_set__", number)), bits(view(42)))
    for other in (1, number - 1, number + 1):
        equal(f"type index at {other}", entry(runtime, "__kit_set__", other).type_index, 0)


@attributes.case("set.reference", "The column takes a reference to the value.")
def set_reference(runtime: Runtime) -> None:
    handle = runtime.opaque()
    set_attribute(runtime, 71, "__kit_ref__", Object(handle, abi.kTVMFFIOpaquePyObject))
    equal("strong count", strong(handle), 2)


@attributes.case("set.twice", "A second value for an index is a RuntimeError.")
def set_twice(runtime: Runtime) -> None:
    set_attribute(runtime, 71, "__kit_twice__", 1)
    with runtime.fails(
        "RuntimeError", "TypeAttr `__kit_twice__` is already registered for type index 71"
    ):
        set_attribute(runtime, 71, "__kit_twice__", 2)
    equal("value", entry(runtime, "__kit_twice__", 71).v_int64, 1)


@attributes.case("set.after_none", "A slot that is None may be set.")
def after_none(runtime: Runtime) -> None:
    set_attribute(runtime, 71, "__kit_none__", None)
    set_attribute(runtime, 71, "__kit_none__", 3)
    equal("value", entry(runtime, "__kit_none__", 71).v_int64, 3)


@attributes.case("address_stable", "The address of a column never changes.")
def address_stable(runtime: Runtime) -> None:
    set_attribute(runtime, 64, "__kit_stable__", 1)
    array = byte_array(b"__kit_stable__")
    before = runtime.TVMFFIGetTypeAttrColumn(ctypes.byref(array))
    for number in range(200):
        set_attribute(runtime, 64, f"__kit_other_{number}__", 1)
        set_attribute(runtime, 2000 + number, "__kit_stable__", 1)
    equal("address", runtime.TVMFFIGetTypeAttrColumn(ctypes.byref(array)), before)


@attributes.case("no_inheritance", "Only the exact index is consulted.")
def no_inheritance(runtime: Runtime) -> None:
    base = runtime.allocate("kit.Base", slots=2)
    child = runtime.allocate("kit.Child", base, depth=2)
    set_attribute(runtime, base, "__kit_base__", 1)
    equal("type index for the child", entry(runtime, "__kit_base__", child).type_index, 0)
