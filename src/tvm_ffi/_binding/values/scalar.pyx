# SPDX-License-Identifier: Apache-2.0
"""None, numbers, pointers, and the fallback for values that native code cannot look into."""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert.precedence cimport Precedence
from tvm_ffi._binding.convert.table cimport (
    CallState, PackFunction, Packer, add_exact_packer, add_maker, add_rule, pack_object,
    pack_temporary, packer_of,
)
from tvm_ffi._binding.object.error cimport (
    Error, check, native_error_of, new_native_error, wrap_error,
)
from tvm_ffi._binding.object.object cimport (
    CObject, ObjectRValueRef, handle_of, new_opaque,
)

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(PyObject* value, int* overflow) noexcept
    object PyNumber_Index(object value)
    double PyFloat_AsDouble(PyObject* value) noexcept
    PyObject* PyErr_Occurred() noexcept


cdef int _MAX_UNWRAP_STEPS = 64

# Classes that others teach us to pass as pointers: class to a function that returns the address.
# A class must be here before its first value is passed.
OPAQUE_PTR_HANDLERS = {}

# Where NVIDIA's Python package has had its class of streams.
_CUDA_DRIVER_MODULES = ("cuda.bindings.driver", "cuda.cuda")


class ObjectConvertible:
    """A class whose values say which object is passed in their place."""

    def asobject(self):
        """Return the object, or any other value that can be passed."""
        raise NotImplementedError(f"{type(self).__name__} does not define asobject()")


cdef inline int _set(abi.TVMFFIAny* out, int32_t index, int64_t payload) noexcept:
    out.type_index = index
    out.zero_padding = 0
    out.v_int64 = payload
    return 0


