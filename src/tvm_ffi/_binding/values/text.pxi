# SPDX-License-Identifier: Apache-2.0
"""Strings and bytes as arguments and results.

Content of up to 7 bytes is stored in the native value itself.  Longer content is not copied: an
argument view borrows the buffer of the Python object (see `convert/argument_view.pxd`).
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t
from libc.string cimport memcpy, strlen

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentView, ArgumentViewFreeList, CallState, PackFunction, Packer, Precedence,
    add_exact_packer, add_rule, add_unpacker, as_argument_view, bytes_of_view, pack_temporary,
    take_view, view_free_list,
)
from tvm_ffi._binding.cpython cimport (
    PyBytes_AsString, PyBytes_Size, PyBytes_Type, PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8,
    PyUnicode_Type, Py_TYPE,
)
from tvm_ffi._binding.object cimport CObject, check, handle_of, type_key_of

cdef int _SMALL_CAPACITY = 7  # maximum number of bytes that fit in a native value without an object
cdef ArgumentViewFreeList* _free_views = view_free_list()


cdef inline int _pack_content(
    PyObject* owner, const char* data, Py_ssize_t size, int32_t small_index, int32_t heap_index,
    abi.TVMFFIAny* out, CallState* state,
) noexcept:
    """Pack the bytes `data` of the Python object `owner`.  Fails: -1 with an exception set."""
    cdef ArgumentView* arg_view
    if size <= _SMALL_CAPACITY:
        out.type_index = small_index
        out.small_str_len = <unsigned int>size
        out.v_uint64 = 0
        memcpy(out.v_bytes, data, <size_t>size)
        return 0
    arg_view = take_view(_free_views, heap_index, owner)
    if arg_view == NULL:
        return -1
    bytes_of_view(arg_view).data = data
    bytes_of_view(arg_view).size = <size_t>size
    return pack_temporary(state, out, heap_index, arg_view)


cdef int pack_str(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef Py_ssize_t size
    cdef const char* data = PyUnicode_AsUTF8AndSize(value, &size)
    if data == NULL:
        return -1  # UnicodeEncodeError: the str contains a lone surrogate
    return _pack_content(
        value, data, size, abi.kTVMFFISmallStr, abi.kTVMFFIStr, out, state)


cdef int pack_bytes(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    return _pack_content(
        value, PyBytes_AsString(value), PyBytes_Size(value), abi.kTVMFFISmallBytes,
        abi.kTVMFFIBytes, out, state)


cdef str plain_str(object text, str label):
    if type(text) is str:
        return text
    if not isinstance(text, str):
        raise TypeError(f"{label} must be a str, got {type(text).__name__}")
    return str.__str__(text)  # calls `str.__str__`, not the method of a subclass


cdef class ByteArrayArg:
    """An argument that a function receives as ``TVMFFIByteArray*``, without a copy.

    Parameters
    ----------
    content : bytes
        The bytes.  The function may copy them, but must not use the address after the call.
    """

    cdef bytes content
    cdef abi.TVMFFIByteArray view

    def __cinit__(self, bytes content not None):
        self.content = content
        self.view.data, self.view.size = content, len(content)

    def __repr__(self):
        return f"ByteArrayArg({self.content!r})"


cdef int _pack_byte_array(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    out.type_index = abi.kTVMFFIByteArrayPtr
    out.zero_padding = 0
    out.v_ptr = &(<ByteArrayArg>value).view
    return 0


cdef class NativeText:
    """A string argument given as bytes.  The bytes need not be valid UTF-8.

    Paths, for example, may contain any bytes.

    Parameters
    ----------
    content : bytes
        The bytes of the string.
    """

    cdef bytes content

    def __cinit__(self, bytes content not None):
        self.content = content


cdef int _pack_native_text(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef bytes content = (<NativeText>value).content
    cdef abi.TVMFFIByteArray view
    view.data, view.size = content, len(content)
    check(abi.TVMFFIStringFromByteArray(&view, out))
    if out.type_index == abi.kTVMFFIStr:
        return pack_temporary(state, out, abi.kTVMFFIStr, out.v_obj)
    return 0


cdef int _pack_bytearray(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack a copy of a bytearray, because Python code may change or move its content later."""
    cdef bytes content = bytes(<object>value)
    cdef abi.TVMFFIByteArray view
    view.data, view.size = content, len(content)
    check(abi.TVMFFIBytesFromByteArray(&view, out))
    if out.type_index == abi.kTVMFFIBytes:
        return pack_temporary(state, out, abi.kTVMFFIBytes, out.v_obj)
    return 0


