# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState

cdef enum:
    # How the array API standard writes this stream of CUDA, where it forbids to say 0.
    LEGACY_DEFAULT_STREAM = 1

# The exchange table that a tensor class names, NULL when it names none.
cdef const abi.DLPackExchangeAPI* exchange_api_of(type cls) except? NULL
# A capsule of what has `__dlpack__`.
cdef object capsule_of(object array)
# The same of an array on a GPU, whose values shall be ready on a stream.
cdef object capsule_on(object array, object stream)
# TypeError for a class of tensors without data.
cdef int refuse_fake_tensor(type cls) except -1
# An owned tensor.  A capsule is consumed once; on failure it stays as it was.
cdef abi.TVMFFIObjectHandle consume_capsule(
    object capsule, int require_alignment, bint require_contiguous) except NULL
