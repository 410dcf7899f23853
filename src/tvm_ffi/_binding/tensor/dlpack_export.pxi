# SPDX-License-Identifier: Apache-2.0
"""DLPack export: capsules over native tensors, and the arguments of ``__dlpack__``."""

from cpython.pycapsule cimport PyCapsule_GetPointer, PyCapsule_IsValid
from cpython.ref cimport PyObject, Py_DECREF
from libc.stdint cimport int64_t
from libc.string cimport memcpy, memset

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE, Py_None, new_capsule
from tvm_ffi._binding.object cimport check
from tvm_ffi._binding.convert cimport (
    ArgumentView, ArgumentViewFreeList, CallState, as_argument_view, has_one_reference,
    pack_temporary, release_temporary, view_free_list,
)
from tvm_ffi._binding.values cimport Device, device_of

import sys

cdef ArgumentViewFreeList* _free_views = view_free_list()


# ---- capsules ------------------------------------------------------------------------------

cdef object new_legacy_capsule(abi.TVMFFIObjectHandle tensor):
    cdef abi.DLManagedTensor* managed = NULL
    cdef PyObject* capsule
    if is_read_only_tensor(&_read_only_deleters, tensor):
        raise BufferError(
            "a legacy DLPack capsule cannot mark a tensor as read-only; pass max_version=(1, 0)")
    check(abi.TVMFFITensorToDLPack(tensor, &managed))
    capsule = new_capsule(managed, b"dltensor", _delete_legacy_capsule)
    if capsule == NULL:
        managed.deleter(managed)
        check(-2)
    return _consume_reference(capsule)


cdef object new_versioned_capsule(abi.TVMFFIObjectHandle tensor):
    cdef abi.DLManagedTensorVersioned* managed = NULL
    cdef PyObject* capsule
    check(abi.TVMFFITensorToDLPackVersioned(tensor, &managed))
    capsule = new_capsule(managed, b"dltensor_versioned", _delete_versioned_capsule)
    if capsule == NULL:
        managed.deleter(managed)
        check(-2)
    return _consume_reference(capsule)


cdef int mark_as_copied(object capsule) except -1:
    cdef abi.DLManagedTensorVersioned* managed = <abi.DLManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule, b"dltensor_versioned"))
    managed.flags |= abi.DLPACK_FLAG_BITMASK_IS_COPIED
    return 0


cdef inline object _consume_reference(PyObject* owned):
    """Return the object `owned` as a Cython variable.  Consumes the reference `owned`."""
    value = <object>owned
    Py_DECREF(value)
    return value


cdef void _delete_legacy_capsule(object capsule) noexcept:
    """Destructor of a legacy capsule: free the export unless a consumer has taken it.

    A consumer that takes the export renames the capsule.
    """
    cdef abi.DLManagedTensor* managed
    if PyCapsule_IsValid(capsule, b"dltensor"):
        managed = <abi.DLManagedTensor*>PyCapsule_GetPointer(capsule, b"dltensor")
        managed.deleter(managed)


cdef void _delete_versioned_capsule(object capsule) noexcept:
    """Same as `_delete_legacy_capsule`, but for a versioned capsule."""
    cdef abi.DLManagedTensorVersioned* managed
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        managed = <abi.DLManagedTensorVersioned*>PyCapsule_GetPointer(
            capsule, b"dltensor_versioned")
        managed.deleter(managed)


# ---- read-only memory ----------------------------------------------------------------------

cdef ReadOnlyDeleters _read_only_deleters


cdef const ReadOnlyDeleters* read_only_deleters() noexcept:
    return &_read_only_deleters


cdef int _find_read_only_deleters() except -1:
    """Set `_read_only_deleters` from a read-only sample tensor and a view of it.

    In the runtime, read-only tensors and views of them have deleters that no other objects have.
    """
    cdef abi.DLManagedTensorVersioned sample
    cdef int64_t extent = 1
    cdef abi.TVMFFIObjectHandle tensor = NULL, view = NULL
    memset(&sample, 0, sizeof(sample))
    sample.version.major = abi.DLPACK_MAJOR_VERSION
    sample.flags = abi.DLPACK_FLAG_BITMASK_READ_ONLY
    sample.dl_tensor.data = &extent
    sample.dl_tensor.device.device_type = abi.kDLCPU
    sample.dl_tensor.dtype.code = abi.kDLInt
    sample.dl_tensor.dtype.bits, sample.dl_tensor.dtype.lanes = 64, 1
    sample.dl_tensor.ndim, sample.dl_tensor.shape = 1, &extent
    check(abi.TVMFFITensorFromDLPackVersioned(&sample, 0, 0, &tensor))
    try:
        check(abi.TVMFFITensorCreateUnsafeView(
            tensor, abi.TVMFFITensorGetDLTensorPtr(tensor), &view))
        _read_only_deleters.tensor_deleter = <void*>(<abi.TVMFFIObject*>tensor).deleter
        _read_only_deleters.view_deleter = <void*>(<abi.TVMFFIObject*>view).deleter
    finally:
        if view != NULL:
            abi.TVMFFIObjectDecRef(view)
        abi.TVMFFIObjectDecRef(tensor)
    return 0


_find_read_only_deleters()


