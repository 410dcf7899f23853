// SPDX-License-Identifier: Apache-2.0
/* Kernels that keep all rules, in C: each uses another part of the ABI. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#define EXPORT __attribute__((visibility("default")))
#define KERNEL(name)                                                                 \
  EXPORT int __tvm_ffi_##name(void* handle, const TVMFFIAny* args, int32_t num_args, \
                              TVMFFIAny* result)

static int return_int(TVMFFIAny* result, int64_t value) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = value;
  return 0;
}

static DLTensor* tensor_of(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFIDLTensorPtr) return (DLTensor*)value->v_ptr;
  return (DLTensor*)((char*)value->v_obj + sizeof(TVMFFIObject));
}

/* y = x + 1; leaves the result slot, which the caller has set to None. */
KERNEL(add_one) {
  DLTensor *x = tensor_of(&args[0]), *y = tensor_of(&args[1]);
  if (x->shape[0] != y->shape[0]) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "`y` must be as long as `x`");
    return -1;
  }
  for (int64_t i = 0; i < x->shape[0]; ++i) ((float*)y->data)[i] = ((float*)x->data)[i] + 1;
  return 0;
}

/* Calls args[0] with args[1]; the result of the callee is the result. */
KERNEL(apply) {
  memset(result, 0, sizeof(*result));
  return TVMFFIFunctionCall(args[0].v_obj, (TVMFFIAny*)&args[1], 1, result);
}

/* Catches the error of args[0] and returns its kind and message. */
KERNEL(catch_error) {
  TVMFFIAny ignored = {0};
  if (TVMFFIFunctionCall(args[0].v_obj, NULL, 0, &ignored) == 0) return return_int(result, 0);
  TVMFFIObjectHandle error;
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  char text[128];
  int size = snprintf(text, sizeof(text), "%.*s/%.*s", (int)cell->kind.size, cell->kind.data,
                      (int)cell->message.size, cell->message.data);
  TVMFFIObjectDecRef(error);
  TVMFFIByteArray content = {text, (size_t)size};
  return TVMFFIStringFromByteArray(&content, result);
}

/* A closure with state: adds args[0] to each argument. */
static int add_state(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  return return_int(result, *(int64_t*)self + args[0].v_int64);
}
KERNEL(make_adder) {
  int64_t* state = malloc(sizeof(*state));
  *state = args[0].v_int64;
  TVMFFIObjectHandle function;
  if (TVMFFIFunctionCreate(state, add_state, free, &function)) return -1;
  result->type_index = kTVMFFIFunction;
  result->zero_padding = 0;
  result->v_obj = function;
  return 0;
}

/* Looks a global function up and calls it. */
KERNEL(call_global) {
  TVMFFIByteArray name = {"test.global", 11};
  TVMFFIObjectHandle function;
  if (TVMFFIFunctionGetGlobal(&name, &function)) return -1;
  if (function == NULL) return return_int(result, -1);
  memset(result, 0, sizeof(*result));
  int code = TVMFFIFunctionCall(function, (TVMFFIAny*)args, num_args, result);
  TVMFFIObjectDecRef(function);
  return code;
}

/* Exports args[0] through DLPack, imports the result, and returns the new tensor. */
KERNEL(dlpack_round_trip) {
  DLManagedTensorVersioned* managed;
  TVMFFIObjectHandle tensor;
  if (TVMFFITensorToDLPackVersioned(args[0].v_obj, &managed)) return -1;
  if (TVMFFITensorFromDLPackVersioned(managed, 4, 1, &tensor)) {
    managed->deleter(managed);
    return -1;
  }
  result->type_index = kTVMFFITensor;
  result->zero_padding = 0;
  result->v_obj = tensor;
  return 0;
}

