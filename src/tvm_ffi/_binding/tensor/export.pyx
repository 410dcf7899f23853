# SPDX-License-Identifier: Apache-2.0
"""Our tensors for other libraries: DLPack capsules, and what ``__dlpack__`` is asked for."""

from cpython.pycapsule cimport PyCapsule_Destructor, PyCapsule_GetPointer, PyCapsule_IsValid
from cpython.ref cimport Py_DECREF, PyObject

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.object.error cimport check
from tvm_ffi._binding.convert.loan cimport Loan, LoanPool, as_loan, loan_pool
from tvm_ffi._binding.values.device cimport Device, device_of

import sys

cdef extern from "Python.h":
    # Declared once more: for what has to be undone when there is no memory for the capsule.
    PyObject* PyCapsule_New(void* pointer, const char* name, PyCapsule_Destructor end) noexcept
    Py_ssize_t PyTuple_GET_SIZE(PyObject* value) noexcept
    PyObject* PyTuple_GET_ITEM(PyObject* value, Py_ssize_t i) noexcept
    PyObject* Py_None

cdef LoanPool* _pool = loan_pool()


# ---- capsules ------------------------------------------------------------------------------

cdef object new_legacy_capsule(abi.TVMFFIObjectHandle tensor):
    cdef abi.DLManagedTensor* managed = NULL
    cdef PyObject* capsule
    if forbids_writing(tensor):
        raise BufferError(
            "read-only tensor: a legacy DLPack capsule cannot say so; ask for version 1")
    check(abi.TVMFFITensorToDLPack(tensor, &managed))
    capsule = PyCapsule_New(managed, b"dltensor", _delete_legacy_capsule)
    if capsule == NULL:
        managed.deleter(managed)
        check(-2)
    return _taken_over(capsule)


cdef object new_versioned_capsule(abi.TVMFFIObjectHandle tensor):
    cdef abi.DLManagedTensorVersioned* managed = NULL
    cdef Loan* loan = as_loan(_pool, tensor)
    cdef PyObject* capsule
    check(abi.TVMFFITensorToDLPackVersioned(tensor, &managed))
    if loan != NULL and loan.is_read_only:
        managed.flags |= abi.DLPACK_FLAG_BITMASK_READ_ONLY
    capsule = PyCapsule_New(managed, b"dltensor_versioned", _delete_versioned_capsule)
    if capsule == NULL:
        managed.deleter(managed)
        check(-2)
    return _taken_over(capsule)


cdef inline object _taken_over(PyObject* owned):
    value = <object>owned
    Py_DECREF(value)
    return value


cdef void _delete_legacy_capsule(object capsule) noexcept:
    """Free what no consumer has taken; a consumer renames the capsule."""
    cdef abi.DLManagedTensor* managed
    if PyCapsule_IsValid(capsule, b"dltensor"):
        managed = <abi.DLManagedTensor*>PyCapsule_GetPointer(capsule, b"dltensor")
        managed.deleter(managed)


cdef void _delete_versioned_capsule(object capsule) noexcept:
    cdef abi.DLManagedTensorVersioned* managed
    if PyCapsule_IsValid(capsule, b"dltensor_versioned"):
        managed = <abi.DLManagedTensorVersioned*>PyCapsule_GetPointer(
            capsule, b"dltensor_versioned")
        managed.deleter(managed)


cdef bint forbids_writing(abi.TVMFFIObjectHandle tensor) except -1:
    cdef Loan* loan = as_loan(_pool, tensor)
    cdef abi.DLManagedTensorVersioned* managed = NULL
    cdef bint answer
    if loan != NULL:
        return loan.is_read_only
    check(abi.TVMFFITensorToDLPackVersioned(tensor, &managed))
    answer = (managed.flags & abi.DLPACK_FLAG_BITMASK_READ_ONLY) != 0
    managed.deleter(managed)
    return answer


# ---- what __dlpack__ is asked for ----------------------------------------------------------

cdef enum:
    DL_DEVICE, COPY, MAX_VERSION, STREAM, NUM_KEYWORDS  # the first ones as NumPy passes them

cdef tuple _KEYWORDS = tuple(
    [sys.intern(name) for name in ("dl_device", "copy", "max_version", "stream")])


cdef inline int _keyword_of(PyObject* name, Py_ssize_t position) except -1:
    """Which keyword this is.  Names in source code are interned: one address, no comparison."""
    if position < NUM_KEYWORDS and name == PyTuple_GET_ITEM(<PyObject*>_KEYWORDS, position):
        return <int>position
    return _find_keyword(name)


cdef int _find_keyword(PyObject* name) except -1:
    cdef int i
    for i in range(NUM_KEYWORDS):
        if name == PyTuple_GET_ITEM(<PyObject*>_KEYWORDS, i) or <object>name == _KEYWORDS[i]:
            return i
    raise TypeError(f"__dlpack__() got an unexpected keyword argument {<object>name!r}")


cdef bint wants_version(
    abi.DLDevice device, PyObject* const* args, Py_ssize_t num_args, PyObject* names
) except -1:
    cdef PyObject* values[NUM_KEYWORDS]
    cdef Py_ssize_t i
    if num_args != 0:
        raise TypeError(f"__dlpack__() takes keyword arguments only, got {num_args} by position")
    for i in range(NUM_KEYWORDS):
        values[i] = Py_None
    if names != NULL:
        for i in range(PyTuple_GET_SIZE(names)):
            values[_keyword_of(PyTuple_GET_ITEM(names, i), i)] = args[i]
    if values[DL_DEVICE] != Py_None:
        _check_device(device, <object>values[DL_DEVICE])
    if values[COPY] != Py_None and <object>values[COPY]:
        raise BufferError("cannot export a copy; copy with the consuming library")
    return values[MAX_VERSION] != Py_None and _is_versioned(<object>values[MAX_VERSION])


cdef bint _is_versioned(object max_version) except -1:
    """Whether this DLPack version has the versioned kind of capsule."""
    cdef long major = (<tuple>max_version)[0] if type(max_version) is tuple else max_version[0]
    return major >= 1


cdef int _check_device(abi.DLDevice device, object wanted) except -1:
    if tuple(wanted) != (<int>device.device_type, device.device_id):
        device_type, device_id = wanted
        raise BufferError(
            f"tensor is on {device_of(device)}, cannot export to {Device(device_type, device_id)}")
    return 0
