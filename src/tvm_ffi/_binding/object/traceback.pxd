# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject

# The traceback of an exception, whatever its class says; None: it has none.
cdef object traceback_of(object exception)
# The traceback without the entries in front that belong to this package's own code.
cdef object without_binding_frames(object traceback)
# The text of a traceback, or of None.
cdef str backtrace_of(object traceback)
# A frame for each line of a text, in its order.  Called while no exception is set.
cdef list frames_of_backtrace(bytes backtrace)
# Put a frame in front of the traceback of the exception that is set.
cdef void add_frame(PyObject* frame) noexcept
