# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._object cimport CObject


cdef class Error(CObject):
    pass


# Set the Python exception for a native call that returned `code` (not 0); always returns -1, so
# that callers can return it.  The thread's pending error is taken.
cdef int raise_from_native(int code) noexcept
# Make the exception the pending native error of this thread; always returns -1.
cdef int raise_to_native(object exception) noexcept
# Set Python's current exception, without the traceback entry that a raise statement adds.
cdef void set_exception(object exception) noexcept
# Raise the pending native error if `code` is not 0.
cdef int check(int code) except -1
# An owned native error that carries the exception.
cdef _abi.TVMFFIObjectHandle new_native_error(object exception) except NULL
# The traceback without the entries in front that belong to this package's own code.
cdef object without_binding_frames(object traceback)
