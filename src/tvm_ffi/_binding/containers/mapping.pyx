# SPDX-License-Identifier: Apache-2.0
"""Maps and dicts: read in the order of insertion from the memory that the C++ headers lay out
(map_base.h), searched by the runtime's functions.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uint64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.containers.container cimport (
    CContainerBase, element_of, hold_mapping, hold_sequence,
)
from tvm_ffi._binding.containers.memory cimport MapCell, Pair, first_slot, map_cell, next_pair
from tvm_ffi._binding.convert.loan cimport loan_pool
from tvm_ffi._binding.convert.table cimport (
    CallState, Packer, begin_call, make_object, pack_object, packer_of, release_temporaries,
)
from tvm_ffi._binding.object.error cimport check
from tvm_ffi._binding.object.object cimport CObject, handle_of

from tvm_ffi._binding.call.making import find_global_func

cdef CObject _make_map = find_global_func("ffi.Map")
cdef CObject _make_dict = find_global_func("ffi.Dict")
cdef CObject _map_get = find_global_func("ffi.MapGetItemOrMissing")
cdef CObject _dict_get = find_global_func("ffi.DictGetItemOrMissing")
cdef CObject _missing = find_global_func("ffi.GetInvalidObject")()


cdef class MappingBase(CContainerBase):
    """Reading of Map and Dict."""

    def __bool__(self):
        return map_cell(handle_of(self)).size != 0

    def __init_from_row__(self, list row):
        """Hold a new table of key, value, key, value, ...; unlike in dicts, any key will do."""
        make = _make_dict if isinstance(self, DictBase) else _make_map
        hold_sequence(self, make, row)

    def __len__(self):
        return map_cell(handle_of(self)).size

    cdef bint find(self, object key, abi.TVMFFIAny* value) except -1:
        """Take the value of the key, owned; False when there is none."""
        cdef abi.TVMFFIObjectHandle handle = handle_of(self)
        cdef int32_t index = (<abi.TVMFFIObject*>handle).type_index
        cdef CObject get = _map_get if index == abi.kTVMFFIMap else _dict_get
        cdef const Packer* packer = packer_of(<PyObject*>key)
        cdef abi.TVMFFIObject* temporaries[2]
        cdef abi.TVMFFIAny args[2]
        cdef CallState state
        if packer == NULL:
            check(-2)
        begin_call(&state, temporaries)
        pack_object(&args[0], index, handle)
        try:
            if packer.pack(<PyObject*>key, &args[1], &state, packer) != 0:
                check(-2)
            value.type_index = abi.kTVMFFINone
            value.zero_padding = 0
            value.v_int64 = 0
            check(abi.TVMFFIFunctionCall(get.chandle, args, 2, value))
        finally:
            release_temporaries(&state, loan_pool())
        if value.type_index == abi.kTVMFFIObject and value.v_obj == _missing.chandle:
            abi.TVMFFIObjectDecRef(value.v_obj)
            return False
        return True

    def __getitem__(self, key):
        cdef abi.TVMFFIAny value
        cdef CallState state
        if not self.find(key, &value):
            raise KeyError(key)
        begin_call(&state, NULL)
        state.exchange_api = self.exchange_api
        return make_object(&value, &state)

    def __contains__(self, key):
        cdef abi.TVMFFIAny value
        if not self.find(key, &value):
            return False
        if value.type_index >= abi.kTVMFFIStaticObjectBegin:
            abi.TVMFFIObjectDecRef(value.v_obj)
        return True

    def get(self, key, default=None):
        """Return the value of a key, or `default`."""
        cdef abi.TVMFFIAny value
        cdef CallState state
        if not self.find(key, &value):
            return default
        begin_call(&state, NULL)
        state.exchange_api = self.exchange_api
        return make_object(&value, &state)

    def __iter__(self):
        return MappingIterator(self, 0)


cdef class MapBase(MappingBase):
    """Construction of Map."""

    def __init__(self, input_dict):
        hold_mapping(self, _make_map, input_dict)


cdef class DictBase(MappingBase):
    """Construction of Dict."""

    def __init__(self, input_dict=None):
        hold_mapping(self, _make_dict, {} if input_dict is None else input_dict)


cdef class MappingIterator:
    """Walks a table in order of insertion; RuntimeError when the table changes meanwhile.

    Parameters
    ----------
    mapping : MappingBase
        The table.
    part : int
        What to give: 0 for keys, 1 for values, 2 for both.
    """

    cdef MappingBase mapping
    cdef int part
    cdef uint64_t index      # position or slot of the next pair
    cdef uint64_t remaining
    cdef uint64_t size       # the table as it was at the start
    cdef char* data

    def __init__(self, MappingBase mapping, int part):
        cdef MapCell* cell = map_cell(handle_of(mapping))
        self.mapping = mapping
        self.part = part
        self.remaining = self.size = cell.size
        self.data = cell.data
        self.index = first_slot(cell)

    def __iter__(self):
        return self

    def __length_hint__(self):
        return self.remaining

    cdef Pair* _advance(self) except NULL:
        """The next pair of an unchanged table."""
        cdef MapCell* cell = map_cell(handle_of(self.mapping))
        cdef Pair* pair = NULL
        if cell.size == self.size and cell.data == self.data:
            # With a pair removed and another one added, the slot may have been emptied.
            pair = next_pair(cell, &self.index)
        if pair == NULL:
            raise RuntimeError(f"{type(self.mapping).__name__} changed during iteration")
        return pair

    def __next__(self):
        cdef Pair* pair
        if self.remaining == 0:
            raise StopIteration
        pair = self._advance()
        self.remaining -= 1
        if self.part == 0:
            return element_of(&pair.key, self.mapping)
        if self.part == 1:
            return element_of(&pair.value, self.mapping)
        return self._both(pair)

    cdef tuple _both(self, Pair* pair):
        # Making the key may run code that changes the table: the value is taken first.
        cdef abi.TVMFFIAny value = pair.value
        cdef CObject holder = None
        if value.type_index >= abi.kTVMFFIStaticObjectBegin:
            holder = CObject.__new__(CObject)
            abi.TVMFFIObjectIncRef(value.v_obj)
            holder.chandle = value.v_obj
        key = element_of(&pair.key, self.mapping)
        return key, element_of(&value, self.mapping)
