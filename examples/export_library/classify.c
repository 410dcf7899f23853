/* SPDX-License-Identifier: Apache-2.0
 *
 * Kernel that calls an imported module: classify(scores) returns the label of the largest score.
 *
 * The labels are in a module that this library imports: its function label(index) returns one. */
#include <tvm/ffi/c_api.h>
#include <tvm/ffi/extra/c_env_api.h>

/* load_module stores the handle of this library's module here, for lookups in its imports. */
TVM_FFI_DLL_EXPORT void* __tvm_ffi__library_ctx = NULL;

static int fail(const char* message) {
  TVMFFIErrorSetRaisedFromCStr("TypeError", message);
  return -1;
}

/* Return the tensor of an argument, a Tensor object or a DLTensor*; NULL for other values. */
static const DLTensor* as_tensor(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFITensor) return (const DLTensor*)(value->v_obj + 1);
  return value->type_index == kTVMFFIDLTensorPtr ? value->v_ptr : NULL;
}

/* Return 1 if a tensor is a compact float32 vector on the CPU and not empty, otherwise 0. */
static int is_readable(const DLTensor* t) {
  return t->dtype.code == kDLFloat && t->dtype.bits == 32 && t->dtype.lanes == 1 &&
         t->device.device_type == kDLCPU && t->ndim == 1 && t->shape[0] > 0 &&
         (t->strides == NULL || t->shape[0] == 1 || t->strides[0] == 1);
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_classify(void* handle, const TVMFFIAny* args, int32_t num_args,
                                          TVMFFIAny* result) {
  (void)handle;
  const DLTensor* scores = num_args == 1 ? as_tensor(&args[0]) : NULL;
  if (scores == NULL || !is_readable(scores)) {
    return fail("classify(scores): `scores` must be a compact float32 vector on the CPU");
  }

  const float* values = (const float*)((const char*)scores->data + scores->byte_offset);
  int64_t best = 0;
  for (int64_t i = 1; i < scores->shape[0]; ++i) {
    if (values[i] > values[best]) best = i;
  }

  TVMFFIObjectHandle label = NULL; /* borrowed from the imported module */
  if (TVMFFIEnvModLookupFromImports(__tvm_ffi__library_ctx, "label", &label) != 0) return -1;
  TVMFFIAny index = {.type_index = kTVMFFIInt, .v_int64 = best};
  return TVMFFIFunctionCall(label, &index, 1, result);
}
