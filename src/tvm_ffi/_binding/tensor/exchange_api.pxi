# SPDX-License-Identifier: Apache-2.0
"""Import of third-party tensors: the exchange API, DLPack capsules, and `from_dlpack`.

The exchange API is a table of C functions that a tensor class, such as `torch.Tensor`, publishes in
its attribute `__dlpack_c_exchange_api__`.  Reading a tensor with these functions needs no Python
call.
"""

cimport cython
from cpython.object cimport PyTypeObject, Py_TPFLAGS_HEAPTYPE
from cpython.pycapsule cimport (
    PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid,
    PyCapsule_SetName,
)
from cpython.ref cimport PyObject, Py_INCREF, Py_XDECREF
from libc.stdint cimport int64_t, uintptr_t
from libc.stdlib cimport calloc

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    ArgumentRestriction, ArgumentView, CallState, Packer, Precedence, add_rule, as_argument_view,
    extents_of, pack_owned_or_borrowed, pack_temporary, refuse_to_keep, return_view,
    take_view,
)
from tvm_ffi._binding.cpython cimport (
    PyErr_Occurred, PyErr_SetString, PyExc_BufferError, PyType_HasFeature,
)
from tvm_ffi._binding.object cimport check, hooks, own_python_object, release_object
from tvm_ffi._binding.values cimport address_of_stream

import os

cdef enum:
    MAX_NDIM = 1024  # maximum number of dimensions, as in the runtime; no framework allows so many
    # Stream number of the array API standard for an export without synchronization.
    NO_SYNCHRONIZATION = -1


# Data about a tensor class with an exchange API.  The packer of the class (converts tensors to
# TVMFFIAny) stores the address of this struct as its context.
cdef struct _ExchangeClass:
    const abi.DLPackExchangeAPI* api  # borrowed from the framework, which never frees it
    # True if the class has lazy (conjugated or negated) views: their memory differs from their
    # values
    bint has_lazy_views
    # True if `views` detects lazy views; otherwise Python methods detect them
    bint has_native_predicates
    # True for a subclass of torch.Tensor with `__torch_dispatch__`, whose tensors may wrap others
    bint has_dispatch
    # native torch functions that detect lazy views; valid only if has_native_predicates is True
    TorchViewPredicates views


ctypedef int (*_PackManaged)(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const _ExchangeClass* context) noexcept
cdef _PackManaged _cold_pack_managed


# ---- exchange API --------------------------------------------------------------------------

# Exchange API of torch; NULL until `exchange_api_of` has read it.
cdef const abi.DLPackExchangeAPI* _torch_exchange_api = NULL


cdef const abi.DLPackExchangeAPI* exchange_api_of(type cls) except? NULL:
    global _torch_exchange_api
    cdef object attribute = getattr(cls, "__dlpack_c_exchange_api__", None)
    if attribute is None:
        # An earlier name of the attribute `__dlpack_c_exchange_api__`.
        attribute = getattr(cls, "__c_dlpack_exchange_api__", None)
    if attribute is None or os.environ.get("TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API") == "1":
        return NULL
    cdef const abi.DLPackExchangeAPI* api
    if isinstance(attribute, int):
        api = <const abi.DLPackExchangeAPI*><uintptr_t>attribute
    elif PyCapsule_IsValid(attribute, b"dlpack_exchange_api"):
        api = <const abi.DLPackExchangeAPI*>PyCapsule_GetPointer(
            attribute, b"dlpack_exchange_api")
    else:
        raise ValueError(f"Expect a dlpack_exchange_api field, got {attribute!r}")
    if api == NULL or api.header.version.major != abi.DLPACK_MAJOR_VERSION:
        raise ValueError(
            f"{cls.__name__}.__dlpack_c_exchange_api__ is not a DLPack "
            f"{abi.DLPACK_MAJOR_VERSION}.x exchange API")
    if (
        api.dltensor_from_py_object_no_sync == NULL
        and api.managed_tensor_from_py_object_no_sync == NULL
    ):
        raise ValueError(
            f"{cls.__name__}.__dlpack_c_exchange_api__ has no function that reads a tensor: both "
            "dltensor_from_py_object_no_sync and managed_tensor_from_py_object_no_sync are NULL")
    if is_torch_class(cls):
        _torch_exchange_api = api
    return api


