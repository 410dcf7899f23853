# SPDX-License-Identifier: Apache-2.0
"""Cases: function objects, the global table, reference counts, one-time handles."""

from __future__ import annotations

import ctypes
import threading

from ... import abi
from ..case import Options, Topic, equal, run_on_threads
from ..subject import (
    DELETER,
    OBJECT_DELETER,
    SAFE_CALL,
    Runtime,
    Status,
    byte_array,
    cell,
    header,
    strong,
    weak,
)  # fmt: skip
from ..values import (
    Object,
    Raw,
    bits,
    byte_array_view,
    device,
    dtype,
    pointer,
    raw_string,
    small,
    view,
)

function = Topic("function", "13.2")
table = Topic("function.global", "6.4")
objects = Topic("object", "4.2")
once = Topic("once", "6.7", since="0.1.6")
convert = Topic("convert", "3")


@function.each("create.self.{}", [("null", None), ("one", 1), ("high", 0x7FFF12345678)],
               "safe_call gets `self` as its first argument.")  # fmt: skip
def self_passed(runtime: Runtime, owner: int | None) -> None:
    seen: list = []
    call = SAFE_CALL(lambda handle, args, count, result: seen.append(handle) or 0)
    deleter = DELETER(lambda handle: None)
    runtime.call(runtime.create(runtime.keep(call), owner, deleter))
    equal("first argument", seen, [owner])


@function.case("create.no_self_no_deleter", "Without self and deleter safe_call gets the handle.")
def no_self(runtime: Runtime) -> None:
    seen: list = []
    call = runtime.keep(SAFE_CALL(lambda handle, args, count, result: seen.append(handle) or 0))
    handle = runtime.create(call, None)
    runtime.call(handle)
    equal("first argument", seen, [handle])


@function.case("create.cpp_call_null", "cpp_call is null.", since="0.1.8")
def cpp_call(runtime: Runtime) -> None:
    handle = runtime.make(lambda views: None)
    equal("cpp_call", cell(abi.TVMFFIFunctionCell, handle).cpp_call, None)


@function.case("create.header", "A function has the index 68 and one reference.", cites="8")
def create_header(runtime: Runtime) -> None:
    handle = runtime.make(lambda views: None)
    equal("type index", header(handle).type_index, abi.kTVMFFIFunction)
    equal("combined count", header(handle).combined_ref_count, abi.REFERENCE_COUNT["Initial"])


@function.case(
    "create.safe_call_callable", "The safe_call in the cell is called with the handle.", cites="8.1"
)
def safe_call(runtime: Runtime) -> None:
    handle = runtime.make(lambda views: views[0].v_int64 + 1)
    call = SAFE_CALL(cell(abi.TVMFFIFunctionCell, handle).safe_call)
    argument, out = view(41), view(None)
    runtime.check(call(handle, ctypes.addressof(argument), 1, ctypes.addressof(out)))
    equal("result", bits(out), bits(view(42)))


@function.each("deleter.{}", [("once", 1, 1), ("not_early", 2, 0), ("after_last_of_three", 3, 1)],
               "deleter(self) runs when the strong count reaches 0.")  # fmt: skip
def deleter_runs(runtime: Runtime, references: int, expected: int) -> None:
    seen: list = []
    call = runtime.keep(SAFE_CALL(lambda handle, args, count, result: 0))
    handle = runtime.create(call, 0x99, DELETER(seen.append))
    for _ in range(references - 1):
        runtime.TVMFFIObjectIncRef(handle)
    for _ in range(references if expected else references - 1):
        runtime.TVMFFIObjectDecRef(handle)
    equal("calls of the deleter", seen, [0x99] * expected)


@function.case("deleter.without_self", "A deleter is called with null if self is null.")
def deleter_without_self(runtime: Runtime) -> None:
    seen: list = []
    call = runtime.keep(SAFE_CALL(lambda handle, args, count, result: 0))
    runtime.TVMFFIObjectDecRef(runtime.create(call, None, DELETER(seen.append)))
    equal("calls of the deleter", seen, [None])


@function.each("status.{}", [("minus_2", -2), ("7", 7), ("1", 1)], "FunctionCall returns the status of the callee.",
               cites="6.4")  # fmt: skip
def status(runtime: Runtime, code: int) -> None:
    out = view(None)
    handle = runtime.make(lambda views: Status(code))
    equal("status", runtime.TVMFFIFunctionCall(handle, None, 0, ctypes.byref(out)), code)


