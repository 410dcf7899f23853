# SPDX-License-Identifier: Apache-2.0
"""Destruction of native objects from Python, with or without the GIL; see `object/release.pxd`.

A destructor may join a thread that waits for the GIL, or wait for a lock that such a thread owns.
So destructors run without the GIL, as calls do by default, except for types whose destructors are
known not to block.
"""

import os

from libc.stdint cimport int32_t, uint64_t

from tvm_ffi._binding cimport abi

cdef enum:
    NUM_BUILT_IN_TYPES = 128
    NUM_MARKED_TYPES = 8192

cdef IsNonblocking _nonblocking_predicates[NUM_BUILT_IN_TYPES]
# True for types defined in Python that `mark_nonblocking_type` has marked, by type index.
cdef bint _is_marked_type[NUM_MARKED_TYPES]


cdef bint _read_default() except -1:
    cdef str text = os.environ.get("TVM_FFI_RELEASE_GIL_BY_DEFAULT") or "1"
    if text not in ("0", "1"):
        raise ValueError(f"TVM_FFI_RELEASE_GIL_BY_DEFAULT must be 0 or 1, got {text[:80]!r}")
    return text == "1"


cdef bint _releases_gil = _read_default()


cdef bint releases_gil_by_default() noexcept:
    return _releases_gil


cdef void add_nonblocking_type(int32_t type_index, IsNonblocking is_nonblocking) noexcept:
    _nonblocking_predicates[type_index] = is_nonblocking


def mark_nonblocking_type(int type_index) -> None:
    """Let objects of a type defined in Python be destroyed with the GIL held.

    Parameters
    ----------
    type_index : int
        Type whose destructor is known not to block, because releasing its fields runs no
        third-party code.  Type indices of 8192 and above are ignored.
    """
    if NUM_BUILT_IN_TYPES <= type_index < NUM_MARKED_TYPES:
        _is_marked_type[type_index] = True


def is_nonblocking_type(int type_index) -> bool:
    """Return True if `mark_nonblocking_type` has marked a type."""
    return 0 <= type_index < NUM_MARKED_TYPES and _is_marked_type[type_index]


cdef inline bint _is_nonblocking(abi.TVMFFIObject* object) noexcept:
    cdef int32_t index = object.type_index
    cdef IsNonblocking is_nonblocking
    if index < NUM_BUILT_IN_TYPES:
        is_nonblocking = _nonblocking_predicates[index]
        return is_nonblocking != NULL and is_nonblocking(object)
    return index < NUM_MARKED_TYPES and _is_marked_type[index]


cdef inline void _destroy(abi.TVMFFIObject* object, uint64_t count) noexcept nogil:
    if count == abi.TVM_FFI_REF_COUNT_INITIAL:
        delete_object(object, abi.kTVMFFIObjectDeleterFlagBitMaskBoth)
    else:
        delete_object(object, abi.kTVMFFIObjectDeleterFlagBitMaskStrong)
        drop_weak(object)


cdef void destroy_object(abi.TVMFFIObject* object, uint64_t count) noexcept:
    acquire_writes(object)  # first, because `_is_nonblocking` may read the content of the object
    if not _releases_gil or _is_nonblocking(object):
        _destroy(object, count)
    else:
        with nogil:
            _destroy(object, count)


cdef bint _always(abi.TVMFFIObject* object) noexcept:
    return True


add_nonblocking_type(abi.kTVMFFIStr, _always)
add_nonblocking_type(abi.kTVMFFIBytes, _always)
add_nonblocking_type(abi.kTVMFFIShape, _always)
add_nonblocking_type(abi.kTVMFFIBigInt, _always)
add_nonblocking_type(abi.kTVMFFIOpaquePyObject, _always)  # the destructor needs the GIL
