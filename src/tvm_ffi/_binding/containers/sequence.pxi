# SPDX-License-Identifier: Apache-2.0
"""Array and List: reads from their memory (seq_base.h), changes through runtime functions.

Converting an index or a value may run Python code that changes the sequence.  So each function
converts its arguments before it reads the handle.  After that, no Python code runs until the access
is complete.
"""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t
from libc.stdlib cimport free, malloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, Packer, begin_conversion, get_packer, pack_object, release_temporaries,
    view_free_list,
)
from tvm_ffi._binding.cpython cimport (
    PY_SSIZE_T_MAX, PyErr_Format, PyErr_NoMemory, PyExc_IndexError, PyExc_ValueError, PyIndex_Check,
    PyNumber_AsSsize_t, PySlice_AdjustIndices, PySlice_Unpack,
)
from tvm_ffi._binding.interpreter cimport advance, load_flag, store_flag
from tvm_ffi._binding.object cimport (
    Borrowing, CObject, Guard, begin_borrowing, begin_guard, check, declare_readable_types,
    end_borrowing, end_guard, handle_of,
)

from tvm_ffi._binding.call cimport explain_place

from tvm_ffi._binding.call import runtime_function

cdef extern from * nogil:
    int64_t load_position "tvm_ffi_load"(const int64_t* address) noexcept

cdef CObject _make_list = runtime_function("ffi.List")
cdef CObject _set_item = runtime_function("ffi.ListSetItem")
cdef CObject _insert = runtime_function("ffi.ListInsert")
cdef CObject _erase_one = runtime_function("ffi.ListErase")
cdef CObject _erase_range = runtime_function("ffi.ListEraseRange")
cdef CObject _replace_slice = runtime_function("ffi.ListReplaceSlice")


cdef inline bint _take_at(
    abi.TVMFFIObjectHandle handle, int64_t position, abi.TVMFFIAny* owned
) noexcept:
    """Return True if `position` is in range; copy its element to `owned` with a new reference."""
    cdef SeqCell* cell = seq_cell(handle)
    cdef Guard guard
    cdef bint exists
    if needs_guard(handle):
        begin_guard(&guard, _locks, handle)
        exists = 0 <= position < cell.size
        if exists:
            take_element(&cell.data[position], owned)
        end_guard(&guard)
        return exists
    if not 0 <= position < cell.size:
        return False
    take_element(&cell.data[position], owned)
    return True


cdef class SequenceBase(CContainerBase):
    """Base of Array and List with the methods that read elements."""

    # Unused; the field gives instances a distinct memory layout, see object/compiled_class.pxi.
    cdef void* _layout

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
                return _cold_elements_in(self, index)
            raise TypeError(f"indices must be integers or slices, not {type(index).__name__}")
        i = PyNumber_AsSsize_t(index, PyExc_IndexError)
        # Read the handle only after the call of `__index__`, which may change this sequence or move
        # its native object out of it.
        handle = handle_of(self)
        size = size_of(handle)
        if not _take_at(handle, i if i >= 0 else i + size, &element):
            raise IndexError(f"Index out of range. size: {size}, got index {index}")
        return unpack_element(&element, self)

    def __iter__(self):
        handle_of(self)
        return _SequenceIterator(self)


cdef list _elements_in(SequenceBase self, object index):
    """Return the elements in a slice.  All elements are read under one guard."""
    cdef Py_ssize_t start = 0, stop = 0, step = 0, count = 0, i, num_consumed = 0
    cdef abi.TVMFFIObjectHandle handle
    cdef abi.TVMFFIAny* elements
    cdef list made = []
    cdef Guard guard
    PySlice_Unpack(index, &start, &stop, &step)
    handle = handle_of(self)
    begin_guard(&guard, _locks, handle)
    count = PySlice_AdjustIndices(<Py_ssize_t>seq_cell(handle).size, &start, &stop, step)
    elements = <abi.TVMFFIAny*>malloc(count * sizeof(abi.TVMFFIAny) + 1)
    if elements != NULL:
        for i in range(count):
            take_element(&seq_cell(handle).data[start + i * step], &elements[i])
    end_guard(&guard)
    if elements == NULL:
        raise MemoryError()
    try:
        for i in range(count):
            num_consumed = i + 1  # `unpack_element` consumes the element, even if it fails
            made.append(unpack_element(&elements[i], self))
    finally:
        for i in range(num_consumed, count):
            release_element(&elements[i])
        free(elements)
    return made


cdef list (*_cold_elements_in)(SequenceBase self, object index)
_cold_elements_in = _elements_in


cdef class ArrayBase(SequenceBase):
    """Base of Array with its constructor."""

    def __init__(self, input_list):
        fill_from_sequence(self, _make_array, input_list)


