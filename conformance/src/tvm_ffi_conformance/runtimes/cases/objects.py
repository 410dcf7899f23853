# SPDX-License-Identifier: Apache-2.0
"""Cases of objects that the kit makes: a type with fields and hooks, in values by content.

`Pairs` registers the type `kit.Pair`: a header, then two owned Any fields, `a` and `b`.
"""

from __future__ import annotations

import ctypes
import hashlib
import itertools
import random
from collections.abc import Callable
from typing import Any

from ... import abi
from .. import hashing
from ..case import Topic, equal, expect
from ..subject import Runtime, byte_array
from ..values import Managed, Object, view
from .content import SEQUENCES, pool

fields = Topic("structural.fields", "10.6", since="0.1.9")
recursive = Topic("recursive.fields", "10.7", since="0.1.11")
copying = Topic("copy.fields", "10.7", since="0.1.9")
printing = Topic("repr.fields", "10.7", since="0.1.13")
graphs = Topic("json.graph.fields", "16.5", since="0.1.9")
tables = Topic("dict.layout", "9.4", since="0.1.9")
spaces = Topic("object.space", "6.2", since="0.1.14")
devices = Topic("global.device", "16.2", since="0.1.11")

_SIZE = 24 + 32
_KEY = b"kit.Pair"
_GETTER = abi.callback("TVMFFIFieldGetter")
_SETTER = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
IGNORED_BY_STRUCTURE, HIDDEN, NOT_COMPARED, NOT_HASHED = 1 << 3, 1 << 6, 1 << 7, 1 << 8


class Pairs:
    """The type of pairs and its objects.

    Parameters
    ----------
    runtime : Runtime
        Runtime under test.
    flags : int
        Flags of the field `b`, beside Writable.
    kind : int
        Structural kind: 1 is a tree node.
    hooks : dict
        Type attributes: Python functions of views by name.
    """

    def __init__(
        self, runtime: Runtime, flags: int = 0, kind: int = 1,
        hooks: dict[str, Callable[[list], Any]] | None = None,
    ) -> None:  # fmt: skip
        self.runtime = runtime
        self.index = runtime.allocate(_KEY.decode())
        getter, setter = runtime.keep(_GETTER(self._get)), runtime.keep(_SETTER(self._set))
        for name, offset, own in (("a", 24, 0), ("b", 40, flags)):
            info = abi.TVMFFIFieldInfo()
            info.name = runtime.keep(byte_array(name.encode()))
            info.flags, info.size, info.alignment, info.offset = 1 | own, 16, 8, offset
            info.getter = ctypes.cast(getter, ctypes.c_void_p).value
            info.setter = ctypes.cast(setter, ctypes.c_void_p).value
            info.field_static_type_index = -1
            runtime.check(runtime.TVMFFITypeRegisterField(self.index, ctypes.byref(info)))
        metadata = abi.TVMFFITypeMetadata()
        metadata.total_size, metadata.structural_eq_hash_kind = _SIZE, kind
        metadata.creator = ctypes.cast(runtime.keep(_SETTER(self._create)), ctypes.c_void_p).value
        runtime.check(runtime.TVMFFITypeRegisterMetadata(self.index, ctypes.byref(metadata)))
        for name, body in {"__ffi_shallow_copy__": self._copy, **(hooks or {})}.items():
            value = view(Object(runtime.make(body), abi.kTVMFFIFunction))
            key = byte_array(name.encode())
            runtime.check(
                runtime.TVMFFITypeRegisterAttr(self.index, ctypes.byref(key), ctypes.byref(value))
            )

    def make(self, a: Any, b: Any) -> Object:
        """Return a pair; the kit frees no memory."""
        memory = self.runtime.keep(ctypes.create_string_buffer(_SIZE))
        address = ctypes.addressof(memory)
        header = abi.TVMFFIObject.from_address(address)
        header.combined_ref_count = abi.REFERENCE_COUNT["Initial"]
        header.type_index = self.index
        for value, offset in ((a, 24), (b, 40)):
            owned = self.runtime.owned(self.runtime.any(value))
            ctypes.memmove(address + offset, ctypes.byref(owned), 16)
        return Object(address, self.index)

    def read(self, pair: Any) -> tuple:
        """Return the fields of a pair, nested ones too."""
        found = []
        for offset in (24, 40):
            value = abi.TVMFFIAny.from_address(pair.handle + offset)
            python = self.runtime.python(value)
            is_pair = isinstance(python, Object) and python.index == self.index
            found.append(self.read(python) if is_pair else python)
        return tuple(found)

    def _get(self, field: int, out: int) -> int:
        owned = self.runtime.owned(abi.TVMFFIAny.from_address(field))
        ctypes.memmove(out, ctypes.byref(owned), 16)
        return 0

    def _set(self, field: int, value: int) -> int:
        owned = self.runtime.owned(abi.TVMFFIAny.from_address(value))
        ctypes.memmove(field, ctypes.byref(owned), 16)
        return 0

    def _create(self, out: int, _unused: int) -> int:
        ctypes.c_void_p.from_address(out).value = self.make(None, None).handle
        return 0

    def _copy(self, views: list) -> Object:
        memory = self.runtime.keep(ctypes.create_string_buffer(_SIZE))
        ctypes.memmove(memory, views[0].v_obj, _SIZE)
        address = ctypes.addressof(memory)
        header = abi.TVMFFIObject.from_address(address)
        header.combined_ref_count = abi.REFERENCE_COUNT["Initial"]
        for offset in (24, 40):
            self._set(address + offset, address + offset)
        # `Runtime.make` adds a reference to its result.
        return Object(address, self.index)


