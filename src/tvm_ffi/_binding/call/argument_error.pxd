# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding.object cimport CObject

# Says in the exception that is set which argument of which function it is about.  `names` are those
# of the last arguments, or NULL; `declared_name` is that of the parameter, or None.  Returns -1.
cdef int explain_argument(
    CObject function, object declared_name, int32_t position, int32_t num_args, PyObject* names
) noexcept

# The same for an argument that could not be converted as its parameter declares.  Returns -1.
cdef int name_parameter(object signature, object name) noexcept

# After a call has failed: what came as "a Python object" gets the name of its class.
cdef void name_opaque_argument(PyObject* const* values, int32_t num_args) noexcept
