# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding.object cimport CObject

# Error context: the function and the argument that an exception is about.

# Add the names of the function and of the argument to the exception that is set.  `names` are the
# keywords of the last arguments, or NULL; `declared_name` is the parameter's name, or None.
# Returns -1.
cdef int explain_argument(
    CObject function, object declared_name, int32_t position, int32_t num_args, PyObject* names
) noexcept

# Same as `explain_argument`, but for an argument whose conversion to the declared type failed.
# Returns -1.
cdef int explain_conversion(object signature, object name) noexcept

# Return a new TypeError for a keyword argument of a function without a signature.
cdef object keyword_error(CObject function, object keyword)

# Replace `ffi.OpaquePyObject` in the TypeError of a failed call with the class of the argument.
cdef void name_opaque_argument(PyObject* const* values, int32_t num_args) noexcept
