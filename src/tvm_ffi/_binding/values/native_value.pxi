# SPDX-License-Identifier: Apache-2.0
"""Python values that hold the native object they came from, so that passing them makes no other."""

from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, pack_owned, pack_temporary,
)
from tvm_ffi._binding.object cimport CObject, check, handle_of

from tvm_ffi._binding.object import Object


class PyNativeObject:
    """Base, beside `str`, `bytes` or `tuple`, of classes whose values hold a native object.

    Notes
    -----
    The object is the attribute ``_tvm_ffi_cached_object``.  Values of a subclass that is
    registered for a native type are made by ``cls.__from_tvm_ffi_object__(cls, obj)``.
    """

    __slots__ = ()

    def __init_cached_object_by_constructor__(self, fconstructor, *args):
        """Hold the object that ``fconstructor(*args)`` returns."""
        self._tvm_ffi_cached_object = _object_of(fconstructor(*args))


cdef object _object_of(object value):
    """The native object of a value, also where results become plain Python values."""
    cdef abi.TVMFFIAny owned
    cdef CObject holder
    if isinstance(value, CObject):
        return value
    if pack_owned(<PyObject*>value, &owned) != 0:
        check(-2)
    if owned.type_index < abi.kTVMFFIStaticObjectBegin:
        raise TypeError(f"constructor must return an object, got {type(value).__name__}")
    holder = Object.__new__(Object)
    holder.chandle = owned.v_obj
    return holder


class String(str, PyNativeObject):
    """A `str` that may hold the native string it came from; equal to the plain one.

    Results are plain `str`: this class is for programs that name it.
    """

    __slots__ = ("_tvm_ffi_cached_object",)

    def __new__(cls, value):
        self = str.__new__(cls, value)
        self._tvm_ffi_cached_object = None
        return self

    @staticmethod
    def __from_tvm_ffi_object__(value_class, obj):
        """Return the value of a native string."""
        self = str.__new__(value_class, text_of_object(obj, abi.kTVMFFIStr))
        self._tvm_ffi_cached_object = obj
        return self

    def __reduce_ex__(self, protocol):
        return str, (str(self),)


class Bytes(bytes, PyNativeObject):
    """A `bytes` that may hold the native object it came from; equal to the plain one.

    Results are plain `bytes`: this class is for programs that name it.
    """

    _tvm_ffi_cached_object = None

    def __new__(cls, value):
        return bytes.__new__(cls, value)

    @staticmethod
    def __from_tvm_ffi_object__(value_class, obj):
        """Return the value of native bytes."""
        self = bytes.__new__(value_class, text_of_object(obj, abi.kTVMFFIBytes))
        self._tvm_ffi_cached_object = obj
        return self

    def __reduce_ex__(self, protocol):
        return bytes, (bytes(self),)


cdef int _pack_held(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pass the object that is held; `packer.context` takes values that hold none."""
    cdef PackFunction pack_plain = <PackFunction>packer.context  # before any code runs
    cdef object held = getattr(<object>value, "_tvm_ffi_cached_object", None)
    cdef abi.TVMFFIObject* handle
    if held is None and pack_plain != NULL:
        return pack_plain(value, out, state, NULL)
    if not isinstance(held, CObject):
        raise ValueError(
            f"value of class {type(<object>value).__name__} holds no native object: its "
            "_tvm_ffi_cached_object was never set")
    handle = <abi.TVMFFIObject*>handle_of(<CObject>held)
    abi.TVMFFIObjectIncRef(handle)  # the value may let go of it while the call lasts
    return pack_temporary(state, out, handle.type_index, handle)


# For the rule, see `add_rule`.
cdef type _held_class = PyNativeObject
cdef type _str_class = String
cdef type _bytes_class = Bytes


cdef bint _held_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, _held_class):
        return False
    packer.pack = <PackFunction>_pack_held
    if issubclass(cls, _str_class):
        packer.context = <void*>pack_str
    elif issubclass(cls, _bytes_class):
        packer.context = <void*>pack_bytes
    return True


add_rule(Precedence.NATIVE_VALUE, _held_rule)
