# SPDX-License-Identifier: Apache-2.0
"""The gate that threads without the GIL enter the interpreter by.

Before version 3.14, Python ends each thread that waits for the GIL while the interpreter shuts
down, by unwinding its stack; from 3.14 on such a thread hangs.  A destructor may not be unwound:
the process would end with it.  So the gate is closed before the interpreter shuts down, see
docs/design/exit.md.

1. Who enters is counted before it is looked whether the gate is closed.  Who closes it does both in
   the other order, and waits until nobody is left inside.
2. Native threads that come later leave Python objects alone and are refused callbacks.  Threads of
   Python may call as before, until it stops them.
3. A thread that stays inside for longer is stopped by Python at some time.  It waits for the end of
   the process then, as from 3.14 on, instead of being unwound.
4. The thread that ends the interpreter enters as long as there is one: finalizers run.
"""

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
    #include <sys/syscall.h>
    #include <tvm/ffi/c_api.h>
    #include <unistd.h>

    /* How long the gate waits for those inside: a destructor takes microseconds, but a callback
     * may be meant to run for ever. */
    #define TVM_FFI_PATIENCE_US 200000
    #define TVM_FFI_STEP_US 100

    static struct {
      int64_t num_inside;
      int is_closed;
      /* The thread that ends the interpreter, or will as far as is known; not counted.  0: no such
       * thread is known, which is no thread's own number. */
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

    /* A forked child has this thread alone, and the others are not inside any more. */
    static void tvm_ffi_own_gate_of_child(void) {
      __atomic_store_n(&tvm_ffi_gate.num_inside, 0, __ATOMIC_SEQ_CST);
      tvm_ffi_own_gate();
    }

    /* How a thread has entered. */
    typedef enum { TVM_FFI_REFUSED, TVM_FFI_COUNTED, TVM_FFI_FREE } tvm_ffi_entry_t;

    static inline void tvm_ffi_leave(tvm_ffi_entry_t entry) {
      if (entry == TVM_FFI_COUNTED) {
        __atomic_fetch_sub(&tvm_ffi_gate.num_inside, 1, __ATOMIC_SEQ_CST);
      }
    }

    /* Whether Python knows this thread, with the GIL or while native code runs without it. */
    static inline int tvm_ffi_is_pythons(void) { return PyGILState_GetThisThreadState() != NULL; }

    /* Whether the thread has the GIL; without one, whether Python waits for it. */
    static inline int tvm_ffi_is_in_python(void) {
      return tvm_ffi_is_pythons() && PyGILState_Check();
    }

    static inline tvm_ffi_entry_t tvm_ffi_enter(int is_call) {
      tvm_ffi_entry_t entry = TVM_FFI_COUNTED;
      if (tvm_ffi_owns_gate()) { /* its state is the last one that Python lets go of */
        return Py_IsInitialized() || tvm_ffi_is_pythons() ? TVM_FFI_FREE : TVM_FFI_REFUSED;
      }
      __atomic_fetch_add(&tvm_ffi_gate.num_inside, 1, __ATOMIC_SEQ_CST);
      if (__atomic_load_n(&tvm_ffi_gate.is_closed, __ATOMIC_SEQ_CST)) {
        tvm_ffi_leave(entry);
        /* Code in Python that called native code would see the refusal of a callback, and say so:
         * its thread is treated as if it came back, and had to wait for the GIL.  Destructors
         * may have locks, so they do not wait. */
        entry = (is_call ? tvm_ffi_is_pythons() : tvm_ffi_is_in_python()) ? TVM_FFI_FREE
                                                                          : TVM_FFI_REFUSED;
      }
      /* The interpreter may end without its exit handlers, and outlive them. */
      if ((!Py_IsInitialized() || tvm_ffi_is_finalizing()) && !tvm_ffi_is_in_python()) {
        tvm_ffi_leave(entry);
        entry = TVM_FFI_REFUSED;
      }
      return entry;
    }

    /* Runs when Python ends a thread that is inside. */
    static void tvm_ffi_stay(void* ignored) {
      (void)ignored;
      if (!tvm_ffi_is_finalizing()) return; /* the thread is cancelled, or its own code ends it */
      for (;;) pause();
    }

    static void tvm_ffi_release(void* object) {
      PyGILState_STATE state;
      tvm_ffi_entry_t entry = tvm_ffi_enter(0);
      if (entry == TVM_FFI_REFUSED) return;
      pthread_cleanup_push(tvm_ffi_stay, NULL);
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
      pthread_cleanup_push(tvm_ffi_stay, NULL);
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
      if (owner != 0 && owner != pthread_self()) return 0; /* signals are not for it */
      entry = tvm_ffi_enter(0);
      if (entry == TVM_FFI_REFUSED) return 0;
      pthread_cleanup_push(tvm_ffi_stay, NULL);
      state = PyGILState_Ensure();
      code = PyErr_CheckSignals();
      PyGILState_Release(state);
      pthread_cleanup_pop(0);
      tvm_ffi_leave(entry);
      return code;
    }

    /* Called with the GIL held, by the thread that ends the interpreter. */
    static void tvm_ffi_close_gate(void) {
      PyThreadState* thread;
      int waited_us = 0;
      tvm_ffi_own_gate();
      __atomic_store_n(&tvm_ffi_gate.is_closed, 1, __ATOMIC_SEQ_CST);
      if (__atomic_load_n(&tvm_ffi_gate.num_inside, __ATOMIC_SEQ_CST) <= 0) return;
      thread = PyEval_SaveThread();
      while (waited_us < TVM_FFI_PATIENCE_US &&
             __atomic_load_n(&tvm_ffi_gate.num_inside, __ATOMIC_SEQ_CST) > 0) {
        usleep(TVM_FFI_STEP_US);
        waited_us += TVM_FFI_STEP_US;
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


ctypedef void (*_ReleaseInTurn)(
    void* object, int flags, void (*deleter)(void*, int) noexcept nogil) noexcept nogil

# What the runtime releases objects by that may be nested deeply, see docs/design/nested-release.md.
# NULL: an older runtime has none.
cdef _ReleaseInTurn _release_in_turn = _find_release_in_turn()


cdef _ReleaseInTurn _find_release_in_turn() noexcept:
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
    return <_ReleaseInTurn>column.data[slot].v_ptr


cdef void _release_now(void* object, int flags) noexcept nogil:
    _release(object)


cdef void release_python_object(void* object) noexcept nogil:
    if _release_in_turn == NULL:
        _release(object)
    else:  # both flags: then it does not matter that the object is none of the runtime's
        _release_in_turn(object, abi.kTVMFFIObjectDeleterFlagBitMaskBoth, _release_now)


cdef int call_in_python(
    abi.TVMFFISafeCallType run, void* self, const abi.TVMFFIAny* args, int32_t num_args,
    abi.TVMFFIAny* result,
) noexcept nogil:
    return _call(run, self, args, num_args, result)


cdef int check_signals() noexcept nogil:
    return _check_signals()


cdef class _ExitHandler:
    """Closes the gate when the last exit handler has run.

    Those that were registered earlier run later, and may need callbacks from other threads.  But
    handlers are let go after all of them have run, which is when this one dies.  It dies before
    the end where Python code has run the handlers (`atexit._run_exitfuncs`) or forgotten them
    (`atexit._clear`), as multiprocessing does in forked workers; another one takes its place then.
    """

    cdef bint was_called

    def __call__(self):
        self.was_called = True

    def __dealloc__(self):
        global _is_watched
        # The interpreter calls the handlers when no Python code is left that runs on this thread.
        if self.was_called and PyEval_GetFrame() == NULL:
            _close_gate()
        elif not is_finalizing():
            # Not now: until it has let go of all handlers, `atexit` loses those that are added.
            _is_watched = False
            Py_AddPendingCall(_watch_again, NULL)  # if it fails: with the next Python object


def _own_gate_of_child_process():
    _own_gate_of_child()


cdef bint _is_watched = False
cdef bint _is_told_of_forks = False


def _watch():
    """See to it that the gate is closed."""
    global _is_told_of_forks
    import atexit
    import os

    if not _is_told_of_forks:
        _is_told_of_forks = True
        os.register_at_fork(after_in_child=_own_gate_of_child_process)
    atexit.register(_ExitHandler())


cdef int _watch_again(void* ignored) noexcept:
    global _is_watched
    if not _is_watched and not is_finalizing():
        _is_watched = True
        try:
            _watch()
        except Exception:
            pass  # the gate stays open: a thread that comes too late waits for the end
    return 0


cdef void own_python_object(object value) noexcept:
    Py_INCREF(value)
    if not _is_watched:
        _watch_again(NULL)


_own_gate_if_main()
