# SPDX-License-Identifier: Apache-2.0
"""Tensors of other libraries: the DLPack exchange table, `__dlpack__`, and bare capsules.

The exchange table is a struct of C functions that a tensor class names in its attribute
`__dlpack_c_exchange_api__` (torch and others): no Python call is needed to read a tensor.
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
    ArgumentRestriction, ArgumentView, CallState, Packer, Precedence, add_rule, add_unpacker,
    as_argument_view, extents_of, pack_owned_or_borrowed, pack_temporary, refuse_to_keep,
    return_view, take_view,
)
from tvm_ffi._binding.cpython cimport (
    PyErr_Clear, PyErr_Occurred, PyErr_SetString, PyExc_BufferError, PyType_HasFeature,
)
from tvm_ffi._binding.object cimport check, release_object
from tvm_ffi._binding.values cimport address_of_stream

import os

cdef enum:
    MAX_NDIM = 1024  # as in the runtime: far above any framework's limit, catches garbage
    NO_WAITING = -1  # in place of a stream, as in the array API standard


# What is known about a class that has an exchange table.
cdef struct _ExchangeClass:
    const abi.DLPackExchangeAPI* api
    # Whether values may be views whose memory does not hold what they show, and if so whether
    # torch's C++ functions can be asked (`views`) or only its Python methods.
    bint has_lazy_views
    bint has_native_predicates
    TorchViews views


ctypedef int (*_PackManaged)(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const _ExchangeClass* known) noexcept
cdef _PackManaged _cold_pack_managed


# ---- the exchange table --------------------------------------------------------------------

cdef const abi.DLPackExchangeAPI* exchange_api_of(type cls) except? NULL:
    """The table that the class names, NULL when it names none."""
    cdef object attribute = getattr(cls, "__dlpack_c_exchange_api__", None)
    if attribute is None:
        attribute = getattr(cls, "__c_dlpack_exchange_api__", None)  # an earlier spelling
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
            f"{abi.DLPACK_MAJOR_VERSION}.x table")
    if (
        api.dltensor_from_py_object_no_sync == NULL
        and api.managed_tensor_from_py_object_no_sync == NULL
    ):
        raise ValueError(
            f"{cls.__name__}.__dlpack_c_exchange_api__ has no function that reads a tensor: both "
            "dltensor_from_py_object_no_sync and managed_tensor_from_py_object_no_sync are NULL")
    return api


cdef int refuse_fake_tensor(type cls) except -1:
    if any(base.__name__ == "FakeTensor" for base in cls.__mro__):
        from tvm_ffi._binding.tensor.torch_errors import FAKE_TENSOR

        raise TypeError(FAKE_TENSOR)
    return 0


cdef int _explain_refusal(PyObject* value) except -1:
    """The framework does not lend the tensor's memory, and has set an exception that says so."""
    try:
        check(-2)  # turns the exception that is set into one we can catch
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


# Through a pointer, as all cold code here.
cdef int (*_cold_explain_refusal)(PyObject* value) noexcept
_cold_explain_refusal = <int (*)(PyObject*) noexcept>_explain_refusal


cdef bint _exchange_rule(type cls, object value, Packer* packer) except -1:
    cdef _ExchangeClass* known
    cdef const abi.DLPackExchangeAPI* api = exchange_api_of(cls)
    if api == NULL:
        return False
    refuse_fake_tensor(cls)
    known = <_ExchangeClass*>calloc(1, sizeof(_ExchangeClass))
    if known == NULL:
        raise MemoryError()
    known.api = api
    known.has_lazy_views = hasattr(cls, "is_neg") and hasattr(cls, "is_conj")
    if known.has_lazy_views:
        known.has_native_predicates = find_torch_views(value, &known.views)
    # torch's function runs no Python code; of others nobody knows.
    packer.pack = _pack_exchange if known.has_native_predicates else _pack_foreign
    packer.context = known
    packer.owns_context = True
    return True


cdef int _check_lazy_view(
    PyObject* value, ArgumentView* arg_view, const _ExchangeClass* known
) noexcept:
    """-1 with an exception set when the memory does not hold the values."""
    cdef const void* tensor = native_tensor(value, &known.views)
    if arg_view.tensor.dtype.code == abi.kDLComplex and known.views.is_conj(tensor):
        return _cold_refuse_lazy_view(True)
    return _cold_refuse_lazy_view(False) if known.views.is_neg(tensor) else 0


