# SPDX-License-Identifier: Apache-2.0
"""Arrays with `__dlpack__` and nothing faster: what they are asked for, and on which stream.

1. In CPU memory an exporter is asked for a capsule, and nothing else.
2. On a GPU it is told the stream that its values will be used on, and makes them ready there: the
   stream of the call where an argument before it has decided that, else the thread's current one.
3. A framework whose current stream is known decides the stream of a call as one with an exchange
   table does, so that its exporter has nothing to wait for.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uintptr_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, CallState, PackFunction, Packer, Precedence, add_rule, pack_temporary,
)
from tvm_ffi._binding.values cimport address_of_stream

# What is known of a class that exports through `__dlpack__`.
cdef struct _Exporter:
    bint says_device      # and takes a stream where the device has some
    bint is_immutable     # as all arrays of the class, though its capsules do not say so
    # Refuses what must not be exported: 0, or -1 with an exception set.  NULL: nothing is refused.
    int (*check)(object array) except -1
    # The framework's current stream.  NULL: nobody knows.
    object (*current_stream)(int32_t device_id)


# ---- frameworks that are known -------------------------------------------------------------

cdef object _current_stream_of_cupy(int32_t device_id):
    from cupy.cuda import get_current_stream

    return get_current_stream(device_id)


cdef int _check_eager_tensor(object array) except -1:
    """TensorFlow ends the process when it is asked to export other types than numbers."""
    dtype = array.dtype
    if not (dtype.is_numpy_compatible and (
        dtype.is_floating or dtype.is_integer or dtype.is_complex or dtype.is_bool
    )) or dtype.is_quantized:
        raise TypeError(f"TensorFlow tensors of dtype {dtype.name} have no DLPack form")
    return 0


cdef int _recognise(type cls, _Exporter* known) except -1:
    """Fill in what is known of a class, by its name: nothing is imported to find out."""
    known.says_device = hasattr(cls, "__dlpack_device__")
    known.is_immutable, known.check, known.current_stream = False, NULL, NULL
    for base in cls.__mro__:
        name = (base.__module__, base.__name__)
        if name == ("cupy", "ndarray"):
            known.current_stream = _current_stream_of_cupy
        elif name == ("tensorflow.python.framework.ops", "_EagerTensorBase"):
            known.check = _check_eager_tensor
            known.says_device = False  # it refuses to be told any stream
            known.is_immutable = True
        elif name == ("pyarrow.lib", "Array"):
            known.is_immutable = True
    return 0


# ---- streams -------------------------------------------------------------------------------

cdef bint _has_streams(int32_t device_type) noexcept:
    """Whether the array API standard says how a stream of the device is written."""
    return device_type in (abi.kDLCUDA, abi.kDLCUDAManaged, abi.kDLROCM)


cdef object _number_of_stream(int32_t device_type, void* stream):
    """The stream as the array API standard writes it."""
    if stream == NULL and device_type != abi.kDLROCM:
        return LEGACY_DEFAULT_STREAM
    return <uintptr_t>stream


cdef abi.DLDevice _device_of(object array) except *:
    """Where the array lies.  Paddle says None for the index of the only CPU."""
    cdef abi.DLDevice device
    cdef object answer = array.__dlpack_device__()
    try:
        device_type, device_id = answer
        device.device_type = <abi.DLDeviceType><int32_t>int(device_type)
        device.device_id = 0 if device_id is None else int(device_id)
    except (TypeError, ValueError):
        raise TypeError(
            f"{type(array).__name__}.__dlpack_device__() must return a tuple "
            f"(device_type, device_id), got {answer!r}") from None
    return device


cdef object _stream_for(CallState* state, abi.DLDevice device):
    """The stream on which the call will use arrays of a device."""
    if (
        state.stream_device_type == <int>device.device_type
        and state.stream_device_id == device.device_id
    ):
        return _number_of_stream(device.device_type, state.stream)
    return _number_of_stream(
        device.device_type, abi.TVMFFIEnvGetStream(device.device_type, device.device_id))


# ---- Python to native ----------------------------------------------------------------------

cdef int _take(
    object capsule, abi.TVMFFIAny* out, CallState* state, bint is_immutable
) except -1:
    cdef abi.TVMFFIObjectHandle tensor = consume_capsule(capsule, 0, False)
    if is_immutable or forbids_writing(read_only_marks(), tensor):
        state.restriction = ArgumentRestriction.IMMUTABLE_CLASS
    return pack_temporary(state, out, abi.kTVMFFITensor, tensor)


cdef int _pack_exporter(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef const _Exporter* known = <const _Exporter*>packer.context
    cdef object array = <object>value
    cdef _Exporter here = known[0]  # the class may die while its methods run
    cdef abi.DLDevice device
    if here.check != NULL:
        here.check(array)
    if not here.says_device:
        return _take(capsule_of(array), out, state, here.is_immutable)
    device = _device_of(array)
    if not _has_streams(device.device_type):
        return _take(capsule_of(array), out, state, here.is_immutable)
    if here.current_stream != NULL and state.stream_device_type == 0:
        choose_python_stream(state, device, here.current_stream(device.device_id))
    return _take(capsule_on(array, _stream_for(state, device)), out, state, here.is_immutable)


cdef int _pack_with_stream(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """The same for a class that says on which stream its values are worked on."""
    cdef abi.DLDevice device
    _take(capsule_of(<object>value), out, state, False)
    device = abi.TVMFFITensorGetDLTensorPtr(out.v_obj).device
    if device.device_type == abi.kDLCPU or state.stream_device_type != 0:
        return 0
    return choose_python_stream(state, device, (<object>value).__tvm_ffi_env_stream__())


cdef bint _dlpack_rule(type cls, object value, Packer* packer) except -1:
    cdef _Exporter known
    if not hasattr(cls, "__dlpack__"):
        return False
    if hasattr(cls, "__tvm_ffi_env_stream__"):
        packer.pack = <PackFunction>_pack_with_stream
        return True
    _recognise(cls, &known)
    packer.context = malloc(sizeof(_Exporter))
    if packer.context == NULL:
        raise MemoryError()
    memcpy(packer.context, &known, sizeof(_Exporter))
    packer.owns_context = True
    packer.pack = <PackFunction>_pack_exporter
    return True


cdef int renew_stream(object array, CallState* state) except -1:
    """Let a call that was decided by an earlier argument list run on what is current now."""
    cdef _Exporter known
    cdef type cls = type(array)
    cdef object stream
    if hasattr(cls, "__tvm_ffi_env_stream__"):
        stream = array.__tvm_ffi_env_stream__()
    else:
        _recognise(cls, &known)
        if known.current_stream == NULL:
            return 0
        stream = known.current_stream(state.stream_device_id)
    state.stream = <void*><uintptr_t>address_of_stream(stream)
    return 0


add_rule(Precedence.DLPACK, _dlpack_rule)
