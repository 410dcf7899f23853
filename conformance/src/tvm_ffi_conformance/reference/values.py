# SPDX-License-Identifier: Apache-2.0
"""Chapter 1, values: the 16-byte tagged value, its zero rules, views and owned values."""

from __future__ import annotations

import ctypes

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import at, read_byte_array, read_c_string, read_pointer, write_pointer

ANY_SIZE = ctypes.sizeof(abi.TVMFFIAny)
MASK64 = 2**64 - 1

# tensor-and-dlpack.txt, "From Non-Owning Tensor": a view of a tensor cannot become an owned value.
# abi-overview-2025.txt, "AnyView and Managed Any": raw strings and byte arrays become managed ones.
BORROWED = {
    abi.kTVMFFIDLTensorPtr: "DLTensor*", abi.kTVMFFIByteArrayPtr: "TVMFFIByteArray*",
    abi.kTVMFFIRawStr: "const char*", abi.kTVMFFIObjectRValueRef: "ObjectRValueRef",
}  # fmt: skip
_SMALL = (abi.kTVMFFISmallStr, abi.kTVMFFISmallBytes)
_LAST_PLAIN = abi.kTVMFFIUnchanged


class Raised(Exception):
    """An error of the ABI, raised inside the reference; the boundary stores it for the caller."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(f"{kind}: {message}")
        self.kind = kind
        self.message = message


class Pending(Exception):
    """A failure whose error is in the thread's error slot already."""

    def __init__(self, code: int = -1) -> None:
        super().__init__(f"return code {code}")
        self.code = code


def any_at(address: int, position: int = 0) -> abi.TVMFFIAny:
    """Return the value number `position` of the array at `address`."""
    return at(abi.TVMFFIAny, address + position * ANY_SIZE)


def write_any(address: int, type_index: int, payload: int = 0, length: int = 0) -> None:
    """Store a value: all 16 bytes."""
    # abi-overview.rst, "Construct Any": zero the zero_padding field and any unused bytes.  One
    # store of the full payload cannot leave a byte of an earlier value.
    value = any_at(address)
    value.type_index = type_index
    value.small_str_len = length
    value.v_uint64 = payload & MASK64


def write_float(address: int, number: float) -> None:
    """Store a float."""
    write_any(address, abi.kTVMFFIFloat)
    any_at(address).v_float64 = number


def copy_any(source: int, target: int) -> None:
    """Copy the 16 bytes of a value."""
    ctypes.memmove(target, source, ANY_SIZE)


class Values(Chapter):
    """Conversion of views to owned values, release of values, and checks of the zero rules."""

    def object_of(self, address: int) -> int:
        """Return the handle in the value at `address`; 0 for a plain value."""
        # abi-overview.rst, "Any and AnyView": an index from 64 on is a pointer to an object.
        value = any_at(address)
        if value.type_index >= abi.kTVMFFIStaticObjectBegin:
            return value.v_obj or 0
        return 0

    def release(self, address: int) -> None:
        """Release the owned value at `address` and set it to None."""
        # abi-overview.rst, "Destruct Any": an owning value decrements the reference count.
        handle = self.object_of(address)
        write_any(address, abi.kTVMFFINone)
        if handle and self.runtime.objects.check_handle(handle, "value", releases=True):
            self.runtime.objects.decref(handle)

    def to_owned(self, view: int, out: int) -> None:
        """Store an owned copy of the view at `view`."""
        value = any_at(view)
        strings, objects = self.runtime.strings, self.runtime.objects
        if value.type_index == abi.kTVMFFIRawStr:
            # abi-overview-2025.txt, "AnyView and Managed Any": raw strings are converted.
            strings.store_text(read_c_string(value.v_c_str or 0), out)
        elif value.type_index == abi.kTVMFFIByteArrayPtr:
            array = at(abi.TVMFFIByteArray, value.v_ptr)
            strings.store_bytes(read_byte_array(array), out)
        elif value.type_index == abi.kTVMFFIObjectRValueRef:
            # c-abi.md, "3. TVMFFIAny": takes the object out of the slot, which becomes null.
            slot = value.v_ptr
            handle = read_pointer(slot)
            if not handle:
                raise Raised("InternalError", "RValueRef already moved")
            write_pointer(slot, 0)
            write_any(out, objects.type_index(handle), handle)
        else:
            # abi-overview-2025.txt, "AnyView and Managed Any": a plain value is the same in both
            # forms; an object gains a strong reference.
            handle = self.object_of(view)
            if handle:
                objects.require(handle, "any_view")
                objects.incref(handle)
            copy_any(view, out)

    def check(self, address: int, argument: str, *, owned: bool = False) -> bool:
        """Report the rules that the value at `address` breaks; return False if it is unusable."""
        value = any_at(address)
        index, report = value.type_index, self.runtime.checks.report
        if index in BORROWED and owned:
            detail = f"a result of kind {BORROWED[index]} points to memory that nobody owns"
            report("call.result-borrowed", argument, detail)
            return False
        if index not in _SMALL and value.zero_padding:
            detail = f"zero_padding of the value with type index {index} is {value.zero_padding:#x}"
            report("any.padding", argument, detail)
        if index >= abi.kTVMFFIStaticObjectBegin:
            return self._check_object(value, argument)
        if not 0 <= index <= _LAST_PLAIN:
            report("any.type-index", argument, f"type index {index} is not a type of values")
            return False
        return self._check_plain(value, argument)

    def _check_object(self, value: abi.TVMFFIAny, argument: str) -> bool:
        """Check a value whose type index is one of objects."""
        report, objects = self.runtime.checks.report, self.runtime.objects
        index, handle = value.type_index, value.v_obj
        if index not in self.runtime.types.infos:
            report("any.type-index", argument, f"type index {index} is not registered")
            return False
        if not handle:
            report("any.null-object", argument, f"type index {index} with a null pointer")
            return False
        if not objects.check_handle(handle, argument):
            return False
        if objects.type_index(handle) != index:
            detail = f"value has type index {index}, header has {objects.type_index(handle)}"
            report("any.object-type", argument, detail)
            return False
        return True

    def _check_plain(self, value: abi.TVMFFIAny, argument: str) -> bool:
        """Check the payload of a value that is not an object."""
        report = self.runtime.checks.report
        index, payload = value.type_index, value.v_uint64
        # abi-overview.rst, "Construct Any": unused bytes of the payload are zero.
        if index in {abi.kTVMFFINone, abi.kTVMFFIUnchanged} and payload:
            report("any.payload", argument, f"None with payload {payload:#x}")
        elif index == abi.kTVMFFIDataType and payload >> 32:
            report("any.payload", argument, f"data type with upper half {payload >> 32:#x}")
        elif index == abi.kTVMFFIBool and payload > 1:
            report("any.bool", argument, f"bool with payload {payload:#x}")
        elif index in _SMALL:
            length = value.small_str_len
            if length > abi.SMALL_STR_MAX_LEN:
                report("any.small-length", argument, f"length {length}")
                return False
            if payload >> (8 * length):
                report("any.small-length", argument, f"bytes after the {length} of the content")
        return True

    def TVMFFIAnyViewToOwnedAny(self, any_view: int, out: int) -> None:
        if not self.check(any_view, "any_view"):
            raise Raised("InternalError", "`any_view` is not a valid value")
        self.to_owned(any_view, out)
