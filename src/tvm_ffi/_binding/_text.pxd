# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._convert cimport CallState, Packer

cdef int pack_str(
    PyObject* value, _abi.TVMFFIAny* out, CallState* state, const Packer* packer) noexcept
# The Python str or bytes of a borrowed view of any text or bytes kind.
cdef object text_of(const _abi.TVMFFIAny* view)
