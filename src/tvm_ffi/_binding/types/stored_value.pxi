# SPDX-License-Identifier: Apache-2.0
"""Field setters for types defined in Python: conversion and storage of values.

A setter receives the address of the field and a native value.  A value of the declared type is
stored directly, without the GIL.  For any other value the setter calls a Python function, which
converts the value or refuses it.  All fields of a plain type, such as int or str, share one C
function as setter.  A field of another type has a function object with a rule for this field.
"""

from cpython.ref cimport PyObject, Py_INCREF
from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.stdlib cimport calloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport pack_owned, unpack_object
from tvm_ffi._binding.object cimport call_in_python, check, raise_to_native, wrap_object

cdef enum _Storage:
    STORE_INT = 1
    STORE_FLOAT
    STORE_BOOL
    STORE_POINTER
    STORE_DTYPE
    STORE_DEVICE
    STORE_OBJECT  # the field stores an owned reference to an object, or NULL
    STORE_VALUE   # the field stores an owned TVMFFIAny

cdef enum _AcceptedKind:
    ACCEPT_NOTHING = 0  # every value is converted in Python
    ACCEPT_ANY          # every value is stored without conversion
    ACCEPT_INDEX        # values with the type index `index` are stored without conversion
    ACCEPT_TEXT         # str, as small string or string object, is stored without conversion
    ACCEPT_BYTES        # bytes, as small bytes or bytes object, are stored without conversion
    ACCEPT_INSTANCE     # objects of type `index` or a derived type are stored without conversion

# Rule of a field setter: the storage of the field, and the values that the setter stores without
# conversion.  Rules are never freed, because fields are permanent.
cdef struct _Rule:
    _Storage storage
    _AcceptedKind accepted
    bint accepts_none
    int32_t index       # accepted type index, for ACCEPT_INDEX and ACCEPT_INSTANCE
    int32_t depth       # number of ancestors of the accepted type, for ACCEPT_INSTANCE
    # Owned Python callable: convert(value) returns the value to store, or a Refusal with a message.
    PyObject* convert

# Context of a conversion in Python: the field's rule and address.
cdef struct _FieldTarget:
    const _Rule* rule
    void* field


cdef inline bint _is_accepted(const _Rule* rule, const abi.TVMFFIAny* value) noexcept nogil:
    cdef const abi.TVMFFITypeInfo* info
    if value.type_index == abi.kTVMFFINone:
        return rule.accepts_none
    if rule.accepted == ACCEPT_INDEX:
        return value.type_index == rule.index
    if rule.accepted == ACCEPT_TEXT:
        return value.type_index == abi.kTVMFFISmallStr or value.type_index == abi.kTVMFFIStr
    if rule.accepted == ACCEPT_BYTES:
        return value.type_index == abi.kTVMFFISmallBytes or value.type_index == abi.kTVMFFIBytes
    if rule.accepted == ACCEPT_INSTANCE:
        if value.type_index == rule.index:
            return True
        if value.type_index < abi.kTVMFFIStaticObjectBegin:
            return False
        info = abi.TVMFFIGetTypeInfo(value.type_index)
        return info.type_depth > rule.depth and (
            info.type_ancestors[rule.depth].type_index == rule.index)
    return rule.accepted == ACCEPT_ANY


cdef int _replace_content(_Storage storage, void* field, const abi.TVMFFIAny* owned) noexcept nogil:
    """Replace the field's content by a value of the field's type.  Consumes the value."""
    cdef abi.TVMFFIObject* previous = NULL
    cdef abi.TVMFFIAny* target
    if storage == STORE_VALUE:
        target = <abi.TVMFFIAny*>field
        if target.type_index >= abi.kTVMFFIStaticObjectBegin:
            previous = target.v_obj
        target[0] = owned[0]
    elif storage == STORE_OBJECT:
        previous = (<abi.TVMFFIObject**>field)[0]
        # None has the payload 0, so the field stores NULL for None
        (<abi.TVMFFIObject**>field)[0] = owned.v_obj
    elif storage == STORE_INT:
        (<int64_t*>field)[0] = owned.v_int64
    elif storage == STORE_FLOAT:
        (<double*>field)[0] = owned.v_float64
    elif storage == STORE_BOOL:
        (<char*>field)[0] = owned.v_int64 != 0
    elif storage == STORE_POINTER:
        (<void**>field)[0] = owned.v_ptr
    elif storage == STORE_DTYPE:
        (<abi.DLDataType*>field)[0] = owned.v_dtype
    else:
        (<abi.DLDevice*>field)[0] = owned.v_device
    # The previous value is released last, because its destructor may read the field.
    if previous != NULL:
        abi.TVMFFIObjectDecRef(previous)
    return 0


cdef int _store(const _Rule* rule, void* field, const abi.TVMFFIAny* value) noexcept nogil:
    cdef abi.TVMFFIAny owned
    if not _is_accepted(rule, value):
        return _store_converted(rule, field, value)
    if abi.TVMFFIAnyViewToOwnedAny(value, &owned) != 0:
        return -1
    return _replace_content(rule.storage, field, &owned)


