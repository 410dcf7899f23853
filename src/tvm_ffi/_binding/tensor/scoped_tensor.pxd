# SPDX-License-Identifier: Apache-2.0
"""Native tensors over memory that is lent for a call, for libraries that want an owner.

Such a tensor owns nothing.  Whoever made it holds a reference, and sees by the count when the call
is over whether somebody else does.
"""
from tvm_ffi._binding cimport abi


# An owned handle; shape and strides are copies.
cdef abi.TVMFFIObjectHandle new_scoped_tensor(const abi.DLTensor* lent) except NULL
