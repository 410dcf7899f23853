# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert.table cimport CallState

# The exchange table that a tensor class names, NULL when it names none.
cdef const abi.DLPackExchangeAPI* exchange_api_of(type cls) except? NULL
# Lets the first tensor outside the CPU decide which stream the call runs on; 0, or -1 with an
# exception set.
cdef int choose_stream(
    CallState* state, const abi.DLPackExchangeAPI* api, abi.DLDevice device) noexcept
# TypeError for a class of tensors without data.
cdef int refuse_fake_tensor(type cls) except -1
# An owned tensor.  A capsule is consumed once; on failure it stays as it was.
cdef abi.TVMFFIObjectHandle consume_capsule(
    object capsule, int require_alignment, bint require_contiguous) except NULL
