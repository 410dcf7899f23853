# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject


# What torch knows about its lazy views: tensors whose memory does not hold the values they show.
ctypedef struct TorchViews:
    bint (*is_neg)(const void* tensor) noexcept   # at::native::is_neg(const at::Tensor&)
    bint (*is_conj)(const void* tensor) noexcept  # at::native::is_conj
    size_t tensor_offset                          # where the at::Tensor stands in the Python object


# False when the two functions or the place cannot be found; then only torch's Python methods know.
cdef bint find_torch_views(object tensor, TorchViews* views) except -1


cdef inline const void* native_tensor(PyObject* tensor, const TorchViews* views) noexcept:
    return <const char*>tensor + views.tensor_offset