cdef int _store_converted(
    const _Rule* rule, void* field, const abi.TVMFFIAny* value
) noexcept nogil:
    """Convert the value in Python, store the result and return 0.

    Fails: -1 with a native error pending.
    """
    cdef _FieldTarget target
    target.rule, target.field = rule, field
    return call_in_python(
        <abi.TVMFFISafeCallType><void*>_enter_conversion, &target, value, 1, NULL)


# `_convert_and_store` without Cython's error check: the caller compares the result with -1, because
# a `try` statement would allocate memory, which may be exhausted.
ctypedef int (*_Convert)(const _Rule* rule, void* field, const abi.TVMFFIAny* value) noexcept
cdef _Convert _convert = <_Convert>_convert_and_store


cdef int _enter_conversion(
    void* self, const abi.TVMFFIAny* value, int32_t num_args, abi.TVMFFIAny* result
) noexcept:
    cdef const _FieldTarget* target = <const _FieldTarget*>self
    cdef int code = _convert(target.rule, target.field, value)
    if code == -1:
        return raise_to_native()
    return 0 if code == 0 else -1


cdef class Refusal:
    """Result of a conversion that refuses a value: the message of the error.

    A refusal is not an exception.  The native error would own an exception, and frames of its
    traceback may refer to the owner of the error.  The garbage collector cannot see this cycle.

    Parameters
    ----------
    text : str
        Message of the TypeError that the setter reports.
    """

    cdef bytes text

    def __init__(self, str text not None):
        self.text = text.encode("utf-8", "backslashreplace")


cdef int _convert_and_store(const _Rule* rule, void* field, const abi.TVMFFIAny* value) except -1:
    """Convert and store a value: return 0 on success, or 1 if a native error is pending.

    Fails: -1 with a Python exception set.
    """
    cdef abi.TVMFFIAny owned
    cdef object converted
    check(abi.TVMFFIAnyViewToOwnedAny(value, &owned))
    converted = (<object>rule.convert)(unpack_object(&owned, NULL))
    if isinstance(converted, Refusal):
        abi.TVMFFIErrorSetRaisedFromCStr(b"TypeError", (<Refusal>converted).text)
        return 1
    if pack_owned(<PyObject*>converted, &owned) != 0:
        check(-2)
    if rule.storage == STORE_OBJECT and 0 < owned.type_index < abi.kTVMFFIStaticObjectBegin:
        raise TypeError(
            "field setter: expected a native object from the conversion of the field, got "
            f"{type(converted).__name__}")
    return _replace_content(rule.storage, field, &owned)


# ---- Plain types: one C setter for each type -----------------------------------------------------

cdef _Rule _int_rule
cdef _Rule _float_rule
cdef _Rule _bool_rule
cdef _Rule _pointer_rule
cdef _Rule _dtype_rule
cdef _Rule _device_rule
cdef _Rule _any_rule
cdef _Rule _text_rule
cdef _Rule _bytes_rule


cdef int _set_int(void* field, const abi.TVMFFIAny* value) noexcept nogil:
    if value.type_index != abi.kTVMFFIInt and value.type_index != abi.kTVMFFIBool:
        return _store_converted(&_int_rule, field, value)
    (<int64_t*>field)[0] = value.v_int64
    return 0


cdef int _set_float(void* field, const abi.TVMFFIAny* value) noexcept nogil:
    if value.type_index == abi.kTVMFFIFloat:
        (<double*>field)[0] = value.v_float64
    elif value.type_index == abi.kTVMFFIInt or value.type_index == abi.kTVMFFIBool:
        (<double*>field)[0] = <double>value.v_int64
    else:
        return _store_converted(&_float_rule, field, value)
    return 0


cdef int _set_bool(void* field, const abi.TVMFFIAny* value) noexcept nogil:
    if value.type_index != abi.kTVMFFIBool and value.type_index != abi.kTVMFFIInt:
        return _store_converted(&_bool_rule, field, value)
    (<char*>field)[0] = value.v_int64 != 0
    return 0


cdef int _set_pointer(void* field, const abi.TVMFFIAny* value) noexcept nogil:
    return _store(&_pointer_rule, field, value)


cdef int _set_dtype(void* field, const abi.TVMFFIAny* value) noexcept nogil:
    return _store(&_dtype_rule, field, value)


cdef int _set_device(void* field, const abi.TVMFFIAny* value) noexcept nogil:
    return _store(&_device_rule, field, value)


cdef int _set_any(void* field, const abi.TVMFFIAny* value) noexcept nogil:
    return _store(&_any_rule, field, value)


cdef int _set_text(void* field, const abi.TVMFFIAny* value) noexcept nogil:
    return _store(&_text_rule, field, value)


cdef int _set_bytes(void* field, const abi.TVMFFIAny* value) noexcept nogil:
    return _store(&_bytes_rule, field, value)


