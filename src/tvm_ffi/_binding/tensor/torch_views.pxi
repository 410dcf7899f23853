# SPDX-License-Identifier: Apache-2.0
"""Native functions that detect torch's conjugated and negated views.

The exchange API exports a conjugated or negated view like any other tensor, so every torch argument
must be tested.  The Python methods `is_neg` and `is_conj` release the GIL and cost more than the
rest of the conversion.  This file finds the C++ functions that these methods call in torch's
library.  The functions take a reference to the `at::Tensor` inside the Python object.  An
`at::Tensor` is one pointer, and the attribute `_cdata` of the Python object is the value of this
pointer; a search for the value in the Python object finds the offset of the `at::Tensor`.  This
file assumes nothing else about torch's memory layout.

`_cdata` is read through `torch.Tensor`, because a subclass may override the attribute.
"""

import sys

from cpython.ref cimport PyObject
from cpython.type cimport PyType_IsSubtype
from libc.stdint cimport uintptr_t

cdef extern from "dlfcn.h":
    void* dlopen(const char* filename, int flags)
    void* dlsym(void* library, const char* name)
    enum:
        RTLD_LAZY, RTLD_NOLOAD


cdef uintptr_t _impl_address(object tensor) except? 0:
    """Return the address of torch's TensorImpl, which is the value of the `at::Tensor`.

    Returns 0 if `tensor` is not a torch tensor.
    """
    cdef object torch = _modules.get("torch")
    cdef object cls = getattr(torch, "Tensor", None)
    cdef object disabled = getattr(
        getattr(torch, "_C", None), "DisableTorchFunctionSubclass", None)
    if not isinstance(cls, type) or disabled is None or not PyType_IsSubtype(
        type(tensor), <type>cls
    ):
        return 0
    with disabled():  # prevents a subclass from intercepting the attribute
        return cls._cdata.__get__(tensor)


cdef size_t _tensor_offset(object tensor) except? 0:
    """Return the offset of the at::Tensor in the Python object, in bytes; 0 if it is not found."""
    cdef uintptr_t address = _impl_address(tensor)
    cdef size_t offset
    cdef const char* start = <const char*><PyObject*>tensor
    if address == 0:
        return 0
    for offset in range(2 * sizeof(void*), 5 * sizeof(void*), sizeof(void*)):
        if (<const uintptr_t*>(start + offset))[0] == address:
            return offset
    return 0


cdef bint find_torch_view_predicates(object tensor, TorchViewPredicates* views) except -1:
    # The library is loaded already if `tensor` is a torch tensor; RTLD_NOLOAD prevents loading it.
    cdef void* library = dlopen(b"libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD)
    if library == NULL:
        return False
    views.is_neg = <bint (*)(const void*) noexcept>dlsym(
        library, b"_ZN2at6native6is_negERKNS_6TensorE")
    views.is_conj = <bint (*)(const void*) noexcept>dlsym(
        library, b"_ZN2at6native7is_conjERKNS_6TensorE")
    views.tensor_offset = _tensor_offset(tensor)
    return views.is_neg != NULL and views.is_conj != NULL and views.tensor_offset != 0
