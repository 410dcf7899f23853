# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, freethreading_compatible=True
"""Strings and bytes.

Up to 7 bytes travel inside the value.  Longer content is not copied: a string object from a free
list borrows the Python object's buffer while the call lasts.  If the callee has kept the string
object, it becomes an owner of the Python object before the call returns, so it stays valid.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport Py_INCREF, PyObject
from libc.stdint cimport int32_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, strlen

from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._convert cimport (
    CallState, PackFunction, Packer, add_exact_packer, add_maker, add_recycler, add_rule, keep_temporary,
)
from tvm_ffi._binding._error cimport check
from tvm_ffi._binding._interpreter cimport release_python_object

cdef extern from "Python.h":
    const char* PyUnicode_AsUTF8AndSize(PyObject* text, Py_ssize_t* size) noexcept
    object PyUnicode_DecodeUTF8(const char* data, Py_ssize_t size, const char* errors)
    PyObject* PyErr_NoMemory() noexcept
    Py_ssize_t PyBytes_Size(PyObject* value) noexcept
    char* PyBytes_AsString(PyObject* value) noexcept

cdef int _SMALL_CAPACITY = 7
cdef int _MAX_FREE = 64


cdef struct _LentText:
    _abi.TVMFFIObject header
    _abi.TVMFFIByteArray content  # points into the owner
    PyObject* owner               # the str or bytes; borrowed until owns_owner
    bint owns_owner
    _LentText* next_free


cdef _LentText* _free_list = NULL
cdef int _num_free = 0


cdef void _delete_text(void* self, int flags) noexcept nogil:
    cdef _LentText* text = <_LentText*>self
    if flags & _abi.kTVMFFIObjectDeleterFlagBitMaskStrong and text.owns_owner:
        release_python_object(text.owner)
    if flags & _abi.kTVMFFIObjectDeleterFlagBitMaskWeak:
        free(text)


cdef void _recycle_text(_abi.TVMFFIObject* temporary) noexcept:
    global _free_list, _num_free
    cdef _LentText* text = <_LentText*>temporary
    if temporary.combined_ref_count != _abi.TVM_FFI_REF_COUNT_INITIAL:
        # The callee kept it: from now on the string owns what it shows.
        if not text.owns_owner:
            Py_INCREF(<object>text.owner)
            text.owns_owner = True
        _abi.TVMFFIObjectDecRef(temporary)
    elif _num_free < _MAX_FREE:
        text.next_free = _free_list
        _free_list = text
        _num_free += 1
    else:
        free(text)


cdef inline _LentText* _new_text() noexcept:
    global _free_list, _num_free
    cdef _LentText* text = _free_list
    if text != NULL:
        _free_list = text.next_free
        _num_free -= 1
        return text
    text = <_LentText*>malloc(sizeof(_LentText))
    if text != NULL:
        text.header.combined_ref_count = _abi.TVM_FFI_REF_COUNT_INITIAL
        text.header.__padding = 0
        text.header.deleter = _delete_text
    return text


cdef inline int _pack_content(
    PyObject* owner, const char* data, Py_ssize_t size, int32_t small_index, int32_t heap_index,
    _abi.TVMFFIAny* out, CallState* state,
) noexcept:
    cdef _LentText* text
    if size <= _SMALL_CAPACITY:
        out.type_index = small_index
        out.small_str_len = <unsigned int>size
        out.v_uint64 = 0
        memcpy(out.v_bytes, data, <size_t>size)
        return 0
    text = _new_text()
    if text == NULL:
        PyErr_NoMemory()
        return -1
    text.header.type_index = heap_index
    text.content.data = data
    text.content.size = <size_t>size
    text.owner = owner
    text.owns_owner = False
    out.type_index = heap_index
    out.zero_padding = 0
    out.v_obj = &text.header
    return keep_temporary(state, text)


cdef int pack_str(
    PyObject* value, _abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef Py_ssize_t size
    cdef const char* data = PyUnicode_AsUTF8AndSize(value, &size)
    if data == NULL:
        return -1  # a lone surrogate: UnicodeEncodeError
    return _pack_content(
        value, data, size, _abi.kTVMFFISmallStr, _abi.kTVMFFIStr, out, state)


cdef int _pack_bytes(
    PyObject* value, _abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    return _pack_content(
        value, PyBytes_AsString(value), PyBytes_Size(value), _abi.kTVMFFISmallBytes,
        _abi.kTVMFFIBytes, out, state)


cdef int _copy_bytearray(
    PyObject* value, _abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Copy: the content may change or move while native code looks at it."""
    cdef bytes content = bytes(<object>value)
    cdef _abi.TVMFFIByteArray view
    view.data, view.size = content, len(content)
    check(_abi.TVMFFIBytesFromByteArray(&view, out))
    if out.type_index == _abi.kTVMFFIBytes:
        keep_temporary(state, out.v_obj)
    return 0


cdef bint _text_rule(type cls, object value, Packer* packer) except -1:
    if issubclass(cls, str):
        packer.pack = pack_str
    elif issubclass(cls, bytes):
        packer.pack = _pack_bytes
    elif issubclass(cls, bytearray):
        packer.pack = <PackFunction>_copy_bytearray
    else:
        return False
    return True


# ---- native to Python ----------------------------------------------------------------------

cdef object _decode(const char* data, size_t size):
    return PyUnicode_DecodeUTF8(data, <Py_ssize_t>size, NULL)


cdef object text_of(const _abi.TVMFFIAny* view):
    cdef int32_t index = view.type_index
    cdef const _abi.TVMFFIByteArray* content
    if index == _abi.kTVMFFISmallStr:
        return _decode(view.v_bytes, view.small_str_len)
    if index == _abi.kTVMFFISmallBytes:
        return PyBytes_FromStringAndSize(view.v_bytes, view.small_str_len)
    if index == _abi.kTVMFFIRawStr:
        return _decode(view.v_c_str, strlen(view.v_c_str))
    if index == _abi.kTVMFFIByteArrayPtr:
        content = <const _abi.TVMFFIByteArray*>view.v_ptr
        return PyBytes_FromStringAndSize(content.data, <Py_ssize_t>content.size)
    if view.v_obj.deleter == _delete_text:
        return <object>(<_LentText*>view.v_obj).owner  # it came from Python: no copy on the way back
    content = _abi.TVMFFIBytesGetByteArrayPtr(view.v_obj)
    if index == _abi.kTVMFFIStr:
        return _decode(content.data, content.size)
    return PyBytes_FromStringAndSize(content.data, <Py_ssize_t>content.size)


cdef object _make_small(_abi.TVMFFIAny* owned, CallState* state):
    return text_of(owned)


cdef object _make_heap(_abi.TVMFFIAny* owned, CallState* state):
    try:
        return text_of(owned)
    finally:
        _abi.TVMFFIObjectDecRef(owned.v_obj)


add_recycler(_delete_text, _recycle_text)
add_exact_packer(bytes, _pack_bytes, NULL)
add_rule(20, _text_rule)
add_maker(_abi.kTVMFFISmallStr, _make_small)
add_maker(_abi.kTVMFFISmallBytes, _make_small)
add_maker(_abi.kTVMFFIStr, _make_heap)
add_maker(_abi.kTVMFFIBytes, _make_heap)
