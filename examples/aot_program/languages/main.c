/* SPDX-License-Identifier: Apache-2.0
 *
 * Ahead-of-time program with kernels in several languages.
 *
 * Each language has a kernel axpy_LANGUAGE(a, x, y): y += a * x.  The macro LANGUAGES lists the
 * linked kernels, each with the memory of its tensors: -DLANGUAGES='X(c, host) X(triton, gpu)'. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#include "memory.h"

#ifndef LANGUAGES
#define LANGUAGES X(c, host)
#endif

/* ---- Kernels: symbols that constructors register in the system library -------------------------
 */

#define X(language, space)                                                             \
  int __tvm_ffi_axpy_##language(void* handle, const TVMFFIAny* args, int32_t num_args, \
                                TVMFFIAny* result);                                    \
  __attribute__((constructor)) static void register_##language(void) {                 \
    TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_axpy_" #language,                   \
                                        (void*)(uintptr_t)&__tvm_ffi_axpy_##language); \
  }
LANGUAGES
#undef X

static const struct {
  const char* name;
  const memory* space;
} languages[] = {
#define X(language, space) {#language, &space},
    LANGUAGES
#undef X
};

/* ---- Allocation of tensor memory ------------------------------------------------------------- */

static void* allocate_host(size_t bytes) { return malloc(bytes); }
static int wait_host(void) { return 0; }

const memory host = {kDLCPU, allocate_host, wait_host, free};

/* ---- Calls of the kernels -------------------------------------------------------------------- */

static void print_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) {
    printf("failed without an error\n");
    return;
  }
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  printf("%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size,
         cell->message.data);
  TVMFFIObjectDecRef(error);
}

static TVMFFIAny call(const char* global, TVMFFIAny* args, int32_t num_args) {
  TVMFFIByteArray name = {global, 0};
  TVMFFIAny result = {.type_index = kTVMFFINone};
  TVMFFIObjectHandle function = NULL;
  while (global[name.size] != '\0') ++name.size;
  int code = TVMFFIFunctionGetGlobal(&name, &function);
  if (code == 0 && function != NULL) code = TVMFFIFunctionCall(function, args, num_args, &result);
  TVMFFIObjectDecRef(function);
  if (code != 0 || function == NULL) {
    print_error();
    exit(EXIT_FAILURE);
  }
  return result;
}

static TVMFFIAny text(const char* content) {
  TVMFFIAny any = {.type_index = kTVMFFIRawStr};
  any.v_c_str = content;
  return any;
}

static TVMFFIAny tensor(DLTensor* lent) {
  TVMFFIAny any = {.type_index = kTVMFFIDLTensorPtr};
  any.v_ptr = lent;
  return any;
}

enum { LENGTH = 3 };

/* Call a kernel: y += 0.5 * x. */
static int call_kernel(TVMFFIObjectHandle axpy, DLDeviceType device, double* x_data, double* y_data,
                       int64_t y_length) {
  int64_t x_shape[1] = {LENGTH}, y_shape[1] = {y_length};
  DLTensor x = {x_data, {device, 0}, 1, {kDLFloat, 64, 1}, x_shape, NULL, 0};
  DLTensor y = {y_data, {device, 0}, 1, {kDLFloat, 64, 1}, y_shape, NULL, 0};
  TVMFFIAny args[3] = {{.type_index = kTVMFFIFloat}, tensor(&x), tensor(&y)};
  TVMFFIAny result = {.type_index = kTVMFFINone};
  args[0].v_float64 = 0.5;
  return TVMFFIFunctionCall(axpy, args, 3, &result);
}

static void run_kernel(TVMFFIObjectHandle axpy, const memory* space, const double* numbers) {
  double* x = space->allocate(2 * LENGTH * sizeof(double));
  if (x == NULL) {
    printf("no GPU\n");
    return;
  }
  double* y = x + LENGTH;
  memcpy(x, numbers, 2 * LENGTH * sizeof(double));
  if (call_kernel(axpy, space->device, x, y, LENGTH) != 0) {
    print_error();
  } else if (space->wait() != 0) {
    printf("the kernel failed\n");
  } else {
    printf("y = [%g, %g, %g]\n", y[0], y[1], y[2]);
  }
  space->release(x);
}

static void run(TVMFFIAny module, const char* language, const memory* space) {
  double numbers[2 * LENGTH] = {1, 2, 3, 1, 1, 1};
  char name[32];
  snprintf(name, sizeof(name), "axpy_%s", language);
  TVMFFIAny lookup[3] = {module, text(name), {.type_index = kTVMFFIBool}};
  TVMFFIAny axpy = call("ffi.ModuleGetFunction", lookup, 3);
  if (axpy.type_index != kTVMFFIFunction) {
    printf("%-8s not found\n", language);
    exit(EXIT_FAILURE);
  }
  printf("%-8s ", language);
  run_kernel(axpy.v_obj, space, numbers);
  /* Wrappers in all languages raise the same error; the kernel does not run. */
  if (call_kernel(axpy.v_obj, space->device, numbers, numbers + LENGTH, LENGTH - 1) != 0) {
    printf("%-8s ", "");
    print_error();
  }
  TVMFFIObjectDecRef(axpy.v_obj);
}

int main(void) {
  TVMFFIAny module = call("ffi.SystemLib", NULL, 0);
  for (size_t i = 0; i < sizeof(languages) / sizeof(languages[0]); ++i) {
    run(module, languages[i].name, languages[i].space);
  }
  TVMFFIObjectDecRef(module.v_obj);
  return EXIT_SUCCESS;
}
