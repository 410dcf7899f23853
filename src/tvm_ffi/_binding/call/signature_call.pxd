# SPDX-License-Identifier: Apache-2.0


# Calls of functions that have a signature: lookup of the signature, and the signature version.

# Store the origin of a function (where it was found), so that its next call looks up the signature.
cdef int set_origin(Function function, object origin) except -1
# Return the signature version: the number of times that signatures were replaced in this process.
# To cache a value that is derived from a signature, read the version, then the signature, and store
# the value only if the version is still the same.
cdef Py_ssize_t load_signature_version() noexcept
# Increment the signature version.  Threads: needs `_wrapper_lock`.
cdef void advance_signature_version() noexcept
# Mark the function as unresolved, so that its next call looks up the signature again.
cdef int unresolve(Function function) except -1
