# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._object cimport CObject


cdef class Tensor(CObject):
    # Description of the tensor: inside the owned object, or lent by a caller (chandle is NULL).
    # NULL: empty, or a lent view whose call is over.
    cdef _abi.DLTensor* dltensor


# Takes the handle over.
cdef Tensor wrap_tensor(_abi.TVMFFIObjectHandle owned)
# A view of a description that somebody else owns; `end_view` before it goes away.
cdef Tensor wrap_view(_abi.DLTensor* dltensor)
cdef void end_view(Tensor view) noexcept
