# SPDX-License-Identifier: Apache-2.0
# cython: language_level=3, freethreading_compatible=True
"""Tensors of other libraries: the DLPack exchange table, `__dlpack__`, and bare capsules.

The exchange table is a struct of C functions that a tensor class names in its attribute
`__dlpack_c_exchange_api__` (torch and others): no Python call is needed to read a tensor.
"""

from cpython.object cimport PyCFunction
from cpython.pycapsule cimport (
    PyCapsule_CheckExact, PyCapsule_GetName, PyCapsule_GetPointer, PyCapsule_IsValid,
    PyCapsule_SetName,
)
from cpython.ref cimport Py_XDECREF, PyObject
from libc.stdint cimport int64_t, uintptr_t
from libc.stdlib cimport calloc

from tvm_ffi._binding cimport _abi
from tvm_ffi._binding._call_tensor cimport (
    CallTensor, as_call_tensor, extents_of, recycle_call_tensor, take_call_tensor,
)
from tvm_ffi._binding._convert cimport (
    CallState, PackFunction, Packer, add_maker, add_rule, keep_temporary, pack_owned,
)
from tvm_ffi._binding._error cimport check
from tvm_ffi._binding._tensor cimport Tensor, wrap_tensor

import os

cdef extern from "Python.h":
    """
    /* The C function of a method that takes no argument, or NULL. */
    static PyCFunction tvm_ffi_noargs_method(PyObject* descriptor) {
      PyMethodDef* method;
      if (!PyObject_TypeCheck(descriptor, &PyMethodDescr_Type)) return NULL;
      method = ((PyMethodDescrObject*)descriptor)->d_method;
      return method->ml_flags == METH_NOARGS ? method->ml_meth : NULL;
    }
    """
    PyCFunction noargs_method "tvm_ffi_noargs_method"(PyObject* descriptor) noexcept
    PyObject* PyErr_Occurred() noexcept
    void PyErr_Clear() noexcept
    void PyErr_SetString(PyObject* type, const char* message) noexcept
    PyObject* PyExc_BufferError
    PyObject* PyExc_TypeError

ctypedef PyObject* (*_Predicate)(PyObject* self, PyObject* ignored) noexcept


# What is known about a class that has an exchange table.
cdef struct _ExchangeClass:
    const _abi.DLPackExchangeAPI* api
    # torch.Tensor.is_neg and is_conj: views whose memory does not hold the values they show, which
    # the table exports without a word.  NULL where the class has no such thing.
    _Predicate is_neg
    _Predicate is_conj


# ---- the exchange table --------------------------------------------------------------------

cdef const _abi.DLPackExchangeAPI* _exchange_api_of(type cls) except? NULL:
    """The table that the class names, NULL when it names none."""
    cdef object attribute = getattr(cls, "__dlpack_c_exchange_api__", None)
    if attribute is None:
        attribute = getattr(cls, "__c_dlpack_exchange_api__", None)  # an earlier spelling
    if attribute is None or os.environ.get("TVM_FFI_SKIP_DLPACK_C_EXCHANGE_API") == "1":
        return NULL
    cdef const _abi.DLPackExchangeAPI* api
    if isinstance(attribute, int):
        api = <const _abi.DLPackExchangeAPI*><uintptr_t>attribute
    elif PyCapsule_IsValid(attribute, b"dlpack_exchange_api"):
        api = <const _abi.DLPackExchangeAPI*>PyCapsule_GetPointer(
            attribute, b"dlpack_exchange_api")
    else:
        raise ValueError(f"Expect a dlpack_exchange_api field, got {attribute!r}")
    if api == NULL or api.header.version.major != _abi.DLPACK_MAJOR_VERSION:
        raise ValueError(
            f"{cls.__name__}.__dlpack_c_exchange_api__ is not a DLPack "
            f"{_abi.DLPACK_MAJOR_VERSION}.x table")
    return api


