# SPDX-License-Identifier: Apache-2.0
"""The runtime under test: a `libtvm_ffi.so` loaded through ctypes, with helpers for the cases.

`Runtime` gives the C functions as attributes and converts between Python and `TVMFFIAny`. The
conversion to Python reads object layouts itself, so it depends on the specification only. Nothing
is released: a case runs in a process of its own.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from .. import abi
from .case import Absent, Mismatch, equal, expect
from .values import Object, Raw, bits, view

Any_ = abi.TVMFFIAny


class RaisedError(Exception):
    """An error object that the runtime raised, read from its cell."""

    def __init__(self, handle: int) -> None:
        cell = error_cell(handle)
        self.handle = handle
        self.kind = read_bytes(cell.kind).decode("utf-8", "replace")
        self.message = read_bytes(cell.message).decode("utf-8", "replace")
        self.backtrace = read_bytes(cell.backtrace).decode("utf-8", "replace")
        super().__init__(f"{self.kind}: {self.message}")


class Runtime:
    """A loaded runtime.

    Parameters
    ----------
    path : str
        Path of the library.
    """

    kernel: Any = None  # library under test, for checks of libraries

    def __init__(self, path: str, mode: int = ctypes.DEFAULT_MODE) -> None:
        self.path = path
        self.library = abi.declare(ctypes.CDLL(path, mode))
        self.kept: list[Any] = []  # callbacks and buffers that the runtime may still use

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("TVMFFI"):
            raise AttributeError(name)
        try:
            function = getattr(self.library, name)
        except AttributeError:
            raise Absent(f"the library does not export {name}") from None
        setattr(self, name, function)
        return function

    def keep(self, value: Any) -> Any:
        """Return `value` and keep it alive."""
        self.kept.append(value)
        return value

    def level(self) -> tuple[int, int, int]:
        """Return the version that the runtime reports."""
        version = abi.TVMFFIVersion()
        self.TVMFFIGetVersion(ctypes.byref(version))
        return version.major, version.minor, version.patch

    # --- Errors

    def raised(self) -> RaisedError | None:
        """Take the pending error of the thread; None if the slot is empty."""
        handle = ctypes.c_void_p()
        self.TVMFFIErrorMoveFromRaised(ctypes.byref(handle))
        return RaisedError(handle.value) if handle.value else None

    def check(self, status: int, function: str = "the function") -> None:
        """Raise `RaisedError` if `status` is -1; accept 0 and nothing else."""
        if status == 0:
            return
        expect(status == -1, f"{function}: expected 0 or -1, got {status}")
        error = self.raised()
        if error is None:
            raise Mismatch(f"{function} returned -1, but the error slot is empty")
        raise error

    @contextmanager
    def fails(self, kind: str, text: str = "", starts: str = "") -> Iterator[None]:
        """Expect an error of `kind` whose message contains `text` and begins with `starts`."""
        try:
            yield
        except RaisedError as error:
            equal("kind of the error", error.kind, kind)
            expect(
                text in error.message,
                f"error message: expected {text!r} in it, got {error.message!r}",
            )
            expect(
                error.message.startswith(starts),
                f"error message: expected it to begin with {starts!r}, got {error.message!r}",
            )
            equal("pending error afterwards", self.raised(), None)
        else:
            raise Mismatch(f"expected {kind}, but the call succeeded")

    # --- Values

    def owned(self, value: Any) -> Any_:
        """Return an owned Any of a Python value or a view."""
        out = Any_()
        self.check(self.TVMFFIAnyViewToOwnedAny(ctypes.byref(view(value)), ctypes.byref(out)))
        return out

    def string(self, content: bytes) -> Any_:
        """Return the string that the runtime makes of `content`."""
        return self._text(self.TVMFFIStringFromByteArray, content)

    def bytes(self, content: bytes) -> Any_:
        """Return the bytes value that the runtime makes of `content`."""
        return self._text(self.TVMFFIBytesFromByteArray, content)

    def _text(self, function: Callable, content: bytes) -> Any_:
        out = Any_()
        self.check(function(ctypes.byref(byte_array(content)), ctypes.byref(out)))
        return out

    def any(self, value: Any) -> Any_:
        """Return an Any for an argument; text of 8 bytes and more becomes an object."""
        if isinstance(value, (Raw, Object)):
            return view(value)
        if isinstance(value, str):
            return self.string(value.encode())
        if isinstance(value, bytes):
            return self.bytes(value)
        if isinstance(value, tuple):
            return self.call("ffi.Array", *value)
        if isinstance(value, list):
            return self.call("ffi.List", *value)
        if isinstance(value, dict):
            flat = [each for pair in value.items() for each in pair]
            return self.call("ffi.Map", *flat)
        if isinstance(value, int) and not isinstance(value, bool) and not -(2**63) <= value < 2**63:
            return self.big(value)
        return view(value)

    def big(self, value: int, words: int | None = None) -> Any_:
        """Return the integer that the runtime makes of the two's complement of `value`."""
        words = words or value.bit_length() // 64 + 1
        content = value.to_bytes(8 * words, "little", signed=True)
        out = Any_()
        self.check(
            self.TVMFFIBigIntFromByteArray(ctypes.byref(byte_array(content)), ctypes.byref(out))
        )
        return out

    # --- Functions

    def find(self, name: str) -> int | None:
        """Return the handle of a global function, or None."""
        out = ctypes.c_void_p()
        self.check(
            self.TVMFFIFunctionGetGlobal(ctypes.byref(byte_array(name.encode())), ctypes.byref(out))
        )
        return out.value

    def function(self, name: str) -> int:
        """Return the handle of a global function; raise `Absent` if there is none."""
        handle = self.find(name)
        if not handle:
            raise Absent(f"the global function {name} is not registered")
        return handle

    def call(self, function: str | int, *arguments: Any) -> Any_:
        """Call a global function, or a function handle, and return its result."""
        handle = self.function(function) if isinstance(function, str) else function
        values = [self.any(argument) for argument in arguments]
        packed = (Any_ * max(1, len(values)))(*values)
        result = Any_()
        status = self.TVMFFIFunctionCall(handle, packed, len(values), ctypes.byref(result))
        self.check(status, function if isinstance(function, str) else "the function")
        return result

    def make(
        self, body: Callable[[list[Any_]], Any], owner: int = 0x10, deleter: Any = None
    ) -> int:
        """Return the handle of a function object around a Python function of views.

        The result of `body` becomes the result of the call; `Status` returns a bare status.
        """

        def safe_call(_self: int, arguments: int, count: int, result: int) -> int:
            views = list((Any_ * count).from_address(arguments)) if count else []
            try:
                out = body(views)
                if isinstance(out, Status):
                    return out.status
                value = self.owned(self.any(out))
            except Exception as error:  # nothing may leave a C function
                self.TVMFFIErrorSetRaisedFromCStr(b"KitError", f"{error!r}".encode())
                return -1
            ctypes.memmove(result, ctypes.byref(value), 16)
            return 0

        return self.create(self.keep(SAFE_CALL(safe_call)), owner, deleter)

    def create(self, safe_call: Any, owner: int | None, deleter: Any = None) -> int:
        """Return the handle that `TVMFFIFunctionCreate` makes."""
        out = ctypes.c_void_p()
        self.check(
            self.TVMFFIFunctionCreate(
                owner, safe_call, deleter and self.keep(deleter), ctypes.byref(out)
            )
        )
        expect(out.value, "TVMFFIFunctionCreate: expected a handle, got null")
        return out.value

    def opaque(self, content: int = 0x1234, deleter: Any = None) -> int:
        """Return the handle of an opaque object."""
        out = ctypes.c_void_p()
        self.check(
            self.TVMFFIObjectCreateOpaque(
                content,
                abi.kTVMFFIOpaquePyObject,
                deleter and self.keep(deleter),
                ctypes.byref(out),
            )
        )
        expect(out.value, "TVMFFIObjectCreateOpaque: expected a handle, got null")
        return out.value

    def error(self, kind: str, message: str, backtrace: str = "") -> int:
        """Return the handle of an error object that `TVMFFIErrorCreate` makes."""
        out = ctypes.c_void_p()
        status = self.TVMFFIErrorCreate(
            ctypes.byref(byte_array(kind.encode())),
            ctypes.byref(byte_array(message.encode())),
            ctypes.byref(byte_array(backtrace.encode())),
            ctypes.byref(out),
        )
        equal("TVMFFIErrorCreate", status, 0)
        expect(out.value, "TVMFFIErrorCreate: expected a handle, got null")
        return out.value

    # --- Types

    def index(self, key: str) -> int:
        """Return the type index of a type key."""
        out = ctypes.c_int32(-1)
        self.check(
            self.TVMFFITypeKeyToIndex(ctypes.byref(byte_array(key.encode())), ctypes.byref(out))
        )
        return out.value

    def info(self, index: int) -> abi.TVMFFITypeInfo:
        """Return the type information of a registered index."""
        address = self.TVMFFIGetTypeInfo(index)
        expect(address, f"TVMFFIGetTypeInfo({index}): expected a pointer, got null")
        return abi.TVMFFITypeInfo.from_address(address)

    def allocate(
        self, key: str, parent: int = abi.kTVMFFIObject, *, depth: int = 1, slots: int = 0,
        overflow: int = 1, static: int = -1,
    ) -> int:  # fmt: skip
        """Return the index that `TVMFFITypeGetOrAllocIndex` gives."""
        return self.TVMFFITypeGetOrAllocIndex(
            ctypes.byref(byte_array(key.encode())), static, depth, slots, overflow, parent
        )

    # --- Reading

    def python(self, value: Any_) -> Any:
        """Return the Python value of an Any; objects without one become `Object`."""
        index = value.type_index
        if index in PLAIN:
            return PLAIN[index](value)
        if index in (abi.kTVMFFISmallStr, abi.kTVMFFISmallBytes, abi.kTVMFFIStr, abi.kTVMFFIBytes):
            content = text_content(value)
            return content.decode() if index in (abi.kTVMFFISmallStr, abi.kTVMFFIStr) else content
        if index in (abi.kTVMFFIArray, abi.kTVMFFIList):
            elements = [self.python(each) for each in sequence(value.v_obj)]
            return tuple(elements) if index == abi.kTVMFFIArray else elements
        if index == abi.kTVMFFIShape:
            return ("shape", *shape(value.v_obj))
        if index == abi.kTVMFFIBigInt:
            return big_value(value.v_obj)
        if index in (abi.kTVMFFIMap, abi.kTVMFFIDict):
            return dict(self.items(value))
        return Object(value.v_obj, index) if index >= abi.kTVMFFIStaticObjectBegin else value

    def items(self, container: Any_) -> list[tuple[Any, Any]]:
        """Return the entries of a Map or Dict in iteration order, read through its iterator."""
        name = "Map" if container.type_index == abi.kTVMFFIMap else "Dict"
        size = self.call(f"ffi.{name}Size", container).v_int64
        if not size:
            return []
        iterator = self.call(f"ffi.{name}ForwardIterFunctor", container).v_obj
        found = []
        for position in range(size):
            key, value = (self.python(self.call(iterator, part)) for part in (0, 1))
            found.append((key, value))
            more = self.python(self.call(iterator, 2))
            equal("iterator after an advance", more, position + 1 < size)
        return found

    def result(self, function: str | int, *arguments: Any) -> Any:
        """Call a function and return the Python value of its result."""
        return self.python(self.call(function, *arguments))


