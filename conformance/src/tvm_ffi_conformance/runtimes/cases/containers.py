# SPDX-License-Identifier: Apache-2.0
"""Cases: Array, List, Map, Dict and Shape: layout, access, order, errors, equality of keys."""

from __future__ import annotations

import ctypes

from ... import abi
from .. import hashing
from ..case import Topic, equal, expect
from ..subject import Runtime, byte_array, cell, header, shape, strong
from ..values import Object, Raw, bits, device, dtype, pointer, small, view

arrays = Topic("array", "16.2")
lists = Topic("list", "16.2", since="0.1.9")
maps = Topic("map", "16.2")
dicts = Topic("dict", "16.2", since="0.1.9")
shapes = Topic("shape", "16.1")
equality = Topic("equal.any", "10.3", since="0.1.8")
any_hash = Topic("hash.any", "10.2")

SIZES = [(f"size_{n}", n) for n in (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 100, 1000)]


@arrays.each("elements.{}", SIZES, "An array has its elements in order.")
def array_elements(runtime: Runtime, n: int) -> None:
    value = runtime.call("ffi.Array", *range(n))
    equal("elements", runtime.python(value), tuple(range(n)))
    equal("size", runtime.result("ffi.ArraySize", value), n)


@arrays.each("layout.{}", SIZES, "The sequence cell: data, size, capacity.", cites="8.3")
def array_layout(runtime: Runtime, n: int) -> None:
    value = runtime.call("ffi.Array", *range(n))
    content = cell(abi.TVMFFISeqCell, value.v_obj)
    equal("type index", (value.type_index, header(value.v_obj).type_index), (71, 71))
    equal("size", content.size, n)
    expect(content.capacity >= n, f"capacity {content.capacity} is less than the size {n}")


@lists.each("elements.{}", SIZES, "A list has its elements in order.")
def list_elements(runtime: Runtime, n: int) -> None:
    value = runtime.call("ffi.List", *range(n))
    equal("elements", runtime.python(value), list(range(n)))
    equal("size", runtime.result("ffi.ListSize", value), n)


@lists.each(
    "layout.{}", SIZES[:8], "A list has a data_deleter, even when it is empty.", cites="8.3"
)
def list_layout(runtime: Runtime, n: int) -> None:
    content = cell(abi.TVMFFISeqCell, runtime.call("ffi.List", *range(n)).v_obj)
    equal("size", content.size, n)
    expect(content.data_deleter, "data_deleter is null")


INDICES = [
    ("minus_1", -1),
    ("size", 3),
    ("int64_max", 2**63 - 1),
    ("int64_min", -(2**63)),
    ("2_pow_32", 2**32),
]


@arrays.each("get.{}", INDICES, "An index out of range is an IndexError.")
def array_index(runtime: Runtime, index: int) -> None:
    with runtime.fails("IndexError", f"Index {index} out of bounds 3"):
        runtime.call("ffi.ArrayGetItem", (1, 2, 3), index)


@lists.each("get.{}", INDICES, "An index out of range is an IndexError.")
def list_index(runtime: Runtime, index: int) -> None:
    with runtime.fails("IndexError", f"Index {index} out of bounds 3"):
        runtime.call("ffi.ListGetItem", [1, 2, 3], index)


@lists.each("set.{}", INDICES, "An index out of range is an IndexError and changes nothing.")
def list_set_index(runtime: Runtime, index: int) -> None:
    value = runtime.call("ffi.List", 1, 2, 3)
    with runtime.fails("IndexError"):
        runtime.call("ffi.ListSetItem", value, index, 9)
    equal("elements", runtime.python(value), [1, 2, 3])


@arrays.case("element_reference", "An array holds a reference to its elements.", cites="8.3")
def element_reference(runtime: Runtime) -> None:
    handle = runtime.opaque()
    value = runtime.call("ffi.Array", Object(handle, 74), Object(handle, 74))
    equal("strong count", strong(handle), 3)
    runtime.TVMFFIObjectDecRef(value.v_obj)
    equal("strong count after the release of the array", strong(handle), 1)


@arrays.case("get.new_reference", "GetItem returns a new reference.", cites="6.1")
def get_reference(runtime: Runtime) -> None:
    handle = runtime.opaque()
    value = runtime.call("ffi.Array", Object(handle, 74))
    runtime.call("ffi.ArrayGetItem", value, 0)
    equal("strong count", strong(handle), 3)


