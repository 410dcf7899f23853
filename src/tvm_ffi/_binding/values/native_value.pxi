# SPDX-License-Identifier: Apache-2.0
"""Python values that cache their native object, so that each call can pass the same object."""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, pack_owned, pack_temporary,
)
from tvm_ffi._binding.object cimport CObject, check, handle_of

from tvm_ffi._binding.object import Object


class PyNativeObject:
    """Second base class of `str`, `bytes` or `tuple` subclasses whose values cache a native object.

    Notes
    -----
    The cached object is in the attribute ``_tvm_ffi_cached_object``.  If a subclass is registered
    for a native type, ``cls.__from_tvm_ffi_object__(cls, obj)`` creates the Python value of a
    native result.
    """

    __slots__ = ()

    def __init_cached_object_by_constructor__(self, fconstructor, *args):
        """Cache the native object that ``fconstructor(*args)`` returns in this value."""
        self._tvm_ffi_cached_object = _native_object_of(fconstructor(*args))


cdef object _native_object_of(object value):
    """Return the wrapper of a constructor's result, or of the native object that it converts to."""
    cdef abi.TVMFFIAny owned
    cdef CObject wrapper
    if isinstance(value, CObject):
        return value
    if pack_owned(<PyObject*>value, &owned) != 0:
        check(-2)
    if owned.type_index < abi.kTVMFFIStaticObjectBegin:
        raise TypeError(
            f"a constructor function must return a native object, got {type(value).__name__}")
    wrapper = Object.__new__(Object)
    wrapper.chandle = owned.v_obj
    return wrapper


class String(str, PyNativeObject):
    """A `str` that may cache its native string; equal to a `str` with the same text.

    Native functions return `str`, not this class.  It exists for code that refers to it by name.
    """

    __slots__ = ("_tvm_ffi_cached_object",)

    def __new__(cls, value):
        self = str.__new__(cls, value)
        self._tvm_ffi_cached_object = None
        return self

    @staticmethod
    def __from_tvm_ffi_object__(value_class, obj):
        """Return a new instance of `value_class` for a native string."""
        self = str.__new__(value_class, text_of_object(obj, abi.kTVMFFIStr))
        self._tvm_ffi_cached_object = obj
        return self

    def __reduce_ex__(self, protocol):
        return str, (str(self),)


class Bytes(bytes, PyNativeObject):
    """A `bytes` that may cache its native object; equal to a `bytes` with the same content.

    Native functions return `bytes`, not this class.  It exists for code that refers to it by name.
    """

    _tvm_ffi_cached_object = None

    def __new__(cls, value):
        return bytes.__new__(cls, value)

    @staticmethod
    def __from_tvm_ffi_object__(value_class, obj):
        """Return a new instance of `value_class` for a native bytes object."""
        self = bytes.__new__(value_class, text_of_object(obj, abi.kTVMFFIBytes))
        self._tvm_ffi_cached_object = obj
        return self

    def __reduce_ex__(self, protocol):
        return bytes, (bytes(self),)


cdef int _pack_cached_object(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack the cached native object of a Python value.

    If no object is cached, call the pack function in `packer.context`.  Fails: ValueError if there
    is no pack function either.
    """
    # Read the context of the packer first: Python code that runs below may destroy the class, and
    # another class may then reuse the packer.
    cdef PackFunction pack_plain = <PackFunction>packer.context
    cdef object cached = getattr(<object>value, "_tvm_ffi_cached_object", None)
    cdef abi.TVMFFIObject* handle
    if cached is None and pack_plain != NULL:
        return pack_plain(value, out, state, NULL)
    if not isinstance(cached, CObject):
        raise ValueError(
            f"value of class {type(<object>value).__name__} holds no native object: its "
            "_tvm_ffi_cached_object was never set")
    handle = <abi.TVMFFIObject*>handle_of(<CObject>cached)
    # Own a reference, because Python code may replace the cached object during the call.
    abi.TVMFFIObjectIncRef(handle)
    return pack_temporary(state, out, handle.type_index, handle)


# The three classes as C variables, because conversion rules must not read module globals; see
# `add_rule`.
cdef type _native_class = PyNativeObject
cdef type _str_class = String
cdef type _bytes_class = Bytes


cdef bint _cached_object_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, _native_class):
        return False
    packer.pack = <PackFunction>_pack_cached_object
    if issubclass(cls, _str_class):
        packer.context = <void*>pack_str
    elif issubclass(cls, _bytes_class):
        packer.context = <void*>pack_bytes
    return True


add_rule(Precedence.NATIVE_VALUE, _cached_object_rule)