@function.each("nested.{}", [(f"depth_{n}", n) for n in (1, 2, 10, 50)], "A callee may call functions.",
               cites="abi-overview.rst#Call Function")  # fmt: skip
def nested(runtime: Runtime, depth: int) -> None:
    handle = 0

    def body(views: list) -> int:
        left = views[0].v_int64
        return 1 + runtime.result(handle, left - 1) if left else 0

    handle = runtime.make(body)
    equal("result", runtime.result(handle, depth), depth)


@function.case("error.result_untouched", "The result is left as it is on an error.", cites="13.1")
def error_result(runtime: Runtime) -> None:
    def body(views: list) -> Status:
        runtime.TVMFFIErrorSetRaisedFromCStr(b"ValueError", b"m")
        return Status(-1)

    out = view(77)
    equal("status", runtime.TVMFFIFunctionCall(runtime.make(body), None, 0, ctypes.byref(out)), -1)
    equal("result", bits(out), bits(view(77)))


@function.case("threads", "A function may be called from several threads at once.", cites="6.1")
def threads(runtime: Runtime) -> None:
    handle = runtime.make(lambda views: views[0].v_int64 * 2)
    wrong: list = []

    def run(index: int) -> None:
        for number in range(1000 * index, 1000 * index + 200):
            if runtime.result(handle, number) != 2 * number:
                wrong.append(number)

    run_on_threads(run)
    equal("wrong results", wrong, [])
    equal("strong count", strong(handle), 1)


def set_global(runtime: Runtime, name: bytes, handle: int, override: int = 0) -> None:
    """Register a global function."""
    runtime.check(runtime.TVMFFIFunctionSetGlobal(ctypes.byref(byte_array(name)), handle, override))


NAMES = [("ascii", b"kit.f"), ("empty", b""), ("utf8", "kit.größe".encode()), ("long", b"k" * 4096),
         ("spaces", b"a b c"), ("of_7_bytes", b"seven_b"), ("of_8_bytes", b"eight_by"),
         ("nul_inside", b"a\0b")]  # fmt: skip


@table.each("name.{}", NAMES, "A name is any text; it need not end with NUL.")
def names(runtime: Runtime, name: bytes) -> None:
    handle = runtime.make(lambda views: None)
    set_global(runtime, name, handle)
    out = ctypes.c_void_p()
    runtime.check(
        runtime.TVMFFIFunctionGetGlobal(ctypes.byref(byte_array(name)), ctypes.byref(out))
    )
    equal("handle", out.value, handle)


@table.case("get.missing", "A missing name succeeds with null.")
def missing(runtime: Runtime) -> None:
    out = ctypes.c_void_p(0x55)
    status = runtime.TVMFFIFunctionGetGlobal(
        ctypes.byref(byte_array(b"kit.none")), ctypes.byref(out)
    )
    equal("status and handle", (status, out.value), (0, None))
    equal("pending error", runtime.raised(), None)


@table.case("get.new_reference", "Each lookup returns a new reference.",
            cites="abi-overview.rst#Global Registry")  # fmt: skip
def get_reference(runtime: Runtime) -> None:
    handle = runtime.make(lambda views: None)
    set_global(runtime, b"kit.f", handle)
    before = strong(handle)
    runtime.find("kit.f")
    equal("strong count", strong(handle), before + 1)


@table.case("set.reference", "The table takes its own reference.")
def set_reference(runtime: Runtime) -> None:
    handle = runtime.make(lambda views: None)
    set_global(runtime, b"kit.f", handle)
    equal("strong count", strong(handle), 2)


@table.case("set.duplicate", "A second registration without override is a RuntimeError.")
def duplicate(runtime: Runtime) -> None:
    first, second = (runtime.make(lambda views: None) for _ in range(2))
    set_global(runtime, b"kit.f", first)
    with runtime.fails("RuntimeError", "Global Function `kit.f` is already registered"):
        set_global(runtime, b"kit.f", second)
    equal("handle", runtime.find("kit.f"), first)
    equal("strong count of the refused function", strong(second), 1)


@table.case("set.override", "With override the new function replaces the old one.")
def override(runtime: Runtime) -> None:
    first, second = (runtime.make(lambda views: None) for _ in range(2))
    set_global(runtime, b"kit.f", first)
    set_global(runtime, b"kit.f", second, 1)
    equal("handle", runtime.find("kit.f"), second)