cdef _Predicate _predicate(type cls, str name) except? NULL:
    cdef object method = getattr(cls, name, None)
    return NULL if method is None else <_Predicate>noargs_method(<PyObject*>method)


cdef bint _exchange_rule(type cls, object value, Packer* packer) except -1:
    cdef _ExchangeClass* known
    cdef const _abi.DLPackExchangeAPI* api = _exchange_api_of(cls)
    if api == NULL:
        return False
    if any(base.__name__ == "FakeTensor" for base in cls.__mro__):
        raise TypeError(
            "torch FakeTensor holds no data: native functions cannot be called while tracing; "
            "register the function as a custom operator with a fake implementation")
    known = <_ExchangeClass*>calloc(1, sizeof(_ExchangeClass))  # lives as long as the process
    if known == NULL:
        raise MemoryError()
    known.api = api
    known.is_neg = _predicate(cls, "is_neg")
    known.is_conj = _predicate(cls, "is_conj")
    packer.pack = _pack_exchange
    packer.context = known
    return True


cdef int _refuse_if(_Predicate predicate, PyObject* value, const char* message) noexcept:
    """-1 with an exception set when the predicate holds or fails."""
    cdef PyObject* answer
    cdef bint holds
    if predicate == NULL:
        return 0
    answer = predicate(value, NULL)
    if answer == NULL:
        return -1
    holds = <object>answer is True
    Py_XDECREF(answer)
    if holds:
        PyErr_SetString(PyExc_TypeError, message)
        return -1
    return 0


cdef int _fill_compact_strides(CallTensor* tensor) noexcept:
    cdef int ndim = tensor.tensor.ndim
    cdef int64_t* extents = extents_of(tensor, ndim)
    cdef int64_t step = 1
    cdef int dim
    if extents == NULL:
        return -1
    for dim in range(ndim - 1, -1, -1):
        extents[dim] = tensor.tensor.shape[dim]
        extents[ndim + dim] = step
        step *= max(extents[dim], 1)
    tensor.tensor.shape = extents
    tensor.tensor.strides = extents + ndim
    return 0


cdef bint _has_elements(const _abi.DLTensor* tensor) noexcept:
    cdef int dim
    for dim in range(tensor.ndim):
        if tensor.shape[dim] == 0:
            return False
    return True


cdef int _check_filled(
    PyObject* value, CallTensor* tensor, const _ExchangeClass* known
) noexcept:
    if tensor.tensor.strides == NULL and tensor.tensor.ndim > 0:
        if _fill_compact_strides(tensor) != 0:
            return -1
    if tensor.tensor.data == NULL and _has_elements(&tensor.tensor):
        PyErr_SetString(PyExc_BufferError, b"tensor has elements but no data")
        return -1
    if tensor.tensor.dtype.code == _abi.kDLComplex and _refuse_if(
        known.is_conj, value, b"tensor is a conjugated view; pass tensor.resolve_conj()"
    ) != 0:
        return -1
    return _refuse_if(
        known.is_neg, value, b"tensor is a negated view; pass tensor.resolve_neg()")


cdef int _choose_stream(
    CallState* state, const _abi.DLPackExchangeAPI* api, _abi.DLDevice device
) noexcept:
    """Let the first tensor outside the CPU decide which stream the call runs on."""
    cdef void* stream = NULL
    if state.stream_device_type != 0 or api.current_work_stream == NULL:
        return 0
    if api.current_work_stream(device.device_type, device.device_id, &stream) != 0:
        return -1
    state.stream_device_type = <int>device.device_type
    state.stream_device_id = device.device_id
    state.stream = stream
    return 0


