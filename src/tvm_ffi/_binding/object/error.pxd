# SPDX-License-Identifier: Apache-2.0
# Conversion of native errors to Python exceptions and back; defined in error.pxi.
from cpython.ref cimport PyObject

from tvm_ffi._binding cimport abi


cdef class Error(CObject):
    # The Python exception from which the native error was made, or None.  The wrapper takes the
    # exception out of the native error, so that the garbage collector can see the reference.
    # Frames of the exception's traceback often refer to the wrapper.
    cdef object exception


# Set the Python exception for a native call that returned `code`, which is not 0.  Takes the
# thread's pending error.  Always returns -1, so that callers can return the result.
cdef int raise_from_native(int code) noexcept
# Turn the Python exception that is set into the pending native error of this thread.  Always
# returns -1.
cdef int raise_to_native() noexcept
# Set `exception` as the current Python exception, without the traceback entry that a raise
# statement adds.
cdef void set_exception(object exception) noexcept
# Add a note (PEP 678) to an exception.  Fails: silently, as in Python before 3.11.
cdef void add_note(object exception, str note) noexcept
# If `code` is not 0, raise the pending native error of this thread, or the Python exception that is
# set.  Otherwise return 0.
cdef int check(int code) except -1
# Return a new native error that owns a reference to the exception.
cdef abi.TVMFFIObjectHandle new_native_error(object exception) except NULL
# Return the wrapper of the native error `owned`.  Consumes `owned`, also on failure.
cdef Error wrap_error(abi.TVMFFIObjectHandle owned)
# Return the handle of a wrapper, to pass it to native code.  Before, store the exception that the
# wrapper owns in the native error.  The handle is borrowed until Python code runs.
# Fails: ValueError if the wrapper is empty.
cdef abi.TVMFFIObjectHandle native_error_of(Error error) except NULL
# Return True if a native error was made from a Python exception; False for NULL.
cdef bint is_python_error(abi.TVMFFIObjectHandle handle) noexcept
# Return the exception in a native error that was made from a Python exception.  Borrowed from the
# error; NULL if a wrapper has taken it.
cdef PyObject* exception_in(abi.TVMFFIObjectHandle handle) noexcept
