# SPDX-License-Identifier: Apache-2.0
# Stream addresses.

# Return the address of a stream, which is an int or an object with `__cuda_stream__`.
# Fails: TypeError for other objects.
cpdef object address_of_stream(object stream)
