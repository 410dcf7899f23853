/* SPDX-License-Identifier: Apache-2.0
 *
 * A program with kernels of several languages and the runtime in it.
 *
 * Each language has a kernel axpy_LANGUAGE(a, x, y): y += a * x.  Which ones are linked is said by
 * the command that compiles this file: -DLANGUAGES='X(c) X(rust)'. */
#include <stdio.h>
#include <stdlib.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

#ifndef LANGUAGES
#define LANGUAGES X(c)
#endif

/* ---- Kernels: each is a symbol, and found by name in the system library ------------------------
 */

#define X(language)                                                                    \
  int __tvm_ffi_axpy_##language(void* handle, const TVMFFIAny* args, int32_t num_args, \
                                TVMFFIAny* result);                                    \
  __attribute__((constructor)) static void register_##language(void) {                 \
    TVMFFIEnvModRegisterSystemLibSymbol("__tvm_ffi_axpy_" #language,                   \
                                        (void*)(uintptr_t)&__tvm_ffi_axpy_##language); \
  }
LANGUAGES
#undef X

static const char* const names[] = {
#define X(language) #language,
    LANGUAGES
#undef X
};

/* ---- Calls -------------------------------------------------------------------------------------
 */

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

static void run(TVMFFIAny module, const char* language) {
  char name[32];
  double input[3] = {1, 2, 3}, output[3] = {1, 1, 1};
  int64_t shape[1] = {3}, shorter[1] = {2};
  DLTensor x = {input, {kDLCPU, 0}, 1, {kDLFloat, 64, 1}, shape, NULL, 0};
  DLTensor y = {output, {kDLCPU, 0}, 1, {kDLFloat, 64, 1}, shape, NULL, 0};
  TVMFFIAny args[3] = {{.type_index = kTVMFFIFloat}, tensor(&x), tensor(&y)};
  TVMFFIAny result = {.type_index = kTVMFFINone};
  args[0].v_float64 = 0.5;

  snprintf(name, sizeof(name), "axpy_%s", language);
  TVMFFIAny lookup[3] = {module, text(name), {.type_index = kTVMFFIBool}};
  TVMFFIAny axpy = call("ffi.ModuleGetFunction", lookup, 3);
  if (axpy.type_index != kTVMFFIFunction) {
    printf("%-8s not found\n", language);
    exit(EXIT_FAILURE);
  }
  if (TVMFFIFunctionCall(axpy.v_obj, args, 3, &result) == 0) {
    printf("%-8s y = [%g, %g, %g]\n", language, output[0], output[1], output[2]);
  } else {
    print_error();
  }
  y.shape = shorter; /* does not fit x: an error in the words of all languages */
  if (TVMFFIFunctionCall(axpy.v_obj, args, 3, &result) != 0) {
    printf("%-8s ", "");
    print_error();
  }
  TVMFFIObjectDecRef(axpy.v_obj);
}

int main(void) {
  TVMFFIAny module = call("ffi.SystemLib", NULL, 0);
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); ++i) run(module, names[i]);
  TVMFFIObjectDecRef(module.v_obj);
  return EXIT_SUCCESS;
}
