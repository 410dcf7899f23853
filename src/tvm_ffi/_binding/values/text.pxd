# SPDX-License-Identifier: Apache-2.0
# Strings and bytes: packing Python text, and reading native strings.
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer
from tvm_ffi._binding.object cimport CObject

# Pack functions for str and for bytes.  The value must stay alive and unchanged until the call
# returns, because the packed argument borrows content of more than 7 bytes.  Fails: -1 with an
# exception set.
cdef int pack_str(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
cdef int pack_bytes(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
# Return the content of a native string or bytes object as str or bytes.  Fails: TypeError if the
# type index of the object is not `type_index`.
cdef object text_of_object(CObject obj, int32_t type_index)
# Return `text`, which may be an instance of a subclass of str such as an enum member, as a plain
# str.  Fails: TypeError if it is not a str; `label` is the name of the value in the message.
cdef str plain_str(object text, str label)
# Return the content of a native value of any string or bytes type as str or bytes.  `view` is
# borrowed.
cdef object text_of(const abi.TVMFFIAny* view)
