# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState, Packer
from tvm_ffi._binding.object cimport CObject

cdef int pack_str(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
cdef int pack_bytes(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
# The str or bytes of an object, which has to be of the type.
cdef object text_of_object(CObject obj, int32_t type_index)
# The text of a str, and of an instance of a subclass such as a member of an enum; TypeError for
# anything else, which is called `what`.
cdef str plain_str(object text, str label)
# The Python str or bytes of a borrowed view of any text or bytes kind.
cdef object text_of(const abi.TVMFFIAny* view)