cdef class ListBase(SequenceBase):
    """Base of List with its constructor and the methods that change it."""

    def __init__(self, input_list=()):
        fill_from_sequence(self, _make_list, input_list)

    def __setitem__(self, index, value):
        cdef Py_ssize_t start = 0, stop = 0, step = 0
        if isinstance(index, slice):
            PySlice_Unpack(index, &start, &stop, &step)
            _replace(self, start, stop, step, _list_of(value))
        else:
            _store(self, _set_item, _index_of(index), value)

    def __delitem__(self, index):
        cdef Py_ssize_t start = 0, stop = 0, step = 0
        if isinstance(index, slice):
            PySlice_Unpack(index, &start, &stop, &step)
            _replace(self, start, stop, step, None)
        else:
            _erase(self, _index_of(index))

    def insert(self, index, value):
        """Insert a value before an index, which is clipped to the range of the list."""
        _store(self, _insert, PyNumber_AsSsize_t(index, NULL), value)

    def extend(self, values):
        """Append the elements of an iterable, which may be this list."""
        _replace(self, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, 1, _list_of(values))


cdef ListBase _list_of(object values):
    cdef ListBase made = ListBase.__new__(ListBase)
    fill_from_sequence(made, _make_list, values)
    return made


cdef inline Py_ssize_t _index_of(object index) except? -1:
    if not PyIndex_Check(index):
        raise TypeError(f"indices must be integers or slices, not {type(index).__name__}")
    return PyNumber_AsSsize_t(index, PyExc_IndexError)


cdef inline void _pack_number(abi.TVMFFIAny* out, int64_t number) noexcept:
    out.type_index = abi.kTVMFFIInt
    out.zero_padding = 0
    out.v_int64 = number


cdef inline int _call_change(CObject function, abi.TVMFFIAny* args, int num_args) noexcept:
    """Call a runtime function that changes a list; return its error code for `check`."""
    cdef abi.TVMFFIAny result
    result.type_index = abi.kTVMFFINone
    result.zero_padding = 0
    result.v_int64 = 0
    return abi.TVMFFIFunctionCall(function.chandle, args, num_args, &result)


cdef int _raise_index_error(int64_t size, Py_ssize_t index) noexcept:
    PyErr_Format(
        PyExc_IndexError, b"Index out of range. size: %zd, got index %zd", <Py_ssize_t>size, index)
    return -2


cdef int _store(ListBase self, CObject function, Py_ssize_t index, object value) except -1:
    """Convert a value and call `function`, which stores it as an element at the index."""
    cdef const Packer* packer = get_packer(<PyObject*>value)
    cdef abi.TVMFFIObject* temporaries[2]
    cdef abi.TVMFFIAny args[3]
    cdef PyObject* wrappers[2]
    cdef Borrowing borrowing
    cdef Borrowing** borrowings
    cdef CallState state
    cdef abi.TVMFFIObjectHandle handle
    cdef Guard guard
    cdef int code
    if packer == NULL:
        check(-2)
    wrappers[0], wrappers[1] = <PyObject*>self, <PyObject*>value
    begin_conversion(&state, temporaries, 1)
    borrowings = begin_borrowing(&borrowing, wrappers, 2)
    try:
        if packer.pack(<PyObject*>value, &args[2], &state, packer) != 0:
            explain_place("{}[{}]", type(self), "__name__", index)
            check(-2)
        handle = handle_of(self)
        pack_object(&args[0], abi.kTVMFFIList, handle)
        begin_guard(&guard, _locks, handle)
        code = _store_at(function, index, args)
        end_guard(&guard)
        check(code)
    finally:
        end_borrowing(borrowings, &borrowing)
        release_temporaries(&state, view_free_list())
    return 0


cdef int _store_at(CObject function, Py_ssize_t index, abi.TVMFFIAny* args) noexcept:
    """Set args[1] to the index and call `function`; args[0] is the list, args[2] the value.

    Returns the code that `check` takes.
    """
    cdef int64_t size = seq_cell(args[0].v_obj).size
    cdef int64_t position = index + size if index < 0 else index
    if function is _insert:
        position = min(max(position, 0), size)
    elif not 0 <= position < size:
        return _raise_index_error(size, index)
    _pack_number(&args[1], position)
    return _call_change(function, args, 3)


cdef int _erase(ListBase self, Py_ssize_t index) except -1:
    cdef abi.TVMFFIObjectHandle handle = handle_of(self)
    cdef PyObject* wrapper = <PyObject*>self
    cdef Borrowing borrowing
    cdef Borrowing** borrowings
    cdef abi.TVMFFIAny args[2]
    cdef int64_t size, position
    cdef Guard guard
    cdef int code
    borrowings = begin_borrowing(&borrowing, &wrapper, 1)
    begin_guard(&guard, _locks, handle)
    size = seq_cell(handle).size
    position = index + size if index < 0 else index
    if 0 <= position < size:
        pack_object(&args[0], abi.kTVMFFIList, handle)
        _pack_number(&args[1], position)
        code = _call_change(_erase_one, args, 2)
    else:
        code = _raise_index_error(size, index)
    end_guard(&guard)
    end_borrowing(borrowings, &borrowing)
    return check(code)


