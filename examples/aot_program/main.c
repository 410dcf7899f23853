/* SPDX-License-Identifier: Apache-2.0
 *
 * Ahead-of-time program that contains its kernels and the runtime, without Python or shared
 * libraries.  It calls functions by symbol, through the system library, and as global functions,
 * and it prepares a call that runs several times. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_prepared.h>

/* ---- Errors: a failed call returns -1; the Error object is in the thread's error slot ----------
 */

static void print_error(const char* call) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  if (error == NULL) {
    printf("%s failed without an error\n", call);
    return;
  }
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  printf("%s  %.*s: %.*s\n", call, (int)cell->kind.size, cell->kind.data, (int)cell->message.size,
         cell->message.data);
  TVMFFIObjectDecRef(error);
}

static void stop(const char* call) {
  print_error(call);
  exit(EXIT_FAILURE);
}

/* ---- 1. Symbols: kernels that are known when the program is compiled ---------------------------
 */

int __tvm_ffi_lenet_relu(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

static void call_the_symbol(DLTensor* x, DLTensor* y) {
  TVMFFIAny args[2] = {{.type_index = kTVMFFIDLTensorPtr}, {.type_index = kTVMFFIDLTensorPtr}};
  TVMFFIAny result = {.type_index = kTVMFFINone};
  args[0].v_ptr = x;
  args[1].v_ptr = y;
  if (__tvm_ffi_lenet_relu(NULL, args, 2, &result) != 0) stop("relu");
  const float* values = (const float*)y->data;
  printf("symbol      relu = [%g, %g, %g, %g]\n", values[0], values[1], values[2], values[3]);
}

/* ---- 2. The system library: kernels by name ---------------------------------------------------
 */

static TVMFFIAny call_global(const char* name, const TVMFFIAny* args, int32_t num_args) {
  TVMFFIByteArray text = {name, strlen(name)};
  TVMFFIAny result = {.type_index = kTVMFFINone};
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionGetGlobal(&text, &function) != 0) stop(name);
  if (function == NULL) {
    fprintf(stderr, "no global function is named %s\n", name);
    exit(EXIT_FAILURE);
  }
  int status = TVMFFIFunctionCall(function, (TVMFFIAny*)args, num_args, &result);
  TVMFFIObjectDecRef(function);
  if (status != 0) stop(name);
  return result;
}

static TVMFFIAny text_argument(const char* text) {
  TVMFFIAny any = {.type_index = kTVMFFIRawStr};
  any.v_c_str = text;
  return any;
}

static void call_by_name(DLTensor* y) {
  TVMFFIAny prefix = text_argument("lenet_");
  TVMFFIAny module = call_global("ffi.SystemLib", &prefix, 1);
  TVMFFIAny lookup[3] = {module, text_argument("sum"), {.type_index = kTVMFFIBool}};
  TVMFFIAny sum = call_global("ffi.ModuleGetFunction", lookup, 3);
  if (sum.type_index != kTVMFFIFunction) {
    fprintf(stderr, "the system library has no function `sum`\n");
    exit(EXIT_FAILURE);
  }
  TVMFFIAny arg = {.type_index = kTVMFFIDLTensorPtr}, result = {.type_index = kTVMFFINone};
  arg.v_ptr = y;
  if (TVMFFIFunctionCall(sum.v_obj, &arg, 1, &result) != 0) stop("sum");
  printf("system_lib  sum = %g\n", result.v_float64);

  arg.type_index = kTVMFFIInt; /* the kernel refuses an int in place of a tensor */
  arg.v_int64 = 1;
  if (TVMFFIFunctionCall(sum.v_obj, &arg, 1, &result) != 0) print_error("error     ");
  TVMFFIObjectDecRef(sum.v_obj);
  TVMFFIObjectDecRef(module.v_obj);
}

/* ---- 3. Global functions: functions of the program for its kernels -----------------------------
 */

static int scale(void* factor, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  if (num_args != 1 || args[0].type_index != kTVMFFIInt) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "scale(n) takes one int");
    return -1;
  }
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = *(const int64_t*)factor * args[0].v_int64;
  return 0;
}

static void call_a_global_function(void) {
  static int64_t factor = 6;
  TVMFFIObjectHandle function = NULL;
  TVMFFIByteArray name = {"aot_program.scale", 17};
  if (TVMFFIFunctionCreate(&factor, &scale, NULL, &function) != 0) stop("create");
  int status = TVMFFIFunctionSetGlobal(&name, function, 0); /* the registry adds a reference */
  TVMFFIObjectDecRef(function);
  if (status != 0) stop("register");
  TVMFFIAny arg = {.type_index = kTVMFFIInt};
  arg.v_int64 = 7;
  printf("global      scale(7) = %lld\n",
         (long long)call_global("aot_program.scale", &arg, 1).v_int64);
}

/* ---- 4. Prepared calls: calls of the same kernel for several inputs ----------------------------
 */

static void run_a_prepared_call(DLTensor* x, DLTensor* y) {
  static float inputs[2][4] = {{1, -2, 3, -4}, {-5, 6, -7, 8}};
  TVMFFIObjectHandle function = NULL, prepared = NULL;
  TVMFFIAny args[2] = {{.type_index = kTVMFFIDLTensorPtr}, {.type_index = kTVMFFIDLTensorPtr}};
  args[0].v_ptr = x;
  args[1].v_ptr = y;
  if (TVMFFIFunctionCreate(NULL, &__tvm_ffi_lenet_relu, NULL, &function) != 0) stop("create");
  int status = TVMFFIPreparedCreate(function, NULL, args, 2, &prepared);
  TVMFFIObjectDecRef(function); /* the prepared call owns another reference */
  if (status != 0) stop("prepare");
  for (int i = 0; i < 2; ++i) {
    int32_t slot = 0;
    TVMFFIAny address = {.type_index = kTVMFFIOpaquePtr};
    address.v_ptr = inputs[i];
    if (TVMFFIPreparedUpdate(prepared, &slot, &address, 1) != 0) stop("update");
    if (TVMFFIPreparedRun(&prepared, 1, NULL, NULL) != 0) stop("run");
    const float* values = (const float*)y->data;
    printf("prepared    relu = [%g, %g, %g, %g]\n", values[0], values[1], values[2], values[3]);
  }
  TVMFFIObjectDecRef(prepared);
}

int main(void) {
  float input[4] = {-1, 2, -3, 4}, output[4] = {0};
  int64_t shape[1] = {4}, strides[1] = {1};
  DLTensor x = {input, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  DLTensor y = {output, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  call_the_symbol(&x, &y);
  call_by_name(&y);
  call_a_global_function();
  run_a_prepared_call(&x, &y);
  return EXIT_SUCCESS;
}