cdef int _pack_exchange(
    PyObject* value, _abi.TVMFFIAny* out, CallState* state, const Packer* packer
) noexcept:
    cdef const _ExchangeClass* known = <const _ExchangeClass*>packer.context
    cdef const _abi.DLPackExchangeAPI* api = known.api
    cdef CallTensor* tensor
    if api.dltensor_from_py_object_no_sync == NULL:
        return (<_PackManaged>_pack_managed)(value, out, state, known)
    tensor = take_call_tensor(value)
    if tensor == NULL:
        return -1
    tensor.exchange_api = api
    if (
        api.dltensor_from_py_object_no_sync(value, &tensor.tensor) != 0
        or _check_filled(value, tensor, known) != 0
        or (tensor.tensor.device.device_type != _abi.kDLCPU
            and _choose_stream(state, api, tensor.tensor.device) != 0)
    ):
        recycle_call_tensor(&tensor.header)
        return -1
    if state.exchange_api == NULL:
        state.exchange_api = api
    out.type_index = _abi.kTVMFFITensor
    out.zero_padding = 0
    out.v_obj = &tensor.header
    return keep_temporary(state, tensor)


ctypedef int (*_PackManaged)(
    PyObject* value, _abi.TVMFFIAny* out, CallState* state, const _ExchangeClass* known) noexcept


cdef int _pack_managed(
    PyObject* value, _abi.TVMFFIAny* out, CallState* state, const _ExchangeClass* known
) except -1:
    """Through the owning entry of a table that has no borrowing one."""
    cdef _abi.DLManagedTensorVersioned* managed = NULL
    if known.api.managed_tensor_from_py_object_no_sync(value, &managed) != 0:
        if PyErr_Occurred() == NULL:
            raise BufferError(f"{type(<object>value).__name__} could not be exported")
        return -1
    return _adopt_versioned(managed, out, state, known.api)


cdef int _adopt_versioned(
    _abi.DLManagedTensorVersioned* managed, _abi.TVMFFIAny* out, CallState* state,
    const _abi.DLPackExchangeAPI* api,
) except -1:
    cdef _abi.TVMFFIObjectHandle tensor = NULL
    cdef _abi.DLDevice device = managed.dl_tensor.device
    if _abi.TVMFFITensorFromDLPackVersioned(managed, 0, 0, &tensor) != 0:
        if managed.deleter != NULL:
            managed.deleter(managed)
        check(-1)
    out.type_index = _abi.kTVMFFITensor
    out.zero_padding = 0
    out.v_obj = <_abi.TVMFFIObject*>tensor
    keep_temporary(state, tensor)
    if device.device_type != _abi.kDLCPU and _choose_stream(state, api, device) != 0:
        return -1
    if state.exchange_api == NULL:
        state.exchange_api = api
    return 0


# ---- capsules ------------------------------------------------------------------------------

cdef object _capsule_of(object value):
    """Ask for the versioned form; older exporters do not know the keyword."""
    try:
        return value.__dlpack__(max_version=(_abi.DLPACK_MAJOR_VERSION, _abi.DLPACK_MINOR_VERSION))
    except TypeError:
        return value.__dlpack__()


