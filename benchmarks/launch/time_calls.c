/* SPDX-License-Identifier: Apache-2.0
 *
 * Timer of kernel launches.  Prints, for each round, the nanoseconds per call of the generated C
 * function, of the launch module, and of the hand-written function. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tvm/ffi/c_api.h>

enum { CALLS = 100000 };

void fake_driver_reset(void); /* the fake driver deletes its recorded calls */

int __tvm_ffi_scale(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
int __tvm_ffi_by_hand(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

static double nanoseconds_per_call(TVMFFISafeCallType volatile function, void* handle,
                                   const TVMFFIAny* args) {
  struct timespec begin, end;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  fake_driver_reset();
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  for (int i = 0; i < CALLS; ++i) {
    if (function(handle, args, 3, &result) != 0) exit(1);
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
         CALLS;
}

static TVMFFIAny call_global(const char* name, TVMFFIAny* args, int32_t count) {
  TVMFFIByteArray text = {name, strlen(name)};
  TVMFFIObjectHandle function = NULL;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  if (TVMFFIFunctionGetGlobal(&text, &function) != 0 ||
      TVMFFIFunctionCall(function, args, count, &result) != 0) {
    exit(1);
  }
  return result;
}

static TVMFFIAny function_of(const char* path) {
  TVMFFIAny args[] = {{.type_index = kTVMFFIRawStr, .v_c_str = path},
                      {.type_index = kTVMFFIRawStr, .v_c_str = "scale"},
                      {.type_index = kTVMFFIBool, .v_int64 = 1}};
  args[0] = call_global("ffi.ModuleLoadFromFile", args, 1);
  return call_global("ffi.ModuleGetFunction", args, 3);
}

int main(int argc, char** argv) {
  static float data[32], written[32];
  int64_t shape[] = {32}, strides[] = {1};
  struct {
    TVMFFIObject header;
    DLTensor tensor;
  } object = {.header = {.type_index = kTVMFFITensor},
              .tensor = {.data = data,
                         .device = {kDLCUDA, 0},
                         .ndim = 1,
                         .dtype = {kDLFloat, 32, 1},
                         .shape = shape,
                         .strides = strides}};
  TVMFFIAny x = {.type_index = kTVMFFITensor, .v_obj = &object.header}, y = x;
  __typeof__(object) other = object;
  other.tensor.data = written;
  y.v_obj = &other.header;
  TVMFFIAny args[] = {x, y, {.type_index = kTVMFFIFloat, .v_float64 = 2}};
  int rounds = argc > 2 ? atoi(argv[2]) : 1;
  TVMFFIAny module = function_of(argv[1]);
  TVMFFISafeCallType safe_call = TVMFFIFunctionGetCellPtr(module.v_obj)->safe_call;
  for (int i = 0; i < rounds; ++i) {
    double generated = nanoseconds_per_call(__tvm_ffi_scale, NULL, args);
    double interpreted = nanoseconds_per_call(safe_call, module.v_obj, args);
    printf("%.4f %.4f %.4f\n", generated, interpreted,
           nanoseconds_per_call(__tvm_ffi_by_hand, NULL, args));
  }
  return 0;
}
