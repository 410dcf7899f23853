# SPDX-License-Identifier: Apache-2.0
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t

# The exception with the argument in it that it is about: the same one, or one of its class.
# `names` are those of the last arguments, or NULL.
cdef object with_argument(
    object error, str function_name, int32_t position, int32_t num_args, PyObject* names)