cdef bint is_torch_class(type cls) except -1:
    return any(base.__module__ == "torch" and base.__name__ == "Tensor" for base in cls.__mro__)


cdef bint _has_dispatch(type cls):
    cdef object dispatch = getattr(cls, "__torch_dispatch__", None)
    return dispatch is not None and all(
        base.__dict__["__torch_dispatch__"] != dispatch
        for base in cls.__mro__
        if base.__module__ == "torch" and "__torch_dispatch__" in base.__dict__
    )


cdef bint is_torch_api(const abi.DLPackExchangeAPI* api) noexcept:
    return api == _torch_exchange_api or api == &_torch_api


cdef int refuse_fake_tensor(type cls) except -1:
    if any(base.__name__ == "FakeTensor" for base in cls.__mro__):
        from tvm_ffi._binding.tensor.torch_errors import FAKE_TENSOR

        raise TypeError(FAKE_TENSOR)
    return 0


cdef int _raise_export_error(PyObject* value) except -1:
    """Raise the exception with which an exchange API has refused to export `value`.

    If the cause is known, raise TypeError with the cause and the fix instead.  Fails: always.
    """
    try:
        check(-2)  # raise the Python exception that is set
    except (BufferError, RuntimeError) as error:
        from tvm_ffi._binding.tensor.torch_errors import without_native_stack, message_for

        message = message_for(<object>value)
        if message is not None:
            raise TypeError(message) from None
        text = without_native_stack(str(error))
        if type(error) in (BufferError, RuntimeError) and text != str(error):
            raise type(error)(text) from None
        raise
    return 0


# Rarely called ("cold") functions are called through pointers, which prevents the C compiler from
# inlining them.  The pointers have `noexcept` types: callers test for -1 with an exception set.
cdef int (*_cold_raise_export_error)(PyObject* value) noexcept
_cold_raise_export_error = <int (*)(PyObject*) noexcept>_raise_export_error


cdef bint _exchange_rule(type cls, object value, Packer* packer) except -1:
    cdef _ExchangeClass* context
    cdef const abi.DLPackExchangeAPI* api = exchange_api_of(cls)
    if api == NULL:
        return False
    refuse_fake_tensor(cls)
    context = <_ExchangeClass*>calloc(1, sizeof(_ExchangeClass))
    if context == NULL:
        raise MemoryError()
    context.api = api
    context.has_lazy_views = hasattr(cls, "is_neg") and hasattr(cls, "is_conj")
    if context.has_lazy_views:
        context.has_native_predicates = find_torch_view_predicates(value, &context.views)
    context.has_dispatch = _has_dispatch(cls)
    # The exchange API of torch runs no Python code.  Exchange APIs of other frameworks may.
    packer.pack = _pack_exchange if context.has_native_predicates else _pack_exchange_with_python
    packer.context = context
    packer.owns_context = True
    return True


cdef int _check_lazy_view(
    PyObject* value, ArgumentView* arg_view, const _ExchangeClass* context
) noexcept:
    """Return 0 if a torch tensor is neither a conjugated nor a negated view.

    Fails: -1 with TypeError set for such a view.
    """
    cdef const void* tensor = native_tensor(value, &context.views)
    if arg_view.tensor.dtype.code == abi.kDLComplex and context.views.is_conj(tensor):
        return _cold_refuse_lazy_view(True)
    return _cold_refuse_lazy_view(False) if context.views.is_neg(tensor) else 0


cdef int _refuse_lazy_view(bint is_conj) except -1:
    if is_conj:
        raise TypeError("tensor is a conjugated view: the values in its memory differ from its "
                        "elements; pass tensor.resolve_conj()")
    raise TypeError("tensor is a negated view: the values in its memory differ from its elements; "
                    "pass tensor.resolve_neg()")


cdef int (*_cold_refuse_lazy_view)(bint is_conj) noexcept
_cold_refuse_lazy_view = <int (*)(bint) noexcept>_refuse_lazy_view


cdef int _check_lazy_view_in_python(PyObject* value) except -1:
    """Same as `_check_lazy_view`, but call Python methods of the tensor.

    Callers read the tensor after this check, because the methods may run code that changes it.
    """
    if (<object>value).is_conj():
        return _refuse_lazy_view(True)
    if (<object>value).is_neg():
        return _refuse_lazy_view(False)
    return 0


