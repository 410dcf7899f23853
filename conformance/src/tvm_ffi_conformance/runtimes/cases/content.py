# SPDX-License-Identifier: Apache-2.0
"""Cases of larger values: long sequences of changes, JSON graphs, text, copies, registered fields."""

from __future__ import annotations

import ctypes
import math
import random

from ... import abi
from .. import hashing
from ..case import Options, Topic, equal, expect, run_on_threads
from ..subject import Runtime, byte_array, read_bytes, strong
from ..values import Managed, Object, Raw, device, dtype, small, view

dicts = Topic("dict", "9.4", since="0.1.9")
maps = Topic("map", "9.5")
lists = Topic("list", "16.2", since="0.1.9")
graphs = Topic("json.graph", "16.5")
printing = Topic("repr", "10.7", since="0.1.13")
copying = Topic("copy", "10.7", since="0.1.9")
recursive = Topic("recursive", "10.7", since="0.1.11")
structural = Topic("structural", "10.6", since="0.1.9")
registering = Topic("type.register", "6.6")

GOLDEN = 11400714819323198485


def colliding(count: int, slots: int, homes: int) -> list[int]:
    """Return `count` keys whose home slots are the first `homes` of a table with `slots` slots."""
    shift = 64 - slots.bit_length() + 1
    found, number = [], 0
    while len(found) < count:
        number += 1
        if (GOLDEN * hashing.plain(1, number) & hashing.MASK) >> shift < homes:
            found.append(number)
    return found


def pool(seed: str, chooser: random.Random) -> list[object]:
    """Return the keys of a sequence of changes."""
    if seed.startswith("collide"):
        return colliding(40, 64, int(seed[-1]))
    if seed.startswith("text"):
        return [f"key {number}" * (number % 3) + str(number) for number in range(60)]
    return [chooser.randrange(-(10**9), 10**9) for _ in range(200)]


SEQUENCES = [
    "collide_1",
    "collide_2",
    "collide_4",
    "collide_8",
    "text_1",
    "text_2",
    "int_1",
    "int_2",
]


@dicts.each("sequence.{}", SEQUENCES, "A sequence of changes leaves the entries in their order.")
def sequence(runtime: Runtime, seed: str) -> None:
    chooser = random.Random(seed)
    keys = pool(seed, chooser)
    value, expected = runtime.call("ffi.Dict"), {}
    dense = False  # a dense table moves an overwritten entry to the end
    for step in range(600):
        key = chooser.choice(keys)
        if chooser.random() < 0.35:
            runtime.call("ffi.DictErase", value, key)
            expected.pop(key, None)
        else:
            runtime.call("ffi.DictSetItem", value, key, step)
            dense = dense or len(expected | {key: step}) > 4
            if dense:
                expected.pop(key, None)
            expected[key] = step
        if step % 50 == 49:
            equal(f"entries after {step + 1} changes", runtime.items(value), list(expected.items()))
    for key in keys:
        equal(
            f"count of {key!r}", runtime.result("ffi.DictCount", value, key), int(key in expected)
        )


@maps.each("built.{}", [(f"{seed}_of_{n}", seed, n) for seed in ("collide_1", "collide_3", "text_1", "int_1")
                        for n in (3, 5, 9, 17, 33, 40)],
           "A map of pairs finds each key and keeps the order.")  # fmt: skip
def built(runtime: Runtime, seed: str, count: int) -> None:
    keys = list(dict.fromkeys(pool(seed, random.Random(seed))))[:count]
    flat = [each for number, key in enumerate(keys) for each in (key, number)]
    value = runtime.call("ffi.Map", *flat)
    equal("entries", runtime.items(value), [(key, number) for number, key in enumerate(keys)])
    for number, key in enumerate(keys):
        equal(f"value of {key!r}", runtime.result("ffi.MapGetItem", value, key), number)


@dicts.case("sequence.references", "Overwritten, erased and moved entries are released once.",
            cites="9.6")  # fmt: skip
