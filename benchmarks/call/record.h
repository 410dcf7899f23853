/* SPDX-License-Identifier: Apache-2.0
 *
 * benchmark.Record: an object type with one field, one method and a constructor.  It is registered
 * through the C ABI only, so that all implementations use the same type. */
#ifndef BENCHMARKS_CALL_RECORD_H_
#define BENCHMARKS_CALL_RECORD_H_

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

typedef struct {
  TVMFFIObject header;
  int64_t x;
} Record;

static int32_t record_type_index;

static TVMFFIByteArray bytes_of(const char* text) {
  TVMFFIByteArray bytes = {text, strlen(text)};
  return bytes;
}

static void delete_record(void* self, int flags) {
  if (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) free(self);
}

/* Record(x) */
static int create_record(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  Record* record;
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "Record takes one int");
    return -1;
  }
  record = (Record*)malloc(sizeof(Record));
  if (record == NULL) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "Record");
    return -1;
  }
  record->header.combined_ref_count = ((uint64_t)1 << 32) | 1;
  record->header.type_index = record_type_index;
  record->header.__padding = 0;
  record->header.deleter = delete_record;
  record->x = args[0].v_int64;
  result->type_index = record_type_index;
  result->zero_padding = 0;
  result->v_obj = &record->header;
  return 0;
}

static int get_record_field(void* field, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = *(int64_t*)field;
  return 0;
}

/* record.get() */
static int get_record(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  if (num_args != 1 || args[0].type_index != record_type_index) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "get takes a Record");
    return -1;
  }
  return get_record_field(&((Record*)args[0].v_obj)->x, result);
}

static int function_of(TVMFFISafeCallType call, TVMFFIAny* out) {
  TVMFFIObjectHandle function;
  if (TVMFFIFunctionCreate(NULL, call, NULL, &function) != 0) return -1;
  out->type_index = kTVMFFIFunction;
  out->zero_padding = 0;
  out->v_obj = (TVMFFIObject*)function;
  return 0;
}

static int register_members(void) {
  TVMFFIByteArray constructor_name = bytes_of("__ffi_init__");
  TVMFFITypeMetadata metadata = {.total_size = sizeof(Record)};
  TVMFFIFieldInfo field = {.name = bytes_of("x"),
                           .size = sizeof(int64_t),
                           .alignment = sizeof(int64_t),
                           .offset = offsetof(Record, x),
                           .getter = get_record_field,
                           .field_static_type_index = kTVMFFIInt};
  TVMFFIMethodInfo method = {.name = bytes_of("get")};
  TVMFFIAny constructor;
  if (function_of(get_record, &method.method) != 0) return -1;
  if (function_of(create_record, &constructor) != 0) return -1;
  if (TVMFFITypeRegisterMetadata(record_type_index, &metadata) != 0) return -1;
  if (TVMFFITypeRegisterField(record_type_index, &field) != 0) return -1;
  if (TVMFFITypeRegisterMethod(record_type_index, &method) != 0) return -1;
  return TVMFFITypeRegisterAttr(record_type_index, &constructor_name, &constructor);
}

/* register_record(): register the type; calls after the first do nothing. */
TVM_FFI_DLL_EXPORT int __tvm_ffi_register_record(void* handle, const TVMFFIAny* args,
                                                 int32_t num_args, TVMFFIAny* result) {
  TVMFFIByteArray key = bytes_of("benchmark.Record");
  (void)handle, (void)args, (void)num_args, (void)result;
  if (record_type_index != 0) return 0;
  record_type_index = TVMFFITypeGetOrAllocIndex(&key, -1, 1, 0, 0, kTVMFFIObject);
  return register_members();
}

#endif /* BENCHMARKS_CALL_RECORD_H_ */
