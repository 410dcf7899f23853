/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that each break one rule of the ABI or of their signature. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "kernel.h"

static int ReturnText(const char* text, TVMFFIAny* result) {
  TVMFFIByteArray view = {text, strlen(text)};
  return TVMFFIStringFromByteArray(&view, result);
}

#define SIGNATURE(name, text) \
  KERNEL(_metadata_##name) { return ReturnText("{\"signature\": \"" #name text "\"}", result); }

static int Fail(const char* kind, const char* message, int code) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return code;
}

static float* Floats(const TVMFFIAny* arg) {
  DLTensor* tensor = TensorArgument(arg);
  return (float*)((char*)tensor->data + tensor->byte_offset);
}
static int64_t Extent(const TVMFFIAny* arg) { return TensorArgument(arg)->shape[0]; }

/* ---- Results ------------------------------------------------------------------------------- */

KERNEL(padding_unwritten) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = 1;
  return 0;
}

KERNEL(padding_garbage) {
  Return(result, kTVMFFIFloat, 0);
  result->zero_padding = 7;
  return 0;
}

KERNEL(bool_two) { return Return(result, kTVMFFIBool, 2); }

KERNEL(bool_byte) {
  result->type_index = kTVMFFIBool;
  result->zero_padding = 0;
  *(unsigned char*)&result->v_int64 = 1;
  return 0;
}

KERNEL(dtype_half) {
  DLDataType dtype = {kDLFloat, 32, 1};
  result->type_index = kTVMFFIDataType;
  result->zero_padding = 0;
  result->v_dtype = dtype;
  return 0;
}

KERNEL(none_with_payload) { return Return(result, kTVMFFINone, 5); }

KERNEL(payload_unwritten) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  return 0;
}

KERNEL(small_string_too_long) {
  Return(result, kTVMFFISmallStr, 0);
  result->small_str_len = 9;
  return 0;
}

KERNEL(small_string_tail) {
  result->type_index = kTVMFFISmallStr;
  result->small_str_len = 2;
  memcpy(result->v_bytes, "abcd", 4);
  return 0;
}

KERNEL(unknown_index) { return Return(result, 40, 0); }

KERNEL(negative_index) { return Return(result, -3, 0); }

KERNEL(unknown_object_index) { return Return(result, 1000000, args[0].v_int64); }

KERNEL(null_tensor) { return Return(result, kTVMFFITensor, 0); }

KERNEL(wrong_object_type) {
  TVMFFIObjectIncRef(args[0].v_obj);
  return Return(result, kTVMFFIFunction, args[0].v_int64);
}

KERNEL(raw_string) { return Return(result, kTVMFFIRawStr, (int64_t)(intptr_t)"static"); }

KERNEL(byte_array) {
  static TVMFFIByteArray bytes = {"static", 6};
  return Return(result, kTVMFFIByteArrayPtr, (int64_t)(intptr_t)&bytes);
}

KERNEL(view_of_argument) {
  return Return(result, kTVMFFIDLTensorPtr, (int64_t)(intptr_t)TensorArgument(&args[0]));
}

KERNEL(moved_reference) {
  static TVMFFIObject* slot;
  return Return(result, kTVMFFIObjectRValueRef, (int64_t)(intptr_t)&slot);
}

SIGNATURE(no_result, "(x: int) -> int")
KERNEL(no_result) { return 0; }

SIGNATURE(none_result, "(x: int) -> int")
KERNEL(none_result) { return Return(result, kTVMFFINone, 0); }

/* ---- Errors -------------------------------------------------------------------------------- */

KERNEL(fails_silently) { return -1; }

KERNEL(succeeds_with_error) { return Fail("ValueError", "ignored", 0); }

KERNEL(returns_five) { return Fail("ValueError", "failed", 5); }

KERNEL(error_without_text) { return Fail("ValueError", "", -1); }

KERNEL(error_of_unknown_kind) { return Fail("KernelFailure", "failed", -1); }

KERNEL(error_without_kind) { return Fail("", "failed", -1); }

KERNEL(fails_with_result) {
  ReturnText("a string on the heap", result);
  return Fail("ValueError", "failed", -1);
}

/* ---- References ---------------------------------------------------------------------------- */