cdef _abi.TVMFFIObjectHandle _consume_capsule(
    object capsule, int require_alignment, bint require_contiguous
) except NULL:
    """An owned tensor.  A capsule is consumed once; on failure it stays as it was."""
    cdef _abi.TVMFFIObjectHandle tensor = NULL
    if not PyCapsule_CheckExact(capsule):
        raise TypeError(f"__dlpack__ must return a PyCapsule, got {type(capsule).__name__}")
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        check(_abi.TVMFFITensorFromDLPackVersioned(
            <_abi.DLManagedTensorVersioned*>PyCapsule_GetPointer(capsule, b"dltensor_versioned"),
            require_alignment, require_contiguous, &tensor))
        PyCapsule_SetName(capsule, b"used_dltensor_versioned")
    elif PyCapsule_IsValid(capsule, b"dltensor"):
        check(_abi.TVMFFITensorFromDLPack(
            <_abi.DLManagedTensor*>PyCapsule_GetPointer(capsule, b"dltensor"),
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


cdef int _pack_dlpack(
    PyObject* value, _abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    cdef _abi.TVMFFIObjectHandle tensor = _consume_capsule(_capsule_of(<object>value), 0, False)
    out.type_index = _abi.kTVMFFITensor
    out.zero_padding = 0
    out.v_obj = <_abi.TVMFFIObject*>tensor
    return keep_temporary(state, tensor)


cdef bint _dlpack_rule(type cls, object value, Packer* packer) except -1:
    if not hasattr(cls, "__dlpack__"):
        return False
    packer.pack = <PackFunction>_pack_dlpack
    return True


def from_dlpack(ext_tensor, *, int require_alignment=0, bint require_contiguous=False) -> Tensor:
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
    cdef _abi.TVMFFIAny packed
    cdef type cls = type(ext_tensor)
    if PyCapsule_CheckExact(ext_tensor):
        return wrap_tensor(_consume_capsule(ext_tensor, require_alignment, require_contiguous))
    if not hasattr(cls, "__dlpack__") and _exchange_api_of(cls) == NULL:
        raise TypeError(
            "Expect from_dlpack to take either a compatible tensor or PyCapsule, got "
            f"{cls.__module__}.{cls.__qualname__}")
    if pack_owned(<PyObject*>ext_tensor, &packed) != 0:
        check(-2)
    if packed.type_index != _abi.kTVMFFITensor:
        raise BufferError("cannot keep a tensor that is lent for this call; copy the data instead")
    cdef Tensor tensor = wrap_tensor(packed.v_obj)
    if require_alignment > 0 or require_contiguous:
        _check_requirements(tensor, require_alignment, require_contiguous)
    return tensor


cdef int _check_requirements(
    Tensor tensor, int require_alignment, bint require_contiguous
) except -1:
    """Let the runtime, which knows the rules, judge an export of the tensor."""
    cdef _abi.DLManagedTensorVersioned* managed = NULL
    cdef _abi.TVMFFIObjectHandle judged = NULL
    check(_abi.TVMFFITensorToDLPackVersioned(tensor.chandle, &managed))
    if _abi.TVMFFITensorFromDLPackVersioned(
        managed, require_alignment, require_contiguous, &judged
    ) != 0:
        managed.deleter(managed)
        check(-1)
    _abi.TVMFFIObjectDecRef(judged)
    return 0


# ---- tensor results ------------------------------------------------------------------------

cdef object _make_tensor(_abi.TVMFFIAny* owned, CallState* state):
    """A tensor of the framework whose tensors were passed, else our own."""
    cdef const _abi.DLPackExchangeAPI* api = NULL if state == NULL else state.exchange_api
    cdef CallTensor* call_tensor
    cdef object result
    if api == NULL:
        return wrap_tensor(owned.v_obj)
    call_tensor = as_call_tensor(owned.v_obj)
    if call_tensor != NULL and call_tensor.exchange_api == api:
        result = <object>call_tensor.owner  # an argument came back: the very same object
        _abi.TVMFFIObjectDecRef(owned.v_obj)
        return result
    result = _to_framework(owned.v_obj, api)
    if result is None:
        return wrap_tensor(owned.v_obj)
    _abi.TVMFFIObjectDecRef(owned.v_obj)
    return result


cdef object _to_framework(_abi.TVMFFIObjectHandle tensor, const _abi.DLPackExchangeAPI* api):
    """The tensor as the framework's own class; None when the framework refuses."""
    cdef _abi.DLManagedTensorVersioned* managed = NULL
    cdef void* result = NULL
    check(_abi.TVMFFITensorToDLPackVersioned(tensor, &managed))
    if api.managed_tensor_to_py_object_no_sync(managed, &result) != 0:
        PyErr_Clear()
        managed.deleter(managed)
        return None
    converted = <object>result
    Py_XDECREF(<PyObject*>result)  # the table gave us a reference of our own
    return converted


add_rule(7, _exchange_rule)
add_rule(11, _dlpack_rule)
add_maker(_abi.kTVMFFITensor, _make_tensor)