cdef int (*_cold_check_lazy_view_in_python)(PyObject* value) noexcept
_cold_check_lazy_view_in_python = <int (*)(PyObject*) noexcept>_check_lazy_view_in_python


cdef inline int _copy_view_extents(ArgumentView* arg_view) noexcept:
    """Copy shape and strides into the argument view.

    The view must not use the framework's arrays, which are freed when the tensor is reshaped.  If
    the framework passes no strides, the tensor is compact.  Fails: -1 with MemoryError set.
    """
    cdef int ndim = arg_view.tensor.ndim
    cdef int64_t* extents = extents_of(arg_view, ndim)
    cdef int64_t step = 1
    cdef int dim
    if extents == NULL:
        return -1
    if arg_view.tensor.strides != NULL:
        for dim in range(ndim):
            extents[dim] = arg_view.tensor.shape[dim]
            extents[ndim + dim] = arg_view.tensor.strides[dim]
    else:
        for dim in range(ndim - 1, -1, -1):
            extents[dim] = arg_view.tensor.shape[dim]
            extents[ndim + dim] = step
            step *= max(extents[dim], 1)
    arg_view.tensor.shape = extents
    arg_view.tensor.strides = extents + ndim
    return 0


cdef bint _has_elements(const abi.DLTensor* tensor) noexcept:
    cdef int dim
    for dim in range(tensor.ndim):
        if tensor.shape[dim] == 0:
            return False
    return True


cdef bint _has_valid_shape(const abi.DLTensor* tensor) noexcept:
    cdef int dim
    if tensor.ndim < 0 or tensor.ndim > MAX_NDIM:
        return False
    for dim in range(tensor.ndim):
        if tensor.shape[dim] < 0:
            return False
    return True


cdef int _raise_invalid_shape(ArgumentView* arg_view) except -1:
    cdef int ndim = arg_view.tensor.ndim
    if not 0 <= ndim <= MAX_NDIM:
        raise ValueError(
            f"exchange API: expected a tensor of 0 to {MAX_NDIM} dimensions, got {ndim} dimensions")
    for dim in range(ndim):
        if arg_view.tensor.shape[dim] < 0:
            raise ValueError(
                f"exchange API: shape[{dim}] must be >= 0, got {arg_view.tensor.shape[dim]}")
    return 0


cdef int (*_cold_raise_invalid_shape)(ArgumentView* arg_view) noexcept
_cold_raise_invalid_shape = <int (*)(ArgumentView*) noexcept>_raise_invalid_shape


cdef int _check_missing_memory(
    PyObject* value, ArgumentView* arg_view, const _ExchangeClass* context
) except -1:
    """Raise the error of a tensor without memory, unless it may be passed because it is empty.

    An empty tensor may wrap others, which is unknown: if an adapter calls operators, one of them
    lets the tensor's class decide.
    """
    if context.has_dispatch and hooks.fallback_call is None and not _has_elements(&arg_view.tensor):
        return 0
    if context.has_dispatch:
        raise TypeError(
            f"tensor of class {type(<object>value).__name__} wraps other tensors and has no "
            "memory: pass these tensors, or import tvm_ffi.interop.torch and give the function a "
            "signature, so that the class handles the function's operator")
    PyErr_SetString(PyExc_BufferError, b"tensor has elements but no data")
    return _cold_raise_export_error(value)


cdef int (*_cold_check_missing_memory)(
    PyObject* value, ArgumentView* arg_view, const _ExchangeClass* context) noexcept
_cold_check_missing_memory = <int (*)(
    PyObject*, ArgumentView*, const _ExchangeClass*) noexcept>_check_missing_memory


cdef int _complete_view(
    PyObject* value, ArgumentView* arg_view, const _ExchangeClass* context
) noexcept:
    """Check an argument view that the exchange API has filled, and copy its shape and strides.

    Fails: -1 with an exception set.
    """
    if not _has_valid_shape(&arg_view.tensor):
        return _cold_raise_invalid_shape(arg_view)
    if arg_view.tensor.ndim > 0 and _copy_view_extents(arg_view) != 0:
        return -1
    if arg_view.tensor.data == NULL and (context.has_dispatch or _has_elements(&arg_view.tensor)):
        if _cold_check_missing_memory(value, arg_view, context) != 0:
            return -1
    return _check_lazy_view(value, arg_view, context) if context.has_native_predicates else 0