cdef bint _text_rule(type cls, object value, Packer* packer) except -1:
    if issubclass(cls, str):
        packer.pack = pack_str
    elif issubclass(cls, bytes):
        packer.pack = pack_bytes
    elif issubclass(cls, bytearray):
        packer.pack = <PackFunction>_pack_bytearray
    else:
        return False
    return True


# ---- native to Python ----------------------------------------------------------------------

cdef object _decode(const char* data, size_t size):
    return PyUnicode_DecodeUTF8(data, <Py_ssize_t>size, NULL)


cdef inline bint _is_plain(PyObject* text) noexcept:
    """Return True if the class is exactly str or bytes; results are not instances of subclasses."""
    return Py_TYPE(text) == &PyUnicode_Type or Py_TYPE(text) == &PyBytes_Type


cdef object text_of(const abi.TVMFFIAny* view):
    cdef int32_t index = view.type_index
    cdef ArgumentView* arg_view
    cdef const abi.TVMFFIByteArray* content
    if index == abi.kTVMFFISmallStr:
        return _decode(view.v_bytes, view.small_str_len)
    if index == abi.kTVMFFISmallBytes:
        return PyBytes_FromStringAndSize(view.v_bytes, view.small_str_len)
    if index == abi.kTVMFFIRawStr:
        return _decode(view.v_c_str, strlen(view.v_c_str))
    if index == abi.kTVMFFIByteArrayPtr:
        content = <const abi.TVMFFIByteArray*>view.v_ptr
        return PyBytes_FromStringAndSize(content.data, <Py_ssize_t>content.size)
    arg_view = as_argument_view(_free_views, view.v_obj)
    if arg_view != NULL and _is_plain(arg_view.owner):
        # The native value is a view of a Python argument, so return this argument instead of a
        # copy.
        return <object>arg_view.owner
    content = abi.TVMFFIBytesGetByteArrayPtr(view.v_obj)
    if index == abi.kTVMFFIStr:
        return _decode(content.data, content.size)
    return PyBytes_FromStringAndSize(content.data, <Py_ssize_t>content.size)


cdef object text_of_object(CObject obj, int32_t type_index):
    cdef abi.TVMFFIAny view
    view.v_obj = <abi.TVMFFIObject*>handle_of(obj)
    view.type_index = view.v_obj.type_index
    if view.type_index != type_index:
        raise TypeError(
            f"expected an object of type {type_key_of(type_index)}, "
            f"got {type_key_of(view.type_index)}")
    return text_of(&view)


cdef object _unpack_small(abi.TVMFFIAny* owned, CallState* state):
    return text_of(owned)


cdef object _unpack_heap(abi.TVMFFIAny* owned, CallState* state):
    try:
        return text_of(owned)
    finally:
        abi.TVMFFIObjectDecRef(owned.v_obj)


add_exact_packer(bytes, pack_bytes, NULL)
add_exact_packer(ByteArrayArg, _pack_byte_array, NULL)
add_exact_packer(NativeText, <PackFunction>_pack_native_text, NULL)
add_rule(Precedence.TEXT, _text_rule)
add_unpacker(abi.kTVMFFISmallStr, _unpack_small)
add_unpacker(abi.kTVMFFISmallBytes, _unpack_small)
add_unpacker(abi.kTVMFFIStr, _unpack_heap)
add_unpacker(abi.kTVMFFIBytes, _unpack_heap)
