# SPDX-License-Identifier: Apache-2.0
"""Type attributes (attribute columns), such as ``__ffi_repr__``: one value per type."""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, Packer, begin_conversion, get_packer, release_temporaries, view_free_list,
)
from tvm_ffi._binding.object cimport check, utf8_of


def lookup_type_attr(int32_t type_index, str attr_key, bint ancestor=False):
    """Return the value of a type attribute; None if the type has no value of the attribute.

    Parameters
    ----------
    type_index : int
        Index of the type.
    attr_key : str
        Name of the attribute.
    ancestor : bool
        If true and the type has no value, return that of the nearest ancestor that has one.
    """
    cdef bytes text = utf8_of(attr_key, "name of a type attribute")
    cdef abi.TVMFFIByteArray view
    cdef const abi.TVMFFITypeAttrColumn* column
    cdef const abi.TVMFFITypeInfo* info
    cdef int32_t depth, slot
    view.data, view.size = text, len(text)
    column = abi.TVMFFIGetTypeAttrColumn(&view)
    if column == NULL:
        return None
    info = registered_type(type_index)
    for depth in range(info.type_depth, -1, -1):
        slot = type_index if depth == info.type_depth else info.type_ancestors[depth].type_index
        slot -= column.begin_index
        if 0 <= slot < column.size and column.data[slot].type_index != abi.kTVMFFINone:
            return _owned_copy(&column.data[slot])
        if not ancestor:
            break
    return None


def register_type_attr(int32_t type_index, str attr_key, value) -> None:
    """Set a type attribute.  Raise RuntimeError if the type already has the attribute."""
    cdef bytes text = utf8_of(attr_key, "name of a type attribute")
    cdef abi.TVMFFIByteArray view
    cdef const Packer* packer = get_packer(<PyObject*>value)
    cdef abi.TVMFFIObject* temporaries[2]
    cdef abi.TVMFFIAny packed
    cdef CallState state
    if packer == NULL:
        check(-2)
    view.data, view.size = text, len(text)
    begin_conversion(&state, temporaries, 1)
    try:
        if packer.pack(<PyObject*>value, &packed, &state, packer) != 0:
            check(-2)
        check(abi.TVMFFITypeRegisterAttr(type_index, &view, &packed))
    finally:
        release_temporaries(&state, view_free_list())
