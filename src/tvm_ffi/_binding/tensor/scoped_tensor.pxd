# SPDX-License-Identifier: Apache-2.0
"""Scoped tensors: reference-counted tensors over memory that is borrowed until a call returns.

An export of a borrowed tensor must refer to a native object; a scoped tensor is this object.  It
does not own the memory.  Its creator owns one reference and checks the reference count when the
call returns: any other reference belongs to an export that is still alive.
"""
from tvm_ffi._binding cimport abi


# Return an owned tensor over the memory of `source`, with copies of its shape and strides.  The
# tensor is read-only if `is_read_only` is True.
# Fails: MemoryError, or an error of the runtime if `source` is invalid.
cdef abi.TVMFFIObjectHandle new_scoped_tensor(
    const abi.DLTensor* source, bint is_read_only) except NULL
