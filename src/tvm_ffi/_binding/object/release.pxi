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
    NUM_MARKED_TYPES = 8192

cdef IsHarmless _harmless_types[NUM_BUILT_IN_TYPES]
# Of types defined in Python; marked once, when they are defined.
cdef bint _is_plain_type[NUM_MARKED_TYPES]


cdef bint _read_default() except -1:
    cdef str text = os.environ.get("TVM_FFI_RELEASE_GIL_BY_DEFAULT") or "1"
    if text not in ("0", "1"):
        raise ValueError(f"TVM_FFI_RELEASE_GIL_BY_DEFAULT must be 0 or 1, got {text[:80]!r}")
    return text == "1"


cdef bint _releases_gil = _read_default()


cdef bint releases_gil_by_default() noexcept:
    return _releases_gil


cdef void add_harmless_type(int32_t type_index, IsHarmless is_harmless) noexcept:
    _harmless_types[type_index] = is_harmless


def add_plain_type(int type_index) -> None:
    """Let objects of a type be destroyed with the GIL held: all that they hold is plain.

    Parameters
    ----------
    type_index : int
        Of a type whose memory this package has laid out; large ones are left out.
    """
    if NUM_BUILT_IN_TYPES <= type_index < NUM_MARKED_TYPES:
        _is_plain_type[type_index] = True


def is_plain_type(int type_index) -> bool:
    """Whether `add_plain_type` has marked a type."""
    return 0 <= type_index < NUM_MARKED_TYPES and _is_plain_type[type_index]


cdef inline bint _is_harmless(abi.TVMFFIObject* object) noexcept:
    cdef int32_t index = object.type_index
    cdef IsHarmless is_harmless
    if index < NUM_BUILT_IN_TYPES:
        is_harmless = _harmless_types[index]
        return is_harmless != NULL and is_harmless(object)
    return index < NUM_MARKED_TYPES and _is_plain_type[index]


cdef inline void _destroy(abi.TVMFFIObject* object, uint64_t count) noexcept nogil:
    if count == abi.TVM_FFI_REF_COUNT_INITIAL:
        delete_object(object, abi.kTVMFFIObjectDeleterFlagBitMaskBoth)
    else:
        delete_object(object, abi.kTVMFFIObjectDeleterFlagBitMaskStrong)
        drop_weak(object)


cdef void destroy_object(abi.TVMFFIObject* object, uint64_t count) noexcept:
    acquire_writes(object)  # the next step may look into it
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
