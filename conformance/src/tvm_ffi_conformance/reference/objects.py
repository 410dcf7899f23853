# SPDX-License-Identifier: Apache-2.0
"""Chapter 2, objects: the 24-byte header, reference counts, deleters, opaque objects.

The reference knows every object that it allocated (`Record`). It counts the references that it
owns itself (`Record.held`), so it can tell when native code released one of them, and which objects
remain at the end of a scope although nobody can reach them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import POINTER_CALL, POISON, Block, at, write_pointer
from .values import Raised

# abi-overview-2025.txt, "Object Storage Format": the lower 32 bits of combined_ref_count are the
# strong count, the upper 32 bits the weak count.
ONE = abi.REFERENCE_COUNT["StrongOne"]
WEAK_ONE = abi.REFERENCE_COUNT["WeakOne"]
BOTH = abi.REFERENCE_COUNT["Initial"]
STRONG_MASK = abi.REFERENCE_COUNT["StrongMask"]

_DELETER = abi.callback("ObjectDeleter")
Destroy = Callable[[int], None]


@dataclass
class Record:
    """An object that the reference allocated."""

    address: int
    type_index: int
    born: str
    """The function that created the object."""
    scope: int
    destroy: Destroy | None = None
    """Releases the fields when the strong count reaches 0."""
    references: list[int] = field(default_factory=list)
    """Handles that the object owns outside its published layout."""
    held: int = 0
    """Strong references that the reference implementation itself owns."""
    destroyed: bool = False
    reported: bool = False
    block: int = 0
    """The allocation; before `address` where an object begins before its header."""


class Objects(Chapter):
    """Creates, counts and deletes objects."""

    def set_up(self) -> None:
        self.records: dict[int, Record] = {}
        self.dead: dict[int, Record] = {}
        self.scope = 0
        # For each type with references in its published layout: a function that lists them.
        self.layouts: dict[int, Callable[[int], Iterable[int]]] = {}
        self._allocator = self.runtime.heap.permanent(ctypes.sizeof(abi.TVMFFICustomAllocator))
        default = at(abi.TVMFFICustomAllocator, self._allocator)
        default.allocate = self.runtime.trampoline.address("tvm_ffi_reference_allocate")
        self._custom_allocator = self._allocator
        self._spaces: dict[int, int] = {}  # body to block

    def new(
        self, type_index: int, size: int, destroy: Destroy | None = None, before: int = 0
    ) -> Record:
        """Return a new object with one strong reference, which belongs to the caller.

        The header follows `before` bytes of the object.
        """
        block = self.runtime.heap.allocate(before + size, f"object of type {type_index}")
        address = block + before
        header = at(abi.TVMFFIObject, address)
        # c-abi.md, "4.2 Counting protocol": one strong count; all strong owners together hold one
        # weak count.
        header.combined_ref_count = BOTH
        header.type_index = type_index
        # abi-overview-2025.txt, "Object Storage Format": the deleter ensures that objects of one
        # runtime can be deleted by another; every owner calls the pointer in the header.
        header.deleter = self.runtime.trampoline.address("tvm_ffi_reference_object_deleter")
        born = self.runtime.checks.where()
        record = Record(address, type_index, born, self.scope, destroy, block=block)
        self.dead.pop(address, None)
        self.records[address] = record
        return record

    def strong_count(self, address: int) -> int:
        """Return the strong count of an object."""
        return at(abi.TVMFFIObject, address).combined_ref_count & STRONG_MASK

    def type_index(self, address: int) -> int:
        """Return the type index in the header of an object."""
        return at(abi.TVMFFIObject, address).type_index

    def incref(self, address: int) -> None:
        """Add a strong reference."""
        # c-abi.md, "4.2 Counting protocol": atomic add of One.
        self.runtime.trampoline.fetch_add(address, ONE)

    def decref(self, address: int) -> None:
        """Release a strong reference."""
        # c-abi.md, "4.2 Counting protocol": the last strong owner calls the deleter: with flags 3
        # when no weak reference exists, else with 1 and, if the last weak reference went in the
        # meantime, with 2.
        fetch_add = self.runtime.trampoline.fetch_add
        old = fetch_add(address, -ONE & (2**64 - 1))
        if old == BOTH:
            self._call_deleter(address, abi.kTVMFFIObjectDeleterFlagBitMaskBoth)
        elif old & STRONG_MASK == 1:
            self._call_deleter(address, abi.kTVMFFIObjectDeleterFlagBitMaskStrong)
            if fetch_add(address, -WEAK_ONE & (2**64 - 1)) == WEAK_ONE:
                self._call_deleter(address, abi.kTVMFFIObjectDeleterFlagBitMaskWeak)

    def _call_deleter(self, address: int, flags: int) -> None:
        # c-abi.md, "4.2 Counting protocol": a null deleter is skipped.
        deleter = at(abi.TVMFFIObject, address).deleter
        if deleter:
            _DELETER(deleter)(address, flags)

    def on_object_deleter(self, address: int, flags: int) -> None:
        """Delete an object of the reference; the deleter in all its headers."""
        record = self.records.get(address)
        if record is None:
            self.check_handle(address, "self")
            return
        # abi-overview-2025.txt, "Object Storage Format": when the strong count gets to zero, the
        # deleter calls the destructor; when the weak count gets to zero, it frees the memory.
        if flags & abi.kTVMFFIObjectDeleterFlagBitMaskStrong and not record.destroyed:
            if record.held:
                rule, who = "object.released-too-often", self.describe(address)
                text = f"the caller still owns {record.held} reference(s), the callee released them"
                self.runtime.checks.report(rule, who, text)
            record.destroyed = True
            if record.destroy is not None:
                record.destroy(address)
            for reference in record.references:
                self.decref(reference)
        if flags & abi.kTVMFFIObjectDeleterFlagBitMaskWeak:
            del self.records[address]
            self.dead[address] = record
            self.runtime.heap.release(record.block)

    def adopt(self, address: int) -> None:
        """Note that a strong reference that exists belongs to the reference implementation."""
        if address in self.records:
            self.records[address].held += 1

    def hold(self, address: int) -> None:
        """Add a strong reference that belongs to the reference implementation."""
        self.incref(address)
        self.adopt(address)

    def hand_over(self, address: int) -> None:
        """Note that a reference of the reference implementation belongs to native code now."""
        if address in self.records:
            self.records[address].held -= 1

    def drop(self, address: int) -> None:
        """Release a reference that belongs to the reference implementation."""
        if address in self.dead:  # native code released it; the violation is reported
            return
        self.hand_over(address)
        self.decref(address)

    def describe(self, address: int) -> str:
        """Return a description of an object for messages."""
        record = self.records.get(address) or self.dead.get(address)
        if record is None:
            return f"object at {address:#x}"
        key = self.runtime.types.key_of(record.type_index)
        return f"{key} object created by {record.born}"

    def check_handle(self, address: int, argument: str, *, releases: bool = False) -> bool:
        """Return True if `address` can be used as a handle; report a violation otherwise."""
        report = self.runtime.checks.report
        if not address:
            report("object.null-handle", argument, "the handle is null")
            return False
        if address in self.dead:
            rule = "object.released-too-often" if releases else "object.used-after-release"
            report(rule, argument, f"{self.describe(address)} is deleted")
            return False
        counter = at(abi.TVMFFIObject, address).combined_ref_count
        if not counter & STRONG_MASK or not counter >> 32:
            report("object.counter", argument, f"the combined reference count is {counter:#018x}")
            return False
        return True

    def require(self, address: int, argument: str, type_index: int | None = None) -> None:
        """Raise an error unless `address` is a usable handle, of the type if one is given."""
        if not self.check_handle(address, argument):
            raise Raised("InternalError", f"`{argument}` is not a handle of a live object")
        if type_index is not None and self.type_index(address) != type_index:
            expected = self.runtime.types.key_of(type_index)
            actual = self.runtime.types.key_of(self.type_index(address))
            raise Raised("TypeError", f"`{argument}`: expected {expected}, got {actual}")

    def references_of(self, address: int) -> list[int]:
        """Return the handles that an object owns."""
        record = self.records.get(address)
        if record is not None and record.destroyed:
            return []
        layout = self.layouts.get(self.type_index(address))
        found = list(layout(address)) if layout else []
        return found + (record.references if record is not None else [])

    def end_scope(self) -> None:
        """Report the objects of the scope that remain, and writes into released memory."""
        # abi-overview.rst, "Ownership Management": acquired ownership is released later.  An object
        # is in use while it can be reached from a reference that this implementation owns.
        reached: set[int] = set()
        pending = [record.address for record in self.records.values() if record.held > 0]
        while pending:
            address = pending.pop()
            if address not in reached and address not in self.dead:
                reached.add(address)
                pending += self.references_of(address)
        for record in list(self.records.values()):
            if record.address in reached or record.reported or record.scope != self.scope:
                continue
            record.reported = True
            count = at(abi.TVMFFIObject, record.address).combined_ref_count
            weak = (count >> 32) - (not record.destroyed)
            detail = f"{count & STRONG_MASK} strong and {weak} weak reference(s) remain"
            key = self.runtime.types.key_of(record.type_index)
            self.runtime.checks.report("object.leaked", key, detail, function=record.born)
        self.check_quarantine()
        self.scope += 1

    def check_quarantine(self) -> None:
        """Report writes into released memory, then free that memory."""
        heap = self.runtime.heap
        for block in list(heap.quarantine.values()):
            changed = heap.changed(block)
            if changed:
                self._report_write(block, changed)
        heap.drain()
        self.dead.clear()

    def _report_write(self, block: Block, changed: list[int]) -> None:
        """Report a change of quarantined memory: of the counter, or of other bytes."""
        dead = (record for record in self.dead.values() if record.block == block.address)
        record = next(dead, None)
        poison = int.from_bytes(bytes([POISON]) * 8, "little")
        argument, rule = block.purpose, "object.written-after-release"
        if record is not None:
            argument = self.describe(record.address)
            # Native code counts references itself: a changed counter is an addition or a release.
            if max(changed) < record.address - record.block + 8:
                count = at(abi.TVMFFIObject, record.address).combined_ref_count
                released = (count & STRONG_MASK) < (poison & STRONG_MASK)
                kind = "released-too-often" if released else "used-after-release"
                rule = f"object.{kind}"
        detail = f"bytes at offsets {changed[:8]} were written after the release"
        self.runtime.checks.report(rule, argument, detail, function=record.born if record else None)

    def TVMFFIObjectIncRef(self, obj: int) -> None:
        self.require(obj, "obj")
        self.incref(obj)

    def TVMFFIObjectDecRef(self, obj: int) -> None:
        # c-abi.md, "6.2 Version, objects, allocation": a null handle is a no-op returning 0.
        if obj and self.check_handle(obj, "obj", releases=True):
            self.decref(obj)

    def TVMFFIObjectCreateOpaque(
        self, handle: int, type_index: int, deleter: int, out: int
    ) -> None:
        # c-abi.md, "6.2 Version, objects, allocation": the type index must be 74; deleter(handle)
        # runs when the strong count reaches 0.
        if type_index != abi.kTVMFFIOpaquePyObject:
            raise Raised("RuntimeError", "Only kTVMFFIOpaquePyObject is supported for now")

        def destroy(_address: int) -> None:
            if deleter:
                POINTER_CALL(deleter)(handle)

        record = self.new(type_index, abi.HEADER_SIZE + 8, destroy)
        write_pointer(record.address + abi.HEADER_SIZE, handle)
        write_pointer(out, record.address)

    def TVMFFIGetCustomAllocator(self) -> int:
        return self._custom_allocator

    def TVMFFISetCustomAllocator(self, allocator: int) -> None:
        # c-abi.md, "6.2 Version, objects, allocation": null restores the default; the pointer is
        # kept, not copied.
        self._custom_allocator = allocator or self._allocator

    def on_allocate(self, size: int, alignment: int, _type_index: int, _context: int) -> int:
        """Return a body of `size` bytes after a header with the pointer to its deleter."""
        # c-abi.md, "6.2 Version, objects, allocation": the 8 bytes before the body are the
        # `delete_space` function pointer; the body is aligned, and so is the header size.
        header = max(alignment, 16)
        block = self.runtime.heap.allocate(header * 2 + size, "space of the custom allocator")
        body = (block + header + header - 1) // header * header
        write_pointer(body - 8, self.runtime.trampoline.address("tvm_ffi_reference_delete_space"))
        self._spaces[body] = block
        return body

    def on_delete_space(self, body: int) -> None:
        """Release a body of `on_allocate`."""
        block = self._spaces.pop(body, None)
        if block is None:
            self.runtime.checks.report("object.released-too-often", "ptr", "space is released")
        else:
            self.runtime.heap.release(block)
