# SPDX-License-Identifier: Apache-2.0
"""Cases: references and memory that containers and types own while their content changes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from ... import abi
from ..case import Topic, equal, expect
from ..subject import DELETER, Runtime, Status, byte_array, header, read_bytes, strong
from ..values import Object, view
from .objects import Pairs

lists = Topic("list.owned", "8.3", since="0.1.9")
dicts = Topic("dict.owned", "9.6", since="0.1.9")
memory = Topic("container.memory", "9.6", since="0.1.9")
tables = Topic("type.table", "6.6")
keys = Topic("equal.hook", "12.3", since="0.1.9")

OPAQUE = abi.kTVMFFIOpaquePyObject


def opaques(runtime: Runtime, count: int) -> list[Object]:
    """Return opaque objects, each with one reference."""
    return [Object(runtime.opaque(0x100 + number), OPAQUE) for number in range(count)]


def counts(objects: list[Object]) -> list[int]:
    """Return the strong counts of objects."""
    return [strong(each.handle) for each in objects]


# Changes of a list of three objects: id, function, arguments, strong counts of the three objects.
REMOVALS = [
    ("set", "ListSetItem", (1, 9), [2, 1, 2]), ("erase", "ListErase", (0,), [1, 2, 2]),
    ("erase_range", "ListEraseRange", (1, 3), [2, 1, 1]), ("clear", "ListClear", (), [1, 1, 1]),
    ("pop", "ListPop", (2,), [2, 2, 2]), ("reverse", "ListReverse", (), [2, 2, 2]),
    ("replace", "ListReplaceSlice", (0, 2, [9]), [1, 1, 2]),
]  # fmt: skip


@lists.each("removed.{}", REMOVALS, "The reference to a removed element is released or returned.")
def removed(runtime: Runtime, name: str, rest: tuple, after: list[int]) -> None:
    objects = opaques(runtime, 3)
    value = runtime.call("ffi.List", *objects)
    runtime.call(f"ffi.{name}", value, *rest)
    equal("strong counts", counts(objects), after)


INSERTIONS = [
    ("append", "ListAppend", ()), ("insert", "ListInsert", (0,)), ("set", "ListSetItem", (0,)),
]  # fmt: skip


@lists.each("added.{}", INSERTIONS, "A list takes a reference to a new element.")
def added(runtime: Runtime, name: str, rest: tuple) -> None:
    (new,) = opaques(runtime, 1)
    value = runtime.call("ffi.List", 1)
    runtime.call(f"ffi.{name}", value, *rest, new)
    equal("strong count", strong(new.handle), 2)
    runtime.TVMFFIObjectDecRef(value.v_obj)
    equal("strong count after the release of the list", strong(new.handle), 1)


@lists.case("slice", "A replacement takes one reference to each element of the source.")
def replaced_slice(runtime: Runtime) -> None:
    old, new = opaques(runtime, 2), opaques(runtime, 4)
    value, source = runtime.call("ffi.List", *old), runtime.call("ffi.List", *new)
    runtime.call("ffi.ListReplaceSlice", value, 0, 1, source)
    equal("strong counts", (counts(old), counts(new)), ([1, 2], [3] * 4))
    elements = [each.handle for each in runtime.python(value)]
    equal("elements", elements, [each.handle for each in (*new, old[1])])
    for container in (value, source):
        runtime.TVMFFIObjectDecRef(container.v_obj)
    equal("strong counts afterwards", counts([*old, *new]), [1] * 6)


@lists.case("grown", "A list that grows keeps one reference to each element.")
def grown(runtime: Runtime) -> None:
    objects = opaques(runtime, 40)
    value = runtime.call("ffi.List")
    for each in objects:
        runtime.call("ffi.ListAppend", value, each)
    equal("strong counts", counts(objects), [2] * 40)
    runtime.TVMFFIObjectDecRef(value.v_obj)
    equal("strong counts afterwards", counts(objects), [1] * 40)


DICT_SIZES = [("small", 1), ("full", 3), ("dense", 9)]


@dicts.each("overwritten.{}", DICT_SIZES, "An overwritten entry keeps one key and the new value.")
def overwritten(runtime: Runtime, others: int) -> None:
    # Equal strings of the heap: the dict holds one of them.
    first, second = (runtime.string(b"a key of the heap") for _ in range(2))
    old, new = opaques(runtime, 2)
    flat = [each for number in range(others) for each in (number, number)]
    value = runtime.call("ffi.Dict", *flat, first, old)
    runtime.call("ffi.DictSetItem", value, second, new)
    held = strong(first.v_obj) + strong(second.v_obj)
    equal("references to both keys", held, 3)
    equal("strong counts of the values", counts([old, new]), [1, 2])
    equal("size", runtime.result("ffi.DictSize", value), others + 1)
    runtime.TVMFFIObjectDecRef(value.v_obj)
    held = strong(first.v_obj) + strong(second.v_obj)
    equal("references to both keys afterwards", held, 2)
    equal("strong count of the value afterwards", strong(new.handle), 1)


@dicts.each("erased.{}", DICT_SIZES, "Erase releases key and value; its result is None.")
def erased(runtime: Runtime, others: int) -> None:
    key, item = opaques(runtime, 2)
    flat = [each for number in range(others) for each in (number, number)]
    value = runtime.call("ffi.Dict", *flat, key, item)
    for _ in range(2):  # the second time, the key is missing
        equal("result", runtime.result("ffi.DictErase", value, key), None)
        equal("strong counts", counts([key, item]), [1, 1])
    equal("entries", runtime.items(value), [(number, number) for number in range(others)])


@dicts.each("cleared.{}", DICT_SIZES, "Clear releases all entries; the dict is used again.")
def cleared(runtime: Runtime, others: int) -> None:
    key, item = opaques(runtime, 2)
    flat = [each for number in range(others) for each in (number, number)]
    value = runtime.call("ffi.Dict", *flat, key, item)
    runtime.call("ffi.DictClear", value)
    equal("strong counts", counts([key, item]), [1, 1])
    for number in range(7):
        runtime.call("ffi.DictSetItem", value, number, -number)
    equal("entries", runtime.items(value), [(number, -number) for number in range(7)])


@dicts.each("dropped.{}", DICT_SIZES, "A dict that ends releases keys and values.")
def dropped(runtime: Runtime, others: int) -> None:
    objects = opaques(runtime, 2 * others + 2)
    value = runtime.call("ffi.Dict", *objects)
    equal("strong counts", set(counts(objects)), {2})
    runtime.TVMFFIObjectDecRef(value.v_obj)
    equal("strong counts afterwards", set(counts(objects)), {1})


@dicts.each("capacity.{}", [("of_0", 0, 2), ("of_2", 2, 2), ("of_3", 3, 4), ("of_4", 4, 4)],
            "A small dict that is filled by Set has capacity 2, then 4.", cites="9.2")  # fmt: skip
def capacity(runtime: Runtime, n: int, expected: int) -> None:
    value = runtime.call("ffi.Dict")
    for number in range(n):
        runtime.call("ffi.DictSetItem", value, number, number)
    slots = ctypes.c_uint64.from_address(value.v_obj + 40).value
    equal("slots", hex(slots), hex(1 << 63 | expected))


class Storage:
    """Memory of a container, with a deleter that counts its calls.

    The kit puts it into a container as a client does that replaces the memory in place.
    """

    def __init__(self, runtime: Runtime, size: int) -> None:
        self.buffer = runtime.keep((ctypes.c_uint64 * (size // 8))())
        self.address = ctypes.addressof(self.buffer)
        self.freed: list[int] = []
        self.deleter = runtime.keep(DELETER(self.freed.append))

    def install(self, handle: int, content: bytes) -> None:
        """Replace data and deleter of a container; the old memory stays."""
        ctypes.memmove(self.address, content, len(content))
        deleter = ctypes.cast(self.deleter, ctypes.c_void_p).value
        for offset, word in ((24, self.address), (48, deleter)):
            ctypes.c_uint64.from_address(handle + offset).value = word


def pairs_of(*values: object) -> bytes:
    """Return the bytes of plain values."""
    return b"".join(ctypes.string_at(ctypes.addressof(view(each)), 16) for each in values)


def foreign_dict(runtime: Runtime) -> tuple[abi.TVMFFIAny, Storage]:
    """Return a small dict of one entry, whose memory another library allocated."""
    value, storage = runtime.call("ffi.Dict", 1, 10), Storage(runtime, 64)
    storage.install(value.v_obj, pairs_of(1, 10))
    return value, storage


def foreign_list(runtime: Runtime) -> tuple[abi.TVMFFIAny, Storage]:
    """Return a list of one element with capacity 1, whose memory another library allocated."""
    value, storage = runtime.call("ffi.List", 1), Storage(runtime, 16)
    storage.install(value.v_obj, pairs_of(1))
    ctypes.c_uint64.from_address(value.v_obj + 40).value = 1
    return value, storage


FOREIGN = [("dict", foreign_dict), ("list", foreign_list)]


@memory.each(
    "released.{}", FOREIGN, "The end of a container frees its memory through data_deleter."
)
def memory_released(runtime: Runtime, make: Callable) -> None:
    value, storage = make(runtime)
    runtime.TVMFFIObjectDecRef(value.v_obj)
    equal("addresses that the deleter got", storage.freed, [storage.address])


@memory.case("grown.list", "Growth frees the old buffer of a list through its data_deleter.",
             cites="8.3")  # fmt: skip
def list_memory_grown(runtime: Runtime) -> None:
    value, storage = foreign_list(runtime)
    for number in range(2, 20):
        runtime.call("ffi.ListAppend", value, number)
    equal("first address that the deleter got", storage.freed[:1], [storage.address])
    equal("elements", runtime.python(value), list(range(1, 20)))
    runtime.TVMFFIObjectDecRef(value.v_obj)
    # The list may keep the deleter for its later buffers.
    equal("calls for the old buffer", storage.freed.count(storage.address), 1)


@memory.case("grown.dict", "A dict that becomes dense frees the pairs through their data_deleter.")
def dict_memory_grown(runtime: Runtime) -> None:
    value, storage = foreign_dict(runtime)
    for number in range(2, 20):
        runtime.call("ffi.DictSetItem", value, number, 10 * number)
    equal("addresses that the deleter got", storage.freed, [storage.address])
    entries = [(number, 10 * number) for number in range(1, 20)]
    equal("entries", runtime.items(value), entries)


COUNTS = [(str(n), n) for n in (1, 2, 3, 9, 40)]


@tables.each("fields.{}", COUNTS, "Fields keep their order, texts and offsets when others follow.")
def many_fields(runtime: Runtime, n: int) -> None:
    index = runtime.allocate("kit.Fields")
    for number in range(n):
        given = abi.TVMFFIFieldInfo()
        given.name = runtime.keep(byte_array(b"field %d" % number))
        given.doc = runtime.keep(byte_array(b"doc %d" % number))
        given.size, given.alignment, given.offset = 8, 8, 24 + 8 * number
        runtime.check(runtime.TVMFFITypeRegisterField(index, ctypes.byref(given)))
    info = runtime.info(index)
    found = (abi.TVMFFIFieldInfo * info.num_fields).from_address(info.fields)
    equal("names, texts and offsets",
          [(read_bytes(each.name), read_bytes(each.doc), each.offset) for each in found],
          [(b"field %d" % i, b"doc %d" % i, 24 + 8 * i) for i in range(n)])  # fmt: skip


@tables.each("methods.{}", COUNTS, "Methods keep their order and functions when others follow.")
def many_methods(runtime: Runtime, n: int) -> None:
    index = runtime.allocate("kit.Methods")
    functions = [runtime.make(lambda views: None) for _ in range(n)]
    for number, function in enumerate(functions):
        given = abi.TVMFFIMethodInfo()
        given.name = runtime.keep(byte_array(b"method %d" % number))
        given.method = view(Object(function, abi.kTVMFFIFunction))
        runtime.check(runtime.TVMFFITypeRegisterMethod(index, ctypes.byref(given)))
    info = runtime.info(index)
    found = (abi.TVMFFIMethodInfo * info.num_methods).from_address(info.methods)
    equal("names and functions", [(read_bytes(each.name), each.method.v_obj) for each in found],
          [(b"method %d" % i, functions[i]) for i in range(n)])  # fmt: skip
    equal("strong counts", [strong(each) for each in functions], [2] * n)


@tables.case("field.setter", "A setter that is a function object is held.", cites="11.2",
             since="0.1.10")  # fmt: skip
def setter_object(runtime: Runtime) -> None:
    function = runtime.make(lambda views: None)
    given = abi.TVMFFIFieldInfo()
    given.name = runtime.keep(byte_array(b"number"))
    given.flags = abi.kTVMFFIFieldFlagBitSetterIsFunctionObj
    given.setter = function
    index = runtime.allocate("kit.Setter")
    runtime.check(runtime.TVMFFITypeRegisterField(index, ctypes.byref(given)))
    equal("strong count", strong(function), 2)
    info = runtime.info(index)
    equal("setter", abi.TVMFFIFieldInfo.from_address(info.fields).setter, function)


@tables.case("parent.index_0", "A type may derive from the type index 0; it is its ancestor.",
             cites="11.1")  # fmt: skip
def parent_zero(runtime: Runtime) -> None:
    index = runtime.allocate("kit.BelowNone", 0, static=110)
    info = runtime.info(index)
    equal("index and depth", (index, info.type_depth), (110, 1))
    ancestor = ctypes.c_uint64.from_address(info.type_ancestors).value
    equal("ancestor", abi.TVMFFITypeInfo.from_address(ancestor).type_index, 0)


HOOK_SIZES = [("small", 1), ("dense", 9)]


@keys.each("{}", HOOK_SIZES, "Keys of a type with hooks are found by their content.")
def key_hooks(runtime: Runtime, others: int) -> None:
    hooks = {
        "__any_hash__": lambda views: first_field(views[0]) % 3,
        "__any_equal__": lambda views: first_field(views[0]) == first_field(views[1]),
    }
    pairs = Pairs(runtime, hooks=hooks)
    flat = [each for number in range(others) for each in (pairs.make(number, 0), number)]
    value = runtime.call("ffi.Map", *flat)
    found = [
        runtime.result("ffi.MapGetItem", value, pairs.make(number, 1)) for number in range(others)
    ]
    equal("values", found, list(range(others)))
    equal("count", runtime.result("ffi.MapCount", value, pairs.make(others, 0)), 0)


def first_field(pair: abi.TVMFFIAny) -> int:
    """Return the integer in the field `a` of a pair."""
    return abi.TVMFFIAny.from_address(pair.v_obj + abi.HEADER_SIZE).v_int64


FAILING = [("hash", "__any_hash__"), ("equal", "__any_equal__")]


@keys.each("failing.{}", FAILING, "The error of a hook ends the look-up.")
def failing_hook(runtime: Runtime, name: str) -> None:
    hooks: dict[str, Callable] = {
        "__any_hash__": lambda views: 1, "__any_equal__": lambda views: True,
    }  # fmt: skip

    def fail(views: list) -> Status:
        runtime.TVMFFIErrorSetRaisedFromCStr(b"ValueError", b"of a hook")
        return Status(-1)

    hooks[name] = fail
    pairs = Pairs(runtime, hooks=hooks)
    flat = [each for number in range(9) for each in (number, number)]
    value = runtime.call("ffi.Map", *flat)
    with runtime.fails("ValueError", "of a hook"):
        value = runtime.call("ffi.Map", *flat, pairs.make(1, 0), 1)
        runtime.call("ffi.MapCount", value, pairs.make(1, 1))
    expect(header(value.v_obj).type_index == abi.kTVMFFIMap, "expected a Map")
    equal("count of another key", runtime.result("ffi.MapCount", value, 3), 1)
