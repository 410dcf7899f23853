# SPDX-License-Identifier: Apache-2.0
"""Chapter 9, maps: Map and Dict with the layout and the algorithm that C++ clients inline.

Both types share one layout. A small map is an array of pairs; a dense map is a hash table of
blocks of 16 slots, whose collisions are chained by a table of distances. Clients change maps in
place, so the reference keeps no state outside the object.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import TYPE_CHECKING

from tvm_ffi_conformance import abi

from .chapter import Chapter
from .memory import POINTER_CALL, cell
from .values import ANY_SIZE, MASK64, Raised, any_at, copy_any

if TYPE_CHECKING:
    from .runtime import Runtime

# c-abi.md, "9.3 Dense blocks": use the values past 2628 as listed.
_LARGE_JUMPS = """
8515 19110 42778 96141 216153 486591 1092981 2458653 5532801 12442566 27993903 62983476 141717030
318844378 717352503 1614057336 3631522476 8170957530 18384510628 41364789378 93070452520
209408356380 471168559170 1060128894105 2385289465695 5366898840628 12075518705635 27169915244790
61132312065111 137547689707000 309482283181501 696335127828753 1566753995631385 3525196511162271
7931691992677701 17846306936293605 40154190677507445 90346928918121501 203280589587557251
457381325854679626 1029107982097042876 2315492959180353330 5209859154120846435
"""
JUMPS = [*range(16), *(n * (n + 1) // 2 for n in range(6, 73)), *map(int, _LARGE_JUMPS.split())]
_FIBONACCI = 11400714819323198485
_SMALL_TAG = 1 << 63
_SMALL_INITIAL, _SMALL_MAX = 2, 4
_NONE = MASK64  # end of the iteration list
_EMPTY, _PROTECTED, _MEMBER = 0xFF, 0xFE, 0x80
_BLOCK_SLOTS, _PAIR_SIZE, _ITEM_SIZE = 16, 32, 48
_BLOCK_SIZE = _BLOCK_SLOTS * (1 + _ITEM_SIZE)
_INLINE = 56  # offset of inline pairs
# c-abi.md, "9.1 Fields": every small object has room for two inline pairs, so that the same memory
# can later hold the fields of a dense map.
_OBJECT_SIZE = _INLINE + _SMALL_INITIAL * _PAIR_SIZE
MAPS = (abi.kTVMFFIMap, abi.kTVMFFIDict)


class Fields(ctypes.Structure):
    """Fields after the header; the last three exist in a dense map only."""

    # c-abi.md, "9.1 Fields".
    _fields_ = [
        *((name, ctypes.c_uint64) for name in ("data", "size", "slots", "data_deleter")),
        ("fib_shift", ctypes.c_uint32),
        *((name, ctypes.c_uint64) for name in ("iter_list_head", "iter_list_tail")),
    ]


class Rehash(Exception):
    """The table is full, or a chain has no free slot in reach."""


class Table:
    """The hash table of a dense map, over its fields."""

    def __init__(self, fields: Fields, runtime: Runtime) -> None:
        self.fields = fields
        self.runtime = runtime

    def _meta(self, slot: int) -> ctypes.c_uint8:
        """Return the metadata byte of a slot."""
        block = self.fields.data + slot // _BLOCK_SLOTS * _BLOCK_SIZE
        return ctypes.c_uint8.from_address(block + slot % _BLOCK_SLOTS)

    def key(self, slot: int) -> int:
        """Return the address of the key of a slot; the value follows it."""
        block = self.fields.data + slot // _BLOCK_SLOTS * _BLOCK_SIZE
        return block + _BLOCK_SLOTS + slot % _BLOCK_SLOTS * _ITEM_SIZE

    def _link(self, slot: int, which: int) -> ctypes.c_uint64:
        """Return the link to the previous (0) or the next (1) slot in iteration order."""
        return ctypes.c_uint64.from_address(self.key(slot) + _PAIR_SIZE + 8 * which)

    def _home(self, key: int) -> int:
        """Return the home slot of a key."""
        # c-abi.md, "9.3 Dense blocks".
        hashed = self.runtime.hashing.any_hash(key)
        return (_FIBONACCI * hashed & MASK64) >> self.fields.fib_shift

    def _step(self, slot: int) -> int | None:
        """Return the next slot of the chain; None at its end."""
        jump = self._meta(slot).value & 0x7F
        return (slot + JUMPS[jump]) % self.fields.slots if jump else None

    def _set_jump(self, slot: int, jump: int) -> None:
        """Set the distance to the next slot of the chain; bit 7 stays."""
        meta = self._meta(slot)
        meta.value = (meta.value & _MEMBER) | jump

    def _chain(self, slot: int) -> Iterator[int]:
        """Yield the slots of a chain from `slot` on."""
        current: int | None = slot
        while current is not None:
            yield current
            current = self._step(current)

    def _predecessor(self, slot: int) -> int:
        """Return the slot before `slot` in its chain."""
        for candidate in self._chain(self._home(self.key(slot))):
            if self._step(candidate) == slot:
                return candidate
        raise Raised("InternalError", "corrupt map: a chain does not reach its member")

    def _free_after(self, slot: int) -> tuple[int, int]:
        """Return the jump to a free slot and the slot."""
        # c-abi.md, "9.4 Dense operations": the first candidate that is empty.
        for jump in range(1, len(JUMPS)):
            candidate = (slot + JUMPS[jump]) % self.fields.slots
            if self._meta(candidate).value == _EMPTY:
                return jump, candidate
        raise Rehash

    def _is_full(self) -> bool:
        return self.fields.size + 1 > self.fields.slots * 0.99

    def _unlink(self, slot: int) -> None:
        """Take a slot out of the iteration list."""
        before, after = self._link(slot, 0).value, self._link(slot, 1).value
        self._connect(before, after, after, before)

    def _connect(self, before: int, after: int, first: int, last: int) -> None:
        """Let `before` be followed by `first`, and `after` be preceded by `last`."""
        if before == _NONE:
            self.fields.iter_list_head = first
        else:
            self._link(before, 1).value = first
        if after == _NONE:
            self.fields.iter_list_tail = last
        else:
            self._link(after, 0).value = last

    def _take_place(self, slot: int, target: int) -> None:
        """Let `target` take the position of `slot` in the iteration list."""
        before, after = self._link(slot, 0).value, self._link(slot, 1).value
        self._link(target, 0).value, self._link(target, 1).value = before, after
        self._connect(before, after, target, target)

    def _append(self, slot: int) -> None:
        """Put a slot at the end of the iteration list."""
        tail = self.fields.iter_list_tail
        self._link(slot, 0).value, self._link(slot, 1).value = tail, _NONE
        self._connect(tail, _NONE, slot, slot)

    def slots_in_order(self) -> Iterator[int]:
        """Yield the slots in iteration order."""
        # c-abi.md, "9.4 Dense operations": start at the head, follow next, the end is 2^64-1.
        slot = self.fields.iter_list_head
        while slot != _NONE:
            yield slot
            slot = self._link(slot, 1).value

    def find(self, key: int) -> int | None:
        """Return the slot of a key."""
        if not self.fields.size:
            return None
        slot = self._home(key)
        if self._meta(slot).value & _MEMBER:  # empty, protected, or a member of another chain
            return None
        equal = self.runtime.hashing.any_equal
        return next((s for s in self._chain(slot) if equal(self.key(s), key)), None)

    def insert(self, pair: int) -> None:
        """Move the owned pair at `pair` into the table; raise `Rehash` if the table is full."""
        # c-abi.md, "9.4 Dense operations": cases A, B and C.
        slot = self._home(pair)
        meta = self._meta(slot)
        if meta.value == _EMPTY:  # A: there is no test for a full table here
            meta.value = 0
            self.fields.size += 1
        elif meta.value & _MEMBER:  # B: the slot belongs to a foreign chain
            if self._is_full():
                raise Rehash
            self._evict(slot)
            meta.value = 0
            self.fields.size += 1
        else:  # C: the slot is the head of the chain
            found = self.find(pair)
            if found is not None:
                # Overwriting moves the entry to the end of the iteration order.
                self._unlink(found)
                self.runtime.values.release(self.key(found))
                self.runtime.values.release(self.key(found) + ANY_SIZE)
                slot = found
            else:
                *_, last = self._chain(slot)
                if self._is_full():
                    raise Rehash
                jump, slot = self._free_after(last)
                self._meta(slot).value = _MEMBER
                self._set_jump(last, jump)
                self.fields.size += 1
        ctypes.memmove(self.key(slot), pair, _PAIR_SIZE)
        self._append(slot)

    def _evict(self, slot: int) -> None:
        """Move the rest of a foreign chain, from `slot` on, to other slots."""
        writer, reader = self._predecessor(slot), slot
        while True:
            jump, target = self._free_after(writer)
            following = self._step(reader)
            self._meta(target).value = _MEMBER
            self._take_place(reader, target)
            ctypes.memmove(self.key(target), self.key(reader), _PAIR_SIZE)
            self._meta(reader).value = _PROTECTED if reader == slot else _EMPTY
            self._set_jump(writer, jump)
            writer = target
            if following is None:
                return
            reader = following

    def erase(self, slot: int) -> None:
        """Remove the entry of a slot."""
        # c-abi.md, "9.4 Dense operations": the order of the other entries is preserved.
        self.fields.size -= 1
        removed = ctypes.string_at(self.key(slot), _PAIR_SIZE)
        chain = list(self._chain(slot))
        if len(chain) == 1:
            if self._meta(slot).value & _MEMBER:
                self._set_jump(self._predecessor(slot), 0)
            self._unlink(slot)
            self._meta(slot).value = _EMPTY
        else:
            before, last = chain[-2], chain[-1]
            self._unlink(slot)
            self._take_place(last, slot)
            ctypes.memmove(self.key(slot), self.key(last), _PAIR_SIZE)
            self._meta(last).value = _EMPTY
            self._set_jump(before, 0)
        buffer = ctypes.create_string_buffer(removed, _PAIR_SIZE)
        for offset in (0, ANY_SIZE):
            self.runtime.values.release(ctypes.addressof(buffer) + offset)


class Maps(Chapter):
    """Creates, reads and changes Map and Dict objects."""

    def set_up(self) -> None:
        for index in MAPS:
            self.runtime.objects.layouts[index] = self._references

    def new(self, type_index: int) -> int:
        """Return a new empty map."""
        # c-abi.md, "9.2 Small representation": initial capacity 2; inline pairs start at +56 with
        # data_deleter null.
        record = self.runtime.objects.new(type_index, _OBJECT_SIZE, self._destroy)
        fields = cell(Fields, record.address)
        fields.data = record.address + _INLINE
        fields.slots = _SMALL_TAG | _SMALL_INITIAL
        return record.address

    def pairs(self, handle: int) -> list[int]:
        """Return the addresses of the keys in iteration order; each value follows its key."""
        fields = cell(Fields, handle)
        if fields.slots & _SMALL_TAG:
            return [fields.data + _PAIR_SIZE * position for position in range(fields.size)]
        table = Table(fields, self.runtime)
        return [table.key(slot) for slot in table.slots_in_order()] if fields.size else []

    def _references(self, handle: int) -> list[int]:
        object_of = self.runtime.values.object_of
        both = [(object_of(pair), object_of(pair + ANY_SIZE)) for pair in self.pairs(handle)]
        return [reference for pair in both for reference in pair if reference]

    def _destroy(self, handle: int) -> None:
        # c-abi.md, "9.1 Fields": the clean-up goes by the tag bit at destruction, whatever the
        # object was at creation.
        self._release_pairs(handle)
        fields = cell(Fields, handle)
        if fields.data_deleter:  # c-abi.md, "9.6 Who frees what": always through data_deleter
            POINTER_CALL(fields.data_deleter)(fields.data)

    def _release_pairs(self, handle: int) -> None:
        for pair in self.pairs(handle):
            self.runtime.values.release(pair)
            self.runtime.values.release(pair + ANY_SIZE)

    def find(self, handle: int, key: int) -> int:
        """Return the address of the value of a key; 0 if the key is missing."""
        fields = cell(Fields, handle)
        if fields.slots & _SMALL_TAG:  # a linear scan with AnyEqual
            equal = self.runtime.hashing.any_equal
            found = next((pair for pair in self.pairs(handle) if equal(pair, key)), 0)
            return found + ANY_SIZE if found else 0
        table = Table(fields, self.runtime)
        slot = table.find(key)
        return 0 if slot is None else table.key(slot) + ANY_SIZE

    def set(self, handle: int, key: int, value: int) -> None:
        """Store owned copies of a key and a value."""
        pair = ctypes.create_string_buffer(_PAIR_SIZE)
        address = ctypes.addressof(pair)
        self.runtime.values.to_owned(key, address)
        self.runtime.values.to_owned(value, address + ANY_SIZE)
        fields = cell(Fields, handle)
        if fields.slots & _SMALL_TAG:
            if self._set_small(handle, address):
                return
            self._make_dense(fields)
        self._insert(fields, address)

    def _set_small(self, handle: int, pair: int) -> bool:
        """Store a pair in a small map; return False if the map becomes dense first."""
        fields = cell(Fields, handle)
        capacity = fields.slots & ~_SMALL_TAG
        # c-abi.md, "9.2 Small representation": full with 4 entries, any Set converts to dense, even
        # of an existing key.
        if fields.size == capacity == _SMALL_MAX:
            return False
        found = self.find(handle, pair)
        if found:  # replaced in place, the order is kept
            self.runtime.values.release(pair)
            self.runtime.values.release(found)
            copy_any(pair + ANY_SIZE, found)
            return True
        if fields.size == capacity:
            grown = min(max(2 * capacity, 2), _SMALL_MAX)
            buffer = self.runtime.heap.allocate(_PAIR_SIZE * grown, "pairs of a map")
            ctypes.memmove(buffer, fields.data, _PAIR_SIZE * fields.size)
            self._switch_data(fields, buffer)
            fields.slots = _SMALL_TAG | grown
        ctypes.memmove(fields.data + _PAIR_SIZE * fields.size, pair, _PAIR_SIZE)
        fields.size += 1
        return True

    def _switch_data(self, fields: Fields, data: int) -> None:
        """Replace the storage of a map; the old one is freed without a look at its content."""
        old, deleter = fields.data, fields.data_deleter
        fields.data = data
        fields.data_deleter = self.runtime.trampoline.address("tvm_ffi_reference_data_deleter")
        if deleter:
            POINTER_CALL(deleter)(old)

    def _make_dense(self, fields: Fields) -> None:
        """Turn a small map of 4 entries into a dense one, in place."""
        # c-abi.md, "9.2 Small representation": range construction of 4 entries gives 8 slots and
        # shift 61.
        pairs = ctypes.string_at(fields.data, _PAIR_SIZE * fields.size)
        self._fill(fields, 8, 61, pairs)

    def _fill(self, fields: Fields, slots: int, shift: int, pairs: bytes) -> None:
        """Make the map a dense one of `slots` slots with the owned `pairs`."""
        # c-abi.md, "9.3 Dense blocks": ceil(slots / 16) blocks of 784 bytes; empty slots are 0xFF.
        blocks = -(-slots // _BLOCK_SLOTS)
        data = self.runtime.heap.allocate(_BLOCK_SIZE * blocks, "blocks of a map")
        for block in range(blocks):
            ctypes.memset(data + _BLOCK_SIZE * block, _EMPTY, _BLOCK_SLOTS)
        self._switch_data(fields, data)
        fields.size, fields.slots, fields.fib_shift = 0, slots, shift
        fields.iter_list_head = fields.iter_list_tail = _NONE
        buffer = ctypes.create_string_buffer(pairs, len(pairs))
        for start in range(0, len(pairs), _PAIR_SIZE):
            self._insert(fields, ctypes.addressof(buffer) + start)

    def _insert(self, fields: Fields, pair: int) -> None:
        """Insert an owned pair into a dense map, growing it if needed."""
        try:
            Table(fields, self.runtime).insert(pair)
        except Rehash:
            # c-abi.md, "9.4 Dense operations", REHASH: twice the slots, one less shift; the entries
            # in iteration order, then the pending pair.
            table = Table(fields, self.runtime)
            keys = [table.key(slot) for slot in table.slots_in_order()]
            pairs = b"".join(ctypes.string_at(key, _PAIR_SIZE) for key in keys)
            pairs += ctypes.string_at(pair, _PAIR_SIZE)
            self._fill(fields, fields.slots * 2, fields.fib_shift - 1, pairs)

    def erase(self, handle: int, key: int) -> None:
        """Remove an entry, if the key exists."""
        fields = cell(Fields, handle)
        if not fields.slots & _SMALL_TAG:
            table = Table(fields, self.runtime)
            slot = table.find(key)
            if slot is not None:
                table.erase(slot)
            return
        value = self.find(handle, key)
        if not value:
            return
        # c-abi.md, "9.2 Small representation": destroy both, move the later pairs down.
        pair = value - ANY_SIZE
        removed = ctypes.create_string_buffer(ctypes.string_at(pair, _PAIR_SIZE), _PAIR_SIZE)
        rest = fields.data + _PAIR_SIZE * fields.size - (pair + _PAIR_SIZE)
        ctypes.memmove(pair, pair + _PAIR_SIZE, rest)
        fields.size -= 1
        for offset in (0, ANY_SIZE):
            self.runtime.values.release(ctypes.addressof(removed) + offset)

    def clear(self, handle: int) -> None:
        """Empty a Dict in place."""
        for key in [bytes(any_at(pair)) for pair in self.pairs(handle)]:
            buffer = ctypes.create_string_buffer(key, ANY_SIZE)
            self.erase(handle, ctypes.addressof(buffer))
