# SPDX-License-Identifier: Apache-2.0
"""Arrays and lists, read from the memory that the C++ headers lay out (seq_base.h)."""

from libc.stdint cimport int64_t

from tvm_ffi._binding.containers.container cimport CContainerBase, element_of, hold_sequence
from tvm_ffi._binding.containers.memory cimport SeqCell, seq_cell
from tvm_ffi._binding.interpreter cimport advance
from tvm_ffi._binding.object.object cimport CObject, handle_of

from tvm_ffi._binding.call.making import find_global_func

cdef extern from "Python.h":
    Py_ssize_t PyNumber_AsSsize_t(object value, object error) except? -1
    bint PyIndex_Check(object value)

cdef CObject _make_array = find_global_func("ffi.Array")
cdef CObject _make_list = find_global_func("ffi.List")


cdef class SequenceBase(CContainerBase):
    """Reading of Array and List."""

    def __bool__(self):
        return seq_cell(handle_of(self)).size != 0

    def __len__(self):
        return seq_cell(handle_of(self)).size

    def __getitem__(self, index):
        cdef SeqCell* cell = seq_cell(handle_of(self))
        cdef Py_ssize_t i
        if not PyIndex_Check(index):
            if isinstance(index, slice):
                return [self[i] for i in range(*index.indices(cell.size))]
            raise TypeError(f"indices must be integers or slices, not {type(index).__name__}")
        i = PyNumber_AsSsize_t(index, IndexError)
        if i < 0:
            i += cell.size
        if not 0 <= i < cell.size:
            raise IndexError(f"Index out of range. size: {cell.size}, got index {index}")
        return element_of(&cell.data[i], self)

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


cdef class _SequenceIterator:
    """Walks a sequence as Python's list iterator does: items that are appended are visited.

    Threads that share an iterator get different elements, also without the GIL.
    """

    cdef SequenceBase sequence
    cdef int64_t position
    cdef bint is_at_end  # stays so, even if the sequence grows

    def __init__(self, SequenceBase sequence):
        self.sequence = sequence

    def __iter__(self):
        return self

    def __next__(self):
        cdef SeqCell* cell
        cdef int64_t position
        if self.is_at_end:
            raise StopIteration
        cell = seq_cell(handle_of(self.sequence))
        position = advance(&self.position, 1) - 1
        if position >= cell.size:
            self.is_at_end = True
            raise StopIteration
        return element_of(&cell.data[position], self.sequence)

    def __length_hint__(self):
        if self.is_at_end:
            return 0
        return max(seq_cell(handle_of(self.sequence)).size - self.position, 0)