@table.case("remove", "FunctionRemoveGlobal removes a name.", cites="16.1")
def remove(runtime: Runtime) -> None:
    set_global(runtime, b"kit.f", runtime.make(lambda views: None))
    equal("result", runtime.result("ffi.FunctionRemoveGlobal", "kit.f"), True)
    equal("handle afterwards", runtime.find("kit.f"), None)


@table.case("remove.missing", "FunctionRemoveGlobal gives false for a missing name.", cites="16.1")
def remove_missing(runtime: Runtime) -> None:
    equal("result", runtime.result("ffi.FunctionRemoveGlobal", "kit.none"), False)


@table.case("remove.again", "A removed name may be registered again.", cites="16.1")
def remove_again(runtime: Runtime) -> None:
    for _ in range(3):
        set_global(runtime, b"kit.f", runtime.make(lambda views: None))
        runtime.call("ffi.FunctionRemoveGlobal", "kit.f")
    equal("handle afterwards", runtime.find("kit.f"), None)


def method_info(
    name: bytes, handle: int, metadata: bytes = b"", doc: bytes = b""
) -> abi.TVMFFIMethodInfo:
    """Return the information of a method."""
    info = abi.TVMFFIMethodInfo(byte_array(name), byte_array(doc), byte_array(metadata), 4)
    info.kept = [
        info.name,
        info.doc,
        info.metadata,
        *(byte_array(each) for each in (name, doc, metadata)),
    ]
    for field, array in zip(("name", "doc", "metadata"), info.kept[3:]):
        setattr(info, field, array)
    info.method = view(Object(handle, abi.kTVMFFIFunction))
    return info


@table.case("method_info.registers", "SetGlobalFromMethodInfo registers with metadata.")
def from_method(runtime: Runtime) -> None:
    handle = runtime.make(lambda views: 5)
    info = method_info(b"kit.m", handle, b'{"k": 1}', b"doc")
    runtime.check(runtime.TVMFFIFunctionSetGlobalFromMethodInfo(ctypes.byref(info), 0))
    equal("handle", runtime.find("kit.m"), handle)
    equal("metadata", runtime.result("ffi.GetGlobalFuncMetadata", "kit.m"), '{"k": 1}')


@table.case("method_info.duplicate", "A duplicate is a RuntimeError.")
def from_method_twice(runtime: Runtime) -> None:
    info = method_info(b"kit.m", runtime.make(lambda views: 5))
    runtime.check(runtime.TVMFFIFunctionSetGlobalFromMethodInfo(ctypes.byref(info), 0))
    with runtime.fails("RuntimeError", "kit.m"):
        runtime.check(runtime.TVMFFIFunctionSetGlobalFromMethodInfo(ctypes.byref(info), 0))


@table.case("method_info.override", "With override the function is replaced.")
def from_method_override(runtime: Runtime) -> None:
    first, second = (runtime.make(lambda views: None) for _ in range(2))
    for handle in (first, second):
        info = method_info(b"kit.m", handle)
        runtime.check(runtime.TVMFFIFunctionSetGlobalFromMethodInfo(ctypes.byref(info), 1))
    equal("handle", runtime.find("kit.m"), second)


@table.case("metadata.empty", "SetGlobal leaves the metadata empty.")
def empty_metadata(runtime: Runtime) -> None:
    set_global(runtime, b"kit.f", runtime.make(lambda views: None))
    equal("metadata", runtime.result("ffi.GetGlobalFuncMetadata", "kit.f"), "")


@objects.case("increment", "IncRef adds one strong reference.")
def increment(runtime: Runtime) -> None:
    handle = runtime.opaque()
    equal("status", runtime.TVMFFIObjectIncRef(handle), 0)
    equal("strong and weak", (strong(handle), weak(handle)), (2, 1))


@objects.case("decrement.null", "DecRef of null succeeds.", cites="6.2")
def decrement_null(runtime: Runtime) -> None:
    equal("status", runtime.TVMFFIObjectDecRef(None), 0)