cdef int _pack_exchange(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    """Pack a tensor as an argument view (a tensor over borrowed memory of an argument).

    The exchange API of the tensor's class fills the view.
    """
    cdef const _ExchangeClass* context = <const _ExchangeClass*>packer.context
    cdef const abi.DLPackExchangeAPI* api = context.api
    cdef ArgumentView* arg_view
    if api.dltensor_from_py_object_no_sync == NULL:
        return _cold_pack_managed(value, out, state, context)
    arg_view = take_view(_free_views, abi.kTVMFFITensor, value)
    if arg_view == NULL:
        return -1
    arg_view.exchange_api = api
    if api.dltensor_from_py_object_no_sync(value, &arg_view.tensor) != 0:
        return_view(_free_views, arg_view)
        return _cold_raise_export_error(value)
    if (
        _complete_view(value, arg_view, context) != 0
        or (arg_view.tensor.device.device_type != abi.kDLCPU
            and choose_stream(state, api, arg_view.tensor.device) != 0)
    ):
        return_view(_free_views, arg_view)
        return -1
    if state.exchange_api == NULL:
        state.exchange_api = api
    return pack_temporary(state, out, abi.kTVMFFITensor, arg_view)


cdef int _pack_exchange_with_python(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    """Same as `_pack_exchange`, but for frameworks that may run Python code.

    Keeps the class alive during the call, because the packer of a destroyed class may be reused.
    """
    cdef PyObject* cls = <PyObject*>packer.type
    cdef int code = 0
    Py_INCREF(<object>cls)
    if (<const _ExchangeClass*>packer.context).has_lazy_views:
        code = _cold_check_lazy_view_in_python(value)
    if code == 0:
        code = _pack_exchange(value, out, state, packer)
    Py_XDECREF(cls)
    return code


cdef int _pack_managed(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const _ExchangeClass* context
) except -1:
    """Pack a tensor whose exchange API has no function that fills a borrowed `DLTensor`."""
    cdef abi.DLManagedTensorVersioned* managed = NULL
    if context.api.managed_tensor_from_py_object_no_sync(value, &managed) != 0:
        if PyErr_Occurred() == NULL:
            raise BufferError(
                f"{type(<object>value).__name__} could not be exported: the exchange API of the "
                "class failed without an exception")
        return _raise_export_error(value)
    if managed == NULL:
        raise BufferError(
            f"the exchange API of {type(<object>value).__name__} returned NULL instead of a tensor")
    return _pack_versioned_export(managed, out, state, context.api)


cdef int _pack_versioned_export(
    abi.DLManagedTensorVersioned* managed, abi.TVMFFIAny* out, CallState* state,
    const abi.DLPackExchangeAPI* api,
) except -1:
    """Pack a DLPack export as a temporary object of the call.

    Consumes `managed`, also on failure.
    """
    cdef abi.TVMFFIObjectHandle tensor = NULL
    cdef abi.DLDevice device = managed.dl_tensor.device
    cdef bint is_read_only = (managed.flags & abi.DLPACK_FLAG_BITMASK_READ_ONLY) != 0
    if abi.TVMFFITensorFromDLPackVersioned(managed, 0, 0, &tensor) != 0:
        if managed.deleter != NULL:
            managed.deleter(managed)
        check(-1)
    if pack_temporary(state, out, abi.kTVMFFITensor, tensor) != 0:
        return -1
    if is_read_only:
        state.restriction = ArgumentRestriction.READ_ONLY_ARRAY
    if device.device_type != abi.kDLCPU and choose_stream(state, api, device) != 0:
        return -1
    if state.exchange_api == NULL:
        state.exchange_api = api
    return 0


_cold_pack_managed = <_PackManaged>_pack_managed


cdef int own_torch_storage(PyObject* value, const abi.TVMFFIAny* packed) except -1:
    cdef ArgumentView* arg_view = NULL
    if packed.type_index == abi.kTVMFFITensor:
        arg_view = as_argument_view(_free_views, packed.v_obj)
    if arg_view == NULL or arg_view.exchange_api == NULL or arg_view.owner_is_owned:
        return 0
    if is_torch_api(arg_view.exchange_api):
        storage = (<object>value).untyped_storage()
        own_python_object(storage)
        arg_view.owner, arg_view.owner_is_owned = <PyObject*>storage, True
        arg_view.exchange_api = NULL  # it did not read the storage
    return 0


# ---- capsules ------------------------------------------------------------------------------

cdef tuple _VERSION = (abi.DLPACK_MAJOR_VERSION, abi.DLPACK_MINOR_VERSION)


cdef object capsule_of(object array):
    """Return a versioned capsule, or a legacy one if `array.__dlpack__` lacks `max_version`."""
    try:
        return array.__dlpack__(max_version=_VERSION)
    except TypeError as error:
        if type(error) is not TypeError:  # not for the unknown keyword, but for the array
            raise
    return array.__dlpack__()


cdef object capsule_on(object array, object stream):
    try:
        return array.__dlpack__(stream=stream, max_version=_VERSION)
    except TypeError:
        pass
    try:
        return array.__dlpack__(stream=stream)
    except TypeError:
        if stream != LEGACY_DEFAULT_STREAM:
            raise
    # An exporter without the keyword `stream` uses the legacy default stream.
    return array.__dlpack__()


cdef abi.TVMFFIObjectHandle consume_capsule(
    object capsule, int require_alignment, bint require_contiguous
) except NULL:
    if not PyCapsule_CheckExact(capsule):
        raise TypeError(f"__dlpack__ must return a PyCapsule, got {type(capsule).__name__}")
    with cython.critical_section(capsule):  # another thread may be consuming the capsule
        return _consume(capsule, require_alignment, require_contiguous)


cdef abi.TVMFFIObjectHandle _consume(
    object capsule, int require_alignment, bint require_contiguous
) except NULL:
    cdef abi.TVMFFIObjectHandle tensor = NULL
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        check(abi.TVMFFITensorFromDLPackVersioned(
            <abi.DLManagedTensorVersioned*>PyCapsule_GetPointer(capsule, b"dltensor_versioned"),
            require_alignment, require_contiguous, &tensor))
        PyCapsule_SetName(capsule, b"used_dltensor_versioned")
    elif PyCapsule_IsValid(capsule, b"dltensor"):
        check(abi.TVMFFITensorFromDLPack(
            <abi.DLManagedTensor*>PyCapsule_GetPointer(capsule, b"dltensor"),
            require_alignment, require_contiguous, &tensor))
        PyCapsule_SetName(capsule, b"used_dltensor")
    else:
        _raise_invalid_capsule(capsule)
    return tensor


cdef int _raise_invalid_capsule(object capsule) except -1:
    cdef const char* name = PyCapsule_GetName(capsule)
    cdef str text = "no name" if name == NULL else f"the name {name.decode('utf-8', 'replace')!r}"
    if name != NULL and name.startswith(b"used_"):
        raise ValueError(f"the DLPack capsule was consumed before: a capsule with {text} is used")
    raise TypeError(
        "expected a DLPack capsule named 'dltensor' or 'dltensor_versioned', got a capsule with "
        f"{text}")


# The class that `_check_exporter` accepted last, borrowed; NULL before the first one.  Only static
# types are stored, because they are never destroyed.
cdef PyTypeObject* _recent_exporter = NULL


cdef int _check_exporter(object value) except -1:
    """Raise TypeError if the class of `value` is not that of a tensor or buffer."""
    global _recent_exporter
    cdef type cls = type(value)
    if not hasattr(cls, "__dlpack__") and exchange_api_of(cls) == NULL and not is_buffer(value):
        from tvm_ffi._binding.object.type_names import array_remedy

        raise TypeError(
            "Expect from_dlpack to take either a compatible tensor or PyCapsule, got "
            f"{cls.__module__}.{cls.__qualname__}{array_remedy(value)}")
    if not PyType_HasFeature(<PyTypeObject*>cls, Py_TPFLAGS_HEAPTYPE):
        _recent_exporter = <PyTypeObject*>cls
    return 0


def from_dlpack(
    ext_tensor, *, int require_alignment=0, bint require_contiguous=False, stream=None
) -> Tensor:
    """Return a tensor over the memory of another library's array.

    Parameters
    ----------
    ext_tensor : object
        An object whose class has ``__dlpack__``, an exchange API or the buffer protocol, as
        ``memoryview`` has; or a DLPack capsule, which is consumed.
    require_alignment : int
        Required alignment of the data in bytes; 0 for none.
    require_contiguous : bool
        If True, the tensor must be compact (row-major without gaps).
    stream : int or object with ``__cuda_stream__``, optional
        The stream on which the tensor will be used.  The exporter lets it wait until the elements
        are ready.  As in the array API standard, 1 is CUDA's legacy default stream, 2 is the
        per-thread default stream, and -1 disables synchronization.  None means the thread's current
        stream of the device, see `use_raw_stream`.

    Returns
    -------
    Tensor
        A tensor that shares memory with `ext_tensor` and keeps it alive.

    Raises
    ------
    TypeError
        If `ext_tensor` is neither an array nor a DLPack capsule.
    RuntimeError
        If the data is not aligned or not compact as required.
    ValueError
        If the capsule was consumed before, or does not describe a valid tensor.
    """
    cdef abi.TVMFFIAny packed
    cdef type cls = type(ext_tensor)
    if PyCapsule_CheckExact(ext_tensor):
        return wrap_tensor(consume_capsule(ext_tensor, require_alignment, require_contiguous))
    if <PyTypeObject*>cls != _recent_exporter:
        _check_exporter(ext_tensor)
    if stream is not None:
        ext_tensor = _capsule_for_stream(ext_tensor, stream)
        return wrap_tensor(consume_capsule(ext_tensor, require_alignment, require_contiguous))
    if pack_owned_or_borrowed(<PyObject*>ext_tensor, &packed) != 0:
        check(-2)
    if packed.type_index != abi.kTVMFFITensor:
        _own_scoped_tensor(ext_tensor, &packed)
    cdef Tensor tensor = wrap_tensor(packed.v_obj)
    if require_alignment > 0 or require_contiguous:
        _check_requirements(tensor, require_alignment, require_contiguous)
    return tensor


cdef int _own_scoped_tensor(object array, abi.TVMFFIAny* packed) except -1:
    """Replace a packed `DLTensor*` by an owned reference to the scoped tensor of `array`.

    `packed` is the packed form of `array`, but not a tensor object.  Fails: BufferError if `packed`
    is a `DLTensor*` and `array` is not a borrowed tensor; TypeError if `packed` is not a tensor at
    all, after releasing the packed value.
    """
    if packed.type_index == abi.kTVMFFIDLTensorPtr:
        if not isinstance(array, Tensor):
            refuse_to_keep()
            return -1
        packed.v_obj = <abi.TVMFFIObject*>exported_handle(<Tensor>array)
        abi.TVMFFIObjectIncRef(packed.v_obj)
        return 0
    if packed.type_index >= abi.kTVMFFIStaticObjectBegin:
        release_object(packed.v_obj)
    raise TypeError(
        f"from_dlpack: expected a tensor, got {type(array).__name__}, which converts to another "
        "type of value")


cdef object _capsule_for_stream(object array, object stream):
    if not hasattr(type(array), "__dlpack__"):
        raise TypeError(
            "from_dlpack with a stream: expected an array with __dlpack__, got "
            f"{type(array).__name__}")
    return capsule_on(array, stream if stream == NO_SYNCHRONIZATION else address_of_stream(stream))


cdef int _check_requirements(
    Tensor tensor, int require_alignment, bint require_contiguous
) except -1:
    """Check the alignment and compactness of a tensor by exporting and importing it.

    The runtime checks both when it imports an export.  Fails: the runtime's error.
    """
    cdef abi.DLManagedTensorVersioned* managed = NULL
    cdef abi.TVMFFIObjectHandle imported = NULL
    check(abi.TVMFFITensorToDLPackVersioned(tensor.chandle, &managed))
    if abi.TVMFFITensorFromDLPackVersioned(
        managed, require_alignment, require_contiguous, &imported
    ) != 0:
        managed.deleter(managed)
        check(-1)
    abi.TVMFFIObjectDecRef(imported)
    return 0


add_rule(Precedence.EXCHANGE_API, _exchange_rule)
