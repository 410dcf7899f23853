# SPDX-License-Identifier: Apache-2.0
# Content of CPU tensors: the elements as bytes in row-major order, for pickles and copies.
from libc.stdint cimport int64_t

from tvm_ffi._binding cimport abi

# Return the size of the content in bytes.  Fails: TypeError outside CPU memory, or for dtypes whose
# bytes are valid in this process only.
cdef Py_ssize_t content_size_bytes(const abi.DLTensor* tensor) except -1
# Return True if the tensor is row-major without gaps.  Fails: never.
cdef bint is_compact(const abi.DLTensor* tensor) noexcept
# Return a copy of the content.  If `releases_gil` is True, another thread may run during the copy.
# Fails: as `content_size_bytes`; TypeError for a tensor with gaps whose elements share bytes.
cdef bytearray copy_content(const abi.DLTensor* tensor, bint releases_gil)
# Return a buffer over the memory of a compact tensor, to which it owns a reference.
# Fails: as `content_size_bytes`.
cdef object view_content(abi.TVMFFIObjectHandle tensor, bint is_read_only)
# Return an owned tensor over the memory of the buffer `content`, which the tensor keeps alive.  The
# tensor gets a copy if the memory is unaligned, or read-only and `is_read_only` is False.
# Fails: ValueError if the size of `content` does not match, MemoryError.
cdef abi.TVMFFIObjectHandle new_tensor_of_content(
    object content, tuple shape, abi.DLDataType dtype, bint is_read_only) except NULL
