# SPDX-License-Identifier: Apache-2.0
"""Conversion between Python values and values of the ABI, for callers and closures in Python."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .dtypes import format_dtype, parse_dtype
from .memory import cell
from .tensors import compact_strides, read_tensor
from .values import ANY_SIZE, BORROWED, Pending, any_at, write_any, write_float

if TYPE_CHECKING:
    from .runtime import Runtime

_INTEGERS = [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
ELEMENTS = {
    **{name: getattr(ctypes, f"c_{name}") for name in _INTEGERS},
    "float32": ctypes.c_float, "float64": ctypes.c_double, "bool": ctypes.c_bool,
}  # fmt: skip


@dataclass(frozen=True)
class RawString:
    """An argument that is passed as ``const char*``."""

    text: str


@dataclass(frozen=True)
class Pointer:
    """An opaque pointer."""

    address: int


@dataclass(frozen=True)
class DataType:
    """A data type, by its text form."""

    text: str


@dataclass(frozen=True)
class Device:
    """A device: type and index."""

    device_type: int
    device_id: int = 0


class Value:
    """An object of the ABI that Python owns a reference to, until `release` or the scope's end."""

    def __init__(self, runtime: Runtime, handle: int) -> None:
        self.runtime = runtime
        self.handle = handle
        runtime.convert.values.append(self)

    @property
    def type_key(self) -> str:
        """The type key of the object."""
        return self.runtime.types.key_of(self.runtime.objects.type_index(self.handle))

    def to_python(self) -> Any:
        """Return a container, shape or big integer as a value of Python."""
        value = abi.TVMFFIAny()
        address, index = ctypes.addressof(value), self.runtime.objects.type_index(self.handle)
        write_any(address, index, self.handle)
        return self.runtime.convert.load(address)

    def release(self) -> None:
        """Release the reference; the value must not be used any more."""
        handle, self.handle = self.handle, 0
        if handle:
            self.runtime.objects.drop(handle)

    def __repr__(self) -> str:
        return f"<{self.type_key if self.handle else 'released object'}>"


class Function(Value):
    """A function object; call it with Python values."""

    def __call__(self, *arguments: Any) -> Any:
        return self.runtime.convert.call(self.handle, arguments)

    def call_for_object(self, *arguments: Any) -> Value:
        """Call the function and return its result as an object, containers too."""
        return self.runtime.convert.call(self.handle, arguments, as_object=True)


class Module(Value):
    """A module; its functions are attributes and items."""

    def __getitem__(self, name: str) -> Function:
        modules = self.runtime.modules
        handle = modules.get_function(self.handle, name, query_imports=True)
        if not handle:
            text = f"the module has no function {name!r}: no symbol {abi.SYMBOL_PREFIX}{name}"
            raise KeyError(text)
        self.runtime.objects.adopt(handle)
        return Function(self.runtime, handle)

    def __getattr__(self, name: str) -> Function:
        if name.startswith("__"):
            raise AttributeError(name)
        return self[name]


class Tensor(Value):
    """A tensor object on the CPU."""

    @property
    def shape(self) -> list[int]:
        """The extents."""
        return read_tensor(cell(abi.DLTensor, self.handle)).shape

    @property
    def dtype(self) -> str:
        """The data type in text form."""
        return format_dtype(*read_tensor(cell(abi.DLTensor, self.handle)).dtype)

    def tolist(self) -> list[Any]:
        """Return the elements in row-major order, without the nesting of the shape."""
        info = read_tensor(cell(abi.DLTensor, self.handle))
        element = ELEMENTS[self.dtype]
        strides = compact_strides(info.shape)
        found = []
        for number in range(prod(info.shape)):
            offset = sum(
                number // step % extent * stride
                for step, extent, stride in zip(strides, info.shape, info.strides)
            )
            address = info.data + info.byte_offset + offset * ctypes.sizeof(element)
            found.append(element.from_address(address).value)
        return found

    def __repr__(self) -> str:
        return f"{self.dtype}{self.shape}: {self.tolist()}" if self.handle else super().__repr__()


@dataclass(frozen=True)
class View:
    """An argument that is passed as a borrowed ``DLTensor*``."""

    tensor: Tensor