cdef int _refuse_lazy_view(bint is_conj) except -1:
    if is_conj:
        raise TypeError("tensor is a conjugated view: its memory holds other values than it shows; "
                        "pass tensor.resolve_conj()")
    raise TypeError("tensor is a negated view: its memory holds other values than it shows; "
                    "pass tensor.resolve_neg()")


# Through a pointer, which keeps the cold code out of the hot one's way; returns -1 with an
# exception set.
cdef int (*_cold_refuse_lazy_view)(bint is_conj) noexcept
_cold_refuse_lazy_view = <int (*)(bint) noexcept>_refuse_lazy_view


cdef int _ask_for_lazy_view(PyObject* value) except -1:
    """The same by the methods of the class, which may run any code: nothing has been read yet."""
    if (<object>value).is_conj():
        return _refuse_lazy_view(True)
    if (<object>value).is_neg():
        return _refuse_lazy_view(False)
    return 0


# Seen as a function that returns -1 with an exception set.
cdef int (*_cold_ask_for_lazy_view)(PyObject* value) noexcept
_cold_ask_for_lazy_view = <int (*)(PyObject*) noexcept>_ask_for_lazy_view


cdef inline int _own_extents(ArgumentView* arg_view) noexcept:
    """Copy shape and strides, or make compact ones: the framework's go when it changes them."""
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


cdef bint _is_plausible(const abi.DLTensor* tensor) noexcept:
    cdef int dim
    if tensor.ndim < 0 or tensor.ndim > MAX_NDIM:
        return False
    for dim in range(tensor.ndim):
        if tensor.shape[dim] < 0:
            return False
    return True


cdef int _raise_implausible(ArgumentView* arg_view) except -1:
    cdef int ndim = arg_view.tensor.ndim
    if not 0 <= ndim <= MAX_NDIM:
        raise ValueError(f"ndim must be in 0..{MAX_NDIM}, got {ndim}")
    for dim in range(ndim):
        if arg_view.tensor.shape[dim] < 0:
            raise ValueError(f"shape[{dim}] must be >= 0, got {arg_view.tensor.shape[dim]}")
    return 0


cdef int (*_cold_raise_implausible)(ArgumentView* arg_view) noexcept
_cold_raise_implausible = <int (*)(ArgumentView*) noexcept>_raise_implausible


cdef int _check_filled(
    PyObject* value, ArgumentView* arg_view, const _ExchangeClass* known
) noexcept:
    if not _is_plausible(&arg_view.tensor):
        return _cold_raise_implausible(arg_view)
    if arg_view.tensor.ndim > 0 and _own_extents(arg_view) != 0:
        return -1
    if arg_view.tensor.data == NULL and _has_elements(&arg_view.tensor):
        PyErr_SetString(PyExc_BufferError, b"tensor has elements but no data")
        return _cold_explain_refusal(value)
    return _check_lazy_view(value, arg_view, known) if known.has_native_predicates else 0


