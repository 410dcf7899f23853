# SPDX-License-Identifier: Apache-2.0
# Import of third-party tensors: the exchange API and DLPack capsules.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState

cdef enum:
    # Number of CUDA's legacy default stream in the array API standard, which does not allow the
    # stream's address, 0.
    LEGACY_DEFAULT_STREAM = 1

# Return the exchange API of a tensor class, borrowed from the framework, which never frees it.
# Returns NULL without an exception if the class has none.  Fails: ValueError for an invalid
# exchange API.
cdef const abi.DLPackExchangeAPI* exchange_api_of(type cls) except? NULL
# Return True if the class is `torch.Tensor` or derives from it.
cdef bint is_torch_class(type cls) except -1
# Return True if `api` is the exchange API of torch, or its replacement for releases without one.
cdef bint is_torch_api(const abi.DLPackExchangeAPI* api) noexcept
# Return a new capsule from `array.__dlpack__`.  Fails: the exporter's exception.
cdef object capsule_of(object array)
# Same as `capsule_of`, but the exporter makes `stream` wait until the elements are ready.
cdef object capsule_on(object array, object stream)
# Let the argument view of a torch tensor own the storage of the tensor instead of the tensor, so
# that the memory stays valid if the tensor gets other memory by `set_` or `data = ...`.  Does
# nothing for other packed values.
# Fails: -1 with an exception set.
cdef int own_torch_storage(PyObject* value, const abi.TVMFFIAny* packed) except -1
# Raise TypeError if the class is torch's FakeTensor, whose instances have no data.
cdef int refuse_fake_tensor(type cls) except -1
# Return an owned tensor from a DLPack capsule.  Consumes the capsule, except on failure.
# Fails: TypeError if `capsule` is not a DLPack capsule, ValueError if it was consumed before, or an
# error of the runtime.
cdef abi.TVMFFIObjectHandle consume_capsule(
    object capsule, int require_alignment, bint require_contiguous) except NULL
