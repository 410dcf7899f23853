// SPDX-License-Identifier: Apache-2.0
// A caller in C: calls `add` of a library with right arguments, with one argument, and again.
// With NO_RUNTIME the program has no runtime: it finds the symbol and takes the error itself.
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#ifdef NO_RUNTIME
static char kind_of_error[32];
static TVMFFISafeCallType add;

__attribute__((visibility("default"))) void TVMFFIErrorSetRaisedFromCStr(const char* kind,
                                                                         const char* message) {
  snprintf(kind_of_error, sizeof(kind_of_error), "%s", kind);
}

static int Load(const char* path) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  if (library == NULL) return puts(dlerror()), 1;
  add = (TVMFFISafeCallType)dlsym(library, "__tvm_ffi_add");
  return add == NULL;
}

static int Call(TVMFFIAny* args, int count, TVMFFIAny* result) {
  return add(NULL, args, count, result);
}

static int ErrorIs(const char* kind) { return strcmp(kind_of_error, kind) == 0; }
#else
static TVMFFIObjectHandle add;

static TVMFFIAny String(const char* text) {
  TVMFFIByteArray content = {text, strlen(text)};
  TVMFFIAny value = {0};
  TVMFFIStringFromByteArray(&content, &value);
  return value;
}

static void Release(TVMFFIAny value) {
  if (value.type_index >= kTVMFFIStaticObjectBegin) TVMFFIObjectDecRef(value.v_obj);
}

/* Prints the pending error and returns 1. */
static int Fail(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return 1;
  TVMFFIByteArray text = ((TVMFFIErrorCell*)((char*)error + sizeof(TVMFFIObject)))->message;
  printf("%.*s\n", (int)text.size, text.data);
  TVMFFIObjectDecRef(error);
  return 1;
}

static int CallGlobal(const char* name, TVMFFIAny* args, int count, TVMFFIAny* result) {
  TVMFFIByteArray key = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  memset(result, 0, sizeof(*result));
  if (TVMFFIFunctionGetGlobal(&key, &function) != 0 || function == NULL) return -1;
  int code = TVMFFIFunctionCall(function, args, count, result);
  TVMFFIObjectDecRef(function);
  return code;
}

static int Load(const char* path) {
  TVMFFIAny text = String(path), module, function;
  if (CallGlobal("ffi.ModuleLoadFromFile", &text, 1, &module) != 0) return Fail();
  TVMFFIAny args[3] = {module, String("add"), {.type_index = kTVMFFIBool}};
  if (CallGlobal("ffi.ModuleGetFunction", args, 3, &function) != 0) return Fail();
  Release(text), Release(args[1]), Release(module);
  add = function.type_index == kTVMFFIFunction ? function.v_obj : NULL;
  return add == NULL;
}

static int Call(TVMFFIAny* args, int count, TVMFFIAny* result) {
  return TVMFFIFunctionCall(add, args, count, result);
}

static int ErrorIs(const char* kind) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) return 0;
  TVMFFIByteArray found = ((TVMFFIErrorCell*)((char*)error + sizeof(TVMFFIObject)))->kind;
  int same = found.size == strlen(kind) && memcmp(found.data, kind, found.size) == 0;
  TVMFFIObjectDecRef(error);
  return same;
}
#endif

static int AddsOne(void) {
  float in[3] = {1, 2, 3}, out[3] = {0};
  int64_t extent = 3, stride = 1;
  DLTensor x = {.data = in, .device = {kDLCPU, 0}, .ndim = 1, .dtype = {kDLFloat, 32, 1}};
  x.shape = &extent, x.strides = &stride;
  DLTensor y = x;
  y.data = out;
  TVMFFIAny args[2] = {{.type_index = kTVMFFIDLTensorPtr, .v_ptr = &x},
                       {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &y}};
  TVMFFIAny result = {0};
  int code = Call(args, 2, &result);
  return code == 0 && result.type_index == kTVMFFINone && out[0] == 2 && out[2] == 4;
}

int main(int argc, char** argv) {
  if (argc != 2 || Load(argv[1])) return puts("the library has no function `add`"), 1;
  if (!AddsOne()) return puts("the first call is wrong"), 1;
  TVMFFIAny argument = {.type_index = kTVMFFIInt, .v_int64 = 1}, result = {0};
  if (Call(&argument, 1, &result) != -1) return puts("one argument was accepted"), 1;
  if (!ErrorIs("TypeError")) return puts("the error is no TypeError"), 1;
  if (!AddsOne()) return puts("the call after the error is wrong"), 1;
  return puts("right"), 0;
}
