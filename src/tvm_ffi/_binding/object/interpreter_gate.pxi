# SPDX-License-Identifier: Apache-2.0
"""Interpreter gate: entry of native threads into the interpreter, closed before shutdown.

During interpreter shutdown, Python before 3.14 ends each thread that waits for the GIL by unwinding
its stack; from 3.14 on such a thread hangs.  Unwinding a C++ destructor terminates the process.  So
the gate is closed before the interpreter shuts down; see docs/design/exit.md.

1. An entering thread first increments the number of threads inside the gate, then checks if the
   gate is closed.  The closing thread first closes the gate, then waits until the number is 0.
2. Once the gate is closed, native threads leak Python objects instead of releasing them, and their
   callbacks fail.  Python threads may still call native code, until Python stops them.
3. The closing thread waits for a limited time.  If Python later ends a thread that is still inside,
   the thread blocks until the process exits, instead of being unwound.
4. The thread that shuts the interpreter down may enter as long as the interpreter exists, because
   finalizers run there.
"""

# Imported here, because the import statement of a function runs Python code: handlers of signals,
# whose exceptions `_ensure_exit_handler` would drop.
import atexit
import os

from cpython.ref cimport PyObject, Py_INCREF
from libc.stdint cimport int32_t
from libc.string cimport strlen

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.cpython cimport PyEval_GetFrame, Py_AddPendingCall
from tvm_ffi._binding.interpreter cimport is_finalizing

