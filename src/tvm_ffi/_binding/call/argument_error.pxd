# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

from tvm_ffi._binding.object cimport CObject

# Error context: adding the function and the argument of a call to the message of an exception.

# Add the names of the function and of the argument at index `position` to the exception that is
# set.  `names` is the tuple of the keywords of the arguments at the end, or NULL if all arguments
# are positional.  `declared_name` is the name of the parameter in the signature, or None if the
# function has no signature.  `values` are the arguments.  Returns -1.
cdef int explain_argument(
    CObject function, object declared_name, PyObject* const* values, int32_t position,
    int32_t num_args, PyObject* names,
) noexcept

# Same as `explain_argument`, but for an argument whose conversion to the declared type failed.
# Returns -1.
cdef int explain_conversion(object signature, object name) noexcept

# Add the name of a field or parameter to the exception that is set: the `template` formatted with
# an attribute of `owner` and `name`.  The caller must not read the attribute, because an exception
# is set.  Returns -1.
cdef int explain_place(str template, object owner, str attribute, object name) noexcept

# Return a new TypeError for a keyword argument of a function that has no signature.
cdef object keyword_error(CObject function, object keyword)

# If a TypeError is set whose message contains `ffi.OpaquePyObject` (the native type of a Python
# value without a conversion), replace this name in the message with the class of the argument.
cdef void name_opaque_argument(PyObject* const* values, int32_t num_args) noexcept
