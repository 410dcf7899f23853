# SPDX-License-Identifier: Apache-2.0
"""Arrays and lists, read from the memory that the C++ headers lay out (seq_base.h)."""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.containers.container cimport (
    CContainerBase, hold_sequence, make_element, needs_guard, size_of, take_element,
)
from tvm_ffi._binding.containers.memory cimport SeqCell, seq_cell
from tvm_ffi._binding.interpreter cimport advance, load_flag, store_flag
from tvm_ffi._binding.object.object cimport (
    CObject, Guard, begin_guard, end_guard, handle_of, object_locks,
)

from tvm_ffi._binding.call.making import find_global_func

cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object value, object error) except? -1
    bint PyIndex_Check(object value)

cdef extern from * nogil:
    int64_t load_position "tvm_ffi_load"(const int64_t* place) noexcept

cdef PyObject** _locks = object_locks()
cdef CObject _make_array = find_global_func("ffi.Array")
cdef CObject _make_list = find_global_func("ffi.List")


cdef inline bint _take_at(
    abi.TVMFFIObjectHandle handle, int64_t position, abi.TVMFFIAny* owned
) noexcept:
    """Take the element at a position; False when there is none."""
    cdef SeqCell* cell = seq_cell(handle)
    cdef Guard guard
    cdef bint is_there
    if needs_guard(handle):
        begin_guard(&guard, _locks, handle)
        is_there = 0 <= position < cell.size
        if is_there:
            take_element(&cell.data[position], owned)
        end_guard(&guard)
        return is_there
    if not 0 <= position < cell.size:
        return False
    take_element(&cell.data[position], owned)
    return True


cdef class SequenceBase(CContainerBase):
    """Reading of Array and List."""

    def __bool__(self):
        return size_of(handle_of(self)) != 0

    def __len__(self):
        return size_of(handle_of(self))

    def __getitem__(self, index):
        cdef abi.TVMFFIAny element
        cdef abi.TVMFFIObjectHandle handle
        cdef int64_t size
        cdef Py_ssize_t i
        if not PyIndex_Check(index):
            if isinstance(index, slice):
                return [self[i] for i in range(*index.indices(len(self)))]
            raise TypeError(f"indices must be integers or slices, not {type(index).__name__}")
        i = PyNumber_AsSsize_t(index, IndexError)
        # Not before: the index may run code, which may change this sequence or move it away.
        handle = handle_of(self)
        size = size_of(handle)
        if not _take_at(handle, i if i >= 0 else i + size, &element):
            raise IndexError(f"Index out of range. size: {size}, got index {index}")
        return make_element(&element, self)

    def __iter__(self):
        handle_of(self)
        return _SequenceIterator(self)


cdef class ArrayBase(SequenceBase):
    """Construction of Array."""

    def __init__(self, input_list):
        hold_sequence(self, _make_array, input_list)


cdef class ListBase(SequenceBase):
    """Construction of List."""

    def __init__(self, input_list=()):
        hold_sequence(self, _make_list, input_list)


@cython.binding(False)
cdef class _SequenceIterator:
    """Walks a sequence as Python's list iterator does: items that are appended are visited.

    Threads that share an iterator get different elements, also without the GIL.
    """

    cdef SequenceBase sequence
    cdef int64_t position
    cdef bint is_at_end  # stays so, even if the sequence grows

    def __cinit__(self, SequenceBase sequence not None):
        self.sequence = sequence

    def __iter__(self):
        return self

    def __next__(self):
        cdef abi.TVMFFIAny element
        cdef abi.TVMFFIObjectHandle handle
        if load_flag(&self.is_at_end):
            raise StopIteration
        handle = handle_of(self.sequence)
        if not _take_at(handle, advance(&self.position, 1) - 1, &element):
            store_flag(&self.is_at_end, True)
            raise StopIteration
        return make_element(&element, self.sequence)

    def __length_hint__(self):
        if load_flag(&self.is_at_end):
            return 0
        return max(size_of(handle_of(self.sequence)) - load_position(&self.position), 0)
