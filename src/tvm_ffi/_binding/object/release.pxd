# SPDX-License-Identifier: Apache-2.0
# Release of native objects from Python: destructors run without the GIL, except those that are
# known not to block.  See docs/concepts/threads.md.
from libc.stdint cimport int32_t, uint64_t

from tvm_ffi._binding cimport abi

cdef extern from * nogil:
    """
    #include <tvm/ffi/c_api.h>

    /* Steps 2 and 3 of the reference counting protocol, see TVMFFIObject in c_api.h. */
    #define tvm_ffi_subtract(object, number) \\
        __atomic_fetch_sub(&(object)->combined_ref_count, number, __ATOMIC_RELEASE)

    /* Make writes visible that other threads made before they released the object. */
    static inline void tvm_ffi_acquire_writes(TVMFFIObject* object) {
    #ifdef __SANITIZE_THREAD__
      __atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE);  /* TSan ignores fences */
    #else
      (void)object;
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
    #endif
    }

    /* Call the object's deleter.  The caller has called tvm_ffi_acquire_writes before. */
    static inline void tvm_ffi_delete(TVMFFIObject* object, int flags) {
      if (object->deleter != NULL) object->deleter(object, flags);
    }

    static inline void tvm_ffi_drop_weak(TVMFFIObject* object) {
      if (tvm_ffi_subtract(object, TVM_FFI_REF_COUNT_WEAK_ONE) == TVM_FFI_REF_COUNT_WEAK_ONE) {
        tvm_ffi_acquire_writes(object);
        tvm_ffi_delete(object, kTVMFFIObjectDeleterFlagBitMaskWeak);
      }
    }

    static inline uint64_t tvm_ffi_drop_strong(TVMFFIObject* object) {
      return tvm_ffi_subtract(object, TVM_FFI_REF_COUNT_STRONG_ONE);
    }

    static inline int tvm_ffi_was_last(uint64_t count) {
      return (count & TVM_FFI_REF_COUNT_STRONG_MASK) == TVM_FFI_REF_COUNT_STRONG_ONE;
    }
    """
    uint64_t drop_strong "tvm_ffi_drop_strong"(abi.TVMFFIObject* object) noexcept
    bint was_last "tvm_ffi_was_last"(uint64_t count) noexcept
    void acquire_writes "tvm_ffi_acquire_writes"(abi.TVMFFIObject* object) noexcept
    void drop_weak "tvm_ffi_drop_weak"(abi.TVMFFIObject* object) noexcept
    void delete_object "tvm_ffi_delete"(abi.TVMFFIObject* object, int flags) noexcept

# Return True if destroying the object runs only code of the runtime and of this binding.  Such
# code never waits for another thread.  Called after the last strong reference is released and
# before the object is destroyed.
ctypedef bint (*IsNonblocking)(abi.TVMFFIObject* object) noexcept

# Set the predicate of a built-in type.  An object for which it returns True is destroyed with the
# GIL held.
cdef void add_nonblocking_type(int32_t type_index, IsNonblocking is_nonblocking) noexcept
# Return True if calls and destructors release the GIL by default
# (TVM_FFI_RELEASE_GIL_BY_DEFAULT).
cdef bint releases_gil_by_default() noexcept
# Destroy an object whose last strong reference is released; `count` is the result of `drop_strong`.
cdef void destroy_object(abi.TVMFFIObject* object, uint64_t count) noexcept


cdef inline void release_object(abi.TVMFFIObjectHandle handle) noexcept:
    """Release a strong reference.  Consumes the handle, which must not be NULL."""
    cdef abi.TVMFFIObject* object = <abi.TVMFFIObject*>handle
    cdef uint64_t count = drop_strong(object)
    if was_last(count):
        destroy_object(object, count)
