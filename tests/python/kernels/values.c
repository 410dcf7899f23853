/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernels that read, return, store or call their arguments. */
#include <malloc.h>
#include <stdlib.h>

#include "kernel.h"

/* ---- Reading ------------------------------------------------------------------------------- */

KERNEL(noop) { return 0; }

KERNEL(count) { return ReturnInt(result, num_args); }

KERNEL(type_index) { return ReturnInt(result, args[0].type_index); }

KERNEL(payload) { return ReturnInt(result, args[0].v_int64); }

KERNEL(padding) { return ReturnInt(result, args[0].zero_padding); }

KERNEL(text_size) { return ReturnInt(result, (int64_t)TextArgument(&args[0]).size); }

KERNEL(text_address) { return ReturnPointer(result, TextArgument(&args[0]).data); }

/* Returns the bytes in use on the heap, or -1 if the C library does not report them. */
KERNEL(heap_bytes) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 33))
  struct mallinfo2 info = mallinfo2();
  return ReturnInt(result, (int64_t)(info.uordblks + info.hblkhd));
#else
  return ReturnInt(result, -1);
#endif
}

/* ---- Returning ----------------------------------------------------------------------------- */

KERNEL(echo) { return TVMFFIAnyViewToOwnedAny(&args[0], result); }

KERNEL(last) { return TVMFFIAnyViewToOwnedAny(&args[num_args - 1], result); }

/* Returns a new heap string or bytes with the content of the argument, whatever its length. */
KERNEL(copy_text) {
  TVMFFIByteArray text = TextArgument(&args[0]);
  int is_bytes = args[0].type_index == kTVMFFISmallBytes || args[0].type_index == kTVMFFIBytes;
  if (is_bytes) return TVMFFIBytesFromByteArray(&text, result);
  return TVMFFIStringFromByteArray(&text, result);
}

/* Returns a string that is not UTF-8: on the heap if the argument is true, else small. */
KERNEL(return_bad_text) {
  TVMFFIByteArray text = {"\xff long and wrong", args[0].v_int64 != 0 ? 16 : 3};
  return TVMFFIStringFromByteArray(&text, result);
}

/* Returns a value of the given type index, which is not allowed in results. */
KERNEL(return_borrowed) {
  static const char text[] = "borrowed";
  static TVMFFIByteArray bytes = {text, 8};
  static void* slot = NULL;
  switch (args[0].v_int64) {
    case kTVMFFIRawStr:
      return Return(result, kTVMFFIRawStr, (int64_t)(intptr_t)text);
    case kTVMFFIByteArrayPtr:
      return Return(result, kTVMFFIByteArrayPtr, (int64_t)(intptr_t)&bytes);
    default:
      return Return(result, (int32_t)args[0].v_int64, (int64_t)(intptr_t)&slot);
  }
}

/* ---- Storing ------------------------------------------------------------------------------- */

static TVMFFIAny kept;

KERNEL(keep) {
  Release(&kept);
  return TVMFFIAnyViewToOwnedAny(&args[0], &kept);
}

KERNEL(kept) { return TVMFFIAnyViewToOwnedAny(&kept, result); }

KERNEL(forget) {
  Release(&kept);
  return 0;
}

/* ---- Calling ------------------------------------------------------------------------------- */

static int CallWith(const TVMFFIAny* function, TVMFFIAny* args, int32_t num_args,
                    TVMFFIAny* result) {
  TVMFFIObjectHandle callee = FunctionArgument(function);
  return callee == NULL ? -1 : TVMFFIFunctionCall(callee, args, num_args, result);
}

/* call(f, args...) returns f(args...). */
KERNEL(call) { return CallWith(&args[0], (TVMFFIAny*)(args + 1), num_args - 1, result); }

/* Calls f without the remaining arguments. */
KERNEL(call_alone) { return CallWith(&args[0], NULL, 0, result); }

/* Calls the stored function. */
KERNEL(call_kept) { return CallWith(&kept, (TVMFFIAny*)args, num_args, result); }

KERNEL(call_with_raw_str) {
  TVMFFIAny arg = None();
  arg.type_index = kTVMFFIRawStr;
  arg.v_c_str = "raw str\xc3\xa9";
  return CallWith(&args[0], &arg, 1, result);
}