class Status:
    """Bare return status of a Python function made by `Runtime.make`."""

    def __init__(self, status: int) -> None:
        self.status = status


SAFE_CALL = abi.callback("TVMFFISafeCallType")
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
OBJECT_DELETER = abi.callback("ObjectDeleter")

PLAIN: dict[int, Callable[[Any_], Any]] = {
    abi.kTVMFFINone: lambda value: None,
    abi.kTVMFFIInt: lambda value: value.v_int64,
    abi.kTVMFFIBool: lambda value: bool(value.v_int64),
    abi.kTVMFFIFloat: lambda value: value.v_float64,
    abi.kTVMFFIDataType: lambda value: (
        "dtype", value.v_dtype.code, value.v_dtype.bits, value.v_dtype.lanes,
    ),
    abi.kTVMFFIDevice: lambda value: (
        "device", value.v_device.device_type, value.v_device.device_id,
    ),
    abi.kTVMFFIOpaquePtr: lambda value: ("pointer", value.v_ptr or 0),
}  # fmt: skip


def byte_array(content: bytes | None) -> abi.TVMFFIByteArray:
    """Return a byte array over a copy of `content` that no NUL follows; null data for None."""
    if content is None:
        return abi.TVMFFIByteArray(None, 0)
    # The byte after the content is not NUL, so that a reader past the end is noticed.
    buffer = (ctypes.c_char * (len(content) + 1)).from_buffer_copy(content + b"!")
    array = abi.TVMFFIByteArray(ctypes.addressof(buffer), len(content))
    array.owner = buffer
    return array


