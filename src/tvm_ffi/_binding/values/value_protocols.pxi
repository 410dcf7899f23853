# SPDX-License-Identifier: Apache-2.0
"""Value protocols: methods that return the value to pass instead of the Python object."""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, get_packer, pack_inner, pack_temporary,
)
from tvm_ffi._binding.cpython cimport PyNumber_Index
from tvm_ffi._binding.object cimport new_opaque


# Maximum number of nested inner values; a larger number is probably an endless recursion.
cdef int _MAX_UNWRAP_STEPS = 64


class ObjectConvertible:
    """Base class for objects that are passed as the result of their method `asobject`."""

    def asobject(self):
        """Return the value to pass instead of this object, usually a native object."""
        raise NotImplementedError(f"{type(self).__name__} does not define asobject()")


# `ObjectConvertible` as a C variable, because conversion rules must not read module globals; see
# `add_rule`.
cdef type _convertible_class = ObjectConvertible


cdef int _pack_int_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object result = (<object>value).__tvm_ffi_int__()
    if not hasattr(result, "__index__"):
        raise TypeError(
            f"{type(<object>value).__name__}.__tvm_ffi_int__() must return an int, "
            f"got {type(result).__name__}")
    cdef object number = PyNumber_Index(result)
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
    """Pack the inner value of an object with a value protocol.

    If a method returned the inner value, a temporary owns it until the call returns.
    """
    cdef object inner = <object>value
    cdef const ValueProtocol* protocol = NULL
    cdef const char* method = NULL
    cdef int (*add_restriction)(object, abi.TVMFFIAny*, CallState*) except -1
    cdef abi.TVMFFIObjectHandle keep_alive = NULL
    cdef int steps = 0
    add_restriction = NULL
    while packer.pack == <PackFunction>pack_value_protocol:
        protocol = <const ValueProtocol*>packer.context
        method = protocol.method if protocol.method != NULL else method
        add_restriction = (
            protocol.add_restriction if protocol.add_restriction != NULL else add_restriction)
        steps += 1
        if steps > _MAX_UNWRAP_STEPS:
            _raise_endless_protocol(<object>value, method)
        inner = protocol.inner_of(inner)
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


cdef int _raise_endless_protocol(object value, const char* method) except -1:
    raise RecursionError(
        f"{type(value).__name__}.{method.decode()}(): the result of {_MAX_UNWRAP_STEPS} successive "
        "value protocol methods is not a plain value")


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
