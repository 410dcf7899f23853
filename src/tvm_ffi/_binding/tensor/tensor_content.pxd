# SPDX-License-Identifier: Apache-2.0
# Content of CPU tensors: the elements as bytes in row-major order, for pickling and copying.
from libc.stdint cimport int64_t

from tvm_ffi._binding cimport abi

# Return the size of the content in bytes.  Fails: TypeError if the tensor is not in CPU memory, or
# if its elements are valid only in this process, such as addresses.
cdef Py_ssize_t content_size_bytes(const abi.DLTensor* tensor) except -1
# Return True if the tensor is row-major without gaps.  Fails: never.
cdef bint is_compact(const abi.DLTensor* tensor) noexcept
# Return a copy of the content.  If `releases_gil` is True, other threads may run during the copy.
# Fails: see `content_size_bytes`; TypeError if several elements share a byte and the tensor is not
# compact.
cdef bytearray copy_content(const abi.DLTensor* tensor, bint releases_gil)
# Return a Python buffer over the memory of a compact tensor.  The buffer owns a reference to the
# tensor. Fails: see `content_size_bytes`.
cdef object view_content(abi.TVMFFIObjectHandle tensor, bint is_read_only)
# Return an owned tensor over the memory of the buffer `content`; the tensor keeps the buffer alive.
# The tensor uses a copy if the memory is unaligned, or if it is read-only although `is_read_only`
# is False.
# Fails: ValueError if the size of `content` does not match the shape and dtype, MemoryError.
cdef abi.TVMFFIObjectHandle new_tensor_of_content(
    object content, tuple shape, abi.DLDataType dtype, bint is_read_only) except NULL