KERNEL(call_with_byte_array) {
  TVMFFIByteArray bytes = {"a\0b\xff", 4};
  TVMFFIAny arg = None();
  arg.type_index = kTVMFFIByteArrayPtr;
  arg.v_ptr = &bytes;
  return CallWith(&args[0], &arg, 1, result);
}

/* Calls f with the object passed by move, and returns true if f left the slot empty. */
KERNEL(call_with_moved) {
  TVMFFIAny owned, arg = None(), answer = None();
  int code = TVMFFIAnyViewToOwnedAny(&args[1], &owned);
  if (code != 0) return code;
  TVMFFIObject* slot = owned.v_obj;
  arg.type_index = kTVMFFIObjectRValueRef;
  arg.v_ptr = &slot;
  code = CallWith(&args[0], &arg, 1, &answer);
  Release(&answer);
  int64_t is_taken = slot == NULL;
  if (slot != NULL) TVMFFIObjectDecRef(slot);
  return code != 0 ? code : Return(result, kTVMFFIBool, is_taken);
}

KERNEL(call_with_moved_out) {
  TVMFFIObject* slot = NULL;
  TVMFFIAny arg = None();
  arg.type_index = kTVMFFIObjectRValueRef;
  arg.v_ptr = &slot;
  return CallWith(&args[0], &arg, 1, result);
}

/* Takes an object that was passed by move. */
KERNEL(take) {
  if (args[0].type_index != kTVMFFIObjectRValueRef) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "expected a moved object");
    return -1;
  }
  return TVMFFIAnyViewToOwnedAny(&args[0], result);
}

/* Releases the first argument, passed by move, then returns the reference count of the second. */
KERNEL(take_then_count_owners) {
  TVMFFIAny owned;
  if (TVMFFIAnyViewToOwnedAny(&args[0], &owned) != 0) return -1;
  Release(&owned);
  return ReturnInt(result, (int64_t)(args[1].v_obj->combined_ref_count & 0xFFFFFFFF));
}

/* Passes a DLTensor that is valid only during the call; its memory is overwritten afterwards. */
KERNEL(call_with_borrowed) {
  DLTensor* tensor = TensorArgument(&args[1]);
  if (tensor == NULL) return -1;
  DLTensor* borrowed = (DLTensor*)malloc(sizeof(DLTensor));
  if (borrowed == NULL) return -1;
  *borrowed = *tensor;
  TVMFFIAny arg = None();
  arg.type_index = kTVMFFIDLTensorPtr;
  arg.v_ptr = borrowed;
  int code = CallWith(&args[0], &arg, 1, result);
  memset(borrowed, 0xa5, sizeof(DLTensor));
  free(borrowed);
  return code;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_main(void* handle, const TVMFFIAny* args, int32_t num_args,
                                      TVMFFIAny* result) {
  return __tvm_ffi_count(handle, args, num_args, result);
}

/* ---- Documentation and metadata -------------------------------------------------------------- */

static int ReturnText(const char* text, TVMFFIAny* result) {
  TVMFFIByteArray view = {text, strlen(text)};
  return TVMFFIStringFromByteArray(&view, result);
}

KERNEL(_doc_echo) { return ReturnText("Return the argument.", result); }

KERNEL(_metadata_echo) { return ReturnText("{\"type_schema\": \"{}\", \"cost\": 3}", result); }

/* clamp(x, low, high), with the documentation and metadata that the C++ macros generate. */
KERNEL(clamp) {
  double value = args[0].v_float64;
  *result = args[value < args[1].v_float64 ? 1 : value > args[2].v_float64 ? 2 : 0];
  return 0;
}

KERNEL(_doc_clamp) { return ReturnText("Return x, or the bound it lies beyond.", result); }

KERNEL(_metadata_clamp) {
  return ReturnText(
      "{\"type_schema\": \"{\\\"type\\\":\\\"ffi.Function\\\",\\\"named_args\\\":{\\\"return\\\":"
      "[{\\\"type\\\":\\\"float\\\"}],\\\"params\\\":[{\\\"type\\\":\\\"float\\\"},"
      "{\\\"type\\\":\\\"float\\\"},{\\\"type\\\":\\\"float\\\"}]}}\"}",
      result);
}
