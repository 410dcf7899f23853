# SPDX-License-Identifier: Apache-2.0
# Addresses of streams.

# Return the address of a stream: an int, or an object with `__cuda_stream__`.  Fails: TypeError.
cpdef object address_of_stream(object stream)