SIGNATURE(releases_argument, "(x: Any)")
KERNEL(releases_argument) {
  TVMFFIObjectDecRef(args[0].v_obj);
  return 0;
}

KERNEL(returns_argument) {
  *result = args[0];
  return 0;
}

SIGNATURE(keeps_argument, "(x: Any)")
KERNEL(keeps_argument) {
  TVMFFIObjectIncRef(args[0].v_obj);
  return 0;
}

KERNEL(keeps_on_error) {
  TVMFFIObjectIncRef(args[0].v_obj);
  return Fail("ValueError", "failed", -1);
}

/* release(x, n) releases references that other kernels kept. */
KERNEL(release) {
  for (int64_t i = 0; i < args[1].v_int64; ++i) TVMFFIObjectDecRef(args[0].v_obj);
  return 0;
}

KERNEL(writes_arguments) {
  ((TVMFFIAny*)args)[0].v_int64 = 5;
  return 0;
}

KERNEL(passes_null) {
  TVMFFIAny null = None();
  null.type_index = kTVMFFITensor;
  return TVMFFIFunctionCall(FunctionArgument(&args[0]), &null, 1, result);
}

KERNEL(passes_full_slot) {
  TVMFFIAny slot = None();
  if (ReturnText("a string on the heap", &slot) != 0) return -1;
  TVMFFIAny owned = slot;
  int code = TVMFFIFunctionCall(FunctionArgument(&args[0]), NULL, 0, &slot);
  Release(&owned);
  return code;
}

KERNEL(right) { return 0; }

/* ---- Released objects ----------------------------------------------------------------------- */

/* make_tensor(n) returns a tensor of n float32 zeros. */
KERNEL(make_tensor) {
  int64_t stride = 1;
  DLTensor prototype = {NULL, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, &args[0].v_int64, &stride, 0};
  TVMFFIObjectHandle tensor;
  if (TVMFFIEnvTensorAlloc(&prototype, &tensor) != 0) return -1;
  memset(TVMFFITensorGetDLTensorPtr(tensor)->data, 0, (size_t)args[0].v_int64 * sizeof(float));
  return Return(result, kTVMFFITensor, (int64_t)(intptr_t)tensor);
}

/* loses_tensor(n) returns None, and leaves a tensor without an owner. */
KERNEL(loses_tensor) {
  TVMFFIAny tensor = None();
  return __tvm_ffi_make_tensor(handle, args, num_args, &tensor);
}

static TVMFFIAny workspaces[16];

/* workspace(n) returns a tensor of n elements that the library keeps. */
KERNEL(workspace) {
  TVMFFIAny* slot = &workspaces[args[0].v_int64 % 16];
  if (slot->type_index == kTVMFFINone && __tvm_ffi_make_tensor(handle, args, num_args, slot) != 0) {
    return -1;
  }
  return TVMFFIAnyViewToOwnedAny(slot, result);
}

/* forget_workspaces() releases them. */
KERNEL(forget_workspaces) {
  for (int i = 0; i < 16; ++i) Release(&workspaces[i]);
  memset(workspaces, 0, sizeof(workspaces));
  return 0;
}

static TVMFFIAny remembered;

/* remember(x) borrows x after the call. */
KERNEL(remember) {
  remembered = args[0];
  return 0;
}

KERNEL(writes_remembered) {
  ((float*)TVMFFITensorGetDLTensorPtr(remembered.v_obj))[1] = 5;
  return 0;
}

static float* remembered_data;
KERNEL(remember_data) {
  remembered_data = Floats(&args[0]);
  return 0;
}
KERNEL(writes_remembered_data) {
  remembered_data[1] = 5;
  return 0;
}

KERNEL(returns_remembered) {
  *result = remembered;
  return 0;
}

KERNEL(passes_remembered) {
  return TVMFFIFunctionCall(FunctionArgument(&args[0]), &remembered, 1, result);
}

KERNEL(releases_remembered) {
  TVMFFIObjectDecRef(remembered.v_obj);
  return 0;
}

KERNEL(acquires_remembered) {
  TVMFFIObjectIncRef(remembered.v_obj);
  return 0;
}