def fold(*hashes: int) -> int:
    """Return the structural hash of an object with fields of these hashes."""
    out = hashing.key(_KEY)
    for each in hashes:
        out = hashing.combine(out, each)
    return out


def structural_hash(runtime: Runtime, value: Any) -> int:
    """Return StructuralHash as an unsigned number."""
    return runtime.result("ffi.StructuralHash", value, False, False) & hashing.MASK


@fields.case("hash", "The hash folds the type key and the fields in their order.")
def hash_fields(runtime: Runtime) -> None:
    pairs = Pairs(runtime)
    one, two = hashing.plain(1, 1), hashing.plain(1, 2)
    equal("hash", structural_hash(runtime, pairs.make(1, 2)), fold(one, two))
    nested = pairs.make(pairs.make(1, 2), 1)
    equal("hash of a nested pair", structural_hash(runtime, nested), fold(fold(one, two), one))
    array = hashing.fold("ffi.Array", [one])
    equal("hash with an array", structural_hash(runtime, pairs.make((1,), 2)), fold(array, two))


@fields.case("hash.ignored", "An ignored field does not enter hash and equality.")
def hash_ignored(runtime: Runtime) -> None:
    pairs = Pairs(runtime, IGNORED_BY_STRUCTURE)
    left, right = pairs.make(1, 2), pairs.make(1, 3)
    equal("hash", structural_hash(runtime, left), fold(hashing.plain(1, 1)))
    equal("equal", runtime.result("ffi.StructuralEqual", left, right, False, False), True)


VARIANTS = [
    ("first", 9, 2),
    ("second", 1, 9),
    ("nested", (1,), 2),
    ("type", 1.0, 2),
    ("none", None, 2),
]


@fields.each("equal.{}", VARIANTS, "Objects are equal if all fields are.")
def equal_fields(runtime: Runtime, a: Any, b: Any) -> None:
    pairs = Pairs(runtime)
    left, other = pairs.make(1, 2), pairs.make(a, b)
    for right, expected in ((pairs.make(1, 2), True), (other, False), (left, True)):
        equal("equal", runtime.result("ffi.StructuralEqual", left, right, False, False), expected)
        found = runtime.call("ffi.GetFirstStructuralMismatch", left, right, False, False)
        equal("mismatch", found.type_index, 0 if expected else abi.kTVMFFIArray)
    deep = [pairs.make(each, (each, {"k": each})) for each in (left, pairs.make(1, 2), other)]
    found = [runtime.result("ffi.StructuralEqual", deep[0], each, False, False) for each in deep]
    equal("equal to itself, to a copy, to another one", found, [True, True, False])


@fields.case("unsupported", "A type of kind 0 has no structural hash: TypeError.")
def unsupported(runtime: Runtime) -> None:
    pairs = Pairs(runtime, kind=0)
    with runtime.fails("TypeError"):
        runtime.call("ffi.StructuralHash", pairs.make(1, 2), False, False)


