# SPDX-License-Identifier: Apache-2.0
from tvm_ffi._binding.convert cimport CallState

# Has `array`, which decided the stream of a call, say what is current now.
cdef int renew_stream(object array, CallState* state) except -1
