# SPDX-License-Identifier: Apache-2.0
# What the memory of containers looks like (seq_base.h, map_base.h), for reading in place.  All
# begin with the address of their elements and their number.
from libc.stdint cimport int64_t, uint64_t, uint8_t

from tvm_ffi._binding cimport abi

# What follows the header of an Array or List.
ctypedef struct SeqCell:
    abi.TVMFFIAny* data
    int64_t size

# What follows the header of a Map or Dict.
ctypedef struct MapCell:
    char* data
    uint64_t size
    uint64_t slots      # bit 63: pairs one behind the other; else blocks of a hash table
    void* data_deleter
    uint64_t fib_shift  # a hash table's own fields from here on
    uint64_t first      # slot that begins the order of insertion
    uint64_t last

ctypedef struct Pair:
    abi.TVMFFIAny key
    abi.TVMFFIAny value

cdef enum:
    BLOCK_SLOTS = 16
    BLOCK_BYTES = 784  # 16 bytes of metadata, then entries
    ENTRY_BYTES = 48   # a pair, then the slots before and behind it in order
    NEXT_OFFSET = 40
    EMPTY_SLOT = 0xFF


cdef inline SeqCell* seq_cell(abi.TVMFFIObjectHandle handle) noexcept:
    return <SeqCell*>(<abi.TVMFFIObject*>handle + 1)


cdef inline MapCell* map_cell(abi.TVMFFIObjectHandle handle) noexcept:
    return <MapCell*>(<abi.TVMFFIObject*>handle + 1)


cdef inline bint is_small(const MapCell* cell) noexcept:
    return cell.slots >> 63 != 0


cdef inline uint64_t first_slot(const MapCell* cell) noexcept:
    return 0 if is_small(cell) else cell.first


cdef inline Pair* next_pair(const MapCell* cell, uint64_t* slot) noexcept:
    """The pair in a slot, which moves on to the next one; NULL when there is none any more."""
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
