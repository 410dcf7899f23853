/* SPDX-License-Identifier: Apache-2.0
 *
 * Hand-written CUDA launch of `scale`: the floor of the launch rows.
 *
 * It makes the checks of
 *     scale(x: float32[n], y: out float32[n], a: float = 1.0)
 * and launches cdiv(n, 256) blocks of 256 threads, as the generated launch plan does.  The first
 * call loads the device image.  Its messages are shorter. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

static int fail(const char* kind, const char* message) {
  TVMFFIErrorSetRaisedFromCStr(kind, message);
  return -1;
}

static inline const DLTensor* tensor_of(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFITensor) return (const DLTensor*)(value->v_obj + 1);
  return value->type_index == kTVMFFIDLTensorPtr ? (const DLTensor*)value->v_ptr : NULL;
}

static inline int check_vector(const DLTensor* x) {
  if (x == NULL) return fail("TypeError", "expected a tensor");
  if (x->ndim != 1) return fail("ValueError", "expected 1 dimension");
  if (x->dtype.code != kDLFloat || x->dtype.bits != 32 || x->dtype.lanes != 1) {
    return fail("ValueError", "expected float32");
  }
  if (x->device.device_type != kDLCUDA) return fail("ValueError", "expected a CUDA tensor");
  if (x->shape[0] < 0) return fail("ValueError", "expected an extent >= 0");
  if (x->strides != NULL && x->strides[0] != 1 && x->shape[0] > 1) {
    return fail("ValueError", "expected a compact tensor");
  }
  if ((x->data == NULL || ((uintptr_t)x->data + x->byte_offset) % sizeof(float) != 0) &&
      x->shape[0] != 0) {
    return fail("ValueError", "expected an aligned address");
  }
  return 0;
}

enum { MAX_DEVICES = 64 };
static int (*context_current)(void**);
static int (*context_set)(void*);
static int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                     void*, void**, void**);
static struct {
  void *context, *kernel;
} devices[MAX_DEVICES];

static void find(void* library, const char* name, void* out) {
  void* symbol = dlsym(library, name);
  memcpy(out, &symbol, sizeof(symbol));
}

static __attribute__((noinline)) int load(int device_id) {
  int (*retain)(void**, int);
  int (*load_image)(void**, const void*, unsigned, const int*, void**);
  int (*get)(void**, void*, const char*);
  static const char image[] = ".version 8.0 .entry scale() { ret; }";
  void *library = dlopen("libcuda.so.1", RTLD_NOW), *previous, *loaded, *kernel;
  if (library == NULL) return fail("RuntimeError", "no driver");
  find(library, "cuDevicePrimaryCtxRetain", &retain);
  find(library, "cuModuleLoadDataEx", &load_image);
  find(library, "cuModuleGetFunction", &get);
  find(library, "cuCtxGetCurrent", &context_current);
  find(library, "cuCtxSetCurrent", &context_set);
  find(library, "cuLaunchKernel", &launch);
  int is_loaded = retain(&devices[device_id].context, device_id) == 0 &&
                  context_current(&previous) == 0 && context_set(devices[device_id].context) == 0 &&
                  load_image(&loaded, image, 0, NULL, NULL) == 0 &&
                  get(&kernel, loaded, "scale") == 0 && context_set(previous) == 0;
  if (!is_loaded) return fail("RuntimeError", "the image cannot be loaded");
  __atomic_store_n(&devices[device_id].kernel, kernel, __ATOMIC_RELEASE);
  return 0;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_by_hand(void* handle, const TVMFFIAny* args, int32_t num_args,
                                         TVMFFIAny* result) {
  (void)handle;
  if (num_args < 2 || num_args > 3) return fail("TypeError", "scale() takes 2 or 3 arguments");
  const DLTensor *x = tensor_of(&args[0]), *y = tensor_of(&args[1]);
  if (check_vector(x) != 0 || check_vector(y) != 0) return -1;
  if (y->shape[0] != x->shape[0]) return fail("ValueError", "y must have the shape of x");
  uintptr_t x_start = (uintptr_t)x->data + x->byte_offset;
  uintptr_t y_start = (uintptr_t)y->data + y->byte_offset;
  uintptr_t size = (uintptr_t)x->shape[0] * sizeof(float);
  if (x_start < y_start + size && y_start < x_start + size) {
    return fail("ValueError", "expected no overlap");
  }
  float a = 1;
  if (num_args > 2) {
    if (args[2].type_index == kTVMFFIFloat) {
      a = (float)args[2].v_float64;
    } else if (args[2].type_index == kTVMFFIInt || args[2].type_index == kTVMFFIBool) {
      a = (float)args[2].v_int64;
    } else {
      return fail("TypeError", "a must be a number");
    }
  }
  int device_id = x->device.device_id;
  if (y->device.device_id != device_id) return fail("ValueError", "expected one device");
  if (device_id < 0 || device_id >= MAX_DEVICES) return fail("ValueError", "no such device");
  int64_t extent = x->shape[0], blocks = extent / 256 + (extent % 256 != 0);
  if (extent > INT32_MAX) return fail("ValueError", "too many elements");
  if (blocks < 1 || blocks > INT32_MAX) return fail("ValueError", "too many blocks, or none");
  void* kernel = __atomic_load_n(&devices[device_id].kernel, __ATOMIC_ACQUIRE);
  if (kernel == NULL) {
    if (load(device_id) != 0) return -1;
    kernel = devices[device_id].kernel;
  }
  void *x_data = (char*)x->data + x->byte_offset, *y_data = (char*)y->data + y->byte_offset;
  int32_t n = (int32_t)extent;
  void* params[] = {&x_data, &y_data, &n, &a};
  void *previous, *context = devices[device_id].context;
  void* stream = TVMFFIEnvGetStream(kDLCUDA, device_id);
  if (context_current(&previous) != 0) return fail("RuntimeError", "no current context");
  if (previous != context && context_set(context) != 0) return fail("RuntimeError", "no context");
  int status = launch(kernel, (unsigned)blocks, 1, 1, 256, 1, 1, 0, stream, params, NULL);
  if (previous != context && context_set(previous) != 0) return fail("RuntimeError", "no context");
  if (status != 0) return fail("RuntimeError", "the launch failed");
  result->type_index = kTVMFFINone;
  result->zero_padding = 0;
  result->v_int64 = 0;
  return 0;
}
