# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport _abi

# The exchange table that a tensor class names, NULL when it names none.
cdef const _abi.DLPackExchangeAPI* exchange_api_of(type cls) except? NULL
