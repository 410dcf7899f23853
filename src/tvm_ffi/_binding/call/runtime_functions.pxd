# SPDX-License-Identifier: Apache-2.0
# Short functions of the runtime, which are called with the GIL held.
from tvm_ffi._binding cimport abi

# Return True if the function is a short function of the runtime.  Such functions must be called
# with the GIL held, because they may read Lists and Dicts.  Other threads change these containers
# only with the GIL held.
cdef bint keeps_gil(abi.TVMFFIObjectHandle function) noexcept
# Return True if `keeps_gil` is True for the function, and the function stores its arguments in an
# object, as `ffi.ListAppend` does.
cdef bint stores_arguments(abi.TVMFFIObjectHandle function) noexcept
