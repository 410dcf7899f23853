# SPDX-License-Identifier: Apache-2.0
"""Cases: tensors: import from DLPack, export, views, allocation; streams and allocators."""

from __future__ import annotations

import ctypes
import threading

from ... import abi
from ..case import Topic, equal, expect
from ..subject import DELETER, Runtime, byte_array, cell, header, strong
from ..values import Managed

tensors = Topic("tensor", "6.8")
streams = Topic("env.stream", "6.9")
allocators = Topic("env.allocator", "6.9")
environment = Topic("env", "6.9")

BOTH = [("dlpack", False), ("versioned", True)]
LAYOUTS = [
    ("0_dim", (), None), ("1_dim", (5,), None), ("2_dim", (2, 3), None), ("empty", (0,), None),
    ("empty_inside", (2, 0, 3), None), ("4_dim", (2, 3, 4, 5), None), ("16_dim", (1,) * 16, None),
    ("64_dim", (1,) * 64, None), ("given_compact", (2, 3), (3, 1)), ("transposed", (2, 3), (1, 2)),
    ("stride_0", (2, 3), (0, 1)), ("negative", (2, 3), (-3, 1)), ("gap", (2, 3), (8, 2)),
    ("unit_extent", (1, 3), (99, 1)),
]  # fmt: skip
DTYPES = [
    ("int8", (0, 8, 1)), ("uint64", (1, 64, 1)), ("float16", (2, 16, 1)), ("bfloat16", (4, 16, 1)),
    ("bool", (6, 8, 1)), ("float8_e4m3fn", (10, 8, 1)), ("float4x2", (17, 4, 2)), ("float32x4", (2, 32, 4)),
    ("complex64", (5, 64, 1)), ("handle", (3, 64, 1)),
]  # fmt: skip
DEVICES = [
    ("cpu", (1, 0)),
    ("cuda_3", (2, 3)),
    ("rocm", (10, 0)),
    ("ext", (12, 7)),
    ("trn", (18, 0)),
]


def take(runtime: Runtime, source: Managed, alignment: int = 0, contiguous: int = 0) -> int:
    """Return the tensor that the runtime makes of a managed tensor."""
    versioned = isinstance(source.struct, abi.DLManagedTensorVersioned)
    name = "TVMFFITensorFromDLPackVersioned" if versioned else "TVMFFITensorFromDLPack"
    out = ctypes.c_void_p()
    runtime.keep(source)
    runtime.check(getattr(runtime, name)(source.address, alignment, contiguous, ctypes.byref(out)))
    expect(out.value, f"{name}: expected a handle, got null")
    return out.value


