/* SPDX-License-Identifier: Apache-2.0
 *
 * C program that loads a library with a launch function `fill(x, k)`: prints the launches that the
 * stand-in driver received, and the error for an invalid tensor. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

typedef struct {
  const char* kernel;
  int device;
  unsigned grid[3], block[3], cluster[3], shared_memory_bytes;
  void* stream;
  void** params;
} launch;

static void on_launch(const launch* seen, void* data) {
  (void)data;
  printf("%s on %d, grid %u, k = %d\n", seen->kernel, seen->device, seen->grid[0],
         *(int*)seen->params[1]);
}

static TVMFFIObjectHandle global(const char* name) {
  TVMFFIByteArray text = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  TVMFFIFunctionGetGlobal(&text, &function);
  return function;
}

static int call(TVMFFIObjectHandle function, TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  memset(result, 0, sizeof(*result));
  return TVMFFIFunctionCall(function, args, count, result);
}

static int print_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  printf("%s\n", TVMFFIErrorGetCellPtr(error)->message.data);
  TVMFFIObjectDecRef(error);
  return 1;
}

static TVMFFIAny text_of(const char* text) {
  TVMFFIAny value;
  memset(&value, 0, sizeof(value));
  value.type_index = kTVMFFIRawStr;
  value.v_c_str = text;
  return value;
}

int main(int argc, char** argv) {
  float content[6] = {0};
  int64_t shape[] = {3, 2}, strides[] = {1, 1};
  DLTensor tensor = {content, {kDLCUDA, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  TVMFFIAny args[3], module, function, result;
  void (*set_callback)(void (*)(const launch*, void*), void*);
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  void* symbol = driver == NULL || argc < 2 ? NULL : dlsym(driver, "fake_driver_on_launch");
  if (symbol == NULL) return 2;
  memcpy(&set_callback, &symbol, sizeof(symbol));
  set_callback(on_launch, NULL);
  args[0] = text_of(argv[1]);
  if (call(global("ffi.ModuleLoadFromFile"), args, 1, &module) != 0) return print_error();
  args[0] = module;
  args[1] = text_of("fill");
  memset(&args[2], 0, sizeof(args[2]));
  args[2].type_index = kTVMFFIBool;
  args[2].v_int64 = 1; /* also search the imported modules */
  if (call(global("ffi.ModuleGetFunction"), args, 3, &function) != 0) return print_error();
  memset(args, 0, sizeof(args));
  args[0].type_index = kTVMFFIDLTensorPtr;
  args[0].v_ptr = &tensor;
  if (call(function.v_obj, args, 1, &result) != 0) return print_error();
  tensor.ndim = 2;
  if (call(function.v_obj, args, 1, &result) != 0) print_error();
  TVMFFIObjectDecRef(function.v_obj);
  TVMFFIObjectDecRef(module.v_obj);
  return 0;
}