cdef int _make_read_only(abi.TVMFFIAny* packed, CallState* state) except -1:
    """Replace a packed tensor by a read-only tensor over the same memory, which `state` owns.

    The runtime marks the views and the exports of such a tensor as read-only, too.
    """
    cdef abi.DLManagedTensorVersioned* managed = NULL
    cdef abi.TVMFFIObjectHandle tensor = NULL
    cdef ArgumentView* arg_view = as_argument_view(_free_views, packed.v_obj)
    cdef Py_ssize_t last = state.num_temporaries - 1
    if is_read_only_tensor(&_read_only_deleters, packed.v_obj):
        return 0
    if arg_view != NULL and has_one_reference(&arg_view.header):
        managed = _new_export_of_owner(arg_view)
    else:
        check(abi.TVMFFITensorToDLPackVersioned(packed.v_obj, &managed))
    managed.flags |= abi.DLPACK_FLAG_BITMASK_READ_ONLY
    if abi.TVMFFITensorFromDLPackVersioned(managed, 0, 0, &tensor) != 0:
        managed.deleter(managed)
        check(-1)
    if last < 0 or state.temporaries[last] != packed.v_obj:
        return pack_temporary(state, packed, abi.kTVMFFITensor, tensor)
    # The new tensor replaces the temporary, whose memory it keeps alive.
    state.num_temporaries = last
    release_temporary(packed.v_obj, _free_views)
    return pack_temporary(state, packed, abi.kTVMFFITensor, tensor)


cdef abi.DLManagedTensorVersioned* _new_export_of_owner(const ArgumentView* arg_view) except NULL:
    """Return an export over the memory of an argument; it owns a reference to the argument.

    The export does not refer to the view, which can return to the free list after the call.
    """
    cdef const abi.DLTensor* source = &arg_view.tensor
    cdef _ContentTensor* export = _new_content_tensor(source.ndim, source.dtype)
    cdef abi.DLTensor* target = &export.managed.dl_tensor
    if source.ndim > 0:
        memcpy(target.shape, source.shape, source.ndim * sizeof(int64_t))
        memcpy(target.strides, source.strides, source.ndim * sizeof(int64_t))
    target.device, target.byte_offset = source.device, source.byte_offset
    _set_content(export, <object>arg_view.owner, source.data, False)
    return &export.managed


cdef int (*_cold_make_read_only)(abi.TVMFFIAny* packed, CallState* state) noexcept
_cold_make_read_only = <int (*)(abi.TVMFFIAny*, CallState*) noexcept>_make_read_only


# ---- arguments of __dlpack__ ---------------------------------------------------------------

cdef enum:
    DL_DEVICE, COPY, MAX_VERSION, STREAM, NUM_KEYWORDS  # the indices of the keywords in `_KEYWORDS`

# Keyword arguments of `__dlpack__`.  NumPy passes the first three in this order.
cdef tuple _KEYWORDS = tuple(
    [sys.intern(name) for name in ("dl_device", "copy", "max_version", "stream")])


cdef inline int _keyword_of(PyObject* name, Py_ssize_t position) except -1:
    """Return the index in `_KEYWORDS` of the keyword `name`, which is the argument at `position`.

    Keywords in source code are interned, so one comparison of addresses usually finds the index.
    Fails: TypeError for an unknown keyword.
    """
    if position < NUM_KEYWORDS and name == PyTuple_GET_ITEM(<PyObject*>_KEYWORDS, position):
        return <int>position
    return _find_keyword(name)


cdef int _find_keyword(PyObject* name) except -1:
    """Same as `_keyword_of`, but search all of `_KEYWORDS`, because the order may differ."""
    cdef int i
    for i in range(NUM_KEYWORDS):
        if name == PyTuple_GET_ITEM(<PyObject*>_KEYWORDS, i) or <object>name == _KEYWORDS[i]:
            return i
    raise TypeError(f"__dlpack__() got an unexpected keyword argument {<object>name!r}")


cdef int requests_of_consumer(
    abi.DLDevice device, PyObject* const* args, Py_ssize_t num_args, PyObject* names
) except -1:
    cdef PyObject* values[NUM_KEYWORDS]
    cdef Py_ssize_t i
    cdef int requests = 0
    if num_args != 0:
        raise TypeError(f"__dlpack__() takes keyword arguments only, got {num_args} positional")
    for i in range(NUM_KEYWORDS):
        values[i] = Py_None
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            values[_keyword_of(PyTuple_GET_ITEM(names, i), i)] = args[i]
    if values[DL_DEVICE] != Py_None:
        _check_device(device, <object>values[DL_DEVICE])
    if values[COPY] != Py_None and <object>values[COPY]:
        requests = COPIED_MEMORY
    if values[MAX_VERSION] != Py_None and _is_versioned(<object>values[MAX_VERSION]):
        requests |= VERSIONED_CAPSULE
    return requests


cdef bint _is_versioned(object max_version) except -1:
    """Return True if a consumer with this `max_version` reads versioned capsules."""
    cdef long major = (<tuple>max_version)[0] if type(max_version) is tuple else max_version[0]
    return major >= 1


cdef int _check_device(abi.DLDevice device, object requested) except -1:
    """Raise BufferError if the consumer requests another device than that of the tensor."""
    if tuple(requested) != (<int>device.device_type, device.device_id):
        device_type, device_id = requested
        raise BufferError(
            f"cannot export a tensor on {device_of(device)} to {Device(device_type, device_id)}; "
            "copy the tensor with the consuming library")
    return 0
