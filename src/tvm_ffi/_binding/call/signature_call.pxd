# SPDX-License-Identifier: Apache-2.0


# Notes where a function was found, which may tell its signature when it is called.
cdef int set_origin(Function function, object origin) except -1
# How many times signatures were given from outside.  Who keeps what it has read of a signature
# looks whether the number is still the one from before it began to read.
cdef Py_ssize_t num_descriptions() noexcept
cdef void count_description() noexcept  # under the lock of wrappers
# Lets the next call ask for the signature again.
cdef int unresolve(Function function) except -1