# Changes of a list: id, function, arguments after the list, elements afterwards, result.
CHANGES = [
    ("append", "ListAppend", (9,), [1, 2, 3, 9], None),
    ("insert_front", "ListInsert", (0, 9), [9, 1, 2, 3], None),
    ("insert_middle", "ListInsert", (1, 9), [1, 9, 2, 3], None),
    ("insert_end", "ListInsert", (3, 9), [1, 2, 3, 9], None),
    ("pop_first", "ListPop", (0,), [2, 3], 1), ("pop_middle", "ListPop", (1,), [1, 3], 2),
    ("pop_last", "ListPop", (2,), [1, 2], 3), ("erase_first", "ListErase", (0,), [2, 3], None),
    ("erase_last", "ListErase", (2,), [1, 2], None),
    ("erase_range", "ListEraseRange", (0, 2), [3], None),
    ("erase_empty_range", "ListEraseRange", (1, 1), [1, 2, 3], None),
    ("erase_all", "ListEraseRange", (0, 3), [], None),
    ("set_first", "ListSetItem", (0, 9), [9, 2, 3], None),
    ("set_last", "ListSetItem", (2, 9), [1, 2, 9], None),
    ("reverse", "ListReverse", (), [3, 2, 1], None), ("clear", "ListClear", (), [], None),
    ("replace_shorter", "ListReplaceSlice", (0, 2, [8]), [8, 3], None),
    ("replace_longer", "ListReplaceSlice", (1, 2, [8, 9]), [1, 8, 9, 3], None),
    ("replace_with_nothing", "ListReplaceSlice", (0, 3, []), [], None),
    ("replace_nothing", "ListReplaceSlice", (3, 3, [8]), [1, 2, 3, 8], None),
]  # fmt: skip


@lists.each("change.{}", CHANGES, "The list changes in place.")
def changes(runtime: Runtime, name: str, rest: tuple, after: list, result: object) -> None:
    value = runtime.call("ffi.List", 1, 2, 3)
    given = [runtime.any(each) for each in rest]
    equal("result", runtime.result(f"ffi.{name}", value, *given), result)
    equal("elements", runtime.python(value), after)


CHANGE_ERRORS = [
    ("insert_minus_1", "ListInsert", (-1, 9)), ("insert_beyond", "ListInsert", (4, 9)),
    ("pop_size", "ListPop", (3,)), ("pop_minus_1", "ListPop", (-1,)), ("erase_size", "ListErase", (3,)),
    ("erase_range_beyond", "ListEraseRange", (0, 4)), ("erase_range_minus", "ListEraseRange", (-1, 2)),
]  # fmt: skip


@lists.each(
    "wrong.{}", CHANGE_ERRORS, "A position out of range is an IndexError and changes nothing."
)
def change_errors(runtime: Runtime, name: str, rest: tuple) -> None:
    value = runtime.call("ffi.List", 1, 2, 3)
    with runtime.fails("IndexError"):
        runtime.call(f"ffi.{name}", value, *rest)
    equal("elements", runtime.python(value), [1, 2, 3])


@lists.case("growth", "A list grows by append and keeps all elements.")
def growth(runtime: Runtime) -> None:
    value = runtime.call("ffi.List")
    for number in range(300):
        runtime.call("ffi.ListAppend", value, number)
    equal("elements", runtime.python(value), list(range(300)))


@lists.case("shared", "A list is shared: a change is seen through all references.")
def shared(runtime: Runtime) -> None:
    inner = runtime.call("ffi.List", 1)
    outer = runtime.call("ffi.Array", inner)
    runtime.call("ffi.ListAppend", inner, 2)
    equal("elements through the array", runtime.python(outer), ([1, 2],))


@lists.case("replace.itself", "The source of a replacement may be the same list.")
def replace_itself(runtime: Runtime) -> None:
    value = runtime.call("ffi.List", 1, 2, 3)
    runtime.call("ffi.ListReplaceSlice", value, 0, 1, value)
    equal("elements", runtime.python(value), [1, 2, 3, 2, 3])


MAP_SIZES = [(f"size_{n}", n) for n in (0, 1, 2, 3, 4, 5, 6, 7, 8, 15, 16, 31, 32, 100)]
BOTH = ((maps, "Map", 72), (dicts, "Dict", 76))


