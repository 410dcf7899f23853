# SPDX-License-Identifier: Apache-2.0
from libc.stdint cimport int64_t

from tvm_ffi._binding cimport abi

# What a tensor shows, element by element in row-major order, as bytes: how tensors travel to other
# processes.  CPU memory only.

# Bytes of the content; TypeError when the elements mean nothing elsewhere.
cdef Py_ssize_t content_size_bytes(const abi.DLTensor* tensor) except -1
# Whether the elements lie in row-major order without gaps.
cdef bint is_compact(const abi.DLTensor* tensor) noexcept
# A copy.
cdef bytearray copy_content(const abi.DLTensor* tensor, bint releases_gil)
# A buffer over the memory of a compact tensor, which it keeps alive.
cdef object view_content(abi.TVMFFIObjectHandle tensor, bint is_read_only)
# An owned tensor over the memory of a buffer, or over a copy where that cannot serve.
cdef abi.TVMFFIObjectHandle new_tensor_of_content(
    object content, tuple shape, abi.DLDataType dtype, bint is_read_only) except NULL
