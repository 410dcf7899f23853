# SPDX-License-Identifier: Apache-2.0
# Arguments with `__dlpack__`: the stream of a bound call.
from tvm_ffi._binding.convert cimport CallState

# Set `state.stream` to the framework's current stream.  `array` is the bound argument that chose
# the device.  Does nothing if the current stream of the framework is unknown.
# Fails: the exceptions of the framework.
cdef int refresh_stream(object array, CallState* state) except -1
