# SPDX-License-Identifier: Apache-2.0
"""The runtime's own functions, by address, under whatever name or as whatever value they arrive.

The table is filled as the binding is loaded, and read without a lock ever after.  It owns the
functions, so that an address stays that function's.
"""

from libc.stdint cimport int32_t, int64_t, uint64_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object cimport check
from tvm_ffi._binding.values cimport text_of

cdef enum:
    LOG2_SLOTS = 10
    NUM_SLOTS = 1 << LOG2_SLOTS
    MAX_FUNCTIONS = 512  # there are about 150

cdef abi.TVMFFIObjectHandle _slots[NUM_SLOTS]
cdef bint _keep_arguments[NUM_SLOTS]

# Functions of the runtime, among them those that read containers, which other threads may change
# as soon as they have the GIL.
_KEEPING_FUNCTIONS = ("ffi.", "pytvmffi.ReprPrintAbbreviated")
# Functions of the runtime that run the code of libraries, or wait for a loader or a driver.
_WAITING_FUNCTIONS = ("ffi.Module", "ffi.SystemLib")
# Functions of the runtime that put what they are given into an object.
_STORING_FUNCTIONS = (
    "ffi.Array", "ffi.List", "ffi.ListSetItem", "ffi.ListAppend", "ffi.ListInsert",
    "ffi.Map", "ffi.Dict", "ffi.DictSetItem", "ffi.MakeObjectFromPackedArgs", "ffi.VisitInterrupt",
    "ffi.StructuralMutatorVarRemapSet",
)


cdef inline size_t _home_slot(abi.TVMFFIObjectHandle function) noexcept:
    return (<uint64_t><uintptr_t>function * 0x9E3779B97F4A7C15ULL) >> (64 - LOG2_SLOTS)


cdef inline size_t _slot_of(abi.TVMFFIObjectHandle function) noexcept:
    """The slot of the function; an empty one if it is none of the runtime's."""
    cdef size_t i = _home_slot(function)
    while _slots[i] != NULL and _slots[i] != function:
        i = (i + 1) & (NUM_SLOTS - 1)
    return i


cdef bint keeps_gil(abi.TVMFFIObjectHandle function) noexcept:
    return _slots[_slot_of(function)] != NULL


cdef bint keeps_arguments(abi.TVMFFIObjectHandle function) noexcept:
    return _keep_arguments[_slot_of(function)]


cdef int _add(abi.TVMFFIObjectHandle owned, bint keeps) except -1:
    cdef size_t i = _slot_of(owned)
    _slots[i], _keep_arguments[i] = owned, keeps
    return 0


cdef abi.TVMFFIObjectHandle _find(str name) except? NULL:
    cdef bytes text = name.encode("utf-8")
    cdef abi.TVMFFIByteArray view
    cdef abi.TVMFFIObjectHandle function = NULL
    view.data, view.size = text, len(text)
    check(abi.TVMFFIFunctionGetGlobal(&view, &function))
    return function


cdef abi.TVMFFIAny _ask(abi.TVMFFIObjectHandle function, abi.TVMFFIAny* args, int32_t num_args):
    cdef abi.TVMFFIAny answer
    answer.type_index = abi.kTVMFFINone
    answer.zero_padding = 0
    answer.v_int64 = 0
    check(abi.TVMFFIFunctionCall(function, args, num_args, &answer))
    return answer


cdef str _take_text(abi.TVMFFIAny owned):
    cdef str text = text_of(&owned)
    if owned.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectDecRef(owned.v_obj)
    return text


def _fill():
    cdef abi.TVMFFIObjectHandle list_names = _find("ffi.FunctionListGlobalNamesFunctor")
    cdef abi.TVMFFIObjectHandle name_at = _ask(list_names, NULL, 0).v_obj
    cdef abi.TVMFFIAny position
    cdef int64_t count
    position.type_index = abi.kTVMFFIInt
    position.zero_padding = 0
    position.v_int64 = -1
    count = _ask(name_at, &position, 1).v_int64
    for position.v_int64 in range(min(count, MAX_FUNCTIONS)):
        name = _take_text(_ask(name_at, &position, 1))
        if name.startswith(_KEEPING_FUNCTIONS) and not name.startswith(_WAITING_FUNCTIONS):
            _add(_find(name), name in _STORING_FUNCTIONS)
    abi.TVMFFIObjectDecRef(name_at)
    abi.TVMFFIObjectDecRef(list_names)


_fill()