def _register(topic: Topic, name: str, index: int) -> None:  # noqa: PLR0915
    def make(runtime: Runtime, n: int) -> abi.TVMFFIAny:
        flat = [each for number in range(n) for each in (number, number * 10)]
        return runtime.call(f"ffi.{name}", *flat)

    @topic.each("entries.{}", MAP_SIZES, "Entries come in the order of insertion.", cites="9.4")
    def entries(runtime: Runtime, n: int) -> None:
        equal("entries", runtime.items(make(runtime, n)), [(each, each * 10) for each in range(n)])

    @topic.each("size.{}", MAP_SIZES, "The size is in the object, at offset 32.", cites="9.1")
    def size(runtime: Runtime, n: int) -> None:
        value = make(runtime, n)
        equal("type index", (value.type_index, header(value.v_obj).type_index), (index, index))
        equal("size at offset 32", ctypes.c_uint64.from_address(value.v_obj + 32).value, n)
        equal("size", runtime.result(f"ffi.{name}Size", value), n)

    @topic.each(
        "small.{}",
        MAP_SIZES[:5],
        "Up to 4 entries are stored as pairs at the data pointer.",
        cites="9.2",
    )
    def small_layout(runtime: Runtime, n: int) -> None:
        handle = make(runtime, n).v_obj
        slots = ctypes.c_uint64.from_address(handle + 40).value
        expect(slots >> 63, f"expected the tag of the small form, got slots {slots:#x}")
        expect(max(n, 2) <= slots & ~(1 << 63) <= 4, f"capacity {slots & ~(1 << 63)}")
        data = ctypes.c_void_p.from_address(handle + 24).value
        pairs = list((abi.TVMFFIAny * (2 * n)).from_address(data)) if n else []
        equal("pairs", [each.v_int64 for each in pairs],
              [each for number in range(n) for each in (number, number * 10)])  # fmt: skip

    @topic.each(
        "dense.{}", MAP_SIZES[5:], "Dense form: slots, shift and linked entries.", cites="9.3"
    )
    def dense_layout(runtime: Runtime, n: int) -> None:
        handle = make(runtime, n).v_obj
        slots = ctypes.c_uint64.from_address(handle + 40).value
        expect(slots and not slots & (slots - 1), f"expected a power of two, got {slots:#x}")
        shift = ctypes.c_uint32.from_address(handle + 56).value
        equal("shift", shift, 64 - slots.bit_length() + 1)
        equal("keys along the links", dense_keys(handle, slots), list(range(n)))

    @topic.each("lookup.{}", MAP_SIZES, "Every key is found, another key is not.")
    def lookup(runtime: Runtime, n: int) -> None:
        value = make(runtime, n)
        found = [runtime.result(f"ffi.{name}GetItem", value, key) for key in range(n)]
        equal("values", found, [key * 10 for key in range(n)])
        equal("count of another key", runtime.result(f"ffi.{name}Count", value, n), 0)

    @topic.each("missing.{}", MAP_SIZES[:6], "A missing key is a KeyError.")
    def missing(runtime: Runtime, n: int) -> None:
        with runtime.fails("KeyError", "key is not in Map"):
            runtime.call(f"ffi.{name}GetItem", make(runtime, n), "absent")

    @topic.each(
        "duplicate.{}", [("small", 2), ("full", 4), ("dense", 8)], "The last value of a key wins."
    )
    def duplicate(runtime: Runtime, n: int) -> None:
        flat = [each for number in range(n) for each in (number, number * 10)]
        value = runtime.call(f"ffi.{name}", *flat, 0, 99)
        equal("value", runtime.result(f"ffi.{name}GetItem", value, 0), 99)
        equal("size", runtime.result(f"ffi.{name}Size", value), n)

    @topic.case("duplicate.order_small", "Overwriting keeps the order of a small map.", cites="9.2")
    def order_small(runtime: Runtime) -> None:
        equal(
            "entries",
            runtime.items(runtime.call(f"ffi.{name}", 1, 1, 2, 2, 1, 9)),
            [(1, 9), (2, 2)],
        )

    @topic.case(
        "duplicate.order_dense", "Overwriting moves an entry of a dense map to the end.", cites="20"
    )
    def order_dense(runtime: Runtime) -> None:
        flat = [each for number in range(6) for each in (number, number)]
        keys = [key for key, _ in runtime.items(runtime.call(f"ffi.{name}", *flat, 2, 9))]
        equal("keys", keys, [0, 1, 3, 4, 5, 2])

    @topic.each(
        "odd_count.{}",
        [(str(n), n) for n in (1, 3, 5)],
        "An odd number of arguments is an InternalError.",
    )
    def odd(runtime: Runtime, n: int) -> None:
        with runtime.fails("InternalError", "Check failed: args.size() % 2 == 0"):
            runtime.call(f"ffi.{name}", *range(n))

    @topic.case("references", "A container holds references to keys and values.", cites="9.6")
    def references(runtime: Runtime) -> None:
        key, item = runtime.opaque(1), runtime.opaque(2)
        value = runtime.call(f"ffi.{name}", Object(key, 74), Object(item, 74))
        equal("strong counts", (strong(key), strong(item)), (2, 2))
        runtime.TVMFFIObjectDecRef(value.v_obj)
        equal("strong counts after the release", (strong(key), strong(item)), (1, 1))

    @topic.case("or_missing", "GetItemOrMissing gives one sentinel object.", since="0.1.9")
    def or_missing(runtime: Runtime) -> None:
        value = make(runtime, 2)
        first = runtime.call(f"ffi.{name}GetItemOrMissing", value, "absent")
        sentinel = runtime.call("ffi.GetInvalidObject")
        equal("handle", first.v_obj, sentinel.v_obj)
        equal("value", runtime.result(f"ffi.{name}GetItemOrMissing", value, 1), 10)