cdef int _replace(
    ListBase self, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step, ListBase new
) except -1:
    """Replace the elements of a slice by those of `new`; if `new` is None, remove them."""
    cdef abi.TVMFFIObjectHandle handle = handle_of(self)
    cdef abi.TVMFFIObjectHandle replacement = NULL if new is None else handle_of(new)
    cdef PyObject* wrappers[2]
    cdef Borrowing borrowing
    cdef Borrowing** borrowings
    cdef Guard guard
    cdef int code
    wrappers[0], wrappers[1] = <PyObject*>self, <PyObject*>new
    borrowings = begin_borrowing(&borrowing, wrappers, 2)
    begin_guard(&guard, _locks, handle)
    if step == 1:
        code = _replace_range(handle, start, stop, replacement)
    else:
        code = _replace_steps(handle, start, stop, step, replacement)
    end_guard(&guard)
    end_borrowing(borrowings, &borrowing)
    return check(code)


# `_replace_range` and `_replace_steps` return an error code for `check`.  The runtime releases the
# removed elements after it has changed the list, because their destructors may use the list.

cdef int _replace_range(
    abi.TVMFFIObjectHandle handle, Py_ssize_t start, Py_ssize_t stop,
    abi.TVMFFIObjectHandle replacement,
) noexcept:
    cdef abi.TVMFFIAny args[4]
    PySlice_AdjustIndices(<Py_ssize_t>seq_cell(handle).size, &start, &stop, 1)
    pack_object(&args[0], abi.kTVMFFIList, handle)
    _pack_number(&args[1], start)
    _pack_number(&args[2], max(start, stop))
    if replacement == NULL:
        return _call_change(_erase_range, args, 3)
    pack_object(&args[3], abi.kTVMFFIList, replacement)
    return _call_change(_replace_slice, args, 4)


cdef int _replace_steps(
    abi.TVMFFIObjectHandle handle, Py_ssize_t start, Py_ssize_t stop, Py_ssize_t step,
    abi.TVMFFIObjectHandle replacement,
) noexcept:
    """Replace or remove the elements of a slice with a step, by building the complete new list."""
    cdef SeqCell* cell = seq_cell(handle)
    cdef Py_ssize_t size = <Py_ssize_t>cell.size
    cdef Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step)
    cdef Py_ssize_t num_new, num_left = 0, num_seen = 0, i
    # Elements borrowed from both lists until `made`, the new list, owns references.
    cdef abi.TVMFFIAny* elements
    cdef abi.TVMFFIAny args[4]
    cdef abi.TVMFFIAny made
    cdef int code
    if replacement != NULL:
        num_new = <Py_ssize_t>seq_cell(replacement).size
        if num_new != count:
            PyErr_Format(
                PyExc_ValueError,
                b"attempt to assign sequence of size %zd to extended slice of size %zd",
                num_new, count)
            return -2
    if count == 0:
        return 0
    elements = <abi.TVMFFIAny*>malloc(size * sizeof(abi.TVMFFIAny))
    if elements == NULL or size > 0x7FFFFFFF:
        free(elements)
        PyErr_NoMemory()
        return -2
    if step < 0:  # make `start` the smallest position, to visit the positions in ascending order
        start += (count - 1) * step
    for i in range(size):
        if num_seen == count or i != start:
            elements[num_left] = cell.data[i]
            num_left += 1
            continue
        if replacement != NULL:
            elements[num_left] = seq_cell(replacement).data[
                num_seen if step > 0 else count - 1 - num_seen]
            num_left += 1
        num_seen += 1
        if num_seen < count:
            start += abs(step)
    made.type_index = abi.kTVMFFINone
    made.zero_padding = 0
    made.v_int64 = 0
    code = abi.TVMFFIFunctionCall(_make_list.chandle, elements, <int32_t>num_left, &made)
    free(elements)
    if code != 0:
        return code
    pack_object(&args[0], abi.kTVMFFIList, handle)
    _pack_number(&args[1], 0)
    _pack_number(&args[2], size)
    pack_object(&args[3], abi.kTVMFFIList, made.v_obj)
    code = _call_change(_replace_slice, args, 4)
    abi.TVMFFIObjectDecRef(made.v_obj)
    return code


@cython.binding(False)
cdef class _SequenceIterator:
    """Iterator over an Array or List; visits elements that are appended during the iteration.

    Threads that share an iterator get different elements, also in free-threaded Python.
    """

    cdef SequenceBase sequence
    cdef int64_t position
    # True after the iterator has reached the end once; stays True even if the sequence grows.
    cdef bint is_at_end

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
        return unpack_element(&element, self.sequence)

    def __length_hint__(self):
        if load_flag(&self.is_at_end):
            return 0
        return max(size_of(handle_of(self.sequence)) - load_position(&self.position), 0)


declare_readable_types(SequenceBase, abi.kTVMFFIArray, abi.kTVMFFIList)
declare_readable_types(ArrayBase, abi.kTVMFFIArray, abi.kTVMFFIArray)
declare_readable_types(ListBase, abi.kTVMFFIList, abi.kTVMFFIList)
