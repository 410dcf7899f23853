# SPDX-License-Identifier: Apache-2.0
"""Registration of types defined in Python: fields, methods and metadata in the type table.

Entries of the type table are permanent, so the callers check all arguments first.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, int64_t, uintptr_t
from libc.string cimport memset

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.call cimport Function
from tvm_ffi._binding.convert cimport pack_owned
from tvm_ffi._binding.object cimport check, handle_of, utf8_of


cdef abi.TVMFFIByteArray _view(bytes text):
    cdef abi.TVMFFIByteArray view
    view.data, view.size = text, len(text)
    return view


cdef int _release(abi.TVMFFIAny* owned) except -1:
    if owned.type_index >= abi.kTVMFFIStaticObjectBegin:
        abi.TVMFFIObjectDecRef(owned.v_obj)
    return 0


# Field flags by name.  `type_metadata` reports some flags negated: for example, the flag `repr_off`
# makes `c_repr` false.
cdef dict _FLAGS = {
    "writable": abi.kTVMFFIFieldFlagBitMaskWritable,
    "has_default": abi.kTVMFFIFieldFlagBitMaskHasDefault,
    "has_factory": abi.kTVMFFIFieldFlagBitMaskDefaultFromFactory,
    "structural_ignore": abi.kTVMFFIFieldFlagBitMaskSEqHashIgnore,
    "structural_def_pattern": abi.kTVMFFIFieldFlagBitMaskSEqHashDefPattern,
    "structural_def_simple": abi.kTVMFFIFieldFlagBitMaskSEqHashDefSimple,
    "repr_off": abi.kTVMFFIFieldFlagBitMaskReprOff,
    "compare_off": abi.kTVMFFIFieldFlagBitMaskCompareOff,
    "hash_off": abi.kTVMFFIFieldFlagBitMaskHashOff,
    "init_off": abi.kTVMFFIFieldFlagBitMaskInitOff,
    "kw_only": abi.kTVMFFIFieldFlagBitMaskKwOnly,
}


def register_field(
    int32_t type_index, str name, str doc, str metadata, flags, tuple layout, int64_t offset,
    getter, setter, default,
) -> None:
    """Add a field to a type in the type table.

    Parameters
    ----------
    type_index : int
        Index of the type.
    name, doc, metadata : str
        Name of the field; documentation and metadata may be empty.
    flags : iterable of str
        Keys of the table `_FLAGS`.
    layout : tuple of int
        Size and alignment in bytes, and the static type index of the field.
    offset : int
        Offset in bytes from the object's header.
    getter : int
        Address of the C function that reads the field.
    setter : int or Function
        Address of the C function that writes the field, or a Function that does so.
    default : object
        Default value or factory; ignored unless the flags contain ``has_default``.
    """
    cdef bytes name_text = utf8_of(name, "name of a field")
    cdef bytes doc_text = utf8_of(doc, f"documentation of field '{name}'")
    cdef bytes metadata_text = utf8_of(metadata, f"metadata of field '{name}'")
    cdef abi.TVMFFIFieldInfo info
    memset(&info, 0, sizeof(info))
    info.name, info.doc, info.metadata = _view(name_text), _view(doc_text), _view(metadata_text)
    for flag in flags:
        info.flags |= _FLAGS[flag]
    info.size, info.alignment, info.field_static_type_index = layout
    info.offset = offset
    info.getter = <abi.TVMFFIFieldGetter><uintptr_t>getter
    if isinstance(setter, Function):
        info.setter = handle_of(<Function>setter)
        info.flags |= abi.kTVMFFIFieldFlagBitSetterIsFunctionObj
    else:
        info.setter = <void*><uintptr_t>setter
    if info.flags & abi.kTVMFFIFieldFlagBitMaskHasDefault:
        if pack_owned(<PyObject*>default, &info.default_value_or_factory) != 0:
            check(-2)
    try:
        check(abi.TVMFFITypeRegisterField(type_index, &info))
    finally:
        _release(&info.default_value_or_factory)


def register_method(
    int32_t type_index, str name, str doc, str metadata, bint is_static, Function function not None
) -> None:
    """Add a method to a type.  A non-static method gets the object as its first argument."""
    cdef bytes name_text = utf8_of(name, "name of a method")
    cdef bytes doc_text = utf8_of(doc, f"documentation of method '{name}'")
    cdef bytes metadata_text = utf8_of(metadata, f"metadata of method '{name}'")
    cdef abi.TVMFFIMethodInfo info
    memset(&info, 0, sizeof(info))
    info.name, info.doc, info.metadata = _view(name_text), _view(doc_text), _view(metadata_text)
    if is_static:
        info.flags = abi.kTVMFFIFieldFlagBitMaskIsStaticMethod
    info.method.type_index = abi.kTVMFFIFunction
    info.method.v_obj = <abi.TVMFFIObject*>handle_of(function)
    check(abi.TVMFFITypeRegisterMethod(type_index, &info))


# Values of TVMFFISEqHashKind (structural equality), by value of the class option `structural_eq`.
cdef dict _STRUCTURAL_KINDS = {
    None: abi.kTVMFFISEqHashKindUnsupported,
    "tree": abi.kTVMFFISEqHashKindTreeNode,
    "var": abi.kTVMFFISEqHashKindFreeVar,
    "dag": abi.kTVMFFISEqHashKindDAGNode,
    "const-tree": abi.kTVMFFISEqHashKindConstTreeNode,
    "singleton": abi.kTVMFFISEqHashKindUniqueInstance,
}


def register_metadata(int32_t type_index, str doc, int32_t total_size, structural_eq) -> None:
    """Set docstring, object size in bytes and kind of structural equality of a type."""
    cdef bytes doc_text = utf8_of(doc, "documentation of a type")
    cdef abi.TVMFFITypeMetadata metadata
    memset(&metadata, 0, sizeof(metadata))
    metadata.doc = _view(doc_text)
    metadata.total_size = total_size
    metadata.structural_eq_hash_kind = _STRUCTURAL_KINDS[structural_eq]
    check(abi.TVMFFITypeRegisterMetadata(type_index, &metadata))
