# SPDX-License-Identifier: Apache-2.0
"""None, bool, int and float as arguments and results; ints beyond 64 bits become objects."""

import sys

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_exact_packer, add_rule, add_unpacker,
    pack_temporary,
)
from tvm_ffi._binding.cpython cimport PyErr_Occurred, PyFloat_AsDouble, PyLong_AsLongLongAndOverflow
from tvm_ffi._binding.object cimport check

# `sys.modules` as a C variable, because conversion rules must not read module globals; see
# `add_rule`.
cdef dict _modules = sys.modules


cdef inline int _set_scalar(abi.TVMFFIAny* out, int32_t index, int64_t payload) noexcept:
    out.type_index = index
    out.zero_padding = 0
    out.v_int64 = payload
    return 0


cdef int _pack_none(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    return _set_scalar(out, abi.kTVMFFINone, 0)


cdef int _pack_bool(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_scalar(out, abi.kTVMFFIBool, 1 if <object>value else 0)


cdef int pack_float(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef double number = PyFloat_AsDouble(value)
    if number == -1.0 and PyErr_Occurred() != NULL:
        return -1
    _set_scalar(out, abi.kTVMFFIFloat, 0)
    out.v_float64 = number
    return 0


cdef int pack_int(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef int overflow = 0
    cdef long long number = PyLong_AsLongLongAndOverflow(value, &overflow)
    if overflow != 0:
        return (<PackFunction>_pack_big_int)(value, out, state, packer)
    if number == -1 and PyErr_Occurred() != NULL:
        return -1
    return _set_scalar(out, abi.kTVMFFIInt, number)


cdef int _pack_big_int(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack an int beyond 64 bits as a native object that contains its two's complement bytes."""
    cdef object number = <object>value
    cdef bytes octets = number.to_bytes((number.bit_length() // 64 + 1) * 8, "little", signed=True)
    cdef abi.TVMFFIByteArray view
    view.data, view.size = octets, len(octets)
    check(abi.TVMFFIBigIntFromByteArray(&view, out))
    if out.type_index == abi.kTVMFFIBigInt:
        return pack_temporary(state, out, abi.kTVMFFIBigInt, out.v_obj)
    return 0


cdef int _pack_integral(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object number = int(<object>value)
    return pack_int(<PyObject*>number, out, state, NULL)


cdef bint _number_rule(type cls, object value, Packer* packer) except -1:
    # Do not import `numbers`: a value of a class that is registered with `numbers.Integral` or
    # `numbers.Real` exists only if the module is already imported.
    cdef object numbers = _modules.get("numbers")
    cdef object integral = getattr(numbers, "Integral", None)
    if issubclass(cls, bool) or _is_numpy_bool(cls):
        packer.pack = <PackFunction>_pack_bool
    elif issubclass(cls, int):
        packer.pack = pack_int
    elif issubclass(cls, float):
        packer.pack = pack_float
    elif integral is None:
        return False
    elif issubclass(cls, integral):
        packer.pack = <PackFunction>_pack_integral
    elif issubclass(cls, numbers.Real):
        packer.pack = pack_float
    else:
        return False
    return True


cdef bint _is_numpy_bool(type cls) except -1:
    return cls.__module__ == "numpy" and cls.__name__ in ("bool", "bool_")


# ---- native to Python ----------------------------------------------------------------------

cdef object _unpack_none(abi.TVMFFIAny* owned, CallState* state):
    return None


cdef object _unpack_int(abi.TVMFFIAny* owned, CallState* state):
    return owned.v_int64


cdef object _unpack_bool(abi.TVMFFIAny* owned, CallState* state):
    return owned.v_int64 != 0


cdef object _unpack_float(abi.TVMFFIAny* owned, CallState* state):
    return owned.v_float64


cdef object _unpack_big_int(abi.TVMFFIAny* owned, CallState* state):
    cdef abi.TVMFFIByteArray content = abi.TVMFFIBigIntGetContentByteArray(owned)
    try:
        octets = PyBytes_FromStringAndSize(content.data, <Py_ssize_t>content.size)
        return int.from_bytes(octets, "little", signed=True)
    finally:
        abi.TVMFFIObjectDecRef(owned.v_obj)


add_exact_packer(type(None), _pack_none, NULL)
add_exact_packer(bool, <PackFunction>_pack_bool, NULL)
add_exact_packer(int, pack_int, NULL)
add_exact_packer(float, pack_float, NULL)
add_rule(Precedence.NUMBER, _number_rule)
add_unpacker(abi.kTVMFFINone, _unpack_none)
add_unpacker(abi.kTVMFFIInt, _unpack_int)
add_unpacker(abi.kTVMFFIBool, _unpack_bool)
add_unpacker(abi.kTVMFFIFloat, _unpack_float)
add_unpacker(abi.kTVMFFIBigInt, _unpack_big_int)
