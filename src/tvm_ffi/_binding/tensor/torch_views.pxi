# SPDX-License-Identifier: Apache-2.0
"""Asking torch, at the cost of a C call, whether a tensor is a conjugated or negated view.

The exchange table exports such views without their mark, so every torch argument has to be asked.
The Python methods release the GIL and cost more than the rest of the conversion; the C++ functions
behind them are exported by torch's library and take a reference to the `at::Tensor` inside the
Python object.  That is one pointer, to the same address that the tensor's `_cdata` shows, which is
how its place is found.  Nothing else about torch's memory is assumed.

`_cdata` is asked of torch's own class: what a subclass says under that name is any number.
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

# For the rule, see `add_rule`.


cdef uintptr_t _address_of(object tensor) except? 0:
    """Of the TensorImpl; 0 for what is no tensor of torch, or where torch does not tell."""
    cdef object torch = _modules.get("torch")
    cdef object cls = getattr(torch, "Tensor", None)
    cdef object disabled = getattr(
        getattr(torch, "_C", None), "DisableTorchFunctionSubclass", None)
    if not isinstance(cls, type) or disabled is None or not PyType_IsSubtype(
        type(tensor), <type>cls
    ):
        return 0
    with disabled():  # else a subclass is told of it, and may answer
        return cls._cdata.__get__(tensor)


cdef size_t _tensor_offset(object tensor) except? 0:
    """Bytes from the Python object to its at::Tensor; 0 when it is nowhere near the head."""
    cdef uintptr_t address = _address_of(tensor)
    cdef size_t offset
    cdef const char* start = <const char*><PyObject*>tensor
    if address == 0:
        return 0
    for offset in range(2 * sizeof(void*), 5 * sizeof(void*), sizeof(void*)):
        if (<const uintptr_t*>(start + offset))[0] == address:
            return offset
    return 0


cdef bint find_torch_views(object tensor, TorchViews* views) except -1:
    # Loaded already, or there would be no tensor; this only asks for it by name.
    cdef void* library = dlopen(b"libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD)
    if library == NULL:
        return False
    views.is_neg = <bint (*)(const void*) noexcept>dlsym(
        library, b"_ZN2at6native6is_negERKNS_6TensorE")
    views.is_conj = <bint (*)(const void*) noexcept>dlsym(
        library, b"_ZN2at6native7is_conjERKNS_6TensorE")
    views.tensor_offset = _tensor_offset(tensor)
    return views.is_neg != NULL and views.is_conj != NULL and views.tensor_offset != 0
