/* SPDX-License-Identifier: Apache-2.0
 *
 * Timer of wrapper calls.  Prints, for each round, the nanoseconds per call of the generated
 * wrapper and of the hand-written one. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <tvm/ffi/c_api.h>

enum { CALLS = 1000000 };

int __tvm_ffi_scale(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
int __tvm_ffi_by_hand(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

static double nanoseconds_per_call(TVMFFISafeCallType volatile function, const TVMFFIAny* args) {
  struct timespec begin, end;
  TVMFFIAny result = {.type_index = kTVMFFINone};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begin);
  for (int i = 0; i < CALLS; ++i) {
    if (function(NULL, args, 3, &result) != 0) exit(1);
  }
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
  return ((double)(end.tv_sec - begin.tv_sec) * 1e9 + (double)(end.tv_nsec - begin.tv_nsec)) /
         CALLS;
}

int main(int argc, char** argv) {
  static float data[32], written[32];
  int64_t shape[] = {4, 8}, strides[] = {8, 1};
  struct {
    TVMFFIObject header;
    DLTensor tensor;
  } object = {.header = {.type_index = kTVMFFITensor},
              .tensor = {.data = data,
                         .device = {kDLCPU, 0},
                         .ndim = 2,
                         .dtype = {kDLFloat, 32, 1},
                         .shape = shape,
                         .strides = strides}};
  TVMFFIAny x = {.type_index = kTVMFFITensor, .v_obj = &object.header}, y = x;
  __typeof__(object) other = object;
  other.tensor.data = written;
  y.v_obj = &other.header;
  TVMFFIAny args[] = {x, y, {.type_index = kTVMFFIFloat, .v_float64 = 2}};
  int rounds = argc > 1 ? atoi(argv[1]) : 1;
  for (int i = 0; i < rounds; ++i) {
    double generated = nanoseconds_per_call(__tvm_ffi_scale, args);
    printf("%.4f %.4f\n", generated, nanoseconds_per_call(__tvm_ffi_by_hand, args));
  }
  return 0;
}