KERNEL(uses_remembered) {
  TVMFFIObjectIncRef(remembered.v_obj);
  TVMFFIObjectDecRef(remembered.v_obj);
  return 0;
}

/* ---- Views --------------------------------------------------------------------------------- */

static TVMFFIAny kept_view;
static const TVMFFIAny* kept_args;

/* keeps_view(x, view) keeps the pointer of a view, and that of its arguments. */
SIGNATURE(keeps_view, "(x: int, view: Any)")
KERNEL(keeps_view) {
  kept_view = args[1];
  kept_args = args;
  return 0;
}

static int64_t NumberIn(const TVMFFIAny* view) {
  if (view->type_index == kTVMFFIRawStr) return view->v_c_str[1];
  if (view->type_index == kTVMFFIByteArrayPtr) return ((TVMFFIByteArray*)view->v_ptr)->data[1];
  return ((DLTensor*)view->v_ptr)->shape[1];
}

/* reads_view(x, view) returns a number in the view, uses_kept_view() one in the kept view. */
KERNEL(reads_view) { return ReturnInt(result, NumberIn(&args[1])); }
KERNEL(uses_kept_view) { return ReturnInt(result, NumberIn(&kept_view)); }

KERNEL(address_of_kept_view) { return ReturnInt(result, (int64_t)(intptr_t)kept_view.v_ptr); }

KERNEL(uses_kept_arguments) { return ReturnInt(result, kept_args[0].v_int64); }

/* lends_view(f, kind, x) calls f(x, view), with a DLTensor*, a string or a byte array that contains
 * the number 65. */
KERNEL(lends_view) {
  int64_t shape[2] = {2, 65}, strides[2] = {65, 1};
  DLTensor tensor = {NULL, {kDLCPU, 0}, 2, {kDLFloat, 32, 1}, shape, strides, 0};
  TVMFFIByteArray bytes = {"BAC", 3};
  TVMFFIAny values[2] = {args[2], args[1]};
  values[1].type_index = (int32_t)args[1].v_int64;
  values[1].v_ptr = &tensor;
  if (args[1].v_int64 == kTVMFFIRawStr) values[1].v_c_str = "BAC";
  if (args[1].v_int64 == kTVMFFIByteArrayPtr) values[1].v_ptr = &bytes;
  return TVMFFIFunctionCall(FunctionArgument(&args[0]), values, 2, result);
}

/* waits(stream) waits for the stream as a library does that knows no capture. */
KERNEL(waits) {
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  int (*wait)(void*) = (int (*)(void*))dlsym(driver, "cuStreamSynchronize");
  wait((void*)(intptr_t)args[0].v_int64);
  return 0;
}

/* ---- Tensors ------------------------------------------------------------------------------- */

SIGNATURE(writes_input, "(x: float32[n], y: out float32[n])")
KERNEL(writes_input) {
  memset(Floats(&args[1]), 0, (size_t)Extent(&args[1]) * sizeof(float));
  Floats(&args[0])[1] = 9;
  return 0;
}

SIGNATURE(writes_last, "(x: float32[n])")
KERNEL(writes_last) {
  Floats(&args[0])[Extent(&args[0]) - 1] = 7;
  return 0;
}

SIGNATURE(writes_first, "(x: float32[n])")
KERNEL(writes_first) {
  Floats(&args[0])[0] = 7;
  return 0;
}

SIGNATURE(writes_middle, "(x: float32[n])")
KERNEL(writes_middle) {
  Floats(&args[0])[Extent(&args[0]) / 2] = 7;
  return 0;
}

/* writes_at(x, i) writes the element i of its input; nothing if i is negative. */
SIGNATURE(writes_at, "(x: float32[n], i: int)")
KERNEL(writes_at) {
  if (args[1].v_int64 >= 0) Floats(&args[0])[args[1].v_int64] += 1;
  return 0;
}

/* skips_at(y, i) writes the elements of its output, except the element i. */
SIGNATURE(skips_at, "(y: out float32[n], i: int)")
KERNEL(skips_at) {
  float* y = Floats(&args[0]);
  int64_t skipped = args[1].v_int64;
  for (int64_t i = 0; i < Extent(&args[0]); ++i) y[i] = i == skipped ? y[i] : 1;
  return 0;
}