def dense_keys(handle: int, slots: int) -> list[int]:
    """Return the integer keys of a dense map along its list of entries."""
    data = ctypes.c_void_p.from_address(handle + 24).value
    position = ctypes.c_uint64.from_address(handle + 64).value
    keys = []
    while position < slots and len(keys) <= slots:
        item = data + position // 16 * 784 + 16 + 48 * (position % 16)
        keys.append(abi.TVMFFIAny.from_address(item).v_int64)
        position = ctypes.c_uint64.from_address(item + 40).value
    return keys


for _kind in BOTH:
    _register(*_kind)

DICT_CHANGES = [
    ("set_new", "DictSetItem", (9, 90), [(0, 0), (1, 10), (9, 90)]),
    ("set_existing", "DictSetItem", (0, 5), [(0, 5), (1, 10)]),
    ("erase", "DictErase", (0,), [(1, 10)]), ("erase_missing", "DictErase", (7,), [(0, 0), (1, 10)]),
    ("clear", "DictClear", (), []),
]  # fmt: skip


@dicts.each("change.{}", DICT_CHANGES, "The dict changes in place.")
def dict_changes(runtime: Runtime, name: str, rest: tuple, after: list) -> None:
    value = runtime.call("ffi.Dict", 0, 0, 1, 10)
    runtime.call(f"ffi.{name}", value, *rest)
    equal("entries", runtime.items(value), after)


@dicts.each("grow.{}", [(f"to_{n}", n) for n in (3, 4, 5, 8, 9, 16, 33, 500)],
            "Set keeps the handle and all entries.", cites="9.6")  # fmt: skip
def grow(runtime: Runtime, n: int) -> None:
    value = runtime.call("ffi.Dict")
    for number in range(n):
        runtime.call("ffi.DictSetItem", value, number, -number)
    equal("entries", runtime.items(value), [(number, -number) for number in range(n)])


@dicts.each("erase_half.{}", [(f"of_{n}", n) for n in (4, 8, 30, 200)], "Erase keeps the order of the others.",
            cites="9.4")  # fmt: skip
def erase_half(runtime: Runtime, n: int) -> None:
    value = runtime.call("ffi.Dict", *[each for number in range(n) for each in (number, number)])
    for number in range(0, n, 2):
        runtime.call("ffi.DictErase", value, number)
    equal("keys", [key for key, _ in runtime.items(value)], list(range(1, n, 2)))


@shapes.each("extents.{}", [("empty", ()), ("one", (5,)), ("zero", (0,)), ("negative", (-1, 2)),
                            ("big", (2**62, 2**40)), ("many", tuple(range(64)))],
             "A shape has its extents, at offset 24 and 32.", cites="8")  # fmt: skip
def extents(runtime: Runtime, given: tuple) -> None:
    value = runtime.call("ffi.Shape", *given)
    equal("type index", value.type_index, abi.kTVMFFIShape)
    equal("extents", shape(value.v_obj), given)


@shapes.each(
    "refuses.{}", [("float", 1.5), ("text", "a"), ("none", None)], "Another type is a ValueError."
)
def shape_refuses(runtime: Runtime, value: object) -> None:
    with runtime.fails("ValueError"):
        runtime.call("ffi.Shape", 1, value)


