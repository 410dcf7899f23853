# SPDX-License-Identifier: Apache-2.0
# Stream choice: a call runs on the current stream of the framework of its first argument on a GPU.
#
# `choose_stream` and `choose_python_stream` do nothing if an earlier argument has selected the
# stream. Their callers pass only devices other than the CPU.
from libc.stdint cimport uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport CallState
from tvm_ffi._binding.values cimport address_of_stream


cdef inline bint has_stream(const CallState* state) noexcept:
    """Return True if the call state has a stream, which excludes a further choice.

    Either an argument has selected the stream, or the state belongs to a conversion without a call,
    where no argument selects a stream.
    """
    return state.stream_device_type != 0


cdef inline void set_stream(CallState* state, abi.DLDevice device, void* stream) noexcept:
    state.stream_device_type = <int>device.device_type
    state.stream_device_id = device.device_id
    state.stream = stream


# Select the current stream that an exchange API reports for `device`.  Returns 0.  Fails: -1 with
# an exception set.
cdef inline int choose_stream(
    CallState* state, const abi.DLPackExchangeAPI* api, abi.DLDevice device
) noexcept:
    cdef void* stream = NULL
    if has_stream(state) or api.current_work_stream == NULL:
        return 0
    if api.current_work_stream(device.device_type, device.device_id, &stream) != 0:
        return -1
    set_stream(state, device, stream)
    return 0


# Select `stream`, which Python code returned as an address or as an object with `__cuda_stream__`.
cdef inline int choose_python_stream(
    CallState* state, abi.DLDevice device, object stream
) except -1:
    if not has_stream(state):
        set_stream(state, device, <void*><uintptr_t>address_of_stream(stream))
    return 0