/* Each thread raises its own error and must get it back. */
static void* raise_and_take(void* data) {
  char message[32];
  intptr_t wrong = 0;
  snprintf(message, sizeof(message), "thread %d", *(int*)data);
  for (int round = 0; round < 50; ++round) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", message);
    TVMFFIObjectHandle error;
    TVMFFIErrorMoveFromRaised(&error);
    TVMFFIErrorCell* cell = error ? TVMFFIErrorGetCellPtr(error) : NULL;
    wrong += !cell || strncmp(cell->message.data, message, strlen(message)) != 0;
    TVMFFIObjectDecRef(error);
  }
  return (void*)wrong;
}
KERNEL(errors_of_threads) {
  enum { kThreads = 4 };
  pthread_t threads[kThreads];
  int numbers[kThreads];
  intptr_t wrong = 0;
  for (int i = 0; i < kThreads; ++i) {
    numbers[i] = i;
    pthread_create(&threads[i], NULL, raise_and_take, &numbers[i]);
  }
  for (int i = 0; i < kThreads; ++i) {
    void* value;
    pthread_join(threads[i], &value);
    wrong += (intptr_t)value;
  }
  return return_int(result, wrong);
}

/* A thread that ends with a pending error; the next one must not see it. */
static void* leave_error(void* data) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "left behind");
  return NULL;
}
static void* take_error(void* data) {
  TVMFFIObjectHandle error;
  TVMFFIErrorMoveFromRaised(&error);
  return error;
}
KERNEL(error_of_an_ended_thread) {
  pthread_t thread;
  void* seen = NULL;
  pthread_create(&thread, NULL, leave_error, NULL);
  pthread_join(thread, NULL);
  pthread_create(&thread, NULL, take_error, NULL);
  pthread_join(thread, &seen);
  return return_int(result, seen != NULL);
}

static int make_handle(void** out) {
  static int made;
  *out = &made;
  return ++made == 1 ? 0 : 7;
}
static int end_handle(void* handle) { return *(int*)handle == 1 ? 0 : 9; }
KERNEL(handle_once) {
  static void* handle_slot;
  int codes = 0;
  for (int i = 0; i < 3; ++i) codes += TVMFFIHandleInitOnce(&handle_slot, make_handle);
  codes += TVMFFIHandleDeinitOnce(&handle_slot, end_handle);
  return return_int(result, codes + (handle_slot != NULL));
}

KERNEL(stream) {
  TVMFFIStreamHandle old;
  if (TVMFFIEnvSetStream(kDLCUDA, 1, (void*)0x40, NULL)) return -1;
  TVMFFIStreamHandle now = TVMFFIEnvGetStream(kDLCUDA, 1);
  if (TVMFFIEnvSetStream(kDLCUDA, 1, NULL, &old)) return -1;
  return return_int(result, now == old ? (int64_t)(intptr_t)old : -1);
}

/* An allocator with malloc. */
static void free_tensor(DLManagedTensorVersioned* self) {
  free(self->dl_tensor.data);
  free(self->dl_tensor.shape);
  free(self);
}
static int allocate_tensor(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                           void (*set_error)(void*, const char*, const char*)) {
  if (prototype->ndim != 1) {
    set_error(context, "ValueError", "one dimension only");
    return -1;
  }
  DLManagedTensorVersioned* self = calloc(1, sizeof(*self));
  self->version.major = 1;
  self->dl_tensor = *prototype;
  self->dl_tensor.shape = malloc(sizeof(int64_t));
  self->dl_tensor.shape[0] = prototype->shape[0];
  self->dl_tensor.strides = NULL;
  self->dl_tensor.data = calloc((size_t)prototype->shape[0], 4);
  self->deleter = free_tensor;
  *out = self;
  return 0;
}
KERNEL(tensor_like) {
  TVMFFIObjectHandle tensor;
  DLPackManagedTensorAllocator old;
  TVMFFIEnvSetDLPackManagedTensorAllocator(allocate_tensor, 0, &old);
  int code = TVMFFIEnvTensorAlloc(tensor_of(&args[0]), &tensor);
  TVMFFIEnvSetDLPackManagedTensorAllocator(old, 0, NULL);
  if (code) return code;
  result->type_index = kTVMFFITensor;
  result->zero_padding = 0;
  result->v_obj = tensor;
  return 0;
}

KERNEL(big_int) {
  uint64_t words[2] = {5, 1};
  TVMFFIByteArray content = {(const char*)words, sizeof(words)};
  return TVMFFIBigIntFromByteArray(&content, result);
}
KERNEL(big_int_words) {
  TVMFFIByteArray words = TVMFFIBigIntGetContentByteArray(&args[0]);
  return return_int(result, (int64_t)(words.size / 8));
}
