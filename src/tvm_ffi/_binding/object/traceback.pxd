# SPDX-License-Identifier: Apache-2.0
# Conversion between Python tracebacks and the backtrace text of native errors.
from cpython.ref cimport PyObject

# Return the traceback of an exception, or None if it has none.  Does not read the attribute
# `__traceback__`, which a class can override.
cdef object traceback_of(object exception)
# Return the traceback without its leading entries for frames of the binding.
cdef object without_binding_frames(object traceback)
# Return the backtrace text of a traceback; empty for None.
cdef str backtrace_of(object traceback)
# Return a frame for each line of a backtrace text, in the order of the text.  The caller ensures
# that no Python exception is set.
cdef list frames_of_backtrace(bytes backtrace)
# Prepend a frame to the traceback of the exception that is set.  Fails: silently.
cdef void add_frame(PyObject* frame) noexcept
