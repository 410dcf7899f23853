# SPDX-License-Identifier: Apache-2.0
"""Values that say which other value is passed in their place."""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert.precedence cimport Precedence
from tvm_ffi._binding.convert.table cimport (
    CallState, PackFunction, Packer, add_rule, pack_temporary, packer_of,
)
from tvm_ffi._binding.object.object cimport CObject, new_opaque
from tvm_ffi._binding.values.scalar cimport pack_float, pack_int

cdef extern from "Python.h":
    object PyNumber_Index(object value)


cdef int _MAX_UNWRAP_STEPS = 64


class ObjectConvertible:
    """A class whose values say which object is passed in their place."""

    def asobject(self):
        """Return the object, or any other value that can be passed."""
        raise NotImplementedError(f"{type(self).__name__} does not define asobject()")


cdef int _pack_int_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object answer = (<object>value).__tvm_ffi_int__()
    if not hasattr(answer, "__index__"):
        raise TypeError(
            f"{type(<object>value).__name__}.__tvm_ffi_int__() must return an int, "
            f"got {type(answer).__name__}")
    cdef object number = PyNumber_Index(answer)
    return pack_int(<PyObject*>number, out, state, packer)


cdef int _pack_float_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object number = (<object>value).__tvm_ffi_float__()
    return pack_float(<PyObject*>number, out, state, packer)


cdef int _pack_stand_in(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack what the value stands for, and keep that alive during the call."""
    cdef object inner = <object>value
    cdef str method = "__tvm_ffi_value__"
    cdef abi.TVMFFIObjectHandle keep_alive = NULL
    cdef int steps = 0
    while packer.pack == <PackFunction>_pack_stand_in:
        steps += 1
        if steps > _MAX_UNWRAP_STEPS:
            raise RecursionError(
                f"{type(<object>value).__name__}.{method}() leads to no plain value within "
                f"{_MAX_UNWRAP_STEPS} steps")
        method = "__tvm_ffi_value__" if packer.context == NULL else "asobject"
        inner = getattr(inner, method)()
        packer = packer_of(<PyObject*>inner)
        if packer == NULL:
            return -1
    new_opaque(inner, &keep_alive)
    pack_temporary(state, out, abi.kTVMFFIOpaquePyObject, keep_alive)
    if packer.pack(<PyObject*>inner, out, state, packer) != 0:
        return -1
    if isinstance(inner, CObject) and out.type_index >= abi.kTVMFFIStaticObjectBegin:
        # Borrowed from a wrapper that is not among the arguments, and that somebody may empty.
        abi.TVMFFIObjectIncRef(out.v_obj)
        pack_temporary(state, out, out.type_index, out.v_obj)
    return 0


cdef bint _value_rule(type cls, object value, Packer* packer) except -1:
    if hasattr(cls, "__tvm_ffi_int__"):
        packer.pack = <PackFunction>_pack_int_protocol
    elif hasattr(cls, "__tvm_ffi_float__"):
        packer.pack = <PackFunction>_pack_float_protocol
    elif hasattr(cls, "__tvm_ffi_value__"):
        packer.pack = <PackFunction>_pack_stand_in
    else:
        return False
    return True


cdef bint _convertible_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, ObjectConvertible):
        return False
    packer.pack = <PackFunction>_pack_stand_in
    packer.context = <void*>ObjectConvertible  # not NULL: tells which method to call
    return True


add_rule(Precedence.VALUE_PROTOCOL, _value_rule)
add_rule(Precedence.OBJECT_CONVERTIBLE, _convertible_rule)