cdef extern from * nogil:
    """
    #include <pthread.h>
    #include <stdint.h>
    #include <tvm/ffi/c_api.h>
    #include <unistd.h>
    #if __has_include(<sys/syscall.h>)
    #include <sys/syscall.h>
    #endif

    /* Time limit for closing the gate: a destructor takes microseconds, but a callback may never
     * return. */
    #define TVM_FFI_CLOSE_TIMEOUT_US 200000
    #define TVM_FFI_POLL_INTERVAL_US 100

    static struct {
      int64_t num_inside; /* number of counted threads that have entered and not left */
      int is_closed;      /* 1 after tvm_ffi_close_gate has closed the gate */
      /* The thread that will shut the interpreter down, which is not counted in num_inside.  This
       * is the main thread if it is known; 0, which is no thread's id, if not. */
      pthread_t owner;
    } tvm_ffi_gate;

    static inline int tvm_ffi_owns_gate(void) {
      return __atomic_load_n(&tvm_ffi_gate.owner, __ATOMIC_RELAXED) == pthread_self();
    }

    static void tvm_ffi_own_gate(void) {
      __atomic_store_n(&tvm_ffi_gate.owner, pthread_self(), __ATOMIC_RELAXED);
    }

    static void tvm_ffi_own_gate_if_main(void) {
    #ifdef SYS_gettid
      if (syscall(SYS_gettid) == getpid()) tvm_ffi_own_gate();
    #endif
    }

    /* Reset the gate in a forked child, whose only thread is the calling thread. */
    static void tvm_ffi_own_gate_of_child(void) {
      __atomic_store_n(&tvm_ffi_gate.num_inside, 0, __ATOMIC_SEQ_CST);
      tvm_ffi_own_gate();
    }

    /* Result of tvm_ffi_enter: refused, counted in num_inside, or admitted but not counted. */
    typedef enum { TVM_FFI_REFUSED, TVM_FFI_COUNTED, TVM_FFI_UNCOUNTED } tvm_ffi_entry_t;

    static inline void tvm_ffi_leave(tvm_ffi_entry_t entry) {
      if (entry == TVM_FFI_COUNTED) {
        __atomic_fetch_sub(&tvm_ffi_gate.num_inside, 1, __ATOMIC_SEQ_CST);
      }
    }

    /* Return 1 if this thread has a Python thread state, with or without the GIL. */
    static inline int tvm_ffi_has_thread_state(void) {
      return PyGILState_GetThisThreadState() != NULL;
    }

    /* Return 1 if this thread holds the GIL; on free-threaded Python, if it is attached. */
    static inline int tvm_ffi_holds_gil(void) {
      return tvm_ffi_has_thread_state() && PyGILState_Check();
    }

    static inline tvm_ffi_entry_t tvm_ffi_enter(int is_call) {
      tvm_ffi_entry_t entry = TVM_FFI_COUNTED;
      if (tvm_ffi_owns_gate()) { /* this thread's state is deleted last */
        return Py_IsInitialized() || tvm_ffi_has_thread_state() ? TVM_FFI_UNCOUNTED
                                                                : TVM_FFI_REFUSED;
      }
      __atomic_fetch_add(&tvm_ffi_gate.num_inside, 1, __ATOMIC_SEQ_CST);
      if (__atomic_load_n(&tvm_ffi_gate.is_closed, __ATOMIC_SEQ_CST)) {
        tvm_ffi_leave(entry);
        /* The gate is closed.  Python code that called native code would report a refused callback
         * as an error.  So a call on a Python thread enters and waits for the GIL, as it does when
         * native code returns.  A destructor may run under a lock, so it enters only if its thread
         * has the GIL already. */
        entry = (is_call ? tvm_ffi_has_thread_state() : tvm_ffi_holds_gil()) ? TVM_FFI_UNCOUNTED
                                                                          : TVM_FFI_REFUSED;
      }
      /* The interpreter may shut down without running the handler that closes the gate. */
      if ((!Py_IsInitialized() || tvm_ffi_is_finalizing()) && !tvm_ffi_holds_gil()) {
        tvm_ffi_leave(entry);
        entry = TVM_FFI_REFUSED;
      }
      return entry;
    }

    /* Cleanup handler that runs when a thread inside the gate is ended. */
    static void tvm_ffi_block_forever(void* ignored) {
      (void)ignored;
      if (!tvm_ffi_is_finalizing()) return; /* something other than Python ended the thread */
      for (;;) sleep(3600);
    }

    static void tvm_ffi_release(void* object) {
      PyGILState_STATE state;
      tvm_ffi_entry_t entry = tvm_ffi_enter(0);
      if (entry == TVM_FFI_REFUSED) return;
      pthread_cleanup_push(tvm_ffi_block_forever, NULL);
      state = PyGILState_Ensure();
      Py_DECREF((PyObject*)object);
      PyGILState_Release(state);
      pthread_cleanup_pop(0);
      tvm_ffi_leave(entry);
    }

    static int tvm_ffi_call(
        TVMFFISafeCallType run, void* self, const TVMFFIAny* args, int32_t num_args,
        TVMFFIAny* result) {
      PyGILState_STATE state;
      int code;
      tvm_ffi_entry_t entry = tvm_ffi_enter(1);
      if (entry == TVM_FFI_REFUSED) {
        TVMFFIErrorSetRaisedFromCStr(
            "RuntimeError", "cannot call a Python function: the interpreter has shut down");
        return -1;
      }
      pthread_cleanup_push(tvm_ffi_block_forever, NULL);
      state = PyGILState_Ensure();
      code = run(self, args, num_args, result);
      PyGILState_Release(state);
      pthread_cleanup_pop(0);
      tvm_ffi_leave(entry);
      return code;
    }

    static int tvm_ffi_check_signals(void) {
      PyGILState_STATE state;
      int code;
      tvm_ffi_entry_t entry;
      pthread_t owner = __atomic_load_n(&tvm_ffi_gate.owner, __ATOMIC_RELAXED);
      /* Python handles signals on the main thread only. */
      if (owner != 0 && owner != pthread_self()) return 0;
      entry = tvm_ffi_enter(0);
      if (entry == TVM_FFI_REFUSED) return 0;
      pthread_cleanup_push(tvm_ffi_block_forever, NULL);
      state = PyGILState_Ensure();
      code = PyErr_CheckSignals();
      PyGILState_Release(state);
      pthread_cleanup_pop(0);
      tvm_ffi_leave(entry);
      return code;
    }

    /* Close the gate and wait until the counted threads have left, or until the time limit.  Called
     * with the GIL by the thread that shuts the interpreter down. */
    static void tvm_ffi_close_gate(void) {
      PyThreadState* thread;
      int waited_us = 0;
      tvm_ffi_own_gate();
      __atomic_store_n(&tvm_ffi_gate.is_closed, 1, __ATOMIC_SEQ_CST);
      if (__atomic_load_n(&tvm_ffi_gate.num_inside, __ATOMIC_SEQ_CST) <= 0) return;
      thread = PyEval_SaveThread();
      while (waited_us < TVM_FFI_CLOSE_TIMEOUT_US &&
             __atomic_load_n(&tvm_ffi_gate.num_inside, __ATOMIC_SEQ_CST) > 0) {
        usleep(TVM_FFI_POLL_INTERVAL_US);
        waited_us += TVM_FFI_POLL_INTERVAL_US;
      }
      PyEval_RestoreThread(thread);
    }
    """
    void _release "tvm_ffi_release"(void* obj) noexcept
    int _call "tvm_ffi_call"(
        abi.TVMFFISafeCallType run, void* self, const abi.TVMFFIAny* args, int32_t num_args,
        abi.TVMFFIAny* result) noexcept
    int _check_signals "tvm_ffi_check_signals"() noexcept
    void _close_gate "tvm_ffi_close_gate"() noexcept
    void _own_gate_if_main "tvm_ffi_own_gate_if_main"() noexcept
    void _own_gate_of_child "tvm_ffi_own_gate_of_child"() noexcept