def compact(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return the strides of a compact row-major tensor."""
    strides, step = [], 1
    for extent in reversed(shape):
        strides.insert(0, step)
        step *= extent
    return tuple(strides)


def numbers(address: int | None, count: int) -> tuple[int, ...]:
    """Return `count` 64-bit integers at an address."""
    return tuple((ctypes.c_int64 * count).from_address(address)) if count and address else ()


for _kind, _versioned in BOTH:

    @tensors.each(
        f"from_{_kind}.layout.{{}}", LAYOUTS, "Shape and strides; null strides are computed."
    )
    def layout(
        runtime: Runtime, shape: tuple, strides: tuple | None, versioned: bool = _versioned
    ) -> None:
        tensor = cell(abi.DLTensor, take(runtime, Managed(shape, strides, versioned=versioned)))
        equal("dimensions", tensor.ndim, len(shape))
        equal("shape", numbers(tensor.shape, len(shape)), shape)
        if 0 not in shape:  # an empty tensor has no element that strides could place
            equal("strides", numbers(tensor.strides, len(shape)), strides or compact(shape))

    @tensors.each(f"from_{_kind}.dtype.{{}}", DTYPES, "The data type is kept.")
    def data_type(runtime: Runtime, dtype: tuple, versioned: bool = _versioned) -> None:
        tensor = cell(abi.DLTensor, take(runtime, Managed(dtype=dtype, versioned=versioned)))
        equal("dtype", (tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes), dtype)

    @tensors.each(f"from_{_kind}.device.{{}}", DEVICES, "The device is kept.")
    def device(runtime: Runtime, where: tuple, versioned: bool = _versioned) -> None:
        tensor = cell(abi.DLTensor, take(runtime, Managed(device=where, versioned=versioned)))
        equal("device", (tensor.device.device_type, tensor.device.device_id), where)

    @tensors.case(f"from_{_kind}.data", "Data pointer and byte offset are kept.")
    def data(runtime: Runtime, versioned: bool = _versioned) -> None:
        source = Managed(byte_offset=64, versioned=versioned)
        tensor = cell(abi.DLTensor, take(runtime, source))
        equal("data and byte_offset", (tensor.data, tensor.byte_offset), (source.aligned, 64))

    @tensors.case(f"from_{_kind}.header", "A tensor has the index 70 and one reference.", cites="8")
    def tensor_header(runtime: Runtime, versioned: bool = _versioned) -> None:
        handle = take(runtime, Managed(versioned=versioned))
        equal("type index", header(handle).type_index, abi.kTVMFFITensor)
        equal("combined count", header(handle).combined_ref_count, abi.REFERENCE_COUNT["Initial"])

    @tensors.case(f"from_{_kind}.deleter", "The source is deleted once, with the tensor.")
    def deleter(runtime: Runtime, versioned: bool = _versioned) -> None:
        source = Managed(versioned=versioned)
        handle = take(runtime, source)
        equal("calls of the deleter before", source.deleted, 0)
        runtime.TVMFFIObjectDecRef(handle)
        equal("calls of the deleter", source.deleted, 1)

    ALIGNMENTS = [
        ("aligned_64", 64, {}, True), ("misaligned_64", 64, {"misalign": 4}, False),
        ("off_by_4_need_4", 4, {"misalign": 4}, True), ("offset_counts", 64, {"byte_offset": 32}, False),
        ("offset_repairs", 64, {"byte_offset": 60, "misalign": 4}, True),
        ("zero_means_none", 0, {"misalign": 1}, True), ("one", 1, {"misalign": 1}, True),
        ("cuda_misaligned", 256, {"misalign": 4, "device": (2, 0)}, False),
        ("opencl_offset_only", 64, {"misalign": 4, "device": (4, 0)}, True),
        ("opencl_offset", 64, {"byte_offset": 4, "device": (4, 0)}, False),
    ]  # fmt: skip

    @tensors.each(
        f"from_{_kind}.alignment.{{}}", ALIGNMENTS, "A misaligned tensor is a RuntimeError."
    )
    def alignment(
        runtime: Runtime, need: int, options: dict, accepted: bool, versioned: bool = _versioned
    ) -> None:
        source = Managed(versioned=versioned, **options)
        if accepted:
            take(runtime, source, need)
            return
        with runtime.fails("RuntimeError", f"FromDLPack: Data is not aligned to {need} bytes."):
            take(runtime, source, need)
        equal("calls of the deleter: the caller keeps ownership", source.deleted, 0)

    CONTIGUOUS = [
        ("null_strides", (2, 3), None, True), ("compact", (2, 3), (3, 1), True),
        ("transposed", (2, 3), (1, 2), False), ("gap", (2, 3), (8, 1), False),
        ("unit_extent_stride", (1, 3), (99, 1), True), ("0_dim", (), (), True),
        ("stride_0", (2, 3), (0, 1), False), ("column", (3, 1), (1, 7), True),
    ]  # fmt: skip

    @tensors.each(f"from_{_kind}.contiguous.{{}}", CONTIGUOUS, "Another layout is a RuntimeError.")
    def contiguous(
        runtime: Runtime,
        shape: tuple,
        strides: tuple | None,
        accepted: bool,
        versioned: bool = _versioned,
    ) -> None:
        source = Managed(shape, strides, versioned=versioned)
        if accepted:
            take(runtime, source, 0, 1)
            return
        with runtime.fails("RuntimeError", "FromDLPack: Tensor is not contiguous."):
            take(runtime, source, 0, 1)
        equal("calls of the deleter: the caller keeps ownership", source.deleted, 0)

    def export(runtime: Runtime, handle: int, versioned: bool) -> object:
        """Return the managed struct of a tensor."""
        name = "TVMFFITensorToDLPackVersioned" if versioned else "TVMFFITensorToDLPack"
        out = ctypes.c_void_p()
        runtime.check(getattr(runtime, name)(handle, ctypes.byref(out)))
        expect(out.value, f"{name}: expected a struct, got null")
        struct = abi.DLManagedTensorVersioned if versioned else abi.DLManagedTensor
        return struct.from_address(out.value)

    @tensors.each(f"to_{_kind}.layout.{{}}", LAYOUTS, "The exported struct describes the tensor.",
                  cites="abi-overview.rst#Export Tensor to DLPack")  # fmt: skip
    def to_layout(
        runtime: Runtime, shape: tuple, strides: tuple | None, versioned: bool = _versioned
    ) -> None:
        source = Managed(shape, strides)
        tensor = export(runtime, take(runtime, source), versioned).dl_tensor
        equal("data", tensor.data, source.aligned)
        equal("shape", numbers(tensor.shape, tensor.ndim), shape)
        if 0 not in shape:
            equal("strides", numbers(tensor.strides, tensor.ndim), strides or compact(shape))

    @tensors.case(
        f"to_{_kind}.reference", "The export holds one reference; its deleter releases it."
    )
    def to_reference(runtime: Runtime, versioned: bool = _versioned) -> None:
        handle = take(runtime, Managed())
        made = export(runtime, handle, versioned)
        equal("strong count with the export", strong(handle), 2)
        DELETER(made.deleter)(ctypes.addressof(made))
        equal("strong count after its deleter", strong(handle), 1)

    @tensors.case(f"to_{_kind}.outlives", "The export outlives the tensor handle.")
    def to_outlives(runtime: Runtime, versioned: bool = _versioned) -> None:
        source = Managed()
        handle = take(runtime, source)
        made = export(runtime, handle, versioned)
        runtime.TVMFFIObjectDecRef(handle)
        equal("calls of the source's deleter", source.deleted, 0)
        DELETER(made.deleter)(ctypes.addressof(made))
        equal("calls of the source's deleter afterwards", source.deleted, 1)


@tensors.case("to_versioned.version", "The version is 1.x and the flags are 0.")
def version(runtime: Runtime) -> None:
    made = export(runtime, take(runtime, Managed()), True)
    equal("major and flags", (made.version.major, made.flags), (1, 0))


@tensors.each("from_versioned.flags.{}", [("read_only", 1, True), ("copied", 2, True), ("padded", 4, False)],
              "Padded sub-byte types are a RuntimeError.")  # fmt: skip
def flags(runtime: Runtime, value: int, accepted: bool) -> None:
    source = Managed(flags=value)
    if accepted:
        take(runtime, source)
        return
    with runtime.fails("RuntimeError"):
        take(runtime, source)
    equal("calls of the deleter", source.deleted, 0)


def unsafe_view(runtime: Runtime, source: int, prototype: abi.DLTensor) -> int:
    """Return an unsafe view."""
    out = ctypes.c_void_p()
    runtime.check(
        runtime.TVMFFITensorCreateUnsafeView(source, ctypes.byref(prototype), ctypes.byref(out))
    )
    return out.value


@tensors.case(
    "view.describes_prototype", "The view describes the prototype; shape is copied.", since="0.1.6"
)
def view_prototype(runtime: Runtime) -> None:
    prototype = Managed((4,), (1,), byte_offset=8)
    handle = unsafe_view(runtime, take(runtime, Managed()), prototype.tensor)
    prototype.shape[0] = 99
    tensor = cell(abi.DLTensor, handle)
    equal("shape, strides, data, offset",
          (numbers(tensor.shape, 1), numbers(tensor.strides, 1), tensor.data, tensor.byte_offset),
          ((4,), (1,), prototype.aligned, 8))  # fmt: skip


@tensors.case("view.holds_source", "The view keeps its source alive.", since="0.1.6")
def view_source(runtime: Runtime) -> None:
    source = Managed()
    handle = take(runtime, source)
    made = unsafe_view(runtime, handle, Managed((4,), (1,)).tensor)
    equal("strong count", strong(handle), 2)
    runtime.TVMFFIObjectDecRef(handle)
    equal("calls of the deleter", source.deleted, 0)
    runtime.TVMFFIObjectDecRef(made)
    equal("calls of the deleter afterwards", source.deleted, 1)


@tensors.case(
    "view.null_strides", "Null strides of the prototype are an InternalError.", since="0.1.14"
)
def view_null(runtime: Runtime) -> None:
    with runtime.fails("InternalError"):
        unsafe_view(runtime, take(runtime, Managed()), Managed((4,), None).tensor)


DEVICE_TYPES = [1, 2, 3, 4, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]


@streams.each("set_get.device_type_{}", [(str(n), n) for n in DEVICE_TYPES], "A stream is kept by device.",
              cites="tensor-and-dlpack.txt#Stream Handling in C++")  # fmt: skip
def set_get(runtime: Runtime, kind: int) -> None:
    for number in (0, 1, 7):
        runtime.check(runtime.TVMFFIEnvSetStream(kind, number, 0x1000 + number, None))
    found = [runtime.TVMFFIEnvGetStream(kind, number) for number in (0, 1, 7, 2)]
    equal("streams", found, [0x1000, 0x1001, 0x1007, None])


@streams.each("unset.{}", [("cuda", (2, 0)), ("large_id", (2, 100000)), ("large_type", (500, 0)),
                           ("negative_id", (2, -1)), ("negative_type", (-1, 0)), ("zero", (0, 0))],
              "An unset or impossible device gives null.")  # fmt: skip
def unset(runtime: Runtime, device: tuple) -> None:
    equal("stream", runtime.TVMFFIEnvGetStream(*device), None)


@streams.case("previous", "The previous stream is given out; null if never set.")
def previous(runtime: Runtime) -> None:
    out = ctypes.c_void_p(0x55)
    seen = []
    for value in (0x10, 0x20, None, 0x30):
        runtime.check(runtime.TVMFFIEnvSetStream(2, 0, value, ctypes.byref(out)))
        seen.append(out.value)
    equal("previous streams", seen, [None, 0x10, 0x20, None])


@streams.case("per_thread", "The table is per thread.", cites="6.1")
def per_thread(runtime: Runtime) -> None:
    runtime.check(runtime.TVMFFIEnvSetStream(2, 0, 0x10, None))
    seen: list = []
    thread = threading.Thread(target=lambda: seen.append(runtime.TVMFFIEnvGetStream(2, 0)))
    thread.start()
    thread.join()
    equal("stream in another thread", seen, [None])
    equal("stream in this thread", runtime.TVMFFIEnvGetStream(2, 0), 0x10)


ALLOCATOR = abi.callback("DLPackManagedTensorAllocator")
SET_ERROR = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p)


def allocator(runtime: Runtime, body: object) -> int:
    """Return the address of an allocator."""
    return ctypes.cast(runtime.keep(ALLOCATOR(body)), ctypes.c_void_p).value


def set_allocator(runtime: Runtime, address: int | None, everywhere: int = 0) -> int | None:
    """Set the allocator and return the previous one."""
    out = ctypes.c_void_p()
    runtime.check(
        runtime.TVMFFIEnvSetDLPackManagedTensorAllocator(address, everywhere, ctypes.byref(out))
    )
    return out.value


@allocators.case("unset", "Without an allocator the lookup gives null.")
def allocator_unset(runtime: Runtime) -> None:
    equal("allocator", runtime.TVMFFIEnvGetDLPackManagedTensorAllocator(), None)


@allocators.case("thread", "An allocator of the thread is found; the previous one is given out.")
def allocator_thread(runtime: Runtime) -> None:
    equal(
        "previous",
        [set_allocator(runtime, each) for each in (0x10, 0x20, None)],
        [None, 0x10, 0x20],
    )


@allocators.case("not_global", "Without write_to_global other threads do not see it.")
def allocator_local(runtime: Runtime) -> None:
    set_allocator(runtime, 0x10)
    seen: list = []
    thread = threading.Thread(
        target=lambda: seen.append(runtime.TVMFFIEnvGetDLPackManagedTensorAllocator())
    )
    thread.start()
    thread.join()
    equal("allocator in another thread", seen, [None])


@allocators.case("global", "With write_to_global other threads see it.")
def allocator_global(runtime: Runtime) -> None:
    set_allocator(runtime, 0x10, 1)
    seen: list = []
    thread = threading.Thread(
        target=lambda: seen.append(runtime.TVMFFIEnvGetDLPackManagedTensorAllocator())
    )
    thread.start()
    thread.join()
    equal("allocator in another thread", seen, [0x10])


@allocators.case(
    "thread_first", "The thread's slot comes before the slot of the process.", cites="20"
)
def thread_first(runtime: Runtime) -> None:
    set_allocator(runtime, 0x10, 1)
    set_allocator(runtime, 0x20, 0)
    equal("allocator", runtime.TVMFFIEnvGetDLPackManagedTensorAllocator(), 0x20)
    set_allocator(runtime, None, 0)
    equal("allocator of the process", runtime.TVMFFIEnvGetDLPackManagedTensorAllocator(), 0x10)


def allocate(runtime: Runtime) -> int:
    """Call TVMFFIEnvTensorAlloc."""
    out = ctypes.c_void_p()
    prototype = runtime.keep(Managed((2, 3), (3, 1)))
    runtime.check(
        runtime.TVMFFIEnvTensorAlloc(ctypes.addressof(prototype.tensor), ctypes.byref(out))
    )
    return out.value


@allocators.case("alloc.none", "Without an allocator the allocation is a RuntimeError.")
def alloc_none(runtime: Runtime) -> None:
    with runtime.fails("RuntimeError", "TVMFFIEnvTensorAlloc"):
        allocate(runtime)


@allocators.case("alloc.result", "The tensor wraps what the allocator gives.",
                 cites="tensor-and-dlpack.txt#Allocation in C++")  # fmt: skip
def alloc_result(runtime: Runtime) -> None:
    source = Managed((2, 3), (3, 1))

    def body(prototype: int, out: int, context: int, set_error: int) -> int:
        ctypes.c_void_p.from_address(out).value = source.address
        return 0

    set_allocator(runtime, allocator(runtime, body))
    handle = allocate(runtime)
    equal("data", cell(abi.DLTensor, handle).data, source.aligned)
    runtime.TVMFFIObjectDecRef(handle)
    equal("calls of the deleter", source.deleted, 1)


@allocators.case("alloc.prototype", "The allocator sees the prototype and a null context.")
def alloc_prototype(runtime: Runtime) -> None:
    source, seen = Managed((2, 3), (3, 1)), []

    def body(prototype: int, out: int, context: int, set_error: int) -> int:
        seen.append((numbers(abi.DLTensor.from_address(prototype).shape, 2), context))
        ctypes.c_void_p.from_address(out).value = source.address
        return 0

    set_allocator(runtime, allocator(runtime, body))
    allocate(runtime)
    equal("shape and context", seen, [((2, 3), None)])


@allocators.case("alloc.error", "set_error raises with its kind and message.")
def alloc_error(runtime: Runtime) -> None:
    def body(prototype: int, out: int, context: int, set_error: int) -> int:
        SET_ERROR(set_error)(context, b"MemoryError", b"none left")
        return -1

    set_allocator(runtime, allocator(runtime, body))
    with runtime.fails("MemoryError", "none left"):
        allocate(runtime)


@allocators.case("alloc.null_result", "Success with a null result is a RuntimeError.")
def alloc_null(runtime: Runtime) -> None:
    def body(prototype: int, out: int, context: int, set_error: int) -> int:
        ctypes.c_void_p.from_address(out).value = None
        return 0

    set_allocator(runtime, allocator(runtime, body))
    with runtime.fails("RuntimeError"):
        allocate(runtime)


@environment.case(
    "custom_allocator.default", "The default allocator is not null.", cites="6.2", since="0.1.13"
)
def custom_default(runtime: Runtime) -> None:
    expect(runtime.TVMFFIGetCustomAllocator(), "expected an allocator, got null")


@environment.case("custom_allocator.set", "The pointer is kept, not copied; null restores the default.",
                  cites="6.2", since="0.1.13")  # fmt: skip
def custom_set(runtime: Runtime) -> None:
    default = runtime.TVMFFIGetCustomAllocator()
    mine = runtime.keep(
        abi.TVMFFICustomAllocator(abi.TVMFFICustomAllocator.from_address(default).allocate, 0)
    )
    runtime.check(runtime.TVMFFISetCustomAllocator(ctypes.byref(mine)))
    equal("pointer", runtime.TVMFFIGetCustomAllocator(), ctypes.addressof(mine))
    runtime.check(runtime.TVMFFISetCustomAllocator(None))
    equal("pointer after null", runtime.TVMFFIGetCustomAllocator(), default)


CHECK = ctypes.CFUNCTYPE(ctypes.c_int)
RELEASE = ctypes.CFUNCTYPE(None, ctypes.c_int)


@environment.case("signals.no_checker", "Without a checker the check succeeds.")
def no_checker(runtime: Runtime) -> None:
    equal("status", runtime.TVMFFIEnvCheckSignals(), 0)


@environment.each("signals.checker_{}", [("0", 0, 0), ("minus_1", -1, -1), ("1", 1, -1)],
                  "The checker runs with the GIL; failure gives -1 and an empty slot.", cites="20")  # fmt: skip
def checker(runtime: Runtime, code: int, expected: int) -> None:
    seen: list = []
    functions = {
        b"PyErr_CheckSignals": CHECK(lambda: seen.append("check") or code),
        b"PyGILState_Ensure": CHECK(lambda: seen.append("ensure") or 3),
        b"PyGILState_Release": RELEASE(seen.append),
    }
    for name, function in functions.items():
        runtime.check(runtime.TVMFFIEnvRegisterCAPI(name, runtime.keep(function)))
    equal("status", runtime.TVMFFIEnvCheckSignals(), expected)
    equal("calls", seen, ["ensure", "check", 3])
    equal("pending error", runtime.raised(), None)


@environment.case("c_api.unknown", "Another name is a ValueError.")
def unknown_api(runtime: Runtime) -> None:
    with runtime.fails("ValueError", "Unknown env API PyErr_Other"):
        runtime.check(runtime.TVMFFIEnvRegisterCAPI(b"PyErr_Other", 1))


@environment.case(
    "lookup.registers_nothing", "System-library symbols may be registered at any time."
)
def system_symbol(runtime: Runtime) -> None:
    equal("status", runtime.TVMFFIEnvModRegisterSystemLibSymbol(b"__tvm_ffi_kit_none", 0x10), 0)
    array = byte_array(b"kit_none")
    out = ctypes.c_void_p()
    runtime.check(runtime.TVMFFIFunctionGetGlobal(ctypes.byref(array), ctypes.byref(out)))
    equal("global function of that name", out.value, None)
