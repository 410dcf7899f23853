/* SPDX-License-Identifier: Apache-2.0
 *
 * Minimal C program that loads a library and calls its function add_one:  main LIBRARY
 *
 * The program exits at the first error.  ../stable_c_abi/src/load.c shows a program that continues
 * after an error. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

/* Print the pending error and exit. */
static void stop(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error);
  TVMFFIByteArray text = {"the call failed without an error", 32};
  if (error != NULL) text = ((TVMFFIErrorCell*)((TVMFFIObject*)error + 1))->message;
  fprintf(stderr, "quickstart: %.*s\n", (int)text.size, text.data);
  exit(EXIT_FAILURE);
}

/* Call a function object; exit on failure.  The caller owns the result. */
static TVMFFIAny call(TVMFFIObjectHandle function, TVMFFIAny* args, int32_t num_args) {
  TVMFFIAny result = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionCall(function, args, num_args, &result) != 0) stop();
  return result;
}

/* Call a global function of libtvm_ffi; exit on failure.  The caller owns the result. */
static TVMFFIAny call_builtin(const char* name, TVMFFIAny* args, int32_t num_args) {
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionGetGlobal(&(TVMFFIByteArray){name, strlen(name)}, &function) != 0) stop();
  TVMFFIAny result = call(function, args, num_args);
  TVMFFIObjectDecRef(function);
  return result;
}

/* Call add_one(x, y) with C arrays, described by two DLTensors; return 1 if y is correct. */
static int run_add_one(TVMFFIObjectHandle add_one) {
  float input[] = {1, 2, 3, 4}, output[4] = {0};
  int64_t shape[] = {4}, strides[] = {1};
  DLTensor x = {input, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  DLTensor y = {output, {kDLCPU, 0}, 1, {kDLFloat, 32, 1}, shape, strides, 0};
  TVMFFIAny args[] = {{.type_index = kTVMFFIDLTensorPtr, .v_ptr = &x},
                      {.type_index = kTVMFFIDLTensorPtr, .v_ptr = &y}};
  call(add_one, args, 2);

  int correct = 1;
  for (int i = 0; i < 4; ++i) correct = correct && output[i] == input[i] + 1;
  printf("C        add_one([1, 2, 3, 4]) wrote [%g, %g, %g, %g]: %s\n", output[0], output[1],
         output[2], output[3], correct ? "correct" : "WRONG");
  return correct;
}

int main(int argc, char** argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
    return EXIT_FAILURE;
  }
  TVMFFIAny path = {.type_index = kTVMFFIRawStr, .v_c_str = argv[1]};
  TVMFFIAny name = {.type_index = kTVMFFIRawStr, .v_c_str = "add_one"};
  TVMFFIAny query_imports = {.type_index = kTVMFFIBool, .v_int64 = 0};

  TVMFFIAny module = call_builtin("ffi.ModuleLoadFromFile", &path, 1);
  TVMFFIAny add_one =
      call_builtin("ffi.ModuleGetFunction", (TVMFFIAny[]){module, name, query_imports}, 3);
  if (add_one.type_index == kTVMFFINone) {
    TVMFFIErrorSetRaisedFromCStr("AttributeError", "the library has no function `add_one`");
    stop();
  }
  int correct = run_add_one(add_one.v_obj);
  TVMFFIObjectDecRef(add_one.v_obj);
  TVMFFIObjectDecRef(module.v_obj);
  return correct ? EXIT_SUCCESS : EXIT_FAILURE;
}
