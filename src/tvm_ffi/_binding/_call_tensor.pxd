# SPDX-License-Identifier: Apache-2.0
# Tensor objects for the arguments of one call.  They come from a free list and describe an array
# that somebody else owns; see _call_tensor.pyx for what happens when a callee keeps one.
from cpython.ref cimport PyObject
from libc.stdint cimport int64_t

from tvm_ffi._binding cimport _abi

cdef enum:
    MAX_INLINE_NDIM = 8


ctypedef struct CallTensor:
    _abi.TVMFFIObject header
    _abi.DLTensor tensor
    PyObject* owner  # the array; borrowed until owns_owner
    bint owns_owner
    bint is_read_only
    const _abi.DLPackExchangeAPI* exchange_api  # table the owner was read with; NULL: none
    int64_t* heap_extents                       # owned; for more dimensions than fit inline
    CallTensor* next_free
    int64_t inline_extents[16]                  # shape, then strides


# A fresh tensor of `owner`; its description is for the caller to fill.  NULL with MemoryError set.
cdef CallTensor* take_call_tensor(PyObject* owner) noexcept
# Room for `ndim` extents and as many strides, owned by the tensor.  NULL with MemoryError set.
cdef int64_t* extents_of(CallTensor* tensor, int ndim) noexcept
# Ends the tensor's part in a call, or undoes take_call_tensor.
cdef void recycle_call_tensor(_abi.TVMFFIObject* temporary) noexcept
# The call tensor behind a handle, or NULL when another library or function made it.
cdef CallTensor* as_call_tensor(_abi.TVMFFIObjectHandle handle) noexcept