@fields.case("hook.hash", "A hook __s_hash__ gives the hash of the object.")
def structural_hook(runtime: Runtime) -> None:
    pairs = Pairs(runtime, hooks={
        "__s_hash__": lambda views: runtime.call(views[2].v_obj, 7, views[1], 0),
        "__s_equal__": lambda views: True,
    })  # fmt: skip
    left, right = pairs.make(1, 2), pairs.make(3, 4)
    equal("same hash", structural_hash(runtime, left), structural_hash(runtime, right))
    equal("equal", runtime.result("ffi.StructuralEqual", left, right, False, False), True)


@recursive.each("equal.{}", VARIANTS, "RecursiveEq and RecursiveHash use all fields.")
def recursive_fields(runtime: Runtime, a: Any, b: Any) -> None:
    pairs = Pairs(runtime)
    left, other = pairs.make(1, 2), pairs.make(a, b)
    for right, expected in ((pairs.make(1, 2), True), (other, False)):
        equal("equal", runtime.result("ffi.RecursiveEq", left, right), expected)
        hashes = [runtime.result("ffi.RecursiveHash", each) for each in (left, right)]
        equal("same hash", hashes[0] == hashes[1], expected)


@recursive.case("flags", "Fields that are not compared or not hashed are left out.")
def recursive_flags(runtime: Runtime) -> None:
    pairs = Pairs(runtime, NOT_COMPARED | NOT_HASHED)
    left, right = pairs.make(1, 2), pairs.make(1, 3)
    equal("equal", runtime.result("ffi.RecursiveEq", left, right), True)
    hashes = [runtime.result("ffi.RecursiveHash", each) for each in (left, right)]
    equal("hash", hashes[0], hashes[1])


@recursive.case("order", "Objects are ordered by their fields.")
def recursive_order(runtime: Runtime) -> None:
    pairs = Pairs(runtime)
    ordered = [pairs.make(a, b) for a, b in ((1, 1), (1, 2), (2, 0))]
    for left, right in itertools.combinations(ordered, 2):
        found = [
            runtime.result(f"ffi.Recursive{op}", left, right) for op in ("Lt", "Le", "Gt", "Ge")
        ]
        equal("Lt, Le, Gt, Ge", found, [True, True, False, False])


@recursive.case(
    "hook.equal", "The hooks __ffi_eq__ and __ffi_hash__ decide, also inside of containers."
)
def recursive_hook(runtime: Runtime) -> None:
    pairs = Pairs(runtime, hooks={
        "__ffi_eq__": lambda views: runtime.call(views[2].v_obj, *_firsts(views[:2])),
        "__ffi_hash__": lambda views: runtime.call(views[1].v_obj, *_firsts(views[:1])),
    })  # fmt: skip
    same = [pairs.make("text of the heap", 2), pairs.make("text of the heap", 3)]
    other = pairs.make("another text here", 2)
    for wrap in (lambda each: each, lambda each: (each, 1), lambda each: {"k": each}):
        left, right, third = (wrap(each) for each in (*same, other))
        equal("equal", runtime.result("ffi.RecursiveEq", left, right), True)
        equal("equal to another one", runtime.result("ffi.RecursiveEq", left, third), False)
        hashes = [runtime.result("ffi.RecursiveHash", each) for each in (left, right, third)]
        equal("same hashes", (hashes[0] == hashes[1], hashes[0] == hashes[2]), (True, False))


def _firsts(views: list) -> list:
    """Return the field `a` of each pair."""
    return [abi.TVMFFIAny.from_buffer_copy(ctypes.string_at(each.v_obj + 24, 16)) for each in views]


@recursive.case("hook.compare", "The hook __ffi_compare__ gives order and equality.")
def compare_hook(runtime: Runtime) -> None:
    pairs = Pairs(runtime, hooks={
        "__ffi_compare__": lambda views: runtime.call(views[2].v_obj, *_firsts(views[:2])),
        "__ffi_hash__": lambda views: 5,
    })  # fmt: skip
    low, same, high = pairs.make(1, 9), pairs.make(1, 2), pairs.make(2, 0)
    found = [
        [runtime.result(f"ffi.Recursive{op}", low, each) for op in ("Eq", "Lt", "Le", "Gt")]
        for each in (same, high)
    ]
    equal("results", found, [[True, False, True, False], [False, True, True, False]])
    equal("in arrays", runtime.result("ffi.RecursiveLt", (low, 5), (high, 1)), True)


