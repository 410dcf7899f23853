# SPDX-License-Identifier: Apache-2.0
# Memory layout of containers (seq_base.h, map_base.h), for reading elements in place.  The cell of
# every container begins with the address and the number of its elements.
from libc.stdint cimport int64_t, uint64_t, uint8_t

from tvm_ffi._binding cimport abi

# Content of an Array or List, after the object header.
ctypedef struct SeqCell:
    abi.TVMFFIAny* data
    int64_t size

# Content of a Map or Dict, after the object header.  A small Map or Dict is an array of pairs.  A
# large one is a hash table of blocks, whose entries form a linked list in insertion order.
ctypedef struct MapCell:
    char* data
    uint64_t size
    uint64_t slots      # number of slots; bit 63 is set for the array of a small container
    void* data_deleter
    uint64_t fib_shift  # like the next two fields, only in a hash table
    uint64_t first      # slot index of the first entry in insertion order
    uint64_t last       # slot index of the last entry in insertion order

ctypedef struct Pair:
    abi.TVMFFIAny key
    abi.TVMFFIAny value

cdef enum:
    BLOCK_SLOTS = 16
    BLOCK_BYTES = 784  # size of a block: 16 bytes of slot metadata, then 16 entries
    ENTRY_BYTES = 48   # size of an entry: pair, then the slot indices of the previous and next one
    NEXT_OFFSET = 40   # byte offset in an entry of the next entry's slot index
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
    """Return the pair in `slot` and set `slot` to the next pair's; return NULL at the end."""
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
