// SPDX-License-Identifier: Apache-2.0
/* Kernels that break one rule each; the symbol is the id of the rule.
 *
 * Arguments: 0 a heap string, 1 a function without parameters, 2 a float32 tensor, 3 an int. */
#include <stdint.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#define KERNEL(name)                                                                               \
  __attribute__((visibility("default"))) int __tvm_ffi_##name(void* handle, const TVMFFIAny* args, \
                                                              int32_t num_args, TVMFFIAny* result)

static void set_value(TVMFFIAny* out, int32_t index, uint32_t padding, int64_t payload) {
  out->type_index = index;
  out->zero_padding = padding;
  out->v_int64 = payload;
}

static TVMFFIObject* new_string(void) {
  TVMFFIAny value = {0};
  TVMFFIByteArray content = {"a text of the heap", 18};
  TVMFFIStringFromByteArray(&content, &value);
  return value.v_obj;
}

static int fail(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

/* --- values ------------------------------------------------------------------------------------
 */

KERNEL(any__padding) {
  set_value(result, kTVMFFIInt, 7, 1);
  return 0;
}
KERNEL(any__payload) {
  set_value(result, kTVMFFINone, 0, 5);
  return 0;
}
KERNEL(any__bool) {
  set_value(result, kTVMFFIBool, 0, 2);
  return 0;
}
KERNEL(any__small_length) {
  set_value(result, kTVMFFISmallStr, 3, 0);
  memcpy(result->v_bytes, "abcdef", 6);
  return 0;
}
KERNEL(any__type_index) {
  set_value(result, 50, 0, 0);
  return 0;
}
KERNEL(any__null_object) {
  set_value(result, kTVMFFIObject, 0, 0);
  return 0;
}
KERNEL(any__object_type) {
  set_value(result, kTVMFFIFunction, 0, args[0].v_int64);
  return 0;
}
KERNEL(padding_not_written) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = 1;
  return 0;
}
KERNEL(padding_of_an_element) {
  TVMFFIAny item;
  set_value(&item, kTVMFFIInt, 9, 1);
  TVMFFIObjectHandle create;
  TVMFFIByteArray name = {"ffi.Array", 9};
  TVMFFIFunctionGetGlobal(&name, &create);
  set_value(result, kTVMFFINone, 0, 0);
  int code = TVMFFIFunctionCall(create, &item, 1, result);
  TVMFFIObjectDecRef(create);
  return code;
}

/* --- calls -------------------------------------------------------------------------------------
 */

KERNEL(call__arguments_constant) {
  ((TVMFFIAny*)args)[3].v_int64 = 9;
  return 0;
}
KERNEL(call__result_cleared) {
  TVMFFIAny slot;
  set_value(&slot, kTVMFFINone, 0, 3);
  return TVMFFIFunctionCall(args[1].v_obj, NULL, 0, &slot);
}
KERNEL(call__result_unset) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  return 0;
}
KERNEL(call__result_borrowed) {
  set_value(result, kTVMFFIRawStr, 0, (int64_t)(intptr_t)"text");
  return 0;
}
KERNEL(tensor_pointer_as_result) {
  set_value(result, kTVMFFIDLTensorPtr, 0, (int64_t)(intptr_t)((char*)args[2].v_obj + 24));
  return 0;
}
KERNEL(byte_array_as_result) {
  static TVMFFIByteArray content = {"text", 4};
  set_value(result, kTVMFFIByteArrayPtr, 0, (int64_t)(intptr_t)&content);
  return 0;
}
KERNEL(rvalue_reference_as_result) {
  static void* slot;
  set_value(result, kTVMFFIObjectRValueRef, 0, (int64_t)(intptr_t)&slot);
  return 0;
}
KERNEL(call__result_on_error) {
  set_value(result, kTVMFFIStr, 0, (int64_t)(intptr_t)new_string());
  return fail("ValueError", "the result stays in the slot");
}
KERNEL(call__return_code) {
  fail("ValueError", "a code that is not defined");
  return 7;
}