cdef int _pack_exchange(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef const _ExchangeClass* known = <const _ExchangeClass*>packer.context
    cdef const abi.DLPackExchangeAPI* api = known.api
    cdef ArgumentView* arg_view
    if api.dltensor_from_py_object_no_sync == NULL:
        return _cold_pack_managed(value, out, state, known)
    arg_view = take_view(_free_views, abi.kTVMFFITensor, value)
    if arg_view == NULL:
        return -1
    arg_view.exchange_api = api
    arg_view.is_read_only = False  # the table has no way to say so
    if api.dltensor_from_py_object_no_sync(value, &arg_view.tensor) != 0:
        return_view(_free_views, arg_view)
        return _cold_explain_refusal(value)
    if (
        _check_filled(value, arg_view, known) != 0
        or (arg_view.tensor.device.device_type != abi.kDLCPU
            and choose_stream(state, api, arg_view.tensor.device) != 0)
    ):
        return_view(_free_views, arg_view)
        return -1
    if state.exchange_api == NULL:
        state.exchange_api = api
    return pack_temporary(state, out, abi.kTVMFFITensor, arg_view)


cdef int _pack_foreign(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    """The same with the class kept alive: what is known about it is freed with it."""
    cdef PyObject* cls = <PyObject*>packer.type
    cdef int code = 0
    Py_INCREF(<object>cls)
    if (<const _ExchangeClass*>packer.context).has_lazy_views:
        code = _cold_ask_for_lazy_view(value)
    if code == 0:
        code = _pack_exchange(value, out, state, packer)
    Py_XDECREF(cls)
    return code


cdef int _pack_managed(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const _ExchangeClass* known
) except -1:
    """Through the owning entry of a table that has no borrowing one."""
    cdef abi.DLManagedTensorVersioned* managed = NULL
    if known.api.managed_tensor_from_py_object_no_sync(value, &managed) != 0:
        if PyErr_Occurred() == NULL:
            raise BufferError(f"{type(<object>value).__name__} could not be exported")
        return _explain_refusal(value)
    if managed == NULL:
        raise BufferError(f"{type(<object>value).__name__} was exported as NULL")
    return _adopt_versioned(managed, out, state, known.api)


cdef int _adopt_versioned(
    abi.DLManagedTensorVersioned* managed, abi.TVMFFIAny* out, CallState* state,
    const abi.DLPackExchangeAPI* api,
) except -1:
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
        state.restriction = ArgumentRestriction.IMMUTABLE_CLASS
    if device.device_type != abi.kDLCPU and choose_stream(state, api, device) != 0:
        return -1
    if state.exchange_api == NULL:
        state.exchange_api = api
    return 0


_cold_pack_managed = <_PackManaged>_pack_managed


# ---- capsules ------------------------------------------------------------------------------

cdef tuple _VERSION = (abi.DLPACK_MAJOR_VERSION, abi.DLPACK_MINOR_VERSION)


cdef object capsule_of(object array):
    """Ask for the versioned form; older exporters do not know the keyword."""
    try:
        return array.__dlpack__(max_version=_VERSION)
    except TypeError:
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
    return array.__dlpack__()  # which means that stream


cdef abi.TVMFFIObjectHandle consume_capsule(
    object capsule, int require_alignment, bint require_contiguous
) except NULL:
    """An owned tensor.  A capsule is consumed once; on failure it stays as it was."""
    if not PyCapsule_CheckExact(capsule):
        raise TypeError(f"__dlpack__ must return a PyCapsule, got {type(capsule).__name__}")
    with cython.critical_section(capsule):  # another thread may be about to consume it
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
        _refuse_capsule(capsule)
    return tensor


cdef int _refuse_capsule(object capsule) except -1:
    cdef const char* name = PyCapsule_GetName(capsule)
    cdef str text = "no name" if name == NULL else f"the name {name.decode('utf-8', 'replace')!r}"
    if name != NULL and name.startswith(b"used_"):
        raise ValueError(f"DLPack capsule was consumed before: it has {text}")
    raise TypeError(
        f"expected a capsule named 'dltensor' or 'dltensor_versioned', got one with {text}")


# The class that was last seen to export arrays, unless it may die: its address is all we keep.
cdef PyTypeObject* _recent_exporter = NULL


cdef int _check_exporter(type cls) except -1:
    global _recent_exporter
    if not hasattr(cls, "__dlpack__") and exchange_api_of(cls) == NULL:
        raise TypeError(
            "Expect from_dlpack to take either a compatible tensor or PyCapsule, got "
            f"{cls.__module__}.{cls.__qualname__}")
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
        Anything with ``__dlpack__`` or a DLPack exchange table on its class, or a DLPack capsule,
        which is consumed.
    require_alignment : int
        Alignment in bytes that the data must have; 0 asks for none.
    require_contiguous : bool
        Whether the elements must lie in row-major order without gaps.
    stream : int or object with ``__cuda_stream__``, optional
        The stream on which the tensor will be used; its values will be ready there.  As in the
        array API standard, 1 is CUDA's legacy default stream, 2 the one per thread; -1 waits
        for nothing.  None: the thread's current stream of its device, see `use_raw_stream`.

    Returns
    -------
    Tensor
        Shares memory with `ext_tensor` and keeps it alive.

    Raises
    ------
    TypeError
        If `ext_tensor` is neither an array nor a capsule.
    RuntimeError
        If the data is not aligned or not contiguous as required.
    ValueError
        If the capsule was consumed before, or describes no valid tensor.
    """
    cdef abi.TVMFFIAny packed
    cdef type cls = type(ext_tensor)
    if PyCapsule_CheckExact(ext_tensor):
        return wrap_tensor(consume_capsule(ext_tensor, require_alignment, require_contiguous))
    if <PyTypeObject*>cls != _recent_exporter:
        _check_exporter(cls)
    if stream is not None:
        ext_tensor = _exported_on(ext_tensor, stream)
        return wrap_tensor(consume_capsule(ext_tensor, require_alignment, require_contiguous))
    if pack_owned_or_borrowed(<PyObject*>ext_tensor, &packed) != 0:
        check(-2)
    if packed.type_index != abi.kTVMFFITensor:
        _own_other(ext_tensor, &packed)
    cdef Tensor tensor = wrap_tensor(packed.v_obj)
    if require_alignment > 0 or require_contiguous:
        _check_requirements(tensor, require_alignment, require_contiguous)
    return tensor


cdef int _own_other(object array, abi.TVMFFIAny* packed) except -1:
    """The tensor of a lent one, whose lender counts who looks at it; a TypeError for others."""
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
        f"Expect from_dlpack to take a tensor, got {type(array).__name__}, which is passed as "
        "another value")


cdef object _exported_on(object array, object stream):
    if not hasattr(type(array), "__dlpack__"):
        raise TypeError(
            f"{type(array).__name__} has no __dlpack__, which could be told the stream")
    return capsule_on(array, stream if stream == NO_WAITING else address_of_stream(stream))


cdef int _check_requirements(
    Tensor tensor, int require_alignment, bint require_contiguous
) except -1:
    """Let the runtime, which knows the rules, judge an export of the tensor."""
    cdef abi.DLManagedTensorVersioned* managed = NULL
    cdef abi.TVMFFIObjectHandle judged = NULL
    check(abi.TVMFFITensorToDLPackVersioned(tensor.chandle, &managed))
    if abi.TVMFFITensorFromDLPackVersioned(
        managed, require_alignment, require_contiguous, &judged
    ) != 0:
        managed.deleter(managed)
        check(-1)
    abi.TVMFFIObjectDecRef(judged)
    return 0


# ---- tensor results ------------------------------------------------------------------------

cdef object _unpack_tensor(abi.TVMFFIAny* owned, CallState* state):
    """A tensor of the framework whose tensors were passed, else our own."""
    cdef const abi.DLPackExchangeAPI* api = NULL
    cdef ArgumentView* arg_view
    cdef object result
    if state != NULL:
        api = state.exchange_api
    if api == NULL:
        return wrap_tensor(owned.v_obj)
    arg_view = as_argument_view(_free_views, owned.v_obj)
    if arg_view != NULL and arg_view.exchange_api == api:
        result = <object>arg_view.owner  # an argument came back: the very same object
        abi.TVMFFIObjectDecRef(owned.v_obj)
        return result
    result = _to_framework(owned.v_obj, api)
    if result is None:
        return wrap_tensor(owned.v_obj)
    abi.TVMFFIObjectDecRef(owned.v_obj)
    return result


cdef object _to_framework(abi.TVMFFIObjectHandle tensor, const abi.DLPackExchangeAPI* api):
    """The tensor as the framework's own class; None when the framework refuses or cannot."""
    cdef abi.DLManagedTensorVersioned* managed = NULL
    cdef void* result = NULL
    if api.managed_tensor_to_py_object_no_sync == NULL:
        return None
    check(abi.TVMFFITensorToDLPackVersioned(tensor, &managed))
    if api.managed_tensor_to_py_object_no_sync(managed, &result) != 0:
        PyErr_Clear()
        managed.deleter(managed)
        return None
    if result == NULL:
        return None
    converted = <object>result
    Py_XDECREF(<PyObject*>result)  # the table gave us a reference of our own
    return converted


add_rule(Precedence.EXCHANGE_API, _exchange_rule)
add_unpacker(abi.kTVMFFITensor, _unpack_tensor)