@recursive.case("hook.no_hash", "A type with equality and without hash has no hash: ValueError.")
def no_hash(runtime: Runtime) -> None:
    pairs = Pairs(runtime, hooks={"__ffi_eq__": lambda views: True})
    with runtime.fails("ValueError"):
        runtime.call("ffi.RecursiveHash", pairs.make(1, 2))


@copying.case("pair", "A reflected object is copied with its fields.")
def copy_pair(runtime: Runtime) -> None:
    pairs = Pairs(runtime)
    inner = runtime.call("ffi.List", 1)
    source = pairs.make(inner, (pairs.make(inner, 3), "text of the heap"))
    copied = runtime.result("ffi.DeepCopy", source)
    expect(copied.handle != source.handle, "expected another object")
    runtime.call("ffi.ListAppend", inner, 2)
    first, second = pairs.read(copied)
    equal("list and text", (first, second[1]), ([1], "text of the heap"))
    equal("nested pair", pairs.read(second[0]), ([1], 3))


@copying.case("key", "A key with a list is copied, too.")
def copy_key(runtime: Runtime) -> None:
    pairs = Pairs(runtime)
    key = pairs.make(1, 2)
    value = runtime.call("ffi.Map", "k", (key, [1]))
    copied = runtime.python(runtime.call("ffi.DeepCopy", value))
    equal("fields", pairs.read(copied["k"][0]), (1, 2))
    expect(copied["k"][0].handle != key.handle, "expected a copy")


@copying.case("map_key", "A key that is an object with fields is copied, too.")
def copy_map_key(runtime: Runtime) -> None:
    pairs = Pairs(runtime)
    keys = [pairs.make(n, [n]) for n in range(6)]
    flat = [each for number, key in enumerate(keys) for each in (key, number)]
    copied = runtime.call("ffi.DeepCopy", runtime.call("ffi.Map", *flat))
    found = [(pairs.read(key), value) for key, value in runtime.items(copied)]
    equal("entries", found, [((n, [n]), n) for n in range(6)])


@fields.case("map_key", "A key that matched before is looked up as its match.")
def map_key(runtime: Runtime) -> None:
    pairs = Pairs(runtime, kind=abi.kTVMFFISEqHashKindDAGNode)
    left, right = (
        (key, runtime.call("ffi.Map", key, 1)) for key in (pairs.make(1, 2), pairs.make(1, 2))
    )
    equal("equal", runtime.result("ffi.StructuralEqual", left, right, False, False), True)
    swapped = [tuple(reversed(each)) for each in (left, right)]
    equal("before", runtime.result("ffi.StructuralEqual", *swapped, False, False), False)


PATHS = [
    ("right_longer", (1,), (1, 2), "(<root>[<missing:1>], <root>[1])"),
    ("left_longer", (1, 2, 3), (1,), "(<root>[1], <root>[<missing:1>])"),
    ("inner", ((1, 2),), ((1, 3),), "(<root>[0][1], <root>[0][1])"),
    ("map_left", {"a": 1, "b": 2}, {"a": 1}, '(<root>["b"], <root>[<missing:"b">])'),
    ("map_right", {"a": 1}, {"a": 1, "b": 2}, '(<root>[<missing:"b">], <root>["b"])'),
    ("map_value", {"a": 1}, {"a": 2}, '(<root>["a"], <root>["a"])'),
]


@fields.each("path.{}", PATHS, "The paths of the first mismatch name the element, or the missing one.",
             since="0.1.13")  # fmt: skip
def mismatch_path(runtime: Runtime, left: Any, right: Any, expected: str) -> None:
    found = runtime.call("ffi.GetFirstStructuralMismatch", left, right, False, False)
    equal("paths", runtime.result("ffi.ReprPrint", found), expected)


@printing.case("fields", "An object prints its type key and its shown fields.")
def print_fields(runtime: Runtime) -> None:
    pairs = Pairs(runtime)
    equal("text", runtime.result("ffi.ReprPrint", pairs.make(1, "x")), 'kit.Pair(a=1, b="x")')
    nested = (pairs.make(pairs.make(None, 1), 2),)
    equal(
        "text", runtime.result("ffi.ReprPrint", nested), "(kit.Pair(a=kit.Pair(a=None, b=1), b=2),)"
    )


