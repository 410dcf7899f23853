# SPDX-License-Identifier: Apache-2.0
"""Scoped tensors: reference-counted tensors over memory that is borrowed until a call returns.

Exports of a borrowed tensor need an object to refer to.  A scoped tensor is that object; it does
not own the memory.  Its creator holds one reference and checks the count when the call returns:
another reference belongs to an export that is still alive.
"""
from tvm_ffi._binding cimport abi


# Return an owned tensor over the memory of `source`, with copies of shape and strides.
# Fails: MemoryError, or an error of the runtime for an invalid description.
cdef abi.TVMFFIObjectHandle new_scoped_tensor(const abi.DLTensor* source) except NULL
