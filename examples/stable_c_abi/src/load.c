/* SPDX-License-Identifier: Apache-2.0
 *
 * Caller without Python: it loads a library, looks up the function add_one_cpu and calls it.
 *
 *   load [LIBRARY]      LIBRARY defaults to build/add_one_cpu.so
 *
 * Functions that return int return 0 on success; on failure they return -1 and the thread's error
 * slot contains the error.  main releases every reference on every path, as a program must do if it
 * continues after a failed call. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

/* [aux.begin] */
/* Functions that return argument values.  They borrow the text or object; unused bytes are 0. */
static TVMFFIAny view_of_text(const char* text) {
  return (TVMFFIAny){.type_index = kTVMFFIRawStr, .v_c_str = text};
}

static TVMFFIAny view_of_bool(int value) {
  return (TVMFFIAny){.type_index = kTVMFFIBool, .v_int64 = value != 0};
}

static TVMFFIAny view_of_module(TVMFFIObjectHandle module) {
  return (TVMFFIAny){.type_index = kTVMFFIModule, .v_obj = module};
}

static TVMFFIAny view_of_tensor(DLTensor* tensor) {
  return (TVMFFIAny){.type_index = kTVMFFIDLTensorPtr, .v_ptr = tensor};
}

static int raise_not_found(const char* kind, const char* name) {
  const char* parts[] = {kind, " `", name, "` not found"};
  TVMFFIErrorSetRaisedFromCStrParts("AttributeError", parts, 4);
  return -1;
}

/* Call a global function; the caller owns *result. */
static int call_global(const char* name, TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  TVMFFIByteArray key = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  if (TVMFFIFunctionGetGlobal(&key, &function) != 0) return -1;
  if (function == NULL) return raise_not_found("global function", name);
  *result = (TVMFFIAny){.type_index = kTVMFFINone}; /* the callee expects that the result is None */
  int code = TVMFFIFunctionCall(function, args, num_args, result);
  TVMFFIObjectDecRef(function);
  return code;
}

/* Load a library; *out receives an owned Module. */
static int load_module(const char* path, TVMFFIObjectHandle* out) {
  TVMFFIAny args[] = {view_of_text(path)};
  TVMFFIAny module;
  if (call_global("ffi.ModuleLoadFromFile", args, 1, &module) != 0) return -1;
  *out = module.v_obj; /* the reference of the result moves to *out */
  return 0;
}

/* Look up a function in a module; *out receives an owned Function. */
static int get_function(TVMFFIObjectHandle module, const char* name, TVMFFIObjectHandle* out) {
  int query_imports = 0; /* search this library only, not the modules that it imports */
  TVMFFIAny args[] = {view_of_module(module), view_of_text(name), view_of_bool(query_imports)};
  TVMFFIAny function;
  if (call_global("ffi.ModuleGetFunction", args, 3, &function) != 0) return -1;
  if (function.type_index == kTVMFFINone) return raise_not_found("function", name);
  *out = function.v_obj;
  return 0;
}

/* Print the pending error and clear the thread's error slot.  The slot may be empty if an incorrect
 * callee has returned -1 without an error. */
static void print_error(void) {
  TVMFFIObjectHandle error = NULL;
  TVMFFIErrorMoveFromRaised(&error); /* this function owns the error now */
  if (error == NULL) {
    fprintf(stderr, "the call failed but left no error\n");
    return;
  }
  /* The cell follows the object header. */
  const TVMFFIErrorCell* cell = (const TVMFFIErrorCell*)((const TVMFFIObject*)error + 1);
  fprintf(stderr, "%.*s: %.*s\n", (int)cell->kind.size, cell->kind.data, (int)cell->message.size,
          cell->message.data);
  TVMFFIObjectDecRef(error);
}

static void print_vector(const char* name, const float* values, int64_t size) {
  printf("%s = [", name);
  for (int64_t i = 0; i < size; ++i) printf(i == 0 ? "%g" : ", %g", values[i]);
  printf("]\n");
}
/* [aux.end] */

/* [main.begin] */
/* Step 3. Call add_one_cpu(x, y) with two DLTensors on the stack. */
static int run_add_one_cpu(TVMFFIObjectHandle add_one_cpu) {
  enum { kSize = 5 };
  float x_values[kSize] = {1, 2, 3, 4, 5}, y_values[kSize] = {0};
  int64_t shape[] = {kSize}, strides[] = {1};
  DLTensor x = {.data = x_values,
                .device = {kDLCPU, 0},
                .ndim = 1,
                .dtype = {kDLFloat, 32, 1},
                .shape = shape,
                .strides = strides,
                .byte_offset = 0};
  DLTensor y = x;
  y.data = y_values;

  TVMFFIAny args[] = {view_of_tensor(&x), view_of_tensor(&y)};
  TVMFFIAny result = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionCall(add_one_cpu, args, 2, &result) != 0) return -1;
  print_vector("x", x_values, kSize); /* the result is None, so there is nothing to release */
  print_vector("y", y_values, kSize);
  return 0;
}

int main(int argc, char** argv) {
  const char* path = argc > 1 ? argv[1] : "build/add_one_cpu.so";
  TVMFFIObjectHandle module = NULL, add_one_cpu = NULL;

  /* Step 1. Load the library. */
  int code = load_module(path, &module);
  /* Step 2. Get the function from the library. */
  if (code == 0) code = get_function(module, "add_one_cpu", &add_one_cpu);
  if (code == 0) code = run_add_one_cpu(add_one_cpu);

  /* Print the error, then release both objects; NULL is allowed.  The function owns a reference to
   * its module, so the order of the releases does not matter. */
  if (code != 0) print_error();
  TVMFFIObjectDecRef(add_one_cpu);
  TVMFFIObjectDecRef(module);
  return code == 0 ? 0 : 1;
}
/* [main.end] */