cdef int _pack_none(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    return _set(out, abi.kTVMFFINone, 0)


cdef int _pack_bool(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set(out, abi.kTVMFFIBool, 1 if <object>value else 0)


cdef int _pack_float(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef double number = PyFloat_AsDouble(value)
    if number == -1.0 and PyErr_Occurred() != NULL:
        return -1
    _set(out, abi.kTVMFFIFloat, 0)
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
    return _set(out, abi.kTVMFFIInt, number)


cdef int _pack_big_int(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object number = <object>value
    cdef bytes words = number.to_bytes((number.bit_length() // 64 + 1) * 8, "little", signed=True)
    cdef abi.TVMFFIByteArray view
    view.data, view.size = words, len(words)
    check(abi.TVMFFIBigIntFromByteArray(&view, out))
    if out.type_index == abi.kTVMFFIBigInt:
        pack_temporary(state, out, abi.kTVMFFIBigInt, out.v_obj)
    return 0


cdef int _pack_integral(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object number = int(<object>value)
    return pack_int(<PyObject*>number, out, state, packer)


cdef int _pack_c_void_p(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_pointer(out, (<object>value).value or 0)


cdef int _pack_opaque_ptr(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set(out, abi.kTVMFFIOpaquePtr, (<object>value).__tvm_ffi_opaque_ptr__())


cdef int _pack_cuda_stream(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object answer = (<object>value).__cuda_stream__()
    if not isinstance(answer, tuple) or len(answer) < 2:
        raise TypeError(
            f"{type(<object>value).__name__}.__cuda_stream__() must return a tuple "
            f"(version, pointer), got {answer!r}")
    return _set_pointer(out, answer[1])


cdef int _pack_driver_stream(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_pointer(out, int(<object>value))


cdef int _pack_by_handler(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_pointer(out, OPAQUE_PTR_HANDLERS[type(<object>value)](<object>value))


cdef int _set_pointer(abi.TVMFFIAny* out, object address) except -1:
    """The int as an address; one below zero as well, such as -1 for what is no address."""
    cdef object number = PyNumber_Index(address)
    cdef uintptr_t pointer
    if number < 0:
        pointer = <uintptr_t><int64_t>number
    else:
        pointer = number
    return _set(out, abi.kTVMFFIOpaquePtr, <int64_t>pointer)


cdef int pack_handle(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef abi.TVMFFIObject* handle = <abi.TVMFFIObject*>handle_of(<CObject>value)
    return pack_object(out, handle.type_index, handle)


cdef int _pack_error(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return pack_object(out, abi.kTVMFFIError, native_error_of(<Error>value))


cdef int _pack_object_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef object answer = (<object>value).__tvm_ffi_object__()
    if not isinstance(answer, CObject):
        raise TypeError(
            f"{type(<object>value).__name__}.__tvm_ffi_object__() must return an FFI object, "
            f"got {type(answer).__name__}")
    cdef abi.TVMFFIObject* handle = <abi.TVMFFIObject*>handle_of(<CObject>answer)
    abi.TVMFFIObjectIncRef(handle)  # the Python wrapper may be gone before the call is
    return pack_temporary(state, out, handle.type_index, handle)


cdef int _pack_rvalue_ref(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef CObject obj = (<ObjectRValueRef>value).obj
    handle_of(obj)
    out.type_index = abi.kTVMFFIObjectRValueRef
    out.zero_padding = 0
    out.v_ptr = &obj.chandle
    return 0


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
    return _pack_float(<PyObject*>number, out, state, packer)


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
    return packer.pack(<PyObject*>inner, out, state, packer)


cdef int _pack_opaque(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef abi.TVMFFIObjectHandle opaque = NULL
    new_opaque(<object>value, &opaque)
    return pack_temporary(state, out, abi.kTVMFFIOpaquePyObject, opaque)


cdef int _pack_exception(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return pack_temporary(state, out, abi.kTVMFFIError, new_native_error(<object>value))


# ---- rules ---------------------------------------------------------------------------------

cdef bint _object_rule(type cls, object value, Packer* packer) except -1:
    if issubclass(cls, Error):
        packer.pack = <PackFunction>_pack_error
    elif issubclass(cls, CObject):
        packer.pack = <PackFunction>pack_handle
    elif issubclass(cls, ObjectRValueRef):
        packer.pack = <PackFunction>_pack_rvalue_ref
    elif hasattr(cls, "__tvm_ffi_object__"):
        packer.pack = <PackFunction>_pack_object_protocol
    else:
        return False
    return True


cdef bint _stream_rule(type cls, object value, Packer* packer) except -1:
    if hasattr(cls, "__cuda_stream__"):
        packer.pack = <PackFunction>_pack_cuda_stream
    elif any(
        base.__name__ == "CUstream" and base.__module__ in _CUDA_DRIVER_MODULES
        for base in cls.__mro__
    ):
        packer.pack = <PackFunction>_pack_driver_stream
    else:
        return False
    return True


cdef bint _number_rule(type cls, object value, Packer* packer) except -1:
    import numbers  # only the first value of an unknown type pays for this

    if issubclass(cls, bool) or _is_numpy_bool(cls):
        packer.pack = <PackFunction>_pack_bool
    elif issubclass(cls, int):
        packer.pack = pack_int
    elif issubclass(cls, numbers.Integral):
        packer.pack = <PackFunction>_pack_integral
    elif issubclass(cls, numbers.Real):
        packer.pack = _pack_float
    else:
        return False
    return True


cdef bint _is_numpy_bool(type cls) except -1:
    return cls.__module__ == "numpy" and cls.__name__ in ("bool", "bool_")


cdef bint _pointer_rule(type cls, object value, Packer* packer) except -1:
    if any(base.__module__ == "ctypes" and base.__name__ == "c_void_p" for base in cls.__mro__):
        packer.pack = <PackFunction>_pack_c_void_p
    elif hasattr(cls, "__tvm_ffi_opaque_ptr__"):
        packer.pack = <PackFunction>_pack_opaque_ptr
    else:
        return False
    return True


cdef bint _handler_rule(type cls, object value, Packer* packer) except -1:
    if cls not in OPAQUE_PTR_HANDLERS:
        return False
    packer.pack = <PackFunction>_pack_by_handler
    return True


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


cdef bint _exception_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, Exception):
        return False
    packer.pack = <PackFunction>_pack_exception
    return True


cdef bint _convertible_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, ObjectConvertible):
        return False
    packer.pack = <PackFunction>_pack_stand_in
    packer.context = <void*>ObjectConvertible  # not NULL: tells which method to call
    return True


cdef bint _opaque_rule(type cls, object value, Packer* packer) except -1:
    packer.pack = <PackFunction>_pack_opaque
    return True


# ---- native to Python ----------------------------------------------------------------------

cdef object _make_none(abi.TVMFFIAny* owned, CallState* state):
    return None


cdef object _make_int(abi.TVMFFIAny* owned, CallState* state):
    return owned.v_int64


cdef object _make_bool(abi.TVMFFIAny* owned, CallState* state):
    return owned.v_int64 != 0


cdef object _make_float(abi.TVMFFIAny* owned, CallState* state):
    return owned.v_float64


cdef object _make_pointer(abi.TVMFFIAny* owned, CallState* state):
    import ctypes

    return ctypes.c_void_p(<uintptr_t>owned.v_ptr)


cdef object _make_big_int(abi.TVMFFIAny* owned, CallState* state):
    cdef abi.TVMFFIByteArray content = abi.TVMFFIBigIntGetContentByteArray(owned)
    try:
        words = PyBytes_FromStringAndSize(content.data, <Py_ssize_t>content.size)
        return int.from_bytes(words, "little", signed=True)
    finally:
        abi.TVMFFIObjectDecRef(owned.v_obj)


cdef object _make_opaque(abi.TVMFFIAny* owned, CallState* state):
    cdef void* value = abi.TVMFFIOpaqueObjectGetCellPtr(owned.v_obj).handle
    cdef object result = <object>value
    abi.TVMFFIObjectDecRef(owned.v_obj)
    return result


cdef object _make_error(abi.TVMFFIAny* owned, CallState* state):
    return wrap_error(owned.v_obj)


cdef object _refuse_borrowed(abi.TVMFFIAny* owned, CallState* state):
    names = {
        abi.kTVMFFIRawStr: "RawStr",
        abi.kTVMFFIByteArrayPtr: "ByteArrayPtr",
        abi.kTVMFFIObjectRValueRef: "ObjectRValueRef",
    }
    raise ValueError(f"Return value cannot be {names[owned.type_index]}")


add_exact_packer(type(None), _pack_none, NULL)
add_exact_packer(bool, <PackFunction>_pack_bool, NULL)
add_exact_packer(int, pack_int, NULL)
add_exact_packer(float, _pack_float, NULL)
add_rule(Precedence.OWN_OBJECT, _object_rule)
add_rule(Precedence.STREAM, _stream_rule)
add_rule(Precedence.NUMBER, _number_rule)
add_rule(Precedence.POINTER, _pointer_rule)
add_rule(Precedence.POINTER_HANDLER, _handler_rule)
add_rule(Precedence.VALUE_PROTOCOL, _value_rule)
add_rule(Precedence.EXCEPTION, _exception_rule)
add_rule(Precedence.OBJECT_CONVERTIBLE, _convertible_rule)
add_rule(Precedence.OPAQUE, _opaque_rule)
add_maker(abi.kTVMFFINone, _make_none)
add_maker(abi.kTVMFFIInt, _make_int)
add_maker(abi.kTVMFFIBool, _make_bool)
add_maker(abi.kTVMFFIFloat, _make_float)
add_maker(abi.kTVMFFIOpaquePtr, _make_pointer)
add_maker(abi.kTVMFFIBigInt, _make_big_int)
add_maker(abi.kTVMFFIOpaquePyObject, _make_opaque)
add_maker(abi.kTVMFFIError, _make_error)
add_maker(abi.kTVMFFIRawStr, _refuse_borrowed)
add_maker(abi.kTVMFFIByteArrayPtr, _refuse_borrowed)
add_maker(abi.kTVMFFIObjectRValueRef, _refuse_borrowed)
