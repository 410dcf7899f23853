# SPDX-License-Identifier: Apache-2.0
"""Short functions of the runtime, which are called with the GIL held: a table of addresses.

The hash table contains the addresses of function objects, because Python code may obtain the same
function by name or as a value.  The table owns the functions, so their addresses are not reused.
The import of the binding fills the table; later, threads read it without a lock.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport check
from tvm_ffi._binding.values cimport text_of

cdef enum:
    LOG2_SLOTS = 10
    NUM_SLOTS = 1 << LOG2_SLOTS
    MAX_FUNCTIONS = 512  # half of the slots; the runtime has about 150 functions

cdef abi.TVMFFIObjectHandle _slots[NUM_SLOTS]  # function objects, owned; NULL: empty slot
cdef bint _stores_arguments[NUM_SLOTS]  # result of `stores_arguments` for the function in each slot

# Name prefixes of the functions that are called with the GIL held.  Many of them read containers,
# which other threads change only with the GIL held.
_GIL_KEEPING_PREFIXES = ("ffi.", "pytvmffi.ReprPrintAbbreviated")
# Name prefixes of functions that are called without the GIL despite their prefix `ffi.`, because
# they run code of libraries, or wait for the loader or a driver.
_BLOCKING_PREFIXES = ("ffi.Module", "ffi.SystemLib")
# Functions that store their arguments in an object.
_STORING_FUNCTIONS = (
    "ffi.Array", "ffi.List", "ffi.ListSetItem", "ffi.ListAppend", "ffi.ListInsert",
    "ffi.Map", "ffi.Dict", "ffi.DictSetItem", "ffi.MakeObjectFromPackedArgs", "ffi.VisitInterrupt",
    "ffi.StructuralMutatorVarRemapSet",
)


cdef inline size_t _home_slot(abi.TVMFFIObjectHandle function) noexcept:
    return (<uint64_t><uintptr_t>function * 0x9E3779B97F4A7C15ULL) >> (64 - LOG2_SLOTS)


cdef inline size_t _slot_of(abi.TVMFFIObjectHandle function) noexcept:
    """Return the index of the function's slot, or of an empty slot if it is not in the table."""
    cdef size_t i = _home_slot(function)
    while _slots[i] != NULL and _slots[i] != function:
        i = (i + 1) & (NUM_SLOTS - 1)
    return i


cdef bint keeps_gil(abi.TVMFFIObjectHandle function) noexcept:
    return _slots[_slot_of(function)] != NULL


cdef bint stores_arguments(abi.TVMFFIObjectHandle function) noexcept:
    return _stores_arguments[_slot_of(function)]


cdef int _add_function(abi.TVMFFIObjectHandle owned, bint stores) except -1:
    cdef size_t i = _slot_of(owned)
    _slots[i], _stores_arguments[i] = owned, stores
    return 0


cdef abi.TVMFFIObjectHandle _find_function(str name) except? NULL:
    cdef bytes text = name.encode("utf-8")
    cdef abi.TVMFFIByteArray view
    cdef abi.TVMFFIObjectHandle function = NULL
    view.data, view.size = text, len(text)
    check(abi.TVMFFIFunctionGetGlobal(&view, &function))
    return function


cdef abi.TVMFFIAny _call_function(
    abi.TVMFFIObjectHandle function, abi.TVMFFIAny* args, int32_t num_args
):
    cdef abi.TVMFFIAny result
    result.type_index = abi.kTVMFFINone
    result.zero_padding = 0
    result.v_int64 = 0
    check(abi.TVMFFIFunctionCall(function, args, num_args, &result))
    return result


cdef str _consume_text(abi.TVMFFIAny owned):
    cdef str text = text_of(&owned)
    if owned.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectDecRef(owned.v_obj)
    return text


def _fill_table():
    cdef abi.TVMFFIObjectHandle list_names = _find_function("ffi.FunctionListGlobalNamesFunctor")
    cdef abi.TVMFFIObjectHandle name_at = _call_function(list_names, NULL, 0).v_obj
    cdef abi.TVMFFIAny index
    cdef int64_t count
    index.type_index = abi.kTVMFFIInt
    index.zero_padding = 0
    index.v_int64 = -1  # `name_at(-1)` returns the number of names
    count = _call_function(name_at, &index, 1).v_int64
    for index.v_int64 in range(min(count, MAX_FUNCTIONS)):
        name = _consume_text(_call_function(name_at, &index, 1))
        if name.startswith(_GIL_KEEPING_PREFIXES) and not name.startswith(_BLOCKING_PREFIXES):
            _add_function(_find_function(name), name in _STORING_FUNCTIONS)
    abi.TVMFFIObjectDecRef(name_at)
    abi.TVMFFIObjectDecRef(list_names)


_fill_table()
