/* SPDX-License-Identifier: Apache-2.0
 *
 * The C ABI in a C program: registers a function, calls it, handles its error, and uses the inline
 * accessors of the header. */
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

static int failures = 0;

#define CHECK(condition)                                                        \
  do {                                                                          \
    if (!(condition)) {                                                         \
      ++failures;                                                               \
      fprintf(stderr, "%s:%d: is false: %s\n", __FILE__, __LINE__, #condition); \
    }                                                                           \
  } while (0)

static TVMFFIByteArray Bytes(const char* text) {
  TVMFFIByteArray bytes;
  bytes.data = text;
  bytes.size = strlen(text);
  return bytes;
}

/* Halves an even int; fails for odd ints. */
static int Halve(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "Halve takes one int");
    return -1;
  }
  if (args[0].v_int64 % 2 != 0) {
    const char* parts[] = {"Halve: ", "the argument is odd"};
    TVMFFIErrorSetRaisedFromCStrParts("ValueError", parts, 2);
    return -1;
  }
  memset(result, 0, sizeof(*result));
  result->type_index = kTVMFFIInt;
  result->v_int64 = args[0].v_int64 / 2;
  return 0;
}

static void TestFunctionIsRegisteredFoundAndCalled(void) {
  TVMFFIByteArray name = Bytes("c_client.halve");
  TVMFFIObjectHandle function = NULL, found = NULL;
  TVMFFIAny arg, result;
  CHECK(TVMFFIFunctionCreate(NULL, &Halve, NULL, &function) == 0);
  CHECK(TVMFFIFunctionSetGlobal(&name, function, 0) == 0);
  CHECK(TVMFFIFunctionGetGlobal(&name, &found) == 0);
  CHECK(found == function);
  CHECK(TVMFFIObjectGetTypeIndex(found) == kTVMFFIFunction);
  CHECK(TVMFFIFunctionGetCellPtr(found)->safe_call == &Halve);

  memset(&arg, 0, sizeof(arg));
  memset(&result, 0, sizeof(result));
  arg.type_index = kTVMFFIInt;
  arg.v_int64 = 42;
  CHECK(TVMFFIFunctionCall(found, &arg, 1, &result) == 0);
  CHECK(result.type_index == kTVMFFIInt && result.v_int64 == 21);
  TVMFFIObjectDecRef(found);
  TVMFFIObjectDecRef(function);
}

static void TestErrorIsTakenAndRead(void) {
  TVMFFIByteArray name = Bytes("c_client.halve");
  TVMFFIObjectHandle function = NULL, error = NULL;
  TVMFFIErrorCell* cell;
  TVMFFIAny arg, result;
  memset(&arg, 0, sizeof(arg));
  memset(&result, 0, sizeof(result));
  arg.type_index = kTVMFFIInt;
  arg.v_int64 = 3;
  CHECK(TVMFFIFunctionGetGlobal(&name, &function) == 0);
  CHECK(TVMFFIFunctionCall(function, &arg, 1, &result) == -1);
  CHECK(result.type_index == kTVMFFINone);
  TVMFFIErrorMoveFromRaised(&error);
  CHECK(error != NULL);
  cell = TVMFFIErrorGetCellPtr(error);
  CHECK(cell->kind.size == 10 && memcmp(cell->kind.data, "ValueError", 10) == 0);
  CHECK(cell->message.size == 26);
  CHECK(memcmp(cell->message.data, "Halve: the argument is odd", 26) == 0);
  TVMFFIObjectDecRef(error);
  TVMFFIObjectDecRef(function);
}

static void TestAccessorsReachEveryCell(void) {
  TVMFFIByteArray text = Bytes("longer than seven"), small = Bytes("abc"), content;
  TVMFFIAny any;
  TVMFFIObjectHandle opaque = NULL;
  int tag = 0;
  CHECK(TVMFFIStringFromByteArray(&text, &any) == 0);
  CHECK(TVMFFIBytesGetByteArrayPtr(any.v_obj)->size == 17);
  TVMFFIObjectDecRef(any.v_obj);
  CHECK(TVMFFIStringFromByteArray(&small, &any) == 0);
  content = TVMFFISmallBytesGetContentByteArray(&any);
  CHECK(content.size == 3 && memcmp(content.data, "abc", 3) == 0);
  CHECK(TVMFFIObjectCreateOpaque(&tag, kTVMFFIOpaquePyObject, NULL, &opaque) == 0);
  CHECK(TVMFFIOpaqueObjectGetCellPtr(opaque)->handle == &tag);
  TVMFFIObjectDecRef(opaque);
  CHECK(TVMFFIDLDeviceFromIntPair(2, 5).device_type == kDLCUDA);
  CHECK(TVMFFIDLDeviceFromIntPair(2, 5).device_id == 5);
}

static void TestTensorIsAllocatedAndReleased(void) {
  int64_t shape[2] = {2, 3};
  DLTensor prototype;
  TVMFFIObjectHandle tensor = NULL;
  memset(&prototype, 0, sizeof(prototype));
  prototype.device = TVMFFIDLDeviceFromIntPair(kDLCPU, 0);
  prototype.ndim = 2;
  prototype.dtype.code = kDLFloat;
  prototype.dtype.bits = 64;
  prototype.dtype.lanes = 1;
  prototype.shape = shape;
  CHECK(TVMFFIEnvTensorAlloc(&prototype, &tensor) == 0);
  memset(TVMFFITensorGetDLTensorPtr(tensor)->data, 0, 6 * sizeof(double));
  CHECK(TVMFFITensorGetDLTensorPtr(tensor)->strides[0] == 3);
  TVMFFIObjectDecRef(tensor);
}

int main(void) {
  TestFunctionIsRegisteredFoundAndCalled();
  TestErrorIsTakenAndRead();
  TestAccessorsReachEveryCell();
  TestTensorIsAllocatedAndReleased();
  return failures == 0 ? 0 : 1;
}
