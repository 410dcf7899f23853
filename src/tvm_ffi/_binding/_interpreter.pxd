# SPDX-License-Identifier: Apache-2.0
# Python objects that native code owns: letting go of them from whatever thread the last native
# reference dies on, including threads Python has never seen and a process that is shutting down.
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
    """
    bint can_enter_python "tvm_ffi_can_enter_python"() noexcept
    void release_python_object "tvm_ffi_release_python_object"(void* object) noexcept