class Convert(Chapter):
    """Packs arguments, calls functions and reads results."""

    def set_up(self) -> None:
        self.values: list[Value] = []

    def release_all(self) -> None:
        """Release all values that Python still owns."""
        for value in self.values:
            value.release()
        self.values.clear()

    def new_tensor(self, dtype: str, shape: list[int], elements: list[Any]) -> Tensor:
        """Return a new tensor; its elements are in row-major order."""
        element, heap = ELEMENTS[dtype], self.runtime.heap
        size = ctypes.sizeof(element) * prod(shape)
        data = heap.allocate(size, "data of a tensor")
        (element * prod(shape)).from_address(data)[:] = elements
        extents = (ctypes.c_int64 * max(len(shape), 1))(*shape)
        description = abi.DLTensor(data=data, ndim=len(shape), shape=ctypes.addressof(extents))
        description.device = abi.DLDevice(abi.kDLCPU, 0)
        description.dtype = abi.DLDataType(*parse_dtype(dtype))
        handle = self.runtime.tensors.new(description, copy_shape=True)
        self.runtime.objects.records[handle].destroy = lambda _: heap.release(data)
        self.runtime.objects.adopt(handle)
        return Tensor(self.runtime, handle)

    def store(self, value: Any, out: int, keep: list[Any]) -> None:
        """Store a value that Python owns; `keep` receives the objects that a view points to."""
        runtime = self.runtime
        if value is None:
            write_any(out, abi.kTVMFFINone)
        elif isinstance(value, bool):
            # c-abi.md, "3. TVMFFIAny": a full 64-bit 0 or 1.
            write_any(out, abi.kTVMFFIBool, int(value))
        elif isinstance(value, int):
            runtime.strings.store_int(value, out)
        elif isinstance(value, float):
            write_float(out, value)
        elif isinstance(value, str):
            runtime.strings.store_text(value.encode(), out)
        elif isinstance(value, (bytes, bytearray)):
            runtime.strings.store_bytes(bytes(value), out)
        elif isinstance(value, RawString):
            buffer = ctypes.create_string_buffer(value.text.encode())
            keep.append(buffer)
            write_any(out, abi.kTVMFFIRawStr, ctypes.addressof(buffer))
        elif isinstance(value, Pointer):
            write_any(out, abi.kTVMFFIOpaquePtr, value.address)
        elif isinstance(value, DataType):
            code, bits, lanes = parse_dtype(value.text)
            write_any(out, abi.kTVMFFIDataType, code | bits << 8 | lanes << 16)
        elif isinstance(value, Device):
            payload = value.device_type & 0xFFFFFFFF | (value.device_id & 0xFFFFFFFF) << 32
            write_any(out, abi.kTVMFFIDevice, payload)
        elif isinstance(value, View):
            address = value.tensor.handle + abi.HEADER_SIZE
            write_any(out, abi.kTVMFFIDLTensorPtr, address)
        else:
            self._store_object(value, out, keep)

    def _store_object(self, value: Any, out: int, keep: list[Any]) -> None:
        """Store a value that is an object of the ABI."""
        runtime = self.runtime
        if isinstance(value, Value):
            runtime.objects.incref(value.handle)
            write_any(out, runtime.objects.type_index(value.handle), value.handle)
        elif isinstance(value, (list, tuple)):
            views, release = self._pack(value, keep)
            addresses = [ctypes.addressof(views) + i * ANY_SIZE for i in range(len(value))]
            write_any(out, abi.kTVMFFIArray, runtime.sequences.new_array(addresses))
            release()
        elif isinstance(value, dict):
            handle = runtime.maps.new(abi.kTVMFFIMap)
            for pair in value.items():
                views, release = self._pack(pair, keep)
                address = ctypes.addressof(views)
                runtime.maps.set(handle, address, address + ANY_SIZE)
                release()
            write_any(out, abi.kTVMFFIMap, handle)
        elif callable(value):
            handle = self.new_function(getattr(value, "__name__", "closure"), value)
            write_any(out, abi.kTVMFFIFunction, handle)
        else:
            raise TypeError(f"argument: cannot pass a {type(value).__name__} through the ABI")

    def _pack(self, values: Any, keep: list[Any]) -> tuple[Any, Callable[[], None]]:
        """Return an array of values that Python owns, and the function that releases them."""
        array = (abi.TVMFFIAny * max(len(values), 1))()
        address, objects = ctypes.addressof(array), self.runtime.objects
        handles: list[int] = []
        for position, value in enumerate(values):
            self.store(value, address + position * ANY_SIZE, keep)
            handle = self.runtime.values.object_of(address + position * ANY_SIZE)
            if handle:
                objects.adopt(handle)
                handles.append(handle)

        def release() -> None:
            for handle in handles:
                objects.drop(handle)

        return array, release

    def new_function(self, name: str, function: Callable[..., Any]) -> int:
        """Return a new function object that calls `function` with Python values."""

        def body(args: int, n: int, result: int) -> None:
            arguments = [self.load(args + position * ANY_SIZE) for position in range(n)]
            # c-abi.md, "13.1 The packed convention": the callee writes an owned value.
            self.store(function(*arguments), result, [])

        return self.runtime.functions.new_closure(name, body)

    def load(self, address: int) -> Any:
        """Return the value at `address` as a Python value; objects gain a reference."""
        value, runtime = any_at(address), self.runtime
        index = value.type_index
        content = runtime.strings.read(address)
        if content is not None:
            is_bytes = index in {abi.kTVMFFISmallBytes, abi.kTVMFFIBytes, abi.kTVMFFIByteArrayPtr}
            return content if is_bytes else content.decode("utf-8", "replace")
        if index == abi.kTVMFFIInt:
            return value.v_int64
        if index == abi.kTVMFFIBool:
            return bool(value.v_int64)
        if index == abi.kTVMFFIFloat:
            return value.v_float64
        if index == abi.kTVMFFIDataType:
            dtype = value.v_dtype
            return DataType(format_dtype(dtype.code, dtype.bits, dtype.lanes))
        if index == abi.kTVMFFIDevice:
            return Device(value.v_device.device_type, value.v_device.device_id)
        if index == abi.kTVMFFIOpaquePtr or index in BORROWED:
            return Pointer(value.v_ptr or 0)
        return self._load_object(value) if index >= abi.kTVMFFIStaticObjectBegin else None

    def _load_object(self, value: abi.TVMFFIAny) -> Any:
        """Return the Python value of an object."""
        runtime, handle, index = self.runtime, value.v_obj, value.type_index
        if index in {abi.kTVMFFIArray, abi.kTVMFFIList}:
            return [self.load(element) for element in runtime.sequences.elements(handle)]
        if index in {abi.kTVMFFIMap, abi.kTVMFFIDict}:
            pairs = runtime.maps.pairs(handle)
            return {self.load(pair): self.load(pair + ANY_SIZE) for pair in pairs}
        if index == abi.kTVMFFIShape:
            return runtime.sequences.read_shape(handle)
        if index == abi.kTVMFFIBigInt:
            content = runtime.strings.big_int_content(handle)
            return int.from_bytes(content, "little", signed=True)
        runtime.objects.hold(handle)
        classes = {
            abi.kTVMFFIFunction: Function, abi.kTVMFFIModule: Module, abi.kTVMFFITensor: Tensor,
        }  # fmt: skip
        return classes.get(index, Value)(runtime, handle)

    def call(self, handle: int, arguments: tuple[Any, ...], *, as_object: bool = False) -> Any:
        """Call a function object with Python values; raise `Raised` if it fails."""
        keep: list[Any] = []
        array, release = self._pack(arguments, keep)
        result = abi.TVMFFIAny()
        out = ctypes.addressof(result)
        address, call = ctypes.addressof(array), self.runtime.functions.call_object
        try:
            call(handle, address, len(arguments), out)
        except Pending as failure:
            raise self.runtime.errors.take_as_exception(failure.code) from None
        finally:
            release()
        # The result belongs to the caller, who keeps it, or converts it and releases it.
        if as_object and self.runtime.values.object_of(out):
            self.runtime.objects.adopt(result.v_obj)
            return Value(self.runtime, result.v_obj)
        value = self.load(out)
        self.runtime.values.release(out)
        return value