@objects.case("opaque.cell", "The cell holds the handle.", cites="8")
def opaque_cell(runtime: Runtime) -> None:
    handle = runtime.opaque(0xABCD)
    equal("handle in the cell", cell(abi.TVMFFIOpaqueObjectCell, handle).handle, 0xABCD)
    equal("type index", header(handle).type_index, abi.kTVMFFIOpaquePyObject)
    equal("combined count", header(handle).combined_ref_count, abi.REFERENCE_COUNT["Initial"])


@objects.case(
    "opaque.deleter", "deleter(handle) runs when the strong count reaches 0.", cites="6.2"
)
def opaque_deleter(runtime: Runtime) -> None:
    seen: list = []
    handle = runtime.opaque(0xABCD, DELETER(seen.append))
    runtime.TVMFFIObjectIncRef(handle)
    runtime.TVMFFIObjectDecRef(handle)
    equal("calls before the last release", seen, [])
    runtime.TVMFFIObjectDecRef(handle)
    equal("calls", seen, [0xABCD])


@objects.case("opaque.no_deleter", "The deleter may be null.", cites="6.2")
def opaque_without(runtime: Runtime) -> None:
    equal("status", runtime.TVMFFIObjectDecRef(runtime.opaque()), 0)


@objects.each("opaque.index_{}", [(str(n), n) for n in (0, 1, 64, 65, 68, 73, 75, 128, 1000)],
              "Any index but 74 is a RuntimeError.", cites="6.2")  # fmt: skip
def opaque_index(runtime: Runtime, index: int) -> None:
    out = ctypes.c_void_p()
    with runtime.fails("RuntimeError"):
        runtime.check(runtime.TVMFFIObjectCreateOpaque(1, index, None, ctypes.byref(out)))


def foreign(runtime: Runtime, count: int, seen: list) -> abi.TVMFFIObject:
    """Return an object that the kit allocates and whose deleter records its flags."""
    made = runtime.keep(abi.TVMFFIObject(count, abi.kTVMFFIObject))
    callback = runtime.keep(OBJECT_DELETER(lambda handle, flags: seen.append((handle, flags))))
    made.deleter = ctypes.cast(callback, ctypes.c_void_p).value
    return made


WEAK = 1 << 32
COUNTS = [
    ("last_of_all", WEAK + 1, 1, [3], None),
    ("two_strong", WEAK + 2, 1, [], WEAK + 1),
    ("weak_remains", 2 * WEAK + 1, 1, [1], WEAK),
    ("two_weak_remain", 3 * WEAK + 1, 1, [1], 2 * WEAK),
    ("both_of_two", WEAK + 2, 2, [3], None),
    ("many", WEAK + 1000, 999, [], WEAK + 1),
]  # fmt: skip


@objects.each("protocol.{}", COUNTS, "The deleter gets flags 3, or 1 while weak references remain.")
def protocol(runtime: Runtime, count: int, releases: int, flags: list, left: int | None) -> None:
    seen: list = []
    made = foreign(runtime, count, seen)
    address = ctypes.addressof(made)
    for _ in range(releases):
        runtime.TVMFFIObjectDecRef(address)
    equal("deleter calls", seen, [(address, each) for each in flags])
    if left is not None:
        equal("combined count", made.combined_ref_count, left)


@objects.case("protocol.null_deleter", "A null deleter is skipped.")
def null_deleter(runtime: Runtime) -> None:
    made = abi.TVMFFIObject(WEAK + 1, abi.kTVMFFIObject)
    equal("status", runtime.TVMFFIObjectDecRef(ctypes.addressof(made)), 0)


@objects.case(
    "protocol.count_during_deletion", "During the call with flags 3 the counter reads 2^32."
)
def during(runtime: Runtime) -> None:
    seen: list = []
    made = abi.TVMFFIObject(WEAK + 1, abi.kTVMFFIObject)
    callback = OBJECT_DELETER(lambda handle, flags: seen.append(made.combined_ref_count))
    made.deleter = ctypes.cast(callback, ctypes.c_void_p).value
    runtime.TVMFFIObjectDecRef(ctypes.addressof(made))
    equal("counter", seen, [WEAK])


@objects.case("threads", "Reference counts are atomic.", cites="6.1")
def count_threads(runtime: Runtime) -> None:
    handle = runtime.opaque()

    def run(_: int) -> None:
        for _ in range(3000):
            runtime.TVMFFIObjectIncRef(handle)
            runtime.TVMFFIObjectDecRef(handle)

    run_on_threads(run)
    equal("combined count", header(handle).combined_ref_count, WEAK + 1)


INIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_void_p))
DEINIT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)


def initializer(runtime: Runtime, status: int, value: int | None, calls: list) -> object:
    """Return an init function that gives `value` and `status`."""

    def init(out: object) -> int:
        calls.append(1)
        out[0] = value
        return status

    return runtime.keep(INIT(init))


@once.each("init.{}", [("first", None, [1], 0x77), ("already_set", 0x55, [], 0x55)],
           "init runs if and only if the slot is null.")  # fmt: skip
def init(runtime: Runtime, before: int | None, calls: list, after: int) -> None:
    seen: list = []
    slot = ctypes.c_void_p(before)
    runtime.check(
        runtime.TVMFFIHandleInitOnce(ctypes.byref(slot), initializer(runtime, 0, 0x77, seen))
    )
    equal("calls and slot", (seen, slot.value), (calls, after))


@once.each("init.status_{}", [("7", 7), ("minus_1", -1), ("minus_2", -2)],
           "A status other than 0 is returned unchanged; the slot stays null.")  # fmt: skip
def init_status(runtime: Runtime, status: int) -> None:
    slot = ctypes.c_void_p()
    got = runtime.TVMFFIHandleInitOnce(ctypes.byref(slot), initializer(runtime, status, 0x77, []))
    equal("status and slot", (got, slot.value), (status, None))


@once.case("init.null_result", "Success with a null result is a RuntimeError.")
def init_null(runtime: Runtime) -> None:
    slot = ctypes.c_void_p()
    with runtime.fails("RuntimeError", "init_func must return a non-NULL handle"):
        runtime.check(
            runtime.TVMFFIHandleInitOnce(ctypes.byref(slot), initializer(runtime, 0, None, []))
        )


@once.case("init.retry", "After a failure the next call runs init again.")
def init_retry(runtime: Runtime) -> None:
    slot = ctypes.c_void_p()
    runtime.TVMFFIHandleInitOnce(ctypes.byref(slot), initializer(runtime, 7, None, []))
    runtime.check(
        runtime.TVMFFIHandleInitOnce(ctypes.byref(slot), initializer(runtime, 0, 0x66, []))
    )
    equal("slot", slot.value, 0x66)


@once.case("init.threads", "init runs once for several threads.")
def init_threads(runtime: Runtime) -> None:
    calls: list = []
    slot = ctypes.c_void_p()
    start = threading.Barrier(4)
    function = initializer(runtime, 0, 0x77, calls)

    def run(_: int) -> None:
        start.wait()
        runtime.TVMFFIHandleInitOnce(ctypes.byref(slot), function)

    run_on_threads(run)
    equal("calls and slot", (len(calls), slot.value), (1, 0x77))


@once.each("deinit.{}", [("set", 0x77, [0x77], 0), ("null", None, [], 0), ("status", 0x77, [0x77], 9)],
           "deinit gets the old value; the slot becomes null.")  # fmt: skip
def deinit(runtime: Runtime, before: int | None, calls: list, status: int) -> None:
    seen: list = []
    function = DEINIT(lambda handle: seen.append(handle) or status)
    slot = ctypes.c_void_p(before)
    got = runtime.TVMFFIHandleDeinitOnce(ctypes.byref(slot), function)
    equal("status, calls, slot", (got, seen, slot.value), (status, calls, None))


@once.case("deinit.again", "A second deinit does nothing.")
def deinit_again(runtime: Runtime) -> None:
    seen: list = []
    function = DEINIT(lambda handle: seen.append(handle) or 0)
    slot = ctypes.c_void_p(0x77)
    for _ in range(2):
        runtime.TVMFFIHandleDeinitOnce(ctypes.byref(slot), function)
    equal("calls", seen, [0x77])


