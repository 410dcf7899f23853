# SPDX-License-Identifier: Apache-2.0
# Interpreter state: GIL or free-threaded build, atomic operations, and interpreter shutdown.
from libc.stdint cimport int64_t

cdef extern from * nogil:
    """
    /* TVM_FFI_GIL_IS_OPTIONAL is 1 for a free-threaded Python, whose threads run concurrently. */
    #ifdef Py_GIL_DISABLED
    #define TVM_FFI_GIL_IS_OPTIONAL 1
    #define tvm_ffi_add(address, number) __atomic_add_fetch(address, number, __ATOMIC_RELAXED)
    #else
    #define TVM_FFI_GIL_IS_OPTIONAL 0
    #define tvm_ffi_add(address, number) (*(address) += (number))
    #endif

    /* Access to variables that are written under a lock and read without the lock. */
    #define tvm_ffi_load(address) __atomic_load_n(address, __ATOMIC_ACQUIRE)
    #define tvm_ffi_store(address, value) __atomic_store_n(address, value, __ATOMIC_RELEASE)

    #if PY_VERSION_HEX >= 0x030D0000
    #define tvm_ffi_is_finalizing() Py_IsFinalizing()
    #else
    #define tvm_ffi_is_finalizing() _Py_IsFinalizing()
    #endif
    """
    enum:
        GIL_IS_OPTIONAL "TVM_FFI_GIL_IS_OPTIONAL"
    void add_to_count "tvm_ffi_add"(Py_ssize_t* address, Py_ssize_t number) noexcept
    # Returns the new value.
    int64_t advance "tvm_ffi_add"(int64_t* address, int64_t number) noexcept
    bint load_flag "tvm_ffi_load"(const bint* address) noexcept
    void store_flag "tvm_ffi_store"(bint* address, bint value) noexcept
    Py_ssize_t load_count "tvm_ffi_load"(const Py_ssize_t* address) noexcept
    void store_count "tvm_ffi_store"(Py_ssize_t* address, Py_ssize_t value) noexcept
    bint is_finalizing "tvm_ffi_is_finalizing"() noexcept