@printing.case("hidden", "A field with ReprOff is not shown.")
def print_hidden(runtime: Runtime) -> None:
    equal(
        "text", runtime.result("ffi.ReprPrint", Pairs(runtime, HIDDEN).make(1, 2)), "kit.Pair(a=1)"
    )


@printing.case("hook", "A hook __ffi_repr__ gives the text.")
def print_hook(runtime: Runtime) -> None:
    def body(views: list) -> str:
        return "<" + runtime.result(views[1].v_obj, *_firsts(views[:1])) + ">"

    pairs = Pairs(runtime, hooks={"__ffi_repr__": body})
    equal("text", runtime.result("ffi.ReprPrint", (pairs.make((1, 2), 3), 4)), "(<(1, 2)>, 4)")


@graphs.case("hook", "The hooks for JSON write and read the object.")
def graph_hook(runtime: Runtime) -> None:
    pairs = Pairs(runtime, hooks={
        "__data_to_json__": lambda views: runtime.python(*_firsts(views)),
        "__data_from_json__": lambda views: pairs.make(views[0], "read"),
    })  # fmt: skip
    graph = runtime.call("ffi.ToJSONGraph", (pairs.make(5, 6), 1), None)
    nodes = runtime.python(graph)["nodes"]
    equal("node", nodes[0], {"type": "kit.Pair", "data": 5})
    found = runtime.result("ffi.FromJSONGraph", graph)
    equal("fields", (pairs.read(found[0]), found[1]), ((5, "read"), 1))


# SHA-256 of the tables during a sequence of changes; published releases agree on them.
LAYOUTS = {
    "collide_1": "54c4bfa8a21556d6",
    "collide_2": "ceaab34e12a5bdf1",
    "collide_4": "be55aa7934ffe2dd",
    "collide_8": "114bc0c552ddd7c7",
    "text_1": "ea455363cf08cae1",
    "text_2": "094be3c180d91c13",
    "int_1": "8e221cb83ab7ad40",
    "int_2": "b6cd7cb0b9b67e69",
}


@tables.each("{}", SEQUENCES, "The dense table has the slots and metadata bytes of the algorithm.")
def layout(runtime: Runtime, seed: str) -> None:
    equal("digest of the table", layout_digest(runtime, seed), LAYOUTS.get(seed))


def layout_digest(runtime: Runtime, seed: str) -> str:
    """Return a digest of the tables during a sequence of insertions and erasures."""
    chooser = random.Random(seed)
    keys = pool(seed, chooser)
    value = runtime.call("ffi.Dict", *[each for key in keys[:8] for each in (key, 0)])
    digest = hashlib.sha256()
    for step in range(400):
        key = chooser.choice(keys)
        if chooser.random() < 0.3:
            runtime.call("ffi.DictErase", value, key)
        else:
            runtime.call("ffi.DictSetItem", value, key, step)
        if step % 10 == 9:
            digest.update(_table(value.v_obj))
    return digest.hexdigest()[:16]


