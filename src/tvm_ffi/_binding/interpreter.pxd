# SPDX-License-Identifier: Apache-2.0
# Python objects that native code owns: letting go of them from whatever thread the last native
# reference dies on, including threads Python has never seen and a process that is shutting down.
from libc.stdint cimport int64_t

cdef extern from * nogil:
    """
    #if PY_VERSION_HEX >= 0x030D0000
    #define tvm_ffi_is_finalizing() Py_IsFinalizing()
    #else
    #define tvm_ffi_is_finalizing() _Py_IsFinalizing()
    #endif

    /* Whether this thread may enter the interpreter.  While it shuts down only the thread that
     * already holds the GIL may: any other would wait for ever. */
    static inline int tvm_ffi_can_enter_python(void) {
      if (!Py_IsInitialized()) return 0;
      return !tvm_ffi_is_finalizing() || PyGILState_Check();
    }

    /* Drops one reference to a Python object; leaks it when the interpreter is gone. */
    static void tvm_ffi_release_python_object(void* object) {
      PyGILState_STATE state;
      if (!tvm_ffi_can_enter_python()) return;
      state = PyGILState_Ensure();
      Py_DECREF((PyObject*)object);
      PyGILState_Release(state);
    }

    /* Whether threads run Python code at the same time; known when we are compiled. */
    #ifdef Py_GIL_DISABLED
    #define TVM_FFI_GIL_IS_OPTIONAL 1
    #define tvm_ffi_add(place, number) __atomic_add_fetch(place, number, __ATOMIC_RELAXED)
    #else
    #define TVM_FFI_GIL_IS_OPTIONAL 0
    #define tvm_ffi_add(place, number) (*(place) += (number))
    #endif
    """
    enum:
        GIL_IS_OPTIONAL "TVM_FFI_GIL_IS_OPTIONAL"
    void add_to_count "tvm_ffi_add"(Py_ssize_t* place, Py_ssize_t number) noexcept
    int64_t advance "tvm_ffi_add"(int64_t* place, int64_t number) noexcept  # returns the sum
    bint can_enter_python "tvm_ffi_can_enter_python"() noexcept
    void release_python_object "tvm_ffi_release_python_object"(void* object) noexcept
