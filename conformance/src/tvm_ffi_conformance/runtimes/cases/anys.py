# SPDX-License-Identifier: Apache-2.0
"""Cases: conversion of views to owned values, and values that travel through calls."""

from __future__ import annotations

import ctypes

from ... import abi
from ..case import Options, Topic, equal, expect
from ..subject import Runtime, byte_array, strong, text_content
from ..values import Object, Raw, bits, byte_array_view, raw_string, small, view

owned = Topic("any.owned", "3")
through = Topic("any.call", "13.1")

NAN = 0x7FF8000000000000
PLAIN = [
    ("none", Raw(abi.kTVMFFINone)),
    ("int_zero", Raw(abi.kTVMFFIInt, 0)),
    ("int_minus_one", Raw(abi.kTVMFFIInt, -1)),
    ("int_max", Raw(abi.kTVMFFIInt, 2**63 - 1)),
    ("int_min", Raw(abi.kTVMFFIInt, -(2**63))),
    ("int_2_pow_53_plus_1", Raw(abi.kTVMFFIInt, 2**53 + 1)),
    ("bool_false", Raw(abi.kTVMFFIBool, 0)),
    ("bool_true", Raw(abi.kTVMFFIBool, 1)),
    ("float_zero", view(0.0)),
    ("float_minus_zero", view(-0.0)),
    ("float_infinity", view(float("inf"))),
    ("float_smallest", Raw(abi.kTVMFFIFloat, 1)),
    ("float_quiet_nan", Raw(abi.kTVMFFIFloat, NAN)),
    ("float_nan_with_payload", Raw(abi.kTVMFFIFloat, NAN | 0xDEAD)),
    ("float_signaling_nan", Raw(abi.kTVMFFIFloat, 0x7FF0000000000001)),
    ("pointer_null", Raw(abi.kTVMFFIOpaquePtr, 0)),
    ("pointer_high", Raw(abi.kTVMFFIOpaquePtr, 0xFFFF800012345678)),
    ("dtype_float32", Raw(abi.kTVMFFIDataType, 0x12002)),
    ("dtype_scalable", Raw(abi.kTVMFFIDataType, 0xFFFC2002)),
    ("device_cpu", Raw(abi.kTVMFFIDevice, 1)),
    ("device_cuda_3", Raw(abi.kTVMFFIDevice, 2 | 3 << 32)),
    ("device_negative_id", Raw(abi.kTVMFFIDevice, 2 | 0xFFFFFFFF << 32)),
    ("small_string_empty", small(b"")),
    ("small_string_7", small(b"abcdefg")),
    ("small_bytes_empty", small(b"", abi.kTVMFFISmallBytes)),
    ("small_bytes_nuls", small(b"\0\0\0", abi.kTVMFFISmallBytes)),
    ("unchanged", Raw(abi.kTVMFFIUnchanged), Options(since="0.1.14")),
]
LENGTHS = [(f"length_{n}", n) for n in (0, 1, 6, 7, 8, 9, 100)]


@owned.each("plain.{}", PLAIN, "A plain value is copied, all 16 bytes.")
def plain(runtime: Runtime, value: Raw) -> None:
    equal("the 16 bytes", bits(runtime.owned(value)), bits(view(value)))


@through.each("argument.{}", PLAIN, "A callee gets the argument as the caller wrote it.")
def argument(runtime: Runtime, value: Raw) -> None:
    seen: list[bytes] = []
    function = runtime.make(lambda views: seen.append(bits(views[0])))
    runtime.call(function, value)
    equal("the 16 bytes that the callee saw", seen, [bits(view(value))])


@through.each("result.{}", PLAIN, "The caller gets the result as the callee wrote it.")
def result(runtime: Runtime, value: Raw) -> None:
    function = runtime.make(lambda views: view(value))
    equal("the 16 bytes of the result", bits(runtime.call(function)), bits(view(value)))


@owned.each("raw_string.{}", LENGTHS, "A raw C string becomes an owned string of the same content.")
def raw(runtime: Runtime, n: int) -> None:
    source = raw_string(b"xyzabcdefgh"[:1] * n)
    value = runtime.owned(source)
    equal("type index", value.type_index, abi.kTVMFFISmallStr if n <= 7 else abi.kTVMFFIStr)
    ctypes.memset(ctypes.addressof(source.owner), 0x21, n)
    equal("content after the source changed", text_content(value), b"x" * n)


@owned.each("byte_array.{}", LENGTHS, "A byte array becomes owned bytes of the same content.")
def array(runtime: Runtime, n: int) -> None:
    source = byte_array_view(b"\0" * n)
    value = runtime.owned(source)
    equal("type index", value.type_index, abi.kTVMFFISmallBytes if n <= 7 else abi.kTVMFFIBytes)
    ctypes.memset(source.owner[1].data, 0x21, n)
    equal("content after the source changed", text_content(value), b"\0" * n)


@owned.case("raw_string.utf8", "A raw C string is measured in bytes.")
def raw_utf8(runtime: Runtime) -> None:
    value = runtime.owned(raw_string("éééé".encode()))
    equal("type index", value.type_index, abi.kTVMFFIStr)
    equal("content", text_content(value), "éééé".encode())


@owned.case("byte_array.null_data", "`data` may be null when `size` is 0.", cites="6.1")
def null_data(runtime: Runtime) -> None:
    array = byte_array(None)
    value = runtime.owned(Raw(abi.kTVMFFIByteArrayPtr, ctypes.addressof(array)))
    equal("the 16 bytes", bits(value), bits(view(small(b"", abi.kTVMFFISmallBytes))))


