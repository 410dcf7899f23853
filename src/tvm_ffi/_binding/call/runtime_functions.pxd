# SPDX-License-Identifier: Apache-2.0
# Which functions are the runtime's own and keep the GIL.
from tvm_ffi._binding cimport abi

# Whether the runtime registered this very function, and it works on what it is given and returns.
# Such functions walk Lists and Dicts, which are changed by threads that hold the GIL.
cdef bint keeps_gil(abi.TVMFFIObjectHandle function) noexcept
# Whether it is one of these, and what it is given outlives the call.
cdef bint keeps_arguments(abi.TVMFFIObjectHandle function) noexcept
