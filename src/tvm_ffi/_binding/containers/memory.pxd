# SPDX-License-Identifier: Apache-2.0
# Memory layout of containers (seq_base.h, map_base.h), for reading elements in place.  The cell of
# a container, its fields after the object header, begins with the address and the number of its
# elements.
from libc.stdint cimport int64_t, uint64_t, uint8_t

from tvm_ffi._binding cimport abi

# Cell of an Array or List: the fields after the object header.
ctypedef struct SeqCell:
    abi.TVMFFIAny* data
    int64_t size

# Cell of a Map or Dict: the fields after the object header.  A small Map or Dict is an array of
# pairs.  A large Map or Dict is a hash table of blocks.  The entries of the hash table form a
# linked list in insertion order.
ctypedef struct MapCell:
    char* data
    uint64_t size
    # Number of slots for pairs; bit 63 is set for the array of a small container.
    uint64_t slots
    void* data_deleter
    # Shift of the hash function.  Like `first` and `last`, the shift is valid only in a hash table.
    uint64_t fib_shift
    uint64_t first      # index of the slot with the first entry in insertion order
    uint64_t last       # index of the slot with the last entry in insertion order

ctypedef struct Pair:
    abi.TVMFFIAny key
    abi.TVMFFIAny value

cdef enum:
    BLOCK_SLOTS = 16
    # Size of a block: one metadata byte for each of its 16 slots, then 16 entries.
    BLOCK_BYTES = 784
    # Size of an entry: the pair, then the slot indices of the previous and the next entry.
    ENTRY_BYTES = 48
    NEXT_OFFSET = 40   # offset in an entry, in bytes, of the slot index of the next entry
    EMPTY_SLOT = 0xFF  # metadata byte of an empty slot


cdef inline SeqCell* seq_cell(abi.TVMFFIObjectHandle handle) noexcept:
    return <SeqCell*>(<abi.TVMFFIObject*>handle + 1)


cdef inline MapCell* map_cell(abi.TVMFFIObjectHandle handle) noexcept:
    return <MapCell*>(<abi.TVMFFIObject*>handle + 1)


cdef inline bint is_small(const MapCell* cell) noexcept:
    return cell.slots >> 63 != 0


cdef inline uint64_t first_slot(const MapCell* cell) noexcept:
    return 0 if is_small(cell) else cell.first


cdef inline Pair* next_pair(const MapCell* cell, uint64_t* slot) noexcept:
    """Return the pair in `slot`, and set `slot` to the slot of the next pair.

    Return NULL at the end and for an empty slot.
    """
    cdef uint64_t i = slot[0]
    cdef char* block
    cdef char* entry
    if is_small(cell):
        if i >= cell.size:
            return NULL
        slot[0] = i + 1
        return <Pair*>cell.data + i
    if i >= cell.slots:
        return NULL
    block = cell.data + i // BLOCK_SLOTS * BLOCK_BYTES
    if (<uint8_t*>block)[i % BLOCK_SLOTS] == EMPTY_SLOT:
        return NULL
    entry = block + BLOCK_SLOTS + i % BLOCK_SLOTS * ENTRY_BYTES
    slot[0] = (<uint64_t*>(entry + NEXT_OFFSET))[0]
    return <Pair*>entry
