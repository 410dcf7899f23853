# SPDX-License-Identifier: Apache-2.0
"""Python values that cache their native object, so that passing them does not create another."""

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
    The attribute ``_tvm_ffi_cached_object`` is the object.  For a subclass that is registered for a
    native type, results are created by ``cls.__from_tvm_ffi_object__(cls, obj)``.
    """

    __slots__ = ()

    def __init_cached_object_by_constructor__(self, fconstructor, *args):
        """Cache the object that ``fconstructor(*args)`` returns."""
        self._tvm_ffi_cached_object = _native_object_of(fconstructor(*args))


cdef object _native_object_of(object value):
    """Return the native object of a result, which may have been converted to a Python value."""
    cdef abi.TVMFFIAny owned
    cdef CObject wrapper
    if isinstance(value, CObject):
        return value
    if pack_owned(<PyObject*>value, &owned) != 0:
        check(-2)
    if owned.type_index < abi.kTVMFFIStaticObjectBegin:
        raise TypeError(f"constructor must return an object, got {type(value).__name__}")
    wrapper = Object.__new__(Object)
    wrapper.chandle = owned.v_obj
    return wrapper


class String(str, PyNativeObject):
    """A `str` that may cache its native string; equal to a plain `str`.

    Native functions return plain `str`.  This class exists for programs that use it by name.
    """

    __slots__ = ("_tvm_ffi_cached_object",)

    def __new__(cls, value):
        self = str.__new__(cls, value)
        self._tvm_ffi_cached_object = None
        return self

    @staticmethod
    def __from_tvm_ffi_object__(value_class, obj):
        """Return a value from a native string."""
        self = str.__new__(value_class, text_of_object(obj, abi.kTVMFFIStr))
        self._tvm_ffi_cached_object = obj
        return self

    def __reduce_ex__(self, protocol):
        return str, (str(self),)


class Bytes(bytes, PyNativeObject):
    """A `bytes` that may cache its native object; equal to plain `bytes`.

    Native functions return plain `bytes`.  This class exists for programs that use it by name.
    """

    _tvm_ffi_cached_object = None

    def __new__(cls, value):
        return bytes.__new__(cls, value)

    @staticmethod
    def __from_tvm_ffi_object__(value_class, obj):
        """Return a value from native bytes."""
        self = bytes.__new__(value_class, text_of_object(obj, abi.kTVMFFIBytes))
        self._tvm_ffi_cached_object = obj
        return self

    def __reduce_ex__(self, protocol):
        return bytes, (bytes(self),)


cdef int _pack_cached_object(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack the cached object; without one, call the packer in `packer.context`, if any."""
    # Read the context before Python code runs, which may free the packer.
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
    abi.TVMFFIObjectIncRef(handle)  # the value may release it during the call
    return pack_temporary(state, out, handle.type_index, handle)


# C variables for the rule, which must not use module names; see `add_rule`.
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
