# SPDX-License-Identifier: Apache-2.0
"""The DLPack protocol: arguments with `__dlpack__` but without an exchange API, and their streams.

1. For an array in CPU memory, the packer calls `__dlpack__` without a stream.
2. For an array on a GPU, the packer passes the stream on which the call will use the elements, and
   the exporter lets this stream wait until the elements are ready.  This is the stream of the call
   if an earlier argument has selected one, otherwise the thread's current stream.
3. If the framework reports its current stream, the array selects that stream for the call, in the
   same way as an array with an exchange API.  The exporter then does not have to wait.
"""

from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uintptr_t
from libc.stdlib cimport malloc
from libc.string cimport memcpy

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, CallState, PackFunction, Packer, Precedence, add_rule, pack_temporary,
)
from tvm_ffi._binding.object cimport add_note
from tvm_ffi._binding.values cimport address_of_stream

# Properties of a class whose arrays have `__dlpack__`.  The packer of the class (converts arrays to
# TVMFFIAny) stores the address of this struct as its context.
cdef struct _Exporter:
    # True if the class has `__dlpack_device__`, and its `__dlpack__` accepts a stream on a GPU
    bint accepts_stream
    # True if arrays of the class are read-only, although their capsules lack the read-only flag
    bint is_immutable
    # Raises TypeError for an array that must not be exported.  NULL: all arrays can be exported.
    int (*check)(object array) except -1
    # Returns the framework's current stream of a device.  NULL: the framework does not report its
    # current stream.
    object (*current_stream)(int32_t device_id)


# ---- known frameworks ----------------------------------------------------------------------

cdef object _current_stream_of_cupy(int32_t device_id):
    from cupy.cuda import get_current_stream

    return get_current_stream(device_id)


cdef int _check_eager_tensor(object array) except -1:
    """Raise TypeError for a non-numeric dtype: exporting such a tensor aborts the process.

    `array` is an eager tensor of TensorFlow.
    """
    dtype = array.dtype
    if not (dtype.is_numpy_compatible and (
        dtype.is_floating or dtype.is_integer or dtype.is_complex or dtype.is_bool
    )) or dtype.is_quantized:
        raise TypeError(f"TensorFlow tensors of dtype {dtype.name} have no DLPack form")
    return 0


cdef bint _is_jax_array(object cls) except -1:
    """Return True for the class of JAX arrays, whose module differs between versions."""
    return cls.__name__ == "ArrayImpl" and cls.__module__.partition(".")[0] in ("jax", "jaxlib")


cdef int _describe_exporter(type cls, _Exporter* exporter) except -1:
    """Fill `exporter` for a class.  Known frameworks are identified by class name, not imported."""
    exporter.accepts_stream = hasattr(cls, "__dlpack_device__")
    exporter.is_immutable, exporter.check, exporter.current_stream = False, NULL, NULL
    for base in cls.__mro__:
        name = (base.__module__, base.__name__)
        if name == ("cupy", "ndarray"):
            exporter.current_stream = _current_stream_of_cupy
        elif name == ("tensorflow.python.framework.ops", "_EagerTensorBase"):
            exporter.check = _check_eager_tensor
            exporter.accepts_stream = False  # `__dlpack__` of TensorFlow accepts no stream
            exporter.is_immutable = True
        elif name == ("pyarrow.lib", "Array") or _is_jax_array(base):
            exporter.is_immutable = True
    return 0


# ---- streams -------------------------------------------------------------------------------

cdef bint _has_streams(int32_t device_type) noexcept:
    """Return True if the array API standard defines stream numbers for this device type."""
    return device_type in (abi.kDLCUDA, abi.kDLCUDAManaged, abi.kDLROCM)


cdef object _stream_number(int32_t device_type, void* stream):
    """Return the number that the array API standard assigns to a stream: usually its address."""
    if stream == NULL and device_type != abi.kDLROCM:
        return LEGACY_DEFAULT_STREAM
    return <uintptr_t>stream


cdef abi.DLDevice _device_of(object array) except *:
    """Return the device of an array.  The device id may be None, as Paddle returns for the CPU.

    Fails: TypeError if `__dlpack_device__` does not return a pair of ints.
    """
    cdef abi.DLDevice device
    cdef object result = array.__dlpack_device__()
    try:
        device_type, device_id = result
        device.device_type = <abi.DLDeviceType><int32_t>int(device_type)
        device.device_id = 0 if device_id is None else int(device_id)
    except (TypeError, ValueError):
        raise TypeError(
            f"{type(array).__name__}.__dlpack_device__() must return a tuple "
            f"(device_type, device_id), got {result!r}") from None
    return device


