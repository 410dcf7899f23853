# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi


cdef class Error(CObject):
    # The Python exception behind the error.  It is taken out of the native object while a Python
    # object stands for the error, where the garbage collector can see it: a traceback's frames
    # often lead back to whoever holds the error.
    cdef object carried


# Set the Python exception for a native call that returned `code` (not 0); always returns -1, so
# that callers can return it.  The thread's pending error is taken.
cdef int raise_from_native(int code) noexcept
# Make the exception that is set the pending native error of this thread; always returns -1.
cdef int raise_to_native() noexcept
# Set Python's current exception, without the traceback entry that a raise statement adds.
cdef void set_exception(object exception) noexcept
# Add a note to an exception, which is a convenience: Python before 3.11 has none, and the class may
# refuse.
cdef void add_note(object exception, str note) noexcept
# Raise the pending native error if `code` is not 0.
cdef int check(int code) except -1
# An owned native error that carries the exception.
cdef abi.TVMFFIObjectHandle new_native_error(object exception) except NULL
# The Error of an owned handle, which is taken over.
cdef Error wrap_error(abi.TVMFFIObjectHandle owned)
# The handle, borrowed, for native code; it carries the exception again.
cdef abi.TVMFFIObjectHandle native_error_of(Error error) except NULL
# Whether a native error, or NULL, was made from a Python exception; and that, borrowed.  NULL: it
# has been handed back to Python.
cdef bint is_of_exception(abi.TVMFFIObjectHandle handle) noexcept
cdef PyObject* exception_in(abi.TVMFFIObjectHandle handle) noexcept
