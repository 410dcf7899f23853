/* SPDX-License-Identifier: Apache-2.0
 *
 * Timer of kernel launches.  Prints, for each round, the nanoseconds per call of the generated C
 * function, of the launch module, of the hand-written function, of a prepared launch with 19
 * arguments, and of the driver's function with the same kernel arguments. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_prepared.h>

enum { CALLS = 100000, TENSORS = 7, ARGUMENTS = 19 };

/* The fake driver. */
void fake_driver_reset(void); /* deletes the recorded calls; then no context is current */
void fake_driver_ignore_launches(void);
int cuDevicePrimaryCtxRetain(void** context, int device);
int cuCtxSetCurrent(void* context);
int cuModuleLoadDataEx(void** image, const void* text, unsigned count, const int* options,
                       void** values);
int cuModuleGetFunction(void** kernel, void* image, const char* name);
int cuLaunchKernel(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                   unsigned block_x, unsigned block_y, unsigned block_z, unsigned bytes,
                   void* stream, void** params, void** extra);

int __tvm_ffi_scale(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
int __tvm_ffi_by_hand(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static double nanoseconds_per_call(TVMFFISafeCallType volatile function, void* handle,
                                   const TVMFFIAny* args) {
  TVMFFIAny result = {.type_index = kTVMFFINone};
  fake_driver_reset();
  double begin = now();
  for (int i = 0; i < CALLS; ++i) {
    if (function(handle, args, 3, &result) != 0) exit(1);
  }
  return (now() - begin) / CALLS;
}

/* Makes the context of device 0 current, which fake_driver_reset has changed. A record takes longer
 * than a prepared launch and varies by as much, so launches are not recorded. */
static void use_device(void) {
  void* context;
  fake_driver_reset();
  if (cuDevicePrimaryCtxRetain(&context, 0) != 0 || cuCtxSetCurrent(context) != 0) exit(1);
  fake_driver_ignore_launches();
}

static double nanoseconds_per_prepared(TVMFFIObjectHandle prepared) {
  use_device();
  double begin = now();
  for (int i = 0; i < CALLS; ++i) {
    if (TVMFFIPreparedRun(&prepared, 1, NULL, NULL) != 0) exit(1);
  }
  return (now() - begin) / CALLS;
}

static double nanoseconds_per_launch(void* kernel, void** params) {
  use_device();
  double begin = now();
  for (int i = 0; i < CALLS; ++i) {
    if (cuLaunchKernel(kernel, 2, 1, 1, 256, 1, 1, 0, NULL, params, NULL) != 0) exit(1);
  }
  return (now() - begin) / CALLS;
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

static TVMFFIAny function_of(const char* path, const char* name) {
  TVMFFIAny args[] = {{.type_index = kTVMFFIRawStr, .v_c_str = path},
                      {.type_index = kTVMFFIRawStr, .v_c_str = name},
                      {.type_index = kTVMFFIBool, .v_int64 = 1}};
  args[0] = call_global("ffi.ModuleLoadFromFile", args, 1);
  return call_global("ffi.ModuleGetFunction", args, 3);
}

/* A tensor on a CUDA device over memory of this program. */
typedef struct Tensor {
  TVMFFIObject header;
  DLTensor tensor;
} Tensor;

static TVMFFIAny argument_of(Tensor* tensor, float* data, int64_t* shape, int64_t* strides,
                             int32_t ndim) {
  DLTensor content = {.data = data,
                      .device = {kDLCUDA, 0},
                      .ndim = ndim,
                      .dtype = {kDLFloat, 32, 1},
                      .shape = shape,
                      .strides = strides};
  tensor->header = (TVMFFIObject){.type_index = kTVMFFITensor, .combined_ref_count = 1};
  tensor->tensor = content;
  return (TVMFFIAny){.type_index = kTVMFFITensor, .v_obj = &tensor->header};
}

static TVMFFIObjectHandle prepare(TVMFFIObjectHandle function) {
  static float data[TENSORS][32];
  static Tensor tensors[TENSORS];
  static int64_t shape[] = {16, 2}, strides[] = {2, 1};
  TVMFFIAny args[ARGUMENTS];
  TVMFFIObjectHandle prepared;
  for (int i = 0; i < TENSORS; ++i) {
    args[i] = argument_of(&tensors[i], data[i], shape, strides, 2);
  }
  for (int i = TENSORS; i < ARGUMENTS; ++i) {
    args[i] = (TVMFFIAny){.type_index = kTVMFFIInt, .v_int64 = i};
  }
  if (TVMFFIPreparedCreate(function, NULL, args, ARGUMENTS, &prepared) != 0) exit(1);
  return prepared;
}

/* Returns a kernel of an image with the entry `many`, without a launch plan. */
static void* load_kernel(void) {
  void *image, *kernel;
  use_device();
  if (cuModuleLoadDataEx(&image, ".entry many() { ret; }", 0, NULL, NULL) != 0 ||
      cuModuleGetFunction(&kernel, image, "many") != 0) {
    exit(1);
  }
  return kernel;
}

int main(int argc, char** argv) {
  static float data[32], written[32];
  int64_t shape[] = {32}, strides[] = {1}, values[ARGUMENTS];
  Tensor x, y;
  TVMFFIAny args[] = {argument_of(&x, data, shape, strides, 1),
                      argument_of(&y, written, shape, strides, 1),
                      {.type_index = kTVMFFIFloat, .v_float64 = 2}};
  void* params[ARGUMENTS];
  for (int i = 0; i < ARGUMENTS; ++i) params[i] = &values[i];
  int rounds = argc > 2 ? atoi(argv[2]) : 1;
  TVMFFIAny function = function_of(argv[1], "scale");
  TVMFFISafeCallType safe_call = TVMFFIFunctionGetCellPtr(function.v_obj)->safe_call;
  TVMFFIObjectHandle prepared = prepare(function_of(argv[1], "many").v_obj);
  void* kernel = load_kernel();
  for (int i = 0; i < rounds; ++i) {
    double generated = nanoseconds_per_call(__tvm_ffi_scale, NULL, args);
    double interpreted = nanoseconds_per_call(safe_call, function.v_obj, args);
    double by_hand = nanoseconds_per_call(__tvm_ffi_by_hand, NULL, args);
    double repeated = nanoseconds_per_prepared(prepared);
    printf("%.4f %.4f %.4f %.4f %.4f\n", generated, interpreted, by_hand, repeated,
           nanoseconds_per_launch(kernel, params));
  }
  return 0;
}