cdef object _stream_number_of_call(CallState* state, abi.DLDevice device):
    """Return the number of the stream on which the call will use arrays on this device."""
    if (
        state.stream_device_type == <int>device.device_type
        and state.stream_device_id == device.device_id
    ):
        return _stream_number(device.device_type, state.stream)
    return _stream_number(
        device.device_type, abi.TVMFFIEnvGetStream(device.device_type, device.device_id))


# ---- packing -------------------------------------------------------------------------------

cdef int _pack_capsule(
    object capsule, abi.TVMFFIAny* out, CallState* state, bint is_immutable
) except -1:
    """Pack the tensor of a capsule as a temporary object of the call.

    Consumes the capsule on success.
    """
    cdef abi.TVMFFIObjectHandle tensor = consume_capsule(capsule, 0, False)
    pack_temporary(state, out, abi.kTVMFFITensor, tensor)
    if is_immutable:
        _make_read_only(out, state)
        state.restriction = ArgumentRestriction.IMMUTABLE_CLASS
    elif is_read_only_tensor(read_only_deleters(), out.v_obj):
        state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
    return 0


cdef int _pack_exporter(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    try:
        return _pack_export(<object>value, out, state, <const _Exporter*>packer.context)
    except Exception as error:
        # Columns of tables have `__dlpack__` although not all of them are arrays in memory.
        if hasattr(type(<object>value), "to_numpy"):
            from tvm_ffi._binding.object.type_names import array_remedy, public_name

            cls = type(<object>value)
            add_note(error, f"got {public_name(cls)}{array_remedy(<object>value)}")
        raise


cdef int _pack_export(
    object array, abi.TVMFFIAny* out, CallState* state, const _Exporter* context
) except -1:
    # Copy the context, because the methods of the class may run Python code that destroys the
    # class.  Another class may then reuse its packer and context.
    cdef _Exporter exporter = context[0]
    cdef abi.DLDevice device
    if exporter.check != NULL:
        exporter.check(array)
    if not exporter.accepts_stream:
        return _pack_capsule(capsule_of(array), out, state, exporter.is_immutable)
    device = _device_of(array)
    if not _has_streams(device.device_type):
        return _pack_capsule(capsule_of(array), out, state, exporter.is_immutable)
    if exporter.current_stream != NULL and state.stream_device_type == 0:
        choose_python_stream(state, device, exporter.current_stream(device.device_id))
    stream = _stream_number_of_call(state, device)
    return _pack_capsule(capsule_on(array, stream), out, state, exporter.is_immutable)


cdef int _pack_env_stream_exporter(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack an array whose class has `__tvm_ffi_env_stream__`.

    `__tvm_ffi_env_stream__` returns the framework's current stream.  The call uses this stream if
    no earlier argument has selected a stream.
    """
    cdef abi.DLDevice device
    _pack_capsule(capsule_of(<object>value), out, state, False)
    device = abi.TVMFFITensorGetDLTensorPtr(out.v_obj).device
    if device.device_type == abi.kDLCPU or state.stream_device_type != 0:
        return 0
    return choose_python_stream(state, device, (<object>value).__tvm_ffi_env_stream__())


cdef bint _dlpack_rule(type cls, object value, Packer* packer) except -1:
    cdef _Exporter exporter
    if not hasattr(cls, "__dlpack__"):
        return False
    if hasattr(cls, "__tvm_ffi_env_stream__"):
        packer.pack = <PackFunction>_pack_env_stream_exporter
        return True
    _describe_exporter(cls, &exporter)
    packer.context = malloc(sizeof(_Exporter))
    if packer.context == NULL:
        raise MemoryError()
    memcpy(packer.context, &exporter, sizeof(_Exporter))
    packer.owns_context = True
    packer.pack = <PackFunction>_pack_exporter
    return True


cdef int refresh_stream(object array, CallState* state) except -1:
    cdef _Exporter exporter
    cdef type cls = type(array)
    cdef object stream
    if hasattr(cls, "__tvm_ffi_env_stream__"):
        stream = array.__tvm_ffi_env_stream__()
    else:
        _describe_exporter(cls, &exporter)
        if exporter.current_stream == NULL:
            return 0
        stream = exporter.current_stream(state.stream_device_id)
    state.stream = <void*><uintptr_t>address_of_stream(stream)
    return 0


add_rule(Precedence.DLPACK, _dlpack_rule)
