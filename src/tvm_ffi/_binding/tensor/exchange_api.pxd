# SPDX-License-Identifier: Apache-2.0
# Import of third-party tensors: the exchange API and DLPack capsules.
from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState

cdef enum:
    # Number of CUDA's legacy default stream in the array API standard, which forbids 0.
    LEGACY_DEFAULT_STREAM = 1

# Return the exchange API of a class; borrowed from the framework, which never frees it.  NULL
# without an exception if the class has none.  Fails: ValueError for an invalid table.
cdef const abi.DLPackExchangeAPI* exchange_api_of(type cls) except? NULL
# Return a new capsule from `array.__dlpack__`.  Fails: the exporter's exception.
cdef object capsule_of(object array)
# Same as `capsule_of`, but the exporter makes the elements ready on a stream.
cdef object capsule_on(object array, object stream)
# Fails: TypeError if tensors of the class have no data (torch's FakeTensor).
cdef int refuse_fake_tensor(type cls) except -1
# Return an owned tensor.  Consumes the capsule; on failure the capsule is unchanged.
# Fails: TypeError or ValueError for another or a consumed capsule, or an error of the runtime.
cdef abi.TVMFFIObjectHandle consume_capsule(
    object capsule, int require_alignment, bint require_contiguous) except NULL
