# SPDX-License-Identifier: Apache-2.0
"""Chapter 8, sequences: Shape, Array and List with the layouts that C++ clients use in place."""

from __future__ import annotations

import ctypes

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import POINTER_CALL, cell, read_int64s, write_int64s
from .values import ANY_SIZE, Raised, any_at, copy_any, write_any

_SIZE = abi.HEADER_SIZE + ctypes.sizeof(abi.TVMFFISeqCell)
_SHAPE_SIZE = abi.HEADER_SIZE + ctypes.sizeof(abi.TVMFFIShapeCell)
SEQUENCES = (abi.kTVMFFIArray, abi.kTVMFFIList)
_MIN_CAPACITY = 4


class Sequences(Chapter):
    """Creates, reads and changes Shape, Array and List objects."""

    def set_up(self) -> None:
        for index in SEQUENCES:
            self.runtime.objects.layouts[index] = self._references

    def new_shape(self, extents: list[int]) -> int:
        """Return a new Shape object."""
        # c-abi.md, "8. In-memory layout of built-in objects": data +24, size +32, values at +40.
        record = self.runtime.objects.new(abi.kTVMFFIShape, _SHAPE_SIZE + 8 * len(extents))
        content = cell(abi.TVMFFIShapeCell, record.address)
        content.data, content.size = record.address + _SHAPE_SIZE, len(extents)
        write_int64s(content.data, extents)
        return record.address

    def read_shape(self, handle: int) -> list[int]:
        """Return the extents of a Shape object."""
        content = cell(abi.TVMFFIShapeCell, handle)
        return read_int64s(content.data, content.size)

    def new_array(self, views: list[int]) -> int:
        """Return a new Array of owned copies of the values at the addresses `views`."""
        # c-abi.md, "8.3 Array and List": one block, elements inline at +56, data_deleter null; the
        # capacity is that of the block, 4 for an empty default Array.
        capacity = max(len(views), _MIN_CAPACITY)
        size = _SIZE + ANY_SIZE * capacity
        record = self.runtime.objects.new(abi.kTVMFFIArray, size, self._destroy)
        content = cell(abi.TVMFFISeqCell, record.address)
        content.data, content.capacity = record.address + _SIZE, capacity
        for view in views:
            self.runtime.values.to_owned(view, content.data + ANY_SIZE * content.size)
            content.size += 1
        return record.address

    def new_list(self, views: list[int]) -> int:
        """Return a new List of owned copies of the values at the addresses `views`."""
        # c-abi.md, "8.3 Array and List": the buffer is separate, and data_deleter is not null even
        # without a buffer, because clients call it when they replace the buffer.
        record = self.runtime.objects.new(abi.kTVMFFIList, _SIZE, self._destroy)
        content = cell(abi.TVMFFISeqCell, record.address)
        content.data_deleter = self.runtime.trampoline.address("tvm_ffi_reference_data_deleter")
        self.reserve(record.address, max(len(views), _MIN_CAPACITY))
        for view in views:
            self.insert(record.address, content.size, view)
        return record.address

    def on_data_deleter(self, data: int) -> None:
        """Free the buffer of a List; null is allowed."""
        # c-abi.md, "8.3 Array and List": clients put a buffer of `operator new` in place and leave
        # this deleter, which therefore accepts null and frees such buffers.
        if data and not self.runtime.heap.release(data):
            self.runtime.heap.free_foreign(data)

    def _destroy(self, handle: int) -> None:
        """Release the elements, then the buffer."""
        # c-abi.md, "8.3 Array and List": destroy the elements, then call data_deleter(data).
        content = cell(abi.TVMFFISeqCell, handle)
        for address in self.elements(handle):
            self.runtime.values.release(address)
        if content.data_deleter:
            POINTER_CALL(content.data_deleter)(content.data)

    def elements(self, handle: int) -> list[int]:
        """Return the addresses of the elements."""
        content = cell(abi.TVMFFISeqCell, handle)
        return [content.data + ANY_SIZE * position for position in range(content.size)]

    def _references(self, handle: int) -> list[int]:
        found = (self.runtime.values.object_of(address) for address in self.elements(handle))
        return [reference for reference in found if reference]

    def reserve(self, handle: int, capacity: int) -> None:
        """Make room for `capacity` elements."""
        content = cell(abi.TVMFFISeqCell, handle)
        if capacity <= content.capacity:
            return
        buffer = self.runtime.heap.allocate(ANY_SIZE * capacity, "buffer of a List")
        if content.size:
            ctypes.memmove(buffer, content.data, ANY_SIZE * content.size)
        old, content.data, content.capacity = content.data, buffer, capacity
        POINTER_CALL(content.data_deleter)(old)
        content.data_deleter = self.runtime.trampoline.address("tvm_ffi_reference_data_deleter")

    def item(self, handle: int, position: int) -> int:
        """Return the address of an element."""
        content = cell(abi.TVMFFISeqCell, handle)
        if not 0 <= position < content.size:
            # c-abi.md, "8.3 Array and List".
            raise Raised("IndexError", f"Index {position} out of bounds {content.size}")
        return content.data + ANY_SIZE * position

    def insert(self, handle: int, position: int, view: int) -> None:
        """Insert an owned copy of a view before `position`."""
        content = cell(abi.TVMFFISeqCell, handle)
        if not 0 <= position <= content.size:
            # c-abi.md, "16.2 Containers".
            raise Raised("IndexError", f"Index {position} out of bounds [0, {content.size}]")
        owned = ctypes.create_string_buffer(ANY_SIZE)
        self.runtime.values.to_owned(view, ctypes.addressof(owned))
        if content.size == content.capacity:  # grows 1, 2, 4, 8, ...
            self.reserve(handle, max(2 * content.capacity, 1))
        start = content.data + ANY_SIZE * position
        ctypes.memmove(start + ANY_SIZE, start, ANY_SIZE * (content.size - position))
        copy_any(ctypes.addressof(owned), start)
        content.size += 1

    def set_item(self, handle: int, position: int, view: int) -> None:
        """Replace an element by an owned copy of a view."""
        owned = ctypes.create_string_buffer(ANY_SIZE)
        target = self.item(handle, position)
        self.runtime.values.to_owned(view, ctypes.addressof(owned))
        self.runtime.values.release(target)
        copy_any(ctypes.addressof(owned), target)

    def erase(self, handle: int, start: int, stop: int) -> None:
        """Remove the elements from `start` to before `stop`."""
        content = cell(abi.TVMFFISeqCell, handle)
        if not 0 <= start <= stop <= content.size:
            raise Raised("IndexError", f"Index {start} out of bounds {content.size}")
        for position in range(start, stop):
            self.runtime.values.release(content.data + ANY_SIZE * position)
        first = content.data + ANY_SIZE * start
        ctypes.memmove(first, content.data + ANY_SIZE * stop, ANY_SIZE * (content.size - stop))
        content.size -= stop - start

    def pop(self, handle: int, position: int, out: int) -> None:
        """Move an element to `out` and remove it."""
        address = self.item(handle, position)
        copy_any(address, out)
        write_any(address, abi.kTVMFFINone)
        self.erase(handle, position, position + 1)

    def reverse(self, handle: int) -> None:
        """Reverse the order of the elements."""
        content = cell(abi.TVMFFISeqCell, handle)
        values = [bytes(any_at(address)) for address in self.elements(handle)]
        joined = b"".join(reversed(values))
        if joined:
            ctypes.memmove(content.data, joined, len(joined))
