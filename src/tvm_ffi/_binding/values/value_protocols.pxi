# SPDX-License-Identifier: Apache-2.0
"""Values that say which other value is passed in their place."""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, get_packer, pack_inner, pack_temporary,
)
from tvm_ffi._binding.cpython cimport PyNumber_Index
from tvm_ffi._binding.object cimport new_opaque


cdef int _MAX_UNWRAP_STEPS = 64


class ObjectConvertible:
    """A class whose values say which object is passed in their place."""

    def asobject(self):
        """Return the object, or any other value that can be passed."""
        raise NotImplementedError(f"{type(self).__name__} does not define asobject()")


# For the rule, see `add_rule`.
cdef type _convertible_class = ObjectConvertible


cdef int _pack_int_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object answer = (<object>value).__tvm_ffi_int__()
    if not hasattr(answer, "__index__"):
        raise TypeError(
            f"{type(<object>value).__name__}.__tvm_ffi_int__() must return an int, "
            f"got {type(answer).__name__}")
    cdef object number = PyNumber_Index(answer)
    return pack_int(<PyObject*>number, out, state, NULL)


cdef int _pack_float_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object number = (<object>value).__tvm_ffi_float__()
    return pack_float(<PyObject*>number, out, state, NULL)


cdef object _value_of(object value):
    return value.__tvm_ffi_value__()


cdef object _converted_object(object value):
    return value.asobject()


cdef ValueProtocol _by_value = ValueProtocol(
    inner_of=_value_of, method=b"__tvm_ffi_value__", add_restriction=NULL)
cdef ValueProtocol _by_object = ValueProtocol(
    inner_of=_converted_object, method=b"asobject", add_restriction=NULL)


cdef int pack_value_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack what the value stands for, and keep that alive during the call."""
    cdef object inner = <object>value
    cdef const ValueProtocol* kind = NULL
    cdef const char* method = NULL
    cdef int (*add_restriction)(object, abi.TVMFFIAny*, CallState*) except -1
    cdef abi.TVMFFIObjectHandle keep_alive = NULL
    cdef int steps = 0
    add_restriction = NULL
    while packer.pack == <PackFunction>pack_value_protocol:
        kind = <const ValueProtocol*>packer.context
        method = kind.method if kind.method != NULL else method
        add_restriction = kind.add_restriction if kind.add_restriction != NULL else add_restriction
        steps += 1
        if steps > _MAX_UNWRAP_STEPS:
            _refuse_circle(<object>value, method)
        inner = kind.inner_of(inner)
        packer = get_packer(<PyObject*>inner)
        if packer == NULL:
            return -1
    if method != NULL:
        new_opaque(inner, &keep_alive)
        if pack_temporary(state, out, abi.kTVMFFIOpaquePyObject, keep_alive) != 0:
            return -1
    if pack_inner(<PyObject*>inner, out, state) != 0:
        return -1
    return 0 if add_restriction == NULL else add_restriction(inner, out, state)


cdef int _refuse_circle(object value, const char* method) except -1:
    raise RecursionError(
        f"{type(value).__name__}.{method.decode()}() leads to no plain value within "
        f"{_MAX_UNWRAP_STEPS} steps")


cdef bint _value_rule(type cls, object value, Packer* packer) except -1:
    if hasattr(cls, "__tvm_ffi_int__"):
        packer.pack = <PackFunction>_pack_int_protocol
    elif hasattr(cls, "__tvm_ffi_float__"):
        packer.pack = <PackFunction>_pack_float_protocol
    elif hasattr(cls, "__tvm_ffi_value__"):
        packer.pack, packer.context = <PackFunction>pack_value_protocol, &_by_value
    else:
        return False
    return True


cdef bint _convertible_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, _convertible_class):
        return False
    packer.pack, packer.context = <PackFunction>pack_value_protocol, &_by_object
    return True


add_rule(Precedence.VALUE_PROTOCOL, _value_rule)
add_rule(Precedence.OBJECT_CONVERTIBLE, _convertible_rule)