# --- AnyEqual through ArrayContains, AnyHash through home slots.
PAIRS = [
    ("int_same", 1, 1, True), ("int_other", 1, 2, False), ("int_bool", 1, True, False),
    ("int_float", 1, 1.0, False), ("bool_same", True, True, True), ("float_zero_minus_zero", 0.0, -0.0, False),
    ("nan_same_bits", Raw(3, 0x7FF8 << 48), Raw(3, 0x7FF8 << 48), True),
    ("nan_other_bits", Raw(3, 0x7FF8 << 48), Raw(3, 0x7FF8 << 48 | 1), False),
    ("none_none", None, None, True), ("none_zero", None, 0, False), ("small_strings", "abc", "abc", True),
    ("small_strings_other", "abc", "abd", False), ("string_prefix", "abc", "abcd", False),
    ("heap_strings", "abcdefgh", "abcdefgh", True), ("heap_strings_other", "abcdefgh", "abcdefgi", False),
    ("string_bytes", "abc", b"abc", False), ("heap_string_bytes", "abcdefgh", b"abcdefgh", False),
    ("small_bytes", b"abc", b"abc", True), ("heap_bytes", b"abcdefgh", b"abcdefgh", True),
    ("empty_string_bytes", "", b"", False), ("dtype_same", dtype(2, 32), dtype(2, 32), True),
    ("dtype_lanes", dtype(2, 32), dtype(2, 32, 2), False), ("device_same", device(2, 1), device(2, 1), True),
    ("device_id", device(2, 1), device(2, 2), False), ("pointer_same", pointer(16), pointer(16), True),
    ("pointer_int", pointer(16), 16, False), ("trailing_nul", "a", "a\0", False),
]  # fmt: skip


@equality.each("{}", PAIRS, "AnyEqual compares type and content.")
def equalities(runtime: Runtime, left: object, right: object, expected: bool) -> None:
    equal(
        "contained",
        runtime.result("ffi.ArrayContains", runtime.call("ffi.Array", left), right),
        expected,
    )


@equality.each("key.{}", PAIRS, "Map lookup follows AnyEqual.", cites="10.3")
def key_equalities(runtime: Runtime, left: object, right: object, expected: bool) -> None:
    value = runtime.call("ffi.Map", left, 1)
    equal("count", runtime.result("ffi.MapCount", value, right), int(expected))


@equality.each(
    "identity.{}", ["ffi.Array", "ffi.Map", "ffi.Shape"], "Other objects compare by address."
)
def identity(runtime: Runtime, name: str) -> None:
    first, second = (runtime.call(name, 1, 2) for _ in range(2))
    container = runtime.call("ffi.Array", first)
    equal("the same object", runtime.result("ffi.ArrayContains", container, first), True)
    equal("an equal object", runtime.result("ffi.ArrayContains", container, second), False)


def short_heap_string(runtime: Runtime, content: bytes, index: int) -> abi.TVMFFIAny:
    """Return a string object of short content, as a client makes it."""
    block = runtime.keep((ctypes.c_uint8 * 64)())
    made = abi.TVMFFIObject.from_buffer(block)
    made.combined_ref_count, made.type_index = (1 << 32) + 1, index
    array = runtime.keep(byte_array(content))
    ctypes.memmove(ctypes.addressof(block) + 24, ctypes.byref(array), 16)
    return view(Object(ctypes.addressof(block), index))


@equality.each("short_heap.{}", [(f"{kind}_length_{n}", index, n)
                                 for kind, index in (("string", 65), ("bytes", 66)) for n in (0, 1, 7)],
               "A heap value of short content equals the small one and is found by it.", cites="20")  # fmt: skip
def short_heap(runtime: Runtime, index: int, n: int) -> None:
    content = b"abcdefg"[:n]
    heap = short_heap_string(runtime, content, index)
    inline = small(content, 11 if index == 65 else 12)
    for stored, wanted in ((heap, inline), (inline, heap)):
        equal(
            "contained",
            runtime.result("ffi.ArrayContains", runtime.call("ffi.Array", stored), wanted),
            True,
        )
        equal(
            "found", runtime.result("ffi.MapCount", runtime.call("ffi.Map", stored, 1), wanted), 1
        )
        flat = [each for number in range(9) for each in (number, number)]
        dense = runtime.call("ffi.Map", *flat, stored, 1)
        equal("found in a dense map", runtime.result("ffi.MapCount", dense, wanted), 1)