ctypedef void (*_ReleaseNested)(
    void* object, int flags, void (*deleter)(void*, int) noexcept nogil) noexcept nogil

# Function of the runtime that releases nested objects iteratively, so that deep nesting does not
# overflow the stack; see docs/design/nested-release.md.  NULL if the runtime lacks the function.
cdef _ReleaseNested _release_nested = _find_release_nested()


cdef _ReleaseNested _find_release_nested() noexcept:
    cdef const char* text = "__release_in_turn__"
    cdef abi.TVMFFIByteArray name
    cdef const abi.TVMFFITypeAttrColumn* column
    cdef int32_t slot
    name.data, name.size = text, strlen(text)
    column = abi.TVMFFIGetTypeAttrColumn(&name)
    if column == NULL:
        return NULL
    slot = abi.kTVMFFIObject - column.begin_index
    if not 0 <= slot < column.size or column.data[slot].type_index != abi.kTVMFFIOpaquePtr:
        return NULL
    return <_ReleaseNested>column.data[slot].v_ptr


cdef void _release_now(void* object, int flags) noexcept nogil:
    _release(object)


cdef void release_python_object(void* object) noexcept nogil:
    if _release_nested == NULL:
        _release(object)
    else:  # given both flags, the runtime does not read `object`, which is a Python object
        _release_nested(object, abi.kTVMFFIObjectDeleterFlagBitMaskBoth, _release_now)


cdef int call_in_python(
    abi.TVMFFISafeCallType run, void* self, const abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result,
) noexcept nogil:
    return _call(run, self, args, num_args, result)


cdef int check_signals() noexcept nogil:
    return _check_signals()


cdef class _ExitHandler:
    """Exit handler that closes the gate after all exit handlers have run.

    Handlers registered earlier run later, and may need callbacks from other threads.  So the gate
    is closed not when the handler is called but when it is destroyed: Python releases all handlers
    after it has called them.  The handler is destroyed earlier if Python code runs the handlers
    (`atexit._run_exitfuncs`) or removes them (`atexit._clear`), as multiprocessing does in forked
    workers.  Then a new handler is registered.
    """

    cdef bint was_called

    def __call__(self):
        self.was_called = True

    def __dealloc__(self):
        global _has_exit_handler
        # Without a Python frame on this thread, the interpreter itself is shutting down.
        if self.was_called and PyEval_GetFrame() == NULL:
            _close_gate()
        elif not is_finalizing():
            # Register a new handler later: `atexit` drops handlers that are added while it clears
            # its list.
            _has_exit_handler = False
            # If Py_AddPendingCall fails, the next `own_python_object` registers the handler.
            Py_AddPendingCall(_ensure_exit_handler, NULL)


def _own_gate_of_child_process():
    _own_gate_of_child()


cdef bint _has_exit_handler = False
cdef bint _has_fork_handler = False


def _register_exit_handler():
    """Register the exit handler that closes the gate, and the fork handler."""
    global _has_fork_handler
    if not _has_fork_handler:
        _has_fork_handler = True
        if hasattr(os, "register_at_fork"):  # not on systems without fork
            os.register_at_fork(after_in_child=_own_gate_of_child_process)
    atexit.register(_ExitHandler())


cdef int _ensure_exit_handler(void* ignored) noexcept:
    global _has_exit_handler
    if not _has_exit_handler and not is_finalizing():
        _has_exit_handler = True
        try:
            _register_exit_handler()
        except Exception:
            pass  # the gate stays open; a thread that enters during shutdown blocks
    return 0


cdef void own_python_object(object value) noexcept:
    Py_INCREF(value)
    if not _has_exit_handler:
        _ensure_exit_handler(NULL)


_own_gate_if_main()
