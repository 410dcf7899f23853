# SPDX-License-Identifier: Apache-2.0
"""Map and Dict: iteration over their memory (map_base.h), lookup through runtime functions."""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport uint64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, Packer, begin_call, get_packer, pack_object, release_temporaries, unpack_object,
    view_free_list,
)
from tvm_ffi._binding.interpreter cimport load_count, store_count
from tvm_ffi._binding.object cimport (
    Borrowing, CObject, Guard, begin_borrowing, begin_guard, check, declare_readable_types,
    end_borrowing, end_guard, handle_of,
)

from tvm_ffi._binding.call cimport explain_place

from tvm_ffi._binding.call import find_global_func, runtime_function

cdef CObject _make_dict = runtime_function("ffi.Dict")
cdef CObject _map_get = runtime_function("ffi.MapGetItemOrMissing")
cdef CObject _dict_get = runtime_function("ffi.DictGetItemOrMissing")
cdef str _KEY_PLACE = "key {1!a:.60} of {0}"
cdef CObject _missing = find_global_func("ffi.GetInvalidObject")()


@cython.binding(False)
cdef class MappingBase(CContainerBase):
    """Base of Map and Dict with the methods that read pairs."""

    # Unused; the field gives instances a distinct memory layout, see object/compiled_class.pxi.
    cdef void* _layout

    def __bool__(self):
        return size_of(handle_of(self)) != 0

    def __init_from_row__(self, list row):
        """Create the container from alternating keys and values; keys need not be hashable."""
        constructor = _make_dict if isinstance(self, DictBase) else _make_map
        fill_from_sequence(self, constructor, row)

    def __len__(self):
        return size_of(handle_of(self))

    cdef bint find(self, object key, abi.TVMFFIAny* value) except -1:
        """Return True if the key exists; set `value` to a new reference to the value of the key."""
        cdef abi.TVMFFIObject* handle
        cdef CObject get
        cdef const Packer* packer = get_packer(<PyObject*>key)
        cdef abi.TVMFFIObject* temporaries[2]
        cdef abi.TVMFFIAny args[2]
        cdef PyObject* wrappers[2]
        cdef Borrowing borrowing
        cdef Borrowing** borrowings
        cdef CallState state
        cdef Guard guard
        cdef bint is_guarded
        cdef int code
        if packer == NULL:
            check(-2)
        wrappers[0], wrappers[1] = <PyObject*>self, <PyObject*>key
        begin_call(&state, temporaries, 1)
        borrowings = begin_borrowing(&borrowing, wrappers, 2)
        try:
            if packer.pack(<PyObject*>key, &args[1], &state, packer) != 0:
                explain_place(_KEY_PLACE, type(self), "__name__", key)
                check(-2)
            # Read the handle only after the key is packed, because packing may run any Python code.
            handle = <abi.TVMFFIObject*>handle_of(self)
            pack_object(&args[0], handle.type_index, handle)
            get = _map_get if handle.type_index == abi.kTVMFFIMap else _dict_get
            value.type_index = abi.kTVMFFINone
            value.zero_padding = 0
            value.v_int64 = 0
            is_guarded = needs_guard(handle)
            if is_guarded:
                begin_guard(&guard, _locks, handle)
            code = abi.TVMFFIFunctionCall(get.chandle, args, 2, value)
            if is_guarded:
                end_guard(&guard)
            check(code)
        finally:
            end_borrowing(borrowings, &borrowing)
            release_temporaries(&state, view_free_list())
        if value.type_index == abi.kTVMFFIObject and value.v_obj == _missing.chandle:
            abi.TVMFFIObjectDecRef(value.v_obj)
            return False
        return True

    def __getitem__(self, key):
        cdef abi.TVMFFIAny value
        cdef CallState state
        if not self.find(key, &value):
            raise KeyError(key)
        begin_call(&state, NULL, 0)
        state.exchange_api = self.exchange_api
        return unpack_object(&value, &state)

    def __contains__(self, key):
        cdef abi.TVMFFIAny value
        if not self.find(key, &value):
            return False
        if value.type_index >= abi.kTVMFFIStaticObjectBegin:
            abi.TVMFFIObjectDecRef(value.v_obj)
        return True

    def get(self, key, default=None):
        """Return the value of a key, or `default` if the key is missing."""
        cdef abi.TVMFFIAny value
        cdef CallState state
        if not self.find(key, &value):
            return default
        begin_call(&state, NULL, 0)
        state.exchange_api = self.exchange_api
        return unpack_object(&value, &state)

    def __iter__(self):
        return MappingIterator(self, 0)


