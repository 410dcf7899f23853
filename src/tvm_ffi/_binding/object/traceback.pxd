# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

# Return the traceback of an exception, or None; not through its attribute, which a class can
# override.
cdef object traceback_of(object exception)
# Return the traceback without its first entries that belong to code of the binding.
cdef object without_binding_frames(object traceback)
# Return a traceback, or None, as backtrace text.
cdef str backtrace_of(object traceback)
# Return a frame for each line of a backtrace, in the order of the text.  No exception may be set.
cdef list frames_of_backtrace(bytes backtrace)
# Prepend a frame to the traceback of the exception that is set.  Fails: silently.
cdef void add_frame(PyObject* frame) noexcept