def _table(handle: int) -> bytes:
    """Return slots, shift and metadata bytes of a dense table."""
    data, size, slots = ctypes.cast(handle + 24, ctypes.POINTER(ctypes.c_uint64 * 3)).contents
    shift = ctypes.c_uint32.from_address(handle + 56).value
    slots &= (1 << 63) - 1
    metas = [
        ctypes.string_at(data + block * 784, min(16, slots - 16 * block))
        for block in range(-(-slots // 16))
    ]
    head, tail = (ctypes.c_uint64.from_address(handle + offset).value for offset in (64, 72))
    expect(ctypes.c_void_p.from_address(handle + 48).value, "expected a data_deleter, got null")
    return f"{size} {slots} {shift} {head} {tail} ".encode() + b"".join(metas)


ALLOCATE = ctypes.CFUNCTYPE(
    ctypes.c_void_p, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int32, ctypes.c_void_p
)


@spaces.each("{}", [(f"align_{n}", n) for n in (1, 8, 16, 32, 64, 256, 4096)],
             "The default allocator gives a body; delete_space stands before it.")  # fmt: skip
def space(runtime: Runtime, alignment: int) -> None:
    allocator = abi.TVMFFICustomAllocator.from_address(runtime.TVMFFIGetCustomAllocator())
    allocate = ALLOCATE(ctypes.cast(allocator.allocate, ctypes.c_void_p).value)
    for size in (1, 24, 100, 5000):
        bodies = [allocate(size, alignment, 128, allocator.context) for _ in range(4)]
        aligned = min(max(alignment, 8), 16)  # no document promises more
        equal("distance to the alignment", [body % aligned for body in bodies], [0] * 4)
        for body in bodies:
            ctypes.memset(body, 0x5A, size)
        for body in bodies:
            equal("content", ctypes.string_at(body, size), b"\x5a" * size)
            delete = ctypes.c_void_p.from_address(body - 8).value
            expect(delete, "expected a function before the body, got null")
            ctypes.CFUNCTYPE(None, ctypes.c_void_p)(delete)(body)


@devices.case("nested", "The first tensor outside of the CPU is found depth first.")
def find_device(runtime: Runtime) -> None:
    def on(device: tuple[int, int]) -> Object:
        source = runtime.keep(Managed((2,), device=device))
        out = ctypes.c_void_p()
        runtime.check(
            runtime.TVMFFITensorFromDLPackVersioned(source.address, 0, 0, ctypes.byref(out))
        )
        return Object(out.value, abi.kTVMFFITensor)

    cpu, first, second = on((1, 0)), on((2, 3)), on((2, 4))
    for value, number in (
        ((cpu, (1, (first,)), second), 3), ({"a": cpu, "b": (second, first)}, 4), ((((),), second), 4),
    ):  # fmt: skip
        found = runtime.result("ffi.ContainerFindFirstNonCPUDevice", value)
        equal("device", found, ("device", 2, number))
    equal(
        "no device",
        runtime.result("ffi.ContainerFindFirstNonCPUDevice", ((cpu,), 1)),
        ("device", 1, 0),
    )


# Kinds of steps, c-abi.md, "8": an item, and an item that is missing; of a sequence and of a map.
LENGTHS = [
    ("longer", (1, 2), (1,), [(1, 4)]), ("shorter", (1,), (1, 2), [(4, 1)]),
    ("much_longer", (1, 2, 3), (1,), [(1, 4)]), ("empty", (), (5,), [(4, 1)]),
    ("map_longer", {"a": 1, "b": 2}, {"a": 1}, [(2, 5)]),
    ("map_shorter", {"a": 1}, {"a": 1, "b": 2}, [(5, 2)]),
    ("item", (1, 2), (1, 3), [(1, 1)]), ("map_item", {"a": 1}, {"a": 2}, [(2, 2)]),
]  # fmt: skip


@fields.each("missing.{}", LENGTHS, "The first mismatch of sizes is an item and a missing item.")
def missing_items(runtime: Runtime, left: Any, right: Any, expected: list) -> None:
    found = runtime.call("ffi.GetFirstStructuralMismatch", left, right, False, False)
    equal("type index", found.type_index, abi.kTVMFFIArray)
    paths = [each.handle for each in runtime.python(found)]
    steps = [ctypes.c_uint64.from_address(path + 32).value for path in paths]
    kinds = [ctypes.c_int32.from_address(step + 24).value for step in steps]
    equal("kinds of the last steps", [tuple(kinds)], expected)


@printing.each("enum.{}", [("short", "RED"), ("long", "A_LONG_NAME_OF_A_MEMBER")],
               "A member of an enum prints as type.key.MEMBER.", since="0.1.14")  # fmt: skip
def enum_member(runtime: Runtime, name: str) -> None:
    index = runtime.allocate("kit.Color", runtime.index("ffi.Enum"), depth=2)
    memory = runtime.keep(ctypes.create_string_buffer(48))
    address = ctypes.addressof(memory)
    header = abi.TVMFFIObject.from_address(address)
    header.combined_ref_count, header.type_index = abi.REFERENCE_COUNT["Initial"], index
    ctypes.c_int64.from_address(address + 24).value = 3
    ctypes.memmove(address + 32, ctypes.byref(runtime.any(name)), 16)
    equal("text", runtime.result("ffi.ReprPrint", Object(address, index)), f"kit.Color.{name}")