/* --- errors ------------------------------------------------------------------------------------
 */

KERNEL(error__missing) { return -1; }
KERNEL(error__unreported) {
  fail("ValueError", "nobody is told");
  return 0;
}
KERNEL(error__text) { return fail("ValueError", ""); }
KERNEL(error__kind) { return fail(NULL, "without a kind"); }
KERNEL(error__object) {
  TVMFFIErrorSetRaised(args[0].v_obj);
  return 0;
}

/* --- objects -----------------------------------------------------------------------------------
 */

KERNEL(object__null_handle) { return TVMFFIObjectIncRef(NULL); }
KERNEL(object__counter) {
  static TVMFFIObject object = {.combined_ref_count = 1, .type_index = kTVMFFIObject};
  return TVMFFIObjectIncRef(&object);
}
KERNEL(object__released_too_often) {
  TVMFFIObject* object = new_string();
  TVMFFIObjectDecRef(object);
  return TVMFFIObjectDecRef(object);
}
KERNEL(argument_released) { return TVMFFIObjectDecRef(args[0].v_obj); }
KERNEL(inline_release_of_a_deleted_object) {
  TVMFFIObject* object = new_string();
  TVMFFIObjectDecRef(object);
  __atomic_fetch_sub(&object->combined_ref_count, 1, __ATOMIC_RELEASE);
  return 0;
}
KERNEL(object__used_after_release) {
  TVMFFIObject* object = new_string();
  TVMFFIObjectDecRef(object);
  return TVMFFIObjectIncRef(object);
}
KERNEL(deleted_object_as_result) {
  TVMFFIObject* object = new_string();
  TVMFFIObjectDecRef(object);
  set_value(result, kTVMFFIStr, 0, (int64_t)(intptr_t)object);
  return 0;
}
KERNEL(object__written_after_release) {
  TVMFFIObject* object = new_string();
  TVMFFIObjectDecRef(object);
  ((char*)object)[40] = 'A';
  return 0;
}
KERNEL(object__leaked) {
  new_string();
  return 0;
}
KERNEL(argument_retained) { return TVMFFIObjectIncRef(args[0].v_obj); }

/* --- types, functions, tensors, environment ----------------------------------------------------
 */

KERNEL(type__ancestors) {
  TVMFFIByteArray key = {"broken.Type", 11};
  TVMFFITypeGetOrAllocIndex(&key, -1, 3, 0, 0, kTVMFFIObject);
  return 0;
}
KERNEL(function__safe_call) {
  TVMFFIObjectHandle function;
  return TVMFFIFunctionCreate(NULL, NULL, NULL, &function);
}
KERNEL(tensor__shape) {
  static DLManagedTensor managed = {.dl_tensor = {.ndim = -1}};
  TVMFFIObjectHandle tensor;
  return TVMFFITensorFromDLPack(&managed, 0, 0, &tensor);
}
KERNEL(dlpack__released_too_often) {
  DLManagedTensorVersioned* managed;
  if (TVMFFITensorToDLPackVersioned(args[2].v_obj, &managed)) return -1;
  void (*deleter)(DLManagedTensorVersioned*) = managed->deleter;
  deleter(managed);
  deleter(managed);
  return 0;
}

static int broken_allocator(DLTensor* prototype, DLManagedTensorVersioned** out, void* context,
                            void (*set_error)(void*, const char*, const char*)) {
  return -1;
}
KERNEL(allocator__result) {
  DLPackManagedTensorAllocator old;
  TVMFFIObjectHandle tensor;
  TVMFFIEnvSetDLPackManagedTensorAllocator(broken_allocator, 0, &old);
  int code = TVMFFIEnvTensorAlloc((DLTensor*)((char*)args[2].v_obj + 24), &tensor);
  TVMFFIEnvSetDLPackManagedTensorAllocator(old, 0, NULL);
  return code ? fail("MemoryError", "no tensor") : 0;
}