# Addresses of the C setters, by the name of the declared type.
cdef dict _PLAIN_SETTERS = {
    "int": <uintptr_t>&_set_int,
    "float": <uintptr_t>&_set_float,
    "bool": <uintptr_t>&_set_bool,
    "ctypes.c_void_p": <uintptr_t>&_set_pointer,
    "dtype": <uintptr_t>&_set_dtype,
    "Device": <uintptr_t>&_set_device,
    "Any": <uintptr_t>&_set_any,
    "str": <uintptr_t>&_set_text,
    "bytes": <uintptr_t>&_set_bytes,
}


cdef _Rule* _plain_rule(str origin) noexcept:
    if origin == "int":
        return &_int_rule
    if origin == "float":
        return &_float_rule
    if origin == "bool":
        return &_bool_rule
    if origin == "ctypes.c_void_p":
        return &_pointer_rule
    if origin == "dtype":
        return &_dtype_rule
    if origin == "Device":
        return &_device_rule
    if origin == "Any":
        return &_any_rule
    if origin == "str":
        return &_text_rule
    return &_bytes_rule if origin == "bytes" else NULL


cdef void _init_rule(
    _Rule* rule, _Storage storage, _AcceptedKind accepted, int32_t index, bint accepts_none
) noexcept:
    rule.storage = storage
    rule.accepted = accepted
    rule.index = index
    rule.accepts_none = accepts_none


_init_rule(&_int_rule, STORE_INT, ACCEPT_INDEX, abi.kTVMFFIInt, False)
_init_rule(&_float_rule, STORE_FLOAT, ACCEPT_INDEX, abi.kTVMFFIFloat, False)
_init_rule(&_bool_rule, STORE_BOOL, ACCEPT_INDEX, abi.kTVMFFIBool, False)
_init_rule(&_pointer_rule, STORE_POINTER, ACCEPT_INDEX, abi.kTVMFFIOpaquePtr, False)
_init_rule(&_dtype_rule, STORE_DTYPE, ACCEPT_INDEX, abi.kTVMFFIDataType, False)
_init_rule(&_device_rule, STORE_DEVICE, ACCEPT_INDEX, abi.kTVMFFIDevice, False)
_init_rule(&_any_rule, STORE_VALUE, ACCEPT_ANY, 0, True)
_init_rule(&_text_rule, STORE_VALUE, ACCEPT_TEXT, 0, False)
_init_rule(&_bytes_rule, STORE_VALUE, ACCEPT_BYTES, 0, False)


def plain_setter(str origin, convert) -> int:
    """Return the address of the C setter of a plain type, or 0 for another type.

    Parameters
    ----------
    origin : str
        Name of the declared type.
    convert : callable
        Function that converts values of other types.  All fields of the plain type use the first
        one that is passed.
    """
    cdef _Rule* rule = _plain_rule(origin)
    if rule == NULL:
        return 0
    if rule.convert == NULL:
        Py_INCREF(convert)
        rule.convert = <PyObject*>convert
    return _PLAIN_SETTERS[origin]


# ---- Other types: one function object for each field ---------------------------------------------


cdef int _call_setter(
    void* rule, const abi.TVMFFIAny* args, int32_t num_args, abi.TVMFFIAny* result
) noexcept nogil:
    """Set a field.  `rule` is the context of the function object.

    The two arguments are the address of the field and the value.
    """
    if num_args != 2 or args[0].type_index != abi.kTVMFFIOpaquePtr:
        abi.TVMFFIErrorSetRaisedFromCStr(
            b"TypeError", b"field setter: expected two arguments, the field's address and a value")
        return -1
    return _store(<const _Rule*>rule, args[0].v_ptr, &args[1])


def rule_setter(
    str origin, convert, str accepted, int32_t index, int32_t depth, bint accepts_none
):
    """Return the setter of a field as a function object.

    Parameters
    ----------
    origin : str
        Name of the declared type, which determines the storage.
    convert : callable
        Function that converts the values that are not accepted.
    accepted : str
        Values stored without conversion: ``nothing``, ``any``, ``index``, ``instance``, ``text``
        or ``bytes``.
    index, depth : int
        Type index for ``index`` and ``instance``, and the number of ancestors of that type.
    accepts_none : bool
        If true, store None without conversion.
    """
    cdef _Rule* rule = <_Rule*>calloc(1, sizeof(_Rule))
    cdef const _Rule* plain = _plain_rule(origin)
    cdef abi.TVMFFIObjectHandle function = NULL
    if rule == NULL:
        raise MemoryError()
    rule.storage = STORE_OBJECT
    if plain != NULL:
        rule.storage = plain.storage
    elif origin == "Optional" or origin == "Union":
        rule.storage = STORE_VALUE
    rule.accepted = _ACCEPTED[accepted]
    rule.accepts_none = accepts_none
    rule.index = index
    rule.depth = depth
    Py_INCREF(convert)
    rule.convert = <PyObject*>convert
    check(abi.TVMFFIFunctionCreate(rule, _call_setter, NULL, &function))
    return wrap_object(function)


cdef dict _ACCEPTED = {
    "nothing": ACCEPT_NOTHING,
    "any": ACCEPT_ANY,
    "index": ACCEPT_INDEX,
    "text": ACCEPT_TEXT,
    "bytes": ACCEPT_BYTES,
    "instance": ACCEPT_INSTANCE,
}
