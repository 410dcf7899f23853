# SPDX-License-Identifier: Apache-2.0

# The address of a stream: of an int, or of an object with `__cuda_stream__`.
cpdef object address_of_stream(object stream)