def read_bytes(array: Any) -> bytes:
    """Return the content of a struct with fields `data` and `size`."""
    expect(array.size < 1 << 32, f"byte array: expected a sensible size, got {array.size}")
    expect(array.data or not array.size, "byte array: expected data, got null")
    return ctypes.string_at(array.data, array.size) if array.size else b""


def header(handle: int) -> abi.TVMFFIObject:
    """Return the header of an object."""
    return abi.TVMFFIObject.from_address(handle)


def strong(handle: int) -> int:
    """Return the strong reference count of an object."""
    return header(handle).combined_ref_count & 0xFFFFFFFF


def weak(handle: int) -> int:
    """Return the weak reference count of an object."""
    return header(handle).combined_ref_count >> 32


def cell(struct: type, handle: int) -> Any:
    """Return the struct after the header of an object."""
    return struct.from_address(handle + abi.HEADER_SIZE)


def error_cell(handle: int) -> abi.TVMFFIErrorCell:
    """Return the cell of an error object."""
    return cell(abi.TVMFFIErrorCell, handle)


def text_content(value: Any_) -> bytes:
    """Return the content of a string or bytes value in any of its forms."""
    if value.type_index in (abi.kTVMFFISmallStr, abi.kTVMFFISmallBytes):
        expect(
            value.small_str_len <= 7, f"small string: expected at most 7 bytes, got {bits(value)}"
        )
        return bytes(value.v_bytes[: value.small_str_len])
    if value.type_index == abi.kTVMFFIRawStr:
        return ctypes.string_at(value.v_c_str)
    if value.type_index == abi.kTVMFFIByteArrayPtr:
        return read_bytes(abi.TVMFFIByteArray.from_address(value.v_ptr))
    expect(
        value.type_index in (abi.kTVMFFIStr, abi.kTVMFFIBytes),
        f"expected a string or bytes, got type index {value.type_index}",
    )
    return read_bytes(cell(abi.TVMFFIByteArray, value.v_obj))


def sequence(handle: int) -> list[Any_]:
    """Return the elements of an Array or List."""
    content = cell(abi.TVMFFISeqCell, handle)
    expect(0 <= content.size <= content.capacity or not content.size, "sequence: size > capacity")
    return list((Any_ * content.size).from_address(content.data)) if content.size else []


def shape(handle: int) -> tuple[int, ...]:
    """Return the extents of a Shape."""
    content = cell(abi.TVMFFIShapeCell, handle)
    return tuple((ctypes.c_int64 * content.size).from_address(content.data)) if content.size else ()


def big_value(handle: int) -> int:
    """Return the value of a BigInt object."""
    count = ctypes.c_size_t.from_address(handle + 24).value
    return int.from_bytes(ctypes.string_at(handle + 32, 8 * count), "little", signed=True)
