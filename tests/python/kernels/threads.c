/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that use native threads, and kernels that run for some time. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernel.h"

/* ---- Calls on another thread --------------------------------------------------------------- */

typedef struct Call {
  TVMFFIObjectHandle function;
  TVMFFIAny* args;
  int32_t num_args;
  TVMFFIAny result;
  int code;
  TVMFFIObjectHandle error;
} Call;

static void* RunCall(void* argument) {
  Call* call = (Call*)argument;
  call->code = TVMFFIFunctionCall(call->function, call->args, call->num_args, &call->result);
  /* The error slot belongs to this thread, so the error is passed to the caller in the struct. */
  if (call->code != 0) TVMFFIErrorMoveFromRaised(&call->error);
  return NULL;
}

static int RunOnThread(void* (*run)(void*), void* argument) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, run, argument) != 0) {
    TVMFFIErrorSetRaisedFromCStr("RuntimeError", "no more threads");
    return -1;
  }
  return pthread_join(thread, NULL);
}

/* call_on_thread(f, args...) returns f(args...), called on a new native thread. */
KERNEL(call_on_thread) {
  Call call = {FunctionArgument(&args[0]), (TVMFFIAny*)(args + 1), num_args - 1, None(), 0, NULL};
  if (call.function == NULL || RunOnThread(&RunCall, &call) != 0) return -1;
  if (call.code == 0) {
    *result = call.result;
    return 0;
  }
  if (call.error != NULL) {
    TVMFFIErrorSetRaised(call.error);
    TVMFFIObjectDecRef(call.error);
  }
  return call.code;
}

static void* DropReference(void* object) {
  TVMFFIObjectDecRef(object);
  return NULL;
}

/* The object that release_on_thread releases, on a new native thread. */
static TVMFFIObject* kept_object;

KERNEL(keep_object) {
  TVMFFIAny owned;
  if (TVMFFIAnyViewToOwnedAny(&args[0], &owned) != 0) return -1;
  if (owned.type_index < kTVMFFIStaticObjectBegin) return -1;
  kept_object = owned.v_obj;
  return 0;
}

KERNEL(release_on_thread) {
  TVMFFIObject* object = kept_object;
  kept_object = NULL;
  return object == NULL ? -1 : RunOnThread(&DropReference, object);
}

/* ---- Destructors that wait ---------------------------------------------------------------------
 */

/* An object whose destructor calls a function on a new thread and waits up to a time limit. */
typedef struct Waiting {
  TVMFFIObject header;
  TVMFFIObjectHandle function; /* owned */
  int64_t patience_ms;
} Waiting;

static int64_t num_stuck;

/* A function that a thread calls, and whether the call has ended. */
typedef struct AwaitedCall {
  TVMFFIObjectHandle function; /* owned */
  int has_ended;
} AwaitedCall;

static void* CallAndDrop(void* call) {
  TVMFFIAny result = None();
  TVMFFIFunctionCall(((AwaitedCall*)call)->function, NULL, 0, &result);
  Release(&result);
  TVMFFIObjectDecRef(((AwaitedCall*)call)->function);
  __atomic_store_n(&((AwaitedCall*)call)->has_ended, 1, __ATOMIC_RELEASE);
  return NULL;
}

/* Return 1 if the function returned within the time limit; a call that did not is never freed. */
static int CallOnThread(TVMFFIObjectHandle function, int64_t patience_ms) {
  pthread_t thread;
  AwaitedCall* call = (AwaitedCall*)calloc(1, sizeof(AwaitedCall));
  if (call == NULL) return 0;
  call->function = function;
  if (pthread_create(&thread, NULL, &CallAndDrop, call) != 0) return 0;
  for (; !__atomic_load_n(&call->has_ended, __ATOMIC_ACQUIRE); --patience_ms) {
    if (patience_ms == 0) return 0;
    usleep(1000);
  }
  pthread_join(thread, NULL);
  free(call);
  return 1;
}

static void EndWaiting(void* self, int flags) {
  Waiting* waiting = (Waiting*)self;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) &&
      !CallOnThread(waiting->function, waiting->patience_ms)) {
    ++num_stuck;
  }
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(waiting);
}

/* new_waiting(f, ms) returns an object whose destructor calls f() on a new thread and waits. */
KERNEL(new_waiting) {
  TVMFFIObjectHandle function = FunctionArgument(&args[0]);
  Waiting* waiting = function == NULL ? NULL : (Waiting*)malloc(sizeof(Waiting));
  if (waiting == NULL) return -1;
  TVMFFIObjectIncRef(function);
  waiting->header = (TVMFFIObject){TVM_FFI_REF_COUNT_INITIAL, kTVMFFIObject, 0, {&EndWaiting}};
  waiting->function = function;
  waiting->patience_ms = args[1].v_int64;
  *result = None();
  result->type_index = kTVMFFIObject;
  result->v_obj = &waiting->header;
  return 0;
}

/* Returns the number of destructors that reached their time limit since the last call. */
KERNEL(take_stuck) {
  ReturnInt(result, num_stuck);
  num_stuck = 0;
  return 0;
}

/* ---- Calls while and after Python shuts down ------------------------------------------------- */

static void ReportCall(const char* when, TVMFFIObjectHandle function) {
  TVMFFIAny result = None();
  TVMFFIObjectHandle error = NULL;
  int code = TVMFFIFunctionCall(function, NULL, 0, &result);
  if (code == 0) {
    printf("%s: called\n", when);
    Release(&result);
  } else {
    TVMFFIErrorMoveFromRaised(&error);
    TVMFFIByteArray message = {"no error", 8};
    if (error != NULL) message = TVMFFIErrorGetCellPtr(error)->message;
    printf("%s: %.*s\n", when, (int)message.size, message.data);
    TVMFFIObjectDecRef(error);
  }
  fflush(stdout);
}

static void CallAtExit(void) {
  ReportCall("at exit", kept_object);
  TVMFFIObjectDecRef(kept_object);
  printf("released\n");
  fflush(stdout);
}

/* Calls and releases the stored function when the process exits, after the interpreter has ended.
 * */
KERNEL(call_at_exit) { return atexit(&CallAtExit); }

static void* CallForEver(void* function) {
  TVMFFIAny result;
  for (;;) {
    result = None();
    if (TVMFFIFunctionCall(function, NULL, 0, &result) != 0) {
      TVMFFIObjectHandle error = NULL;
      TVMFFIErrorMoveFromRaised(&error);
      TVMFFIObjectDecRef(error);
    }
    Release(&result);
    usleep(100);
  }
  return NULL;
}

/* Starts a thread that calls the stored function until the process ends. */
KERNEL(call_for_ever) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, &CallForEver, kept_object) != 0) return -1;
  return pthread_detach(thread);
}

/* ---- Taking time ------------------------------------------------------------------------------
 */

/* watch(x, ms) returns true if the first int64 of x changes within `ms` milliseconds. */
KERNEL(watch) {
  DLTensor* tensor = TensorArgument(&args[0]);
  if (tensor == NULL) return -1;
  const volatile int64_t* watched = (const volatile int64_t*)tensor->data;
  int64_t start = *watched;
  for (int64_t waited_ms = 0; waited_ms < args[1].v_int64; ++waited_ms) {
    if (*watched != start) return Return(result, kTVMFFIBool, 1);
    usleep(1000);
  }
  return Return(result, kTVMFFIBool, 0);
}