cdef class MapBase(MappingBase):
    """Base of Map with its constructor."""

    def __init__(self, input_dict):
        fill_from_mapping(self, _make_map, input_dict)


cdef class DictBase(MappingBase):
    """Base of Dict with its constructor."""

    def __init__(self, input_dict=None):
        fill_from_mapping(self, _make_dict, {} if input_dict is None else input_dict)


@cython.binding(False)
cdef class MappingIterator:
    """Iterator over a Map or Dict in insertion order.

    Raises RuntimeError if the container has changed since the iterator was created.

    Parameters
    ----------
    mapping : MappingBase
        The container.
    part : int
        Kind of the returned elements: 0 for keys, 1 for values, 2 for pairs.
    """

    cdef MappingBase mapping
    cdef int part
    cdef uint64_t index        # index of the slot that contains the next pair
    # Number of pairs not visited yet; `__length_hint__` reads it without the guard.
    cdef Py_ssize_t remaining
    cdef uint64_t size         # number of pairs in the mapping when the iteration began
    cdef char* data            # address of the array of pairs when the iteration began

    def __cinit__(self, MappingBase mapping not None, int part):
        cdef abi.TVMFFIObjectHandle handle = handle_of(mapping)
        cdef MapCell* cell = map_cell(handle)
        cdef Guard guard
        self.mapping = mapping
        self.part = part
        begin_guard(&guard, _locks, handle)
        self.size = cell.size
        self.remaining = <Py_ssize_t>cell.size
        self.data = cell.data
        self.index = first_slot(cell)
        end_guard(&guard)

    def __iter__(self):
        return self

    def __length_hint__(self):
        return load_count(&self.remaining)

    cdef int _take_next(self, abi.TVMFFIAny* key, abi.TVMFFIAny* value) except -1:
        """Return 1 and copy key, value or both of the next pair; return 0 at the end.

        The copies have new references.
        """
        cdef abi.TVMFFIObjectHandle handle = handle_of(self.mapping)
        cdef Guard guard
        cdef int found
        # The guard also protects `self`, which threads may share.
        begin_guard(&guard, _locks, handle)
        found = self._take_from(map_cell(handle), key, value)
        end_guard(&guard)
        if found < 0:
            raise RuntimeError(f"{type(self.mapping).__name__} changed during iteration")
        return found

    cdef int _take_from(
        self, const MapCell* cell, abi.TVMFFIAny* key, abi.TVMFFIAny* value
    ) noexcept:
        """Same as `_take_next`, but return -1 if the container has changed."""
        cdef Pair* pair = NULL
        if self.remaining == 0:
            return 0
        if cell.size == self.size and cell.data == self.data:
            # `pair` is NULL if the slot is empty, because one pair was removed and another one was
            # added.
            pair = next_pair(cell, &self.index)
        if pair == NULL:
            return -1
        store_count(&self.remaining, self.remaining - 1)
        if self.part != 1:
            take_element(&pair.key, key)
        if self.part != 0:
            take_element(&pair.value, value)
        return 1

    def __next__(self):
        cdef abi.TVMFFIAny key, value
        if load_count(&self.remaining) == 0 or self._take_next(&key, &value) == 0:
            raise StopIteration
        if self.part == 0:
            return unpack_element(&key, self.mapping)
        if self.part == 1:
            return unpack_element(&value, self.mapping)
        try:
            first = unpack_element(&key, self.mapping)
        except BaseException:
            release_element(&value)
            raise
        return first, unpack_element(&value, self.mapping)


declare_readable_types(MappingBase, abi.kTVMFFIMap, abi.kTVMFFIDict)
declare_readable_types(MapBase, abi.kTVMFFIMap, abi.kTVMFFIMap)
declare_readable_types(DictBase, abi.kTVMFFIDict, abi.kTVMFFIDict)