def objects(runtime: Runtime) -> dict[str, abi.TVMFFIAny]:
    """Return one object of each kind that C functions make."""
    opaque = Object(runtime.opaque(), abi.kTVMFFIOpaquePyObject)
    return {
        "string": runtime.string(b"abcdefgh"),
        "bytes": runtime.bytes(b"abcdefgh"),
        "error": view(Object(runtime.error("ValueError", "m"), abi.kTVMFFIError)),
        "function": view(Object(runtime.make(lambda views: None), abi.kTVMFFIFunction)),
        "opaque": view(opaque),
        "shape": runtime.call("ffi.Shape", 1, 2),
        "array": runtime.call("ffi.Array", 1),
        "map": runtime.call("ffi.Map", 1, 2),
    }


KINDS = ["string", "bytes", "error", "function", "opaque", "shape", "array", "map"]


@owned.each("object.{}.one_more_reference", KINDS, "An object gets one more strong reference.")
def object_reference(runtime: Runtime, kind: str) -> None:
    source = objects(runtime)[kind]
    value = runtime.owned(source)
    equal("the 16 bytes", bits(value), bits(source))
    equal("strong count", strong(source.v_obj), 2)


@through.each(
    "object.{}.borrowed", KINDS, "Arguments are views: a call leaves the count unchanged."
)
def object_borrowed(runtime: Runtime, kind: str) -> None:
    source = objects(runtime)[kind]
    counts: list[int] = []
    function = runtime.make(lambda views: counts.append(strong(views[0].v_obj)))
    runtime.call(function, source)
    equal("strong count during and after the call", [*counts, strong(source.v_obj)], [1, 1])


@owned.each("rvalue.{}.moves", KINDS, "An rvalue reference moves the object and nulls the slot.")
def rvalue(runtime: Runtime, kind: str) -> None:
    source = objects(runtime)[kind]
    handle = source.v_obj
    slot = ctypes.c_void_p(handle)
    value = runtime.owned(Raw(abi.kTVMFFIObjectRValueRef, ctypes.addressof(slot)))
    equal("slot afterwards", slot.value, None)
    equal("handle", value.v_obj, handle)
    equal("type index, read from the object", value.type_index, source.type_index)
    equal("padding", value.zero_padding, 0)
    equal("strong count", strong(handle), 1)


@owned.case("rvalue.moved_already", "A slot that is null already is an InternalError.")
def moved(runtime: Runtime) -> None:
    slot = ctypes.c_void_p(None)
    with runtime.fails("InternalError", "RValueRef already moved"):
        runtime.owned(Raw(abi.kTVMFFIObjectRValueRef, ctypes.addressof(slot)))


@owned.case("rvalue.moved_already.output", "Outputs are untouched on failure.", cites="6.1")
def moved_output(runtime: Runtime) -> None:
    slot = ctypes.c_void_p(None)
    out = abi.TVMFFIAny()
    ctypes.memset(ctypes.byref(out), 0x5A, 16)
    source = view(Raw(abi.kTVMFFIObjectRValueRef, ctypes.addressof(slot)))
    status = runtime.TVMFFIAnyViewToOwnedAny(ctypes.byref(source), ctypes.byref(out))
    equal("status", status, -1)
    equal("output", bits(out), b"\x5a" * 16)


@owned.case("in_place", "View and output may be the same Any: content is read before it is written.",
            cites="6.1")  # fmt: skip
def in_place(runtime: Runtime) -> None:
    value = view(42)
    status = runtime.TVMFFIAnyViewToOwnedAny(ctypes.byref(value), ctypes.byref(value))
    equal("status", status, 0)
    equal("the 16 bytes", bits(value), bits(view(42)))


@owned.case("dl_tensor_pointer", "A DLTensor pointer is copied as it is.")
def dl_tensor(runtime: Runtime) -> None:
    tensor = abi.DLTensor()
    source = Raw(abi.kTVMFFIDLTensorPtr, ctypes.addressof(tensor))
    equal("the 16 bytes", bits(runtime.owned(source)), bits(view(source)))


@through.each("count.{}", [(str(n), n) for n in (0, 1, 2, 3, 7, 8, 16, 64, 255, 1000)],
              "The callee gets the number and the order of the arguments.")  # fmt: skip
def counts(runtime: Runtime, n: int) -> None:
    function = runtime.make(lambda views: sum((i + 1) * v.v_int64 for i, v in enumerate(views)))
    equal("weighted sum", runtime.result(function, *range(n)), sum((i + 1) * i for i in range(n)))


@through.case(
    "result.previous_plain_value", "The callee may find a plain value in the result slot."
)
def previous(runtime: Runtime) -> None:
    function = runtime.make(lambda views: 5)
    out = view(7)
    runtime.check(runtime.TVMFFIFunctionCall(function, None, 0, ctypes.byref(out)))
    equal("result", bits(out), bits(view(5)))


@through.case("result.object_in_slot", "A typed callee refuses a result slot that holds an object.")
def object_in_slot(runtime: Runtime) -> None:
    out = runtime.string(b"abcdefgh")
    arguments = (abi.TVMFFIAny * 1)(runtime.call("ffi.Array", 1))
    status = runtime.TVMFFIFunctionCall(
        runtime.function("ffi.ArraySize"), arguments, 1, ctypes.byref(out)
    )
    with runtime.fails("InternalError"):
        runtime.check(status)


@through.case(
    "handle.passed", "TVMFFIFunctionCall passes the function handle to safe_call.", cites="6.4"
)
def handle_passed(runtime: Runtime) -> None:
    seen: list[int] = []

    def body(views: list) -> None:
        seen.append(len(views))

    handle = runtime.make(body)
    runtime.call(handle, 1, 2)
    equal("calls", seen, [2])
    expect(strong(handle) == 1, "the call changed the reference count of the function")
