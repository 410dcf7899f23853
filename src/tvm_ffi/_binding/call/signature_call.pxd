# SPDX-License-Identifier: Apache-2.0


# Calls of functions with a signature: lookup of the signature, and its version.

# Store the origin of a function, and let the next call look up the signature there.
cdef int set_origin(Function function, object origin) except -1
# Return the number of times that signatures were replaced in this process.  To cache a value that
# is derived from a signature, read the version first, then the signature; store the value only if
# the version is still the same.
cdef Py_ssize_t load_signature_version() noexcept
# Threads: needs `_wrapper_lock`.
cdef void advance_signature_version() noexcept
# Let the next call look up the signature again.
cdef int unresolve(Function function) except -1
