# SPDX-License-Identifier: Apache-2.0
# Native functions that detect torch's conjugated and negated views.
from cpython.ref cimport PyObject


# torch functions that detect lazy views: tensors whose memory differs from their values.
ctypedef struct TorchViewPredicates:
    bint (*is_neg)(const void* tensor) noexcept   # at::native::is_neg(const at::Tensor&)
    bint (*is_conj)(const void* tensor) noexcept  # at::native::is_conj(const at::Tensor&)
    # The offset of the at::Tensor in the Python object, in bytes.
    size_t tensor_offset


# Fill `views` by means of a sample, the torch tensor `tensor`.  Return True on success.  Return
# False if a function or the offset cannot be found; callers then use torch's Python methods.
cdef bint find_torch_view_predicates(object tensor, TorchViewPredicates* views) except -1


cdef inline const void* native_tensor(PyObject* tensor, const TorchViewPredicates* views) noexcept:
    """Return the address of the at::Tensor in a Python tensor; borrowed from the Python object."""
    return <const char*>tensor + views.tensor_offset