/* Writes the elements before and after its argument. */
SIGNATURE(writes_around, "(x: float32[n])")
KERNEL(writes_around) {
  Floats(&args[0])[-1] = 3;
  Floats(&args[0])[Extent(&args[0])] = 3;
  return 0;
}

SIGNATURE(copies_bytes, "(x: uint8[n], y: out uint8[n])")
KERNEL(copies_bytes) {
  memcpy(TensorArgument(&args[1])->data, TensorArgument(&args[0])->data, (size_t)Extent(&args[0]));
  return 0;
}

SIGNATURE(copies, "(x: float32[n], y: out float32[n])")
KERNEL(copies) {
  memcpy(Floats(&args[1]), Floats(&args[0]), (size_t)Extent(&args[1]) * sizeof(float));
  return 0;
}

SIGNATURE(sorts_in_place, "(x: float32[n]) -> float")
KERNEL(sorts_in_place) {
  float* x = Floats(&args[0]);
  float first = x[0];
  x[0] = x[1];
  x[1] = first;
  *result = None();
  result->type_index = kTVMFFIFloat;
  result->v_float64 = x[0];
  return 0;
}

SIGNATURE(skips_last, "(x: float32[n], y: out float32[n])")
KERNEL(skips_last) {
  for (int64_t i = 0; i + 1 < Extent(&args[1]); ++i) Floats(&args[1])[i] = Floats(&args[0])[i];
  return 0;
}

SIGNATURE(skips_middle, "(y: out float32[n])")
KERNEL(skips_middle) {
  for (int64_t i = 0; i < Extent(&args[0]); ++i) {
    if (i != 2) Floats(&args[0])[i] = 0;
  }
  return 0;
}

SIGNATURE(writes_nothing, "(y: out Tensor)")
KERNEL(writes_nothing) { return 0; }

/* Ignores the strides of its output. */
SIGNATURE(ignores_strides, "(y: out float32[n])")
KERNEL(ignores_strides) {
  for (int64_t i = 0; i < Extent(&args[0]); ++i) Floats(&args[0])[i] = 1;
  return 0;
}

SIGNATURE(writes_nan, "(y: out float32[n])")
KERNEL(writes_nan) {
  for (int64_t i = 0; i < Extent(&args[0]); ++i) Floats(&args[0])[i] = i == 1 ? NAN : 0;
  return 0;
}

SIGNATURE(writes_infinity, "(y: inout float32[n])")
KERNEL(writes_infinity) {
  Floats(&args[0])[2] = INFINITY;
  return 0;
}

KERNEL(moves_tensor) {
  TensorArgument(&args[0])->byte_offset += 4;
  return 0;
}

KERNEL(changes_ndim) {
  TensorArgument(&args[0])->ndim = 0;
  return 0;
}

/* ---- Environment --------------------------------------------------------------------------- */

static int Allocate(DLTensor* prototype MAYBE_UNUSED, DLManagedTensorVersioned** out MAYBE_UNUSED,
                    void* error_ctx, void (*set_error)(void*, const char*, const char*)) {
  set_error(error_ctx, "MemoryError", "no memory");
  return -1;
}

/* leaves_allocator() sets an allocator, leaves_allocator(address) sets the given one. */
KERNEL(leaves_allocator) {
  DLPackManagedTensorAllocator allocator = num_args == 0 ? Allocate : args[0].v_ptr;
  return TVMFFIEnvSetDLPackManagedTensorAllocator(allocator, 0, NULL);
}

KERNEL(allocator) { return ReturnPointer(result, TVMFFIEnvGetDLPackManagedTensorAllocator()); }

/* leaves_stream_of(type, id, stream) sets the current stream of a device. */
KERNEL(leaves_stream_of) {
  return TVMFFIEnvSetStream((int32_t)args[0].v_int64, (int32_t)args[1].v_int64,
                            (void*)args[2].v_int64, NULL);
}

/* calls(f, args...) returns f(args...). */
KERNEL(calls) {
  return TVMFFIFunctionCall(FunctionArgument(&args[0]), (TVMFFIAny*)(args + 1), num_args - 1,
                            result);
}
