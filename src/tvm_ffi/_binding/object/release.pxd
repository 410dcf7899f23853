# SPDX-License-Identifier: Apache-2.0
# Letting go of native objects with the GIL held, see docs/concepts/threads.md: destructors that are
# not known to be harmless run without it.
from libc.stdint cimport int32_t, uint64_t

from tvm_ffi._binding cimport abi

cdef extern from * nogil:
    """
    #include <tvm/ffi/c_api.h>

    /* Steps 2 and 3 of the counting protocol, see TVMFFIObject. */
    #define tvm_ffi_subtract(object, number) \\
        __atomic_fetch_sub(&(object)->combined_ref_count, number, __ATOMIC_RELEASE)

    /* What the other owners wrote before they let go is seen from here on. */
    static inline void tvm_ffi_acquire_writes(TVMFFIObject* object) {
    #ifdef __SANITIZE_THREAD__
      __atomic_load_n(&object->combined_ref_count, __ATOMIC_ACQUIRE);  /* it knows no fences */
    #else
      (void)object;
      __atomic_thread_fence(__ATOMIC_ACQUIRE);
    #endif
    }

    /* After tvm_ffi_acquire_writes. */
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

# Whether nothing but code of the runtime and of this binding runs when an object is destroyed,
# which waits for nobody.  The object is whole, but nobody owns it any more.
ctypedef bint (*IsHarmless)(abi.TVMFFIObject* object) noexcept

# Lets objects of a built-in type be destroyed with the GIL held where the function says so.
cdef void add_harmless_type(int32_t type_index, IsHarmless is_harmless) noexcept
# Whether native code runs without the GIL unless the program says otherwise.
cdef bint releases_gil_by_default() noexcept
# Destroys an object whose last strong reference is gone; `count` is what `drop_strong` returned.
cdef void destroy_object(abi.TVMFFIObject* object, uint64_t count) noexcept


cdef inline void release_object(abi.TVMFFIObjectHandle handle) noexcept:
    """Drop a reference that Python had; not NULL."""
    cdef abi.TVMFFIObject* object = <abi.TVMFFIObject*>handle
    cdef uint64_t count = drop_strong(object)
    if was_last(count):
        destroy_object(object, count)