def released(runtime: Runtime) -> None:
    items = [runtime.opaque(number + 1) for number in range(40)]
    value, held = runtime.call("ffi.Dict"), {}
    for number, item in enumerate(items):
        for key in (number, number // 2):
            runtime.call("ffi.DictSetItem", value, key, Object(item, 74))
            held[key] = item
    for number in range(0, 40, 3):
        runtime.call("ffi.DictErase", value, number)
        del held[number]
    expected = [1 + list(held.values()).count(each) for each in items]
    equal("strong counts", [strong(each) for each in items], expected)
    runtime.call("ffi.DictClear", value)
    equal("strong counts after the clear", [strong(each) for each in items], [1] * 40)


@lists.each(
    "sequence.{}", [f"seed_{n}" for n in range(3)], "A sequence of changes gives the elements."
)
def list_sequence(runtime: Runtime, seed: str) -> None:
    chooser = random.Random(seed)
    value, expected = runtime.call("ffi.List"), []
    for step in range(300):
        at = chooser.randrange(len(expected) + 1)
        kind = chooser.randrange(6)
        if kind < 2 or not expected:
            runtime.call("ffi.ListInsert", value, at, step)
            expected.insert(at, step)
        elif kind == 2:
            runtime.call("ffi.ListAppend", value, step)
            expected.append(step)
        elif kind == 3:
            at = min(at, len(expected) - 1)
            equal("popped", runtime.result("ffi.ListPop", value, at), expected.pop(at))
        elif kind == 4:
            end = min(len(expected), at + 2)
            runtime.call("ffi.ListEraseRange", value, at, end)
            del expected[at:end]
        else:
            end = min(len(expected), at + 1)
            runtime.call("ffi.ListReplaceSlice", value, at, end, [step, step])
            expected[at:end] = [step, step]
        if step % 20 == 19:
            equal(f"elements after {step + 1} changes", runtime.python(value), expected)
    runtime.call("ffi.ListReverse", value)
    equal("reversed", runtime.python(value), expected[::-1])


GRAPHS = [
    ("none", None), ("true", True), ("int", -5), ("float", 1.5), ("text", "a\"b"), ("long_text", "more than seven"),
    ("bytes", b"\x00\xff\x10"), ("bytes_1", b"a"), ("bytes_2", b"ab"), ("empty_bytes", b""), ("array", (1, "a", 2.5)),
    ("empty", ()), ("nested", ((1, (2,)), ("x", "x"))), ("map", {"a": 1, "b": (2, 3)}), ("map_of_ints", {1: "a", 2: "b"}),
    ("big_map", {f"k{n}": n for n in range(12)}), ("list", [1, [2, 3]], Options(since="0.1.9")),
    ("utf8", "a\u00e9", Options(since="0.1.9")), ("bigint", 2**70 + 1, Options(since="0.1.14")), ("negative_bigint", -(2**90), Options(since="0.1.14")),
]  # fmt: skip


@graphs.each(
    "round_trip.{}", GRAPHS, "FromJSONGraph of ToJSONGraph gives the value.", since="0.1.1"
)
def graph_round_trip(runtime: Runtime, value: object) -> None:
    graph = runtime.call("ffi.ToJSONGraph", value, None)
    equal("value", runtime.result("ffi.FromJSONGraph", graph), value)


@graphs.each("text.{}", GRAPHS, "The text form is read back.", since="0.1.1")
def graph_text(runtime: Runtime, value: object) -> None:
    text = runtime.result("ffi.ToJSONGraphString", value, None)
    equal("value", runtime.result("ffi.FromJSONGraphString", text), value)


PLAIN_GRAPHS = [("dtype", dtype(2, 32), "float32"), ("device", device(2, 1), (2, 1))]


@graphs.each(
    "plain.{}", PLAIN_GRAPHS, "A data type is text, a device is its two numbers.", since="0.1.1"
)
def graph_plain(runtime: Runtime, value: object, expected: object) -> None:
    graph = runtime.call("ffi.ToJSONGraph", value, None)
    nodes = runtime.python(graph)["nodes"]
    equal("data", nodes[0]["data"], expected)
    equal("value", runtime.result("ffi.FromJSONGraph", graph), runtime.python(view(value)))


@graphs.case("shape", "A shape is its extents.", since="0.1.1")
def graph_shape(runtime: Runtime) -> None:
    graph = runtime.call("ffi.ToJSONGraph", runtime.call("ffi.Shape", 2, 3), None)
    equal("nodes", runtime.python(graph)["nodes"], ({"type": "ffi.Shape", "data": (2, 3)},))
    equal("value", runtime.result("ffi.FromJSONGraph", graph), ("shape", 2, 3))


@graphs.case("example", "Children come first, equal nodes share an entry.", since="0.1.1")
def graph_example(runtime: Runtime) -> None:
    graph = runtime.result("ffi.ToJSONGraph", (1, "a", 1), {"version": "1"})
    nodes = ({"type": "int", "data": 1}, {"type": "ffi.String", "data": "a"},
             {"type": "ffi.Array", "data": (0, 1, 0)})  # fmt: skip
    equal("graph", graph, {"root_index": 2, "nodes": nodes, "metadata": {"version": "1"}})


@graphs.case("shared", "A shared list is one object after reading.", since="0.1.11")
def graph_shared(runtime: Runtime) -> None:
    inner = runtime.call("ffi.List", 1)
    graph = runtime.call("ffi.ToJSONGraph", runtime.call("ffi.Array", inner, inner), None)
    found = runtime.call("ffi.FromJSONGraph", graph)
    handles = [runtime.call("ffi.ArrayGetItem", found, i).v_obj for i in (0, 1)]
    equal("handles", handles[0], handles[1])


@graphs.case("cycle", "A list that contains itself is a ValueError.", since="0.1.16")
def graph_cycle(runtime: Runtime) -> None:
    value = runtime.call("ffi.List")
    runtime.call("ffi.ListAppend", value, value)
    with runtime.fails("ValueError"):
        runtime.call("ffi.ToJSONGraph", value, None)


@graphs.case("function", "A function has no graph: TypeError.", since="0.1.1")
def graph_function(runtime: Runtime) -> None:
    with runtime.fails("TypeError"):
        runtime.call("ffi.ToJSONGraph", Object(runtime.make(lambda views: None), 68), None)


SHOWN = [
    ("float_small", 1e-7, "1e-07"), ("float_tenth", 0.1, "0.1"), ("float_long", 1 / 3, "0.333333"),
    ("float_integral", 1.0, "1"), ("float_large", 1e20, "1e+20"), ("infinity", math.inf, "inf"),
    ("minus_infinity", -math.inf, "-inf"), ("false", False, "False"), ("list_of_lists", [[1], []], "[[1], []]"),
    ("map_in_map", {"a": {"b": (1,)}}, '{"a": {"b": (1,)}}'), ("two_pairs", {1: 2, 3: 4}, "{1: 2, 3: 4}"),
    ("bytes_backslash", b"\\~", 'b"\\x5c~"'), ("long_text", "more than seven bytes", '"more than seven bytes"'),
    ("shared", ((1,), (1,)), "((1,), (1,))"), ("empty_bytes", b"", 'b""'), ("bigint", 2**70, str(2**70)),
]  # fmt: skip


@printing.each("value.{}", SHOWN, "ReprPrint gives the text of the value.", since="0.1.14")
def shows(runtime: Runtime, value: object, expected: str) -> None:
    equal("text", runtime.result("ffi.ReprPrint", value), expected)


@printing.case(
    "value.shared_object", "An object that occurs twice is shown twice; a cycle as dots."
)
def shows_shared(runtime: Runtime) -> None:
    inner = runtime.call("ffi.List", 1)
    outer = runtime.call("ffi.List", inner, inner)
    equal("text", runtime.result("ffi.ReprPrint", outer), "[[1], [1]]")
    runtime.call("ffi.ListAppend", inner, outer)
    equal("text", runtime.result("ffi.ReprPrint", outer), "[[1, ...], [1, ...]]")


@printing.case("value.sentinel", "The sentinel of a missing value is <MISSING>.")
def shows_missing(runtime: Runtime) -> None:
    equal(
        "text", runtime.result("ffi.ReprPrint", runtime.call("ffi.GetInvalidObject")), "<MISSING>"
    )


@printing.case("value.tensor", "A tensor prints its type, shape and device.")
def shows_tensor(runtime: Runtime) -> None:
    equal("text", runtime.result("ffi.ReprPrint", tensor(runtime, (2, 3))), "float32[2, 3]@cpu:0")


@printing.case("value.function", "An object without shown fields prints its type key.")
def shows_function(runtime: Runtime) -> None:
    value = Object(runtime.make(lambda views: None), 68)
    equal("text", runtime.result("ffi.ReprPrint", (value,)), "(ffi.Function,)")


def tensor(runtime: Runtime, shape: tuple[int, ...], values: tuple[float, ...] = ()) -> Object:
    """Return a tensor of the runtime on the CPU."""
    source = runtime.keep(Managed(shape))
    for number, value in enumerate(values):
        ctypes.c_float.from_address(source.aligned + 4 * number).value = value
    out = ctypes.c_void_p()
    runtime.check(runtime.TVMFFITensorFromDLPackVersioned(source.address, 0, 0, ctypes.byref(out)))
    return Object(out.value, abi.kTVMFFITensor)


TENSORS = [
    ("same", (2,), (1.0, 2.0), True), ("value", (2,), (1.0, 3.0), False), ("shape", (1, 2), (1.0, 2.0), False),
    ("extent", (1,), (1.0,), False),
]  # fmt: skip


@structural.each(
    "tensor.{}", TENSORS, "Tensors are equal by shape, data type and bytes.", since="0.1.15"
)
def equal_tensors(runtime: Runtime, shape: tuple, values: tuple, expected: bool) -> None:
    left, right = tensor(runtime, (2,), (1.0, 2.0)), tensor(runtime, shape, values)
    equal("equal", runtime.result("ffi.StructuralEqual", left, right, False, False), expected)
    hashes = [runtime.result("ffi.StructuralHash", each, False, False) for each in (left, right)]
    equal("same hash", hashes[0] == hashes[1], expected)
    if len(shape) == 1 and len(values) == 2:
        equal(
            "without content", runtime.result("ffi.StructuralEqual", left, right, False, True), True
        )


DEEP = [
    ("big_map", {f"k{n}": n for n in range(12)}, {**{f"k{n}": n for n in range(11)}, "k11": 0}),
    ("map_size", {"a": 1, "b": 2}, {"a": 1}), ("map_in_map", {"a": {"b": 1}}, {"a": {"b": 2}}),
    ("map_of_arrays", {"a": (1, 2)}, {"a": (1, 3)}), ("deep", (((1,),),), (((2,),),)), ("floats", (1.5,), (2.5,)),
    ("dtypes", (dtype(2, 32),), (dtype(2, 16),)), ("devices", (device(1),), (device(2),)),
    ("bytes", (b"more than seven",), (b"more than eight",)), ("list_length", [1, 2], [1]),
    ("pointers", (Raw(4, 8),), (Raw(4, 16),)), ("bools", (True,), (False,)), ("list_deep", [[1], [2]], [[1], [3]]),
    ("small_bytes", b"a", b"b"), ("empty_map", {}, {"a": 1}), ("later_key", {"a": 1, "b": 1}, {"a": 1, "c": 1}),
]  # fmt: skip


@structural.each("differs.{}", DEEP, "A value equals a copy of itself, with its hash, and no other one.",
                 since="0.1.11")  # fmt: skip
def differs(runtime: Runtime, left: object, right: object) -> None:
    for a, b, expected in (
        (left, left, True),
        (right, right, True),
        (left, right, False),
        (right, left, False),
    ):
        equal("equal", runtime.result("ffi.StructuralEqual", a, b, False, False), expected)
        hashes = [runtime.result("ffi.StructuralHash", each, False, False) for each in (a, b)]
        equal("same hash", hashes[0] == hashes[1], expected)
        found = runtime.call("ffi.GetFirstStructuralMismatch", a, b, False, False)
        equal("mismatch", found.type_index, 0 if expected else abi.kTVMFFIArray)


@recursive.each("differs.{}", DEEP, "RecursiveEq and RecursiveHash tell the values apart.")
def recursive_differs(runtime: Runtime, left: object, right: object) -> None:
    for a, b, expected in ((left, left, True), (left, right, False), (right, left, False)):
        equal("equal", runtime.result("ffi.RecursiveEq", a, b), expected)
        hashes = [runtime.result("ffi.RecursiveHash", each) for each in (a, b)]
        equal("same hash", hashes[0] == hashes[1], expected)


LESS = [
    ("int", -5, 3), ("float", -1.5, 1.5), ("text", "a", "b"), ("long_text", "text number 1", "text number 2"),
    ("bytes", b"a\x00", b"a\x01"), ("array", (1, 2), (1, 3)), ("shorter", (1,), (1, 0)), ("nested", ((1,), 5), ((2,), 0)),
    ("list", [1, 2], [2]), ("bool", False, True), ("none", None, 0), ("dtype_code", dtype(0, 8), dtype(2, 8)),
    ("dtype_bits", dtype(2, 16), dtype(2, 32)), ("dtype_lanes", dtype(2, 16, 1), dtype(2, 16, 2)),
    ("device_type", device(1, 5), device(2, 0)), ("device_number", device(2, 0), device(2, 1)),
]  # fmt: skip


@recursive.each("less.{}", LESS, "The four comparisons and equality agree in both directions.")
def less(runtime: Runtime, left: object, right: object) -> None:
    found = [
        [runtime.result(f"ffi.Recursive{name}", a, b) for name in ("Lt", "Le", "Gt", "Ge", "Eq")]
        for a, b in ((left, right), (right, left), (left, left))
    ]
    equal("results", found, [
        [True, True, False, False, False], [False, False, True, True, False], [False, True, False, True, True],
    ])  # fmt: skip


COPIED = [
    ("deep", (((1,), "x"), {"a": (1, {"b": 2})})), ("big_map", {f"k{n}": (n,) for n in range(12)}), ("list", [1, [2, [3]]]),
    ("dict_like", {1: [2], 3: [4]}), ("mixed", ([1], {"a": [2]}, "text of the heap", 1.5, None)),
]  # fmt: skip


@copying.each("{}.equal", COPIED, "A deep copy equals the value and shares no list.")
def copies(runtime: Runtime, value: object) -> None:
    source = runtime.any(value)
    copied = runtime.call("ffi.DeepCopy", source)
    equal("copy", runtime.python(copied), value)
    expect(copied.v_obj != source.v_obj or not _has_list(value), "expected another object")


def _has_list(value: object) -> bool:
    if isinstance(value, dict):
        return any(map(_has_list, value.values()))
    return isinstance(value, list) or (isinstance(value, tuple) and any(map(_has_list, value)))


@copying.case("shared.once", "A list that occurs twice is copied once.")
def copies_shared(runtime: Runtime) -> None:
    inner = runtime.call("ffi.List", 1)
    copied = runtime.call("ffi.DeepCopy", runtime.call("ffi.Array", inner, inner))
    handles = [runtime.call("ffi.ArrayGetItem", copied, i).v_obj for i in (0, 1)]
    equal("handles", handles[0], handles[1])
    expect(handles[0] != inner.v_obj, "expected a copy")


@copying.case("dict.cycle", "A cycle through a dict is preserved.")
def copies_dict(runtime: Runtime) -> None:
    value = runtime.call("ffi.Dict", "a", 1)
    runtime.call("ffi.DictSetItem", value, "self", value)
    copied = runtime.call("ffi.DeepCopy", value)
    expect(copied.v_obj != value.v_obj, "expected another object")
    equal("inner handle", runtime.call("ffi.DictGetItem", copied, "self").v_obj, copied.v_obj)
    equal("other value", runtime.result("ffi.DictGetItem", copied, "a"), 1)


@registering.case("field", "A registered field has the given texts, numbers and default.")
def field(runtime: Runtime) -> None:
    index = runtime.allocate("kit.Registered")
    given = abi.TVMFFIFieldInfo()
    texts = [runtime.keep(byte_array(each)) for each in (b"number", b"its doc", b'{"a": 1}')]
    given.name, given.doc, given.metadata = texts
    given.flags, given.size, given.alignment, given.offset = 0b11, 8, 8, 24
    given.field_static_type_index = abi.kTVMFFIInt
    kept = runtime.opaque(5)
    given.default_value_or_factory = view(Object(kept, 74))
    runtime.check(runtime.TVMFFITypeRegisterField(index, ctypes.byref(given)))
    for each in texts:  # the runtime has copied the texts
        ctypes.memset(each.data, ord("#"), each.size)
    equal("strong count of the default", strong(kept), 2)
    info = runtime.info(index)
    equal("number of fields", info.num_fields, 1)
    found = ctypes.cast(info.fields, ctypes.POINTER(abi.TVMFFIFieldInfo))[0]
    for name, text in (("name", b"number"), ("doc", b"its doc"), ("metadata", b'{"a": 1}')):
        equal(name, read_bytes(getattr(found, name)), text)
    numbers = (
        found.flags,
        found.size,
        found.alignment,
        found.offset,
        found.field_static_type_index,
    )
    equal("flags, size, alignment, offset, type", numbers, (0b11, 8, 8, 24, abi.kTVMFFIInt))
    equal("default", found.default_value_or_factory.v_obj, kept)


@registering.case("field.no_default", "A default without its flag is not kept.")
def no_default(runtime: Runtime) -> None:
    index = runtime.allocate("kit.NoDefault")
    given = abi.TVMFFIFieldInfo()
    given.name = runtime.keep(byte_array(b"number"))
    kept = runtime.opaque(5)
    given.default_value_or_factory = view(Object(kept, 74))
    runtime.check(runtime.TVMFFITypeRegisterField(index, ctypes.byref(given)))
    equal("strong count", strong(kept), 1)
    found = ctypes.cast(runtime.info(index).fields, ctypes.POINTER(abi.TVMFFIFieldInfo))[0]
    equal("type index of the default", found.default_value_or_factory.type_index, 0)


@registering.case("method", "A registered method has the given texts and keeps the function.")
def method(runtime: Runtime) -> None:
    index = runtime.allocate("kit.WithMethod")
    function = runtime.make(lambda views: 7)
    given = abi.TVMFFIMethodInfo()
    given.name, given.doc, given.metadata = (
        runtime.keep(byte_array(each)) for each in (b"seven", b"its doc", b"{}")
    )
    given.flags, given.method = 0, view(Object(function, 68))
    runtime.check(runtime.TVMFFITypeRegisterMethod(index, ctypes.byref(given)))
    equal("strong count", strong(function), 2)
    info = runtime.info(index)
    found = ctypes.cast(info.methods, ctypes.POINTER(abi.TVMFFIMethodInfo))[0]
    texts = [read_bytes(each) for each in (found.name, found.doc, found.metadata)]
    equal("texts", texts, [b"seven", b"its doc", b"{}"])
    equal("result", runtime.result(found.method.v_obj), 7)


@registering.case("children", "A child follows its parent in the slots; the next type follows all slots.",
                  cites="11.1")  # fmt: skip
def children(runtime: Runtime) -> None:
    parent = runtime.allocate("kit.Parent", slots=3)
    found = [runtime.allocate(f"kit.Child{n}", parent, depth=2) for n in range(3)]
    other = runtime.allocate("kit.Other")
    equal("children", found, [parent + 1, parent + 2, parent + 3])
    expect(other > parent + 3, f"expected an index after the slots of {parent}, got {other}")


@registering.case("once.threads", "Threads that initialise one handle get one value.",
                  cites="6.7", since="0.1.6")  # fmt: skip
def once_threads(runtime: Runtime) -> None:
    import time

    slot, calls = ctypes.c_void_p(), []

    def body(out: int) -> int:
        calls.append(1)
        time.sleep(0.3)
        ctypes.c_void_p.from_address(out).value = 0x1234
        return 0

    init = runtime.keep(ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(body))
    statuses: list[int] = []
    run_on_threads(
        lambda _: statuses.append(runtime.TVMFFIHandleInitOnce(ctypes.byref(slot), init))
    )
    equal("calls and value", (len(calls), slot.value), (1, 0x1234))
    equal("statuses", statuses, [0] * 4)


@registering.case("small_equals_heap", "A heap string of few bytes equals the small one as a key.",
                  cites="3", since="0.1.8")  # fmt: skip
def small_heap(runtime: Runtime) -> None:
    value = runtime.call("ffi.Map", small(b"abc"), 1, "a longer key", 2)
    equal("value", runtime.result("ffi.MapGetItem", value, "abc"), 1)
