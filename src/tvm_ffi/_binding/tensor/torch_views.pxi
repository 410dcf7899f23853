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

cdef extern from *:
    """
    /* Return the address of a function of torch's library, if the library is loaded, or NULL. */
    #ifdef _WIN32
    static void* tvm_ffi_find_torch_function(const char* name) {
      (void)name; /* another compiler and other names */
      return NULL;
    }
    #else
    #include <dlfcn.h>

    static void* tvm_ffi_find_torch_function(const char* name) {
      void* library = dlopen("libtorch_cpu.so", RTLD_LAZY | RTLD_NOLOAD);
      return library == NULL ? NULL : dlsym(library, name);
    }
    #endif
    """
    void* _find_torch_function "tvm_ffi_find_torch_function"(const char* name)


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
    views.is_neg = <bint (*)(const void*) noexcept>_find_torch_function(
        b"_ZN2at6native6is_negERKNS_6TensorE")
    views.is_conj = <bint (*)(const void*) noexcept>_find_torch_function(
        b"_ZN2at6native7is_conjERKNS_6TensorE")
    if views.is_neg == NULL or views.is_conj == NULL:
        return False
    views.tensor_offset = _tensor_offset(tensor)
    return views.tensor_offset != 0
