/* SPDX-License-Identifier: Apache-2.0
 *
 * C API for observers: tracers, recorders and counters that see calls of functions.
 *
 * The runtime replaces the entries (safe_call, cpp_call) of the observed function objects, each
 * with one atomic store, so that every caller in every language enters the observers.  A function
 * that is not observed keeps its own entries: its calls execute no additional instruction.
 *
 * An observer sees the calls of these functions, at all times:
 *   - global functions
 *   - functions of modules
 *   - methods of types, under the name "type_key.method"
 *   - functions that TVMFFIFunctionCreate creates after the observer was added
 *   - functions for which a client calls TVMFFIObserverShow
 * It does not see: calls of a C symbol without a function object; other function objects that
 * inlined C++ code creates; calls that an observer makes itself.
 *
 * These functions are extensions of the specification by this implementation; return codes,
 * ownership and out-parameters follow the conventions of tvm/ffi/c_api.h. */
#ifndef TVM_FFI_EXTRA_C_OBSERVE_H_
#define TVM_FFI_EXTRA_C_OBSERVE_H_

#include <tvm/ffi/c_api.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A call, as its observers see it; borrowed until the hook returns.
 *
 *   offset  bytes  field
 *   0       16     name
 *   16      8      args
 *   24      4      num_args
 *   28      4      name_index
 *   32      8      function
 *   40      8      result
 *   48      4      status
 *   52      4      has_returned
 *   56      8      slot
 *   64      8      error    (72 in all) */
typedef struct TVMFFIObservedCall {
  TVMFFIByteArray name;        /* UTF-8, NUL-terminated, never freed; empty: no name is known */
  const TVMFFIAny* args;       /* borrowed; after the call, moved arguments are null */
  int32_t num_args;            /* the number of arguments as passed by the caller */
  int32_t name_index;          /* the index of the name among all observed names, from 0 */
  TVMFFIObjectHandle function; /* borrowed; NULL in `end`, because a call may release it */
  /* In `begin` NULL.  In `end` the result, or the pending Error if status is not 0; None if the
   * call ended with a C++ exception or the cancellation of its thread.  Borrowed. */
  const TVMFFIAny* result;
  int32_t status; /* in `end`: the return code of the function, 0 for success */
  int32_t
      has_returned; /* in `end`: 0 if a C++ exception or a cancellation ended the call, else 1 */
  /* The caller's result slot.  In `begin` None; a hook may fill its unused bytes there, and set
   * them to 0 in `end`. */
  TVMFFIAny* slot;
  TVMFFIObjectHandle error; /* the pending Error of the thread, or NULL; borrowed */
} TVMFFIObservedCall;

/* The hooks of an observer.
 *
 * Both hooks run on the thread of the call, with the locks of the caller, such as the GIL of
 * Python, and in any thread, also without Python.  Calls that a hook makes are not observed.  The
 * calls of a thread are nested: `end` of the inner call precedes `end` of the outer call.  For one
 * call, the observers end in the reverse of the order in which they began.  A hook must not fail: a
 * pending error that a hook leaves is dropped, and an observer whose hook throws a C++ exception is
 * removed, with a message on stderr. */
typedef struct TVMFFIObserver {
  size_t struct_size; /* sizeof(TVMFFIObserver); identifies the version of the struct */
  void* context;      /* passed to the hooks; consumed by TVMFFIObserverAdd on success */
  /* Called before the function; returns a token for `end`. */
  void* (*begin)(void* context, const TVMFFIObservedCall* call);
  /* Called after the function, once for each call of `begin`, also if the observer was removed
   * during the call. */
  void (*end)(void* context, const TVMFFIObservedCall* call, void* token);
  /* NULL, or called once after the observer was removed and its last call has ended, on the thread
   * that does the last of both. */
  void (*deleter)(void* context);
  /* The names of the functions to observe, borrowed until TVMFFIObserverAdd returns.  A name that
   * ends with an asterisk is a prefix. */
  const TVMFFIByteArray* names;
  size_t num_names; /* 0: observe all functions */
} TVMFFIObserver;

/* Add an observer.  Calls that begin after this function returns are observed; calls in progress
 * are not.
 *
 * observer   borrowed until the call returns, except its context.
 * out        receives the number of the observer, for TVMFFIObserverRemove.
 * Fails: ValueError if struct_size is too small or a hook is NULL; RuntimeError if 8 observers
 *        exist.     Threads: any, also in hooks. */
TVM_FFI_DLL int TVMFFIObserverAdd(const TVMFFIObserver* observer, int64_t* out);

/* Remove an observer.  No call begins in the observer after this function returns; calls in
 * progress still end in it.  A function without observers gets its entries back: immediately if it
 * is a global function or a function of a module, else at the start of its next call.
 *
 * observer   the number from TVMFFIObserverAdd.
 * Fails: ValueError if there is no such observer.     Threads: any, also in hooks. */
TVM_FFI_DLL int TVMFFIObserverRemove(int64_t observer);

/* Show a function to the observers: existing observers see its calls from now on.  Without
 * observers, the call does nothing.
 *
 * function   borrowed.
 * name       borrowed until the call returns; NULL: no name is known.  Ignored if the function is
 *            observed under a name already.  The name of a global function, of a module's function
 *            or of a method replaces this name.
 * Fails: MemoryError.     Threads: any. */
TVM_FFI_DLL int TVMFFIObserverShow(TVMFFIObjectHandle function, const TVMFFIByteArray* name);

/* Return the number of observers, for clients that compute a name only if somebody observes.
 *
 * Fails: never.     Threads: any; no lock. */
TVM_FFI_DLL int32_t TVMFFIObserverCount(void);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* TVM_FFI_EXTRA_C_OBSERVE_H_ */