# --- Conversion of arguments by typed functions: the table of section 3.
# Values by name; the functions make the values that need the runtime.
SOURCES = {
    "None": lambda rt: None, "Int": lambda rt: 0, "Bool": lambda rt: False, "Float": lambda rt: 0.0,
    "OpaquePtr": lambda rt: pointer(16), "DataType": lambda rt: dtype(2, 32), "Device": lambda rt: device(1),
    "DLTensorPtr": lambda rt: Raw(abi.kTVMFFIDLTensorPtr, ctypes.addressof(rt.keep(abi.DLTensor()))),
    "RawStr": lambda rt: raw_string(b"kit"), "ByteArrayPtr": lambda rt: byte_array_view(b"kit"),
    "SmallStr": lambda rt: small(b"kit"), "Str": lambda rt: rt.string(b"kit kit kit"),
    "SmallBytes": lambda rt: small(b"kit", abi.kTVMFFISmallBytes), "Bytes": lambda rt: rt.bytes(b"kit kit kit"),
    "Array": lambda rt: rt.call("ffi.Array"), "List": lambda rt: rt.call("ffi.List"),
    "Map": lambda rt: rt.call("ffi.Map"), "Dict": lambda rt: rt.call("ffi.Dict"),
    "Shape": lambda rt: rt.call("ffi.Shape"),
    "Function": lambda rt: Object(rt.make(lambda views: None), abi.kTVMFFIFunction),
    "Error": lambda rt: Object(rt.error("E", "m"), abi.kTVMFFIError),
    "Opaque": lambda rt: Object(rt.opaque(), abi.kTVMFFIOpaquePyObject),
}  # fmt: skip
NEW_SOURCES = {"List", "Dict"}
# Target type: the function that has such a parameter, arguments before it, accepted sources, level.
TARGETS = {
    "int": ("ffi.ListReserve", lambda rt: [rt.call("ffi.List")], {"Int", "Bool"}, "0.1.16"),
    "bool": ("ffi.StructuralHash", lambda rt: [1, False], {"Int", "Bool"}, "0.1.0"),
    "String": ("ffi.String", lambda rt: [], {"RawStr", "SmallStr", "Str"}, "0.1.0"),
    "Bytes": ("ffi.Bytes", lambda rt: [], {"ByteArrayPtr", "SmallBytes", "Bytes"}, "0.1.0"),
    "Array": ("ffi.ArraySize", lambda rt: [], {"Array"}, "0.1.0"),
    "List": ("ffi.ListSize", lambda rt: [], {"List"}, "0.1.9"),
    "Map": ("ffi.MapSize", lambda rt: [], {"Map"}, "0.1.0"),
    "Dict": ("ffi.DictSize", lambda rt: [], {"Dict"}, "0.1.9"),
    "void_pointer": ("ffi.FunctionFromExternC", lambda rt: [1, 2][:0], {"OpaquePtr", "None"}, "0.1.10"),
    "OptionalInt": ("ffi.json.Stringify", lambda rt: [1], {"Int", "Bool", "None"}, "0.1.1"),
}  # fmt: skip
REST = {"ffi.FunctionFromExternC": (pointer(16), None)}


def conversion_rows() -> list[tuple]:
    """Return one row for each pair of target and source."""
    rows = []
    for target, (name, before, accepted, since) in TARGETS.items():
        for source in SOURCES:
            if source == "None" and target in ("Array", "List", "Map", "Dict"):
                continue  # a null container reaches the function; its behaviour is not specified
            level = max(since, "0.1.9") if source in NEW_SOURCES and len(since) < 6 else since
            rows.append(
                (
                    f"{source}_to_{target}",
                    name,
                    before,
                    source,
                    source in accepted,
                    Options(since=level),
                )
            )
    return rows


@convert.each("{}", conversion_rows(), "A typed function accepts the sources of the table only.")
def conversions(runtime: Runtime, name: str, before: object, source: str, accepted: bool) -> None:
    runtime.function(name)
    value = SOURCES[source](runtime)
    arguments = [*before(runtime), value, *REST.get(name, ())]
    if accepted:
        runtime.call(name, *arguments)
        return
    with runtime.fails("TypeError", starts="Mismatched type on argument #"):
        runtime.call(name, *arguments)


@convert.each("truth.{}", [("zero", 0, False), ("two", 2, True), ("minus_one", -1, True)],
              "An integer converts to bool: non-zero is true.")  # fmt: skip
def truth(runtime: Runtime, value: int, expected: bool) -> None:
    runtime.function("ffi.StructuralEqual")
    equal("accepted", runtime.result("ffi.StructuralEqual", 1, 1, value, expected), True)


@convert.each(
    "bool_index.{}", [("false", False, 10), ("true", True, 20)], "A bool converts to int."
)
def bool_index(runtime: Runtime, index: bool, expected: int) -> None:
    equal("element", runtime.result("ffi.ArrayGetItem", (10, 20), index), expected)
