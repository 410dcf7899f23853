# SPDX-License-Identifier: Apache-2.0
# Strings and bytes.
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer
from tvm_ffi._binding.object cimport CObject

# Pack a str or bytes, which must stay alive and unchanged until the call returns: long content is
# borrowed.  Fails: -1 with an exception set.
cdef int pack_str(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
cdef int pack_bytes(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
# Return the str or bytes of an object.  Fails: TypeError if it does not have the type index.
cdef object text_of_object(CObject obj, int32_t type_index)
# Return `text` as a plain str; it may be of a subclass of str, such as a member of an enum.
# Fails: TypeError, with `label` as the name of the value.
cdef str plain_str(object text, str label)
# Return the Python str or bytes of a borrowed value of any string or bytes type.
cdef object text_of(const abi.TVMFFIAny* view)
