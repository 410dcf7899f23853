# SPDX-License-Identifier: Apache-2.0
"""Reflected type information: fields, methods, sizes and documentation as Python values."""

from libc.stdint cimport int32_t, int64_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.call cimport new_method
from tvm_ffi._binding.convert cimport unpack_object
from tvm_ffi._binding.object cimport CObject, check, handle_of

from tvm_ffi._binding.call import find_global_func

cdef object _is_registered = find_global_func("pytvmffi.TypeIsRegistered")


cdef const abi.TVMFFITypeInfo* registered_type(int32_t index) except NULL:
    if not _is_registered(index):
        raise ValueError(f"no type is registered with index {index}")
    return abi.TVMFFIGetTypeInfo(index)


cdef str _text(const abi.TVMFFIByteArray* text):
    return text.data[: text.size].decode("utf-8") if text.size != 0 else ""


cdef object _owned_copy(const abi.TVMFFIAny* value):
    """Return a Python value for a native value that the type table owns."""
    cdef abi.TVMFFIAny owned
    check(abi.TVMFFIAnyViewToOwnedAny(value, &owned))
    return unpack_object(&owned, NULL)


cdef int _locate(
    _Field field, const abi.TVMFFITypeInfo* owner, const abi.TVMFFIFieldInfo* info
) except -1:
    field.name = _text(&info.name)
    field.owner_index = owner.type_index
    field.owner_depth = owner.type_depth
    field.offset = info.offset
    field.size = info.size
    field.static_type_index = info.field_static_type_index
    return 0


cdef dict _field_metadata(const abi.TVMFFITypeInfo* owner, const abi.TVMFFIFieldInfo* info):
    cdef FieldGetter getter = FieldGetter.__new__(FieldGetter)
    cdef FieldSetter setter = None
    cdef int64_t flags = info.flags
    _locate(getter, owner, info)
    getter.getter = info.getter
    if info.setter != NULL:
        setter = FieldSetter.__new__(FieldSetter)
        _locate(setter, owner, info)
        setter.setter = info.setter
        setter.is_function = (flags & abi.kTVMFFIFieldFlagBitSetterIsFunctionObj) != 0
    has_default = (flags & abi.kTVMFFIFieldFlagBitMaskHasDefault) != 0
    return {
        "name": _text(&info.name),
        "doc": _text(&info.doc) or None,
        "metadata": _text(&info.metadata),
        "size": info.size,
        "alignment": info.alignment,
        "offset": info.offset,
        "field_static_type_index": info.field_static_type_index,
        "frozen": (flags & abi.kTVMFFIFieldFlagBitMaskWritable) == 0,
        "getter": getter,
        "setter": setter,
        "c_init": (flags & abi.kTVMFFIFieldFlagBitMaskInitOff) == 0,
        "c_kw_only": (flags & abi.kTVMFFIFieldFlagBitMaskKwOnly) != 0,
        "c_has_default": has_default,
        "has_factory": (flags & abi.kTVMFFIFieldFlagBitMaskDefaultFromFactory) != 0,
        "default": _owned_copy(&info.default_value_or_factory) if has_default else None,
        "c_repr": (flags & abi.kTVMFFIFieldFlagBitMaskReprOff) == 0,
        "c_compare": (flags & abi.kTVMFFIFieldFlagBitMaskCompareOff) == 0,
        "c_hash": (flags & abi.kTVMFFIFieldFlagBitMaskHashOff) == 0,
        "c_structural_eq": _structural_eq(flags),
    }


cdef object _structural_eq(int64_t flags):
    """Return the name of a field's structural equality flag, as in `Field`; None without a flag."""
    if flags & abi.kTVMFFIFieldFlagBitMaskSEqHashIgnore:
        return "ignore"
    if flags & abi.kTVMFFIFieldFlagBitMaskSEqHashDefPattern:
        return "def-pattern"
    if flags & abi.kTVMFFIFieldFlagBitMaskSEqHashDefSimple:
        return "def-simple"
    return None


cdef dict _method_metadata(const abi.TVMFFIMethodInfo* info):
    cdef bint is_static = (info.flags & abi.kTVMFFIFieldFlagBitMaskIsStaticMethod) != 0
    return {
        "name": _text(&info.name),
        "doc": _text(&info.doc) or None,
        "metadata": _text(&info.metadata),
        "is_static": is_static,
        "func": new_method(info.method.v_obj, is_static),
    }


def type_index_of(CObject obj not None) -> int:
    """Return the type index of the native object itself, independent of the wrapper's class."""
    return (<abi.TVMFFIObject*>handle_of(obj)).type_index


def type_metadata(int32_t index) -> dict:
    """Return a dict that describes a type; the caller creates a TypeInfo from the dict.

    The ``metadata`` string of each field and method is JSON, or empty.
    """
    cdef const abi.TVMFFITypeInfo* info = registered_type(index)
    cdef int32_t i
    return {
        "type_index": index,
        "type_key": _text(&info.type_key),
        "type_ancestors": [info.type_ancestors[i].type_index for i in range(info.type_depth)],
        "doc": _text(&info.metadata.doc) or None if info.metadata != NULL else None,
        "total_size": info.metadata.total_size if info.metadata != NULL else 0,
        "fields": [_field_metadata(info, &info.fields[i]) for i in range(info.num_fields)],
        "methods": [_method_metadata(&info.methods[i]) for i in range(info.num_methods)],
    }
