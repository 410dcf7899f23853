# SPDX-License-Identifier: Apache-2.0
# DLPack protocol: the stream of a bound call whose arguments have `__dlpack__`.
from tvm_ffi._binding.convert cimport CallState

# Set `state.stream` to the framework's current stream.  `array` is the bound argument that selected
# the stream, and an array of the framework.  Do nothing if the framework does not report its
# current stream.  Fails: the exceptions of the framework.
cdef int refresh_stream(object array, CallState* state) except -1
