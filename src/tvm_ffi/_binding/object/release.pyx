# SPDX-License-Identifier: Apache-2.0
"""Destroying native objects from Python; see `object/release.pxd`.

A destructor may join a thread that waits for the GIL, or wait for a lock whose holder does.  So it
runs as calls do by default, without the GIL, unless its object is of a type whose destruction is
known not to wait.
"""

import os

from libc.stdint cimport int32_t, uint64_t

from tvm_ffi._binding cimport abi

cdef enum:
    NUM_BUILT_IN_TYPES = 128

cdef IsHarmless _harmless_types[NUM_BUILT_IN_TYPES]


cdef bint _read_default() except -1:
    cdef str text = os.environ.get("TVM_FFI_RELEASE_GIL_BY_DEFAULT") or "1"
    try:
        return int(text) != 0
    except ValueError:
        raise ValueError(
            f"TVM_FFI_RELEASE_GIL_BY_DEFAULT must be 0 or 1, got {text!r}") from None


cdef bint _releases_gil = _read_default()


cdef bint releases_gil_by_default() noexcept:
    return _releases_gil


cdef void add_harmless_type(int32_t type_index, IsHarmless is_harmless) noexcept:
    _harmless_types[type_index] = is_harmless


cdef inline bint _is_harmless(abi.TVMFFIObject* object) noexcept:
    cdef int32_t index = object.type_index
    cdef IsHarmless is_harmless = NULL
    if index < NUM_BUILT_IN_TYPES:
        is_harmless = _harmless_types[index]
    return is_harmless != NULL and is_harmless(object)


cdef inline void _destroy(abi.TVMFFIObject* object, uint64_t count) noexcept nogil:
    if count == abi.TVM_FFI_REF_COUNT_INITIAL:
        delete_object(object, abi.kTVMFFIObjectDeleterFlagBitMaskBoth)
    else:
        delete_object(object, abi.kTVMFFIObjectDeleterFlagBitMaskStrong)
        drop_weak(object)


cdef void destroy_object(abi.TVMFFIObject* object, uint64_t count) noexcept:
    if not _releases_gil or _is_harmless(object):
        _destroy(object, count)
    else:
        with nogil:
            _destroy(object, count)


cdef bint _always(abi.TVMFFIObject* object) noexcept:
    return True


add_harmless_type(abi.kTVMFFIStr, _always)
add_harmless_type(abi.kTVMFFIBytes, _always)
add_harmless_type(abi.kTVMFFIShape, _always)
add_harmless_type(abi.kTVMFFIBigInt, _always)
add_harmless_type(abi.kTVMFFIOpaquePyObject, _always)  # a Python object, which needs the GIL