HASHES = [
    ("none", None, 0x9E3779B9), ("int_0", 0, hashing.plain(1, 0)), ("int_1", 1, hashing.plain(1, 1)),
    ("int_minus_1", -1, hashing.plain(1, -1)), ("int_42", 42, 0x9E377A22),
    ("int_max", 2**63 - 1, 0x800000009E3779F9), ("int_min", -(2**63), 0x800000009E3779F8),
    ("bool_false", False, 0x9E377A3B), ("bool_true", True, 0x9E377A38), ("float_0", 0.0, 0x9E377A7A),
    ("float_minus_0", -0.0, 0x800000009E377A7A), ("float_1", 1.0, 0x3FF000009E377A7A),
    ("float_3_5", 3.5, 0x400C00009E377A7A), ("float_nan", Raw(3, 0x7FF8 << 48), 0x7FF800009E377A7A),
    ("pointer", pointer(0x1234), 0x9E378CEA), ("dtype_float32", dtype(2, 32), 0x9E389AF9),
    ("dtype_int8x4", dtype(0, 8, 4), 0x9E3B82FF), ("device_cpu", device(1), 0x9E377B3D),
    ("device_cuda_3", device(2, 3), 0x39E377B3A), ("string_empty", "", 0x9E378A48),
    ("string_a", "a", 0x9E378A2B), ("string_abc", "abc", 0x9E9AEC2B), ("string_7", "abcdefg", 0x10369B975),
    ("string_8", "abcdefgh", 0xD369B977), ("string_11", "hello world", 0xDEF11395),
    ("string_43", "The quick brown fox jumps over the lazy dog", 0xEA6FE8E5),
    ("bytes_empty", b"", 0x9E378A0B), ("bytes_a", b"a", 0x9E378AE8), ("bytes_nul", b"\0\1\2", 0x9E398B0B),
    ("bytes_11", b"hello world", 0xDEF11456), ("bytes_16", bytes(range(16)), 0xDE507C79),
    *[(f"string_length_{n}", "xyz" * n, hashing.text(b"xyz" * n)) for n in (3, 5, 8, 21)],
]  # fmt: skip


@any_hash.each("home_slot.{}", HASHES, "The first key of a dense map is at the home slot of its hash.",
               cites="10.4")  # fmt: skip
def home_slot(runtime: Runtime, key: object, expected: int) -> None:
    home_slot_of(runtime, key, expected)


@any_hash.case("home_slot.bigint_2_pow_63", "A BigInt hashes by its words.", since="0.1.14")
def big_slot(runtime: Runtime) -> None:
    home_slot_of(runtime, 2**63, 0x9E3794FC)


@any_hash.case("home_slot.bigint_2_pow_100", "A BigInt hashes by its words.", since="0.1.14")
def big_slot_100(runtime: Runtime) -> None:
    home_slot_of(runtime, 2**100, 0x9E378D22)


def home_slot_of(runtime: Runtime, key: object, expected: int) -> None:
    """Check the home slot of a key."""
    fill = [each for number in range(200) for each in (Raw(4, number * 64 + 8), 0)]
    handle = runtime.call("ffi.Map", key, 1, *fill).v_obj
    shift = ctypes.c_uint32.from_address(handle + 56).value
    head = ctypes.c_uint64.from_address(handle + 64).value
    equal("slot of the first key", head, (11400714819323198485 * expected & hashing.MASK) >> shift)


@equality.each("bigint.{}", [("same", 2**70, 2**70, True), ("other", 2**70, 2**70 + 1, False),
                             ("sign", 2**70, -(2**70), False)],
               "Integers of more than 64 bits compare by value.", since="0.1.14")  # fmt: skip
def big_equal(runtime: Runtime, left: int, right: int, expected: bool) -> None:
    equal(
        "contained",
        runtime.result("ffi.ArrayContains", runtime.call("ffi.Array", left), right),
        expected,
    )


ROUND = [("int", 3), ("none", None), ("text", "abc"), ("long_text", "abcdefghi"), ("bytes", b"x"),
         ("float", 2.5), ("bool", True), ("array", (1, 2)), ("nested", ((1,), (2, (3,))))]  # fmt: skip


@arrays.each("holds.{}", ROUND, "An element is kept as it is.")
def holds(runtime: Runtime, value: object) -> None:
    given = runtime.any(value)
    stored = runtime.call("ffi.ArrayGetItem", runtime.call("ffi.Array", given), 0)
    equal("value", runtime.python(stored), value)
    equal("type index", stored.type_index, given.type_index)
    expect(len(bits(stored)) == 16, "an Any has 16 bytes")
