/* SPDX-License-Identifier: Apache-2.0 */
/* Host code in the form that TVM's code generators emit: looks up a kernel in TVM's runtime and
 * sets the device before the launch, as the arguments are addresses. */
#include <tvm/ffi/c_api.h>

TVM_FFI_DLL_EXPORT void* __tvm_ffi__library_ctx = NULL;

extern int TVMBackendGetFuncFromEnv(void* library_ctx, const char* name, TVMFFIObjectHandle* out);

static int call(const char* name, TVMFFIAny* args, int32_t num_args) {
  TVMFFIObjectHandle function; /* borrowed from the library context */
  TVMFFIAny result = {.type_index = kTVMFFINone};
  if (TVMBackendGetFuncFromEnv(__tvm_ffi__library_ctx, name, &function) != 0) return -1;
  return TVMFFIFunctionCall(function, args, num_args, &result);
}

/* launch(device_id, address) */
TVM_FFI_DLL_EXPORT int __tvm_ffi_launch(void* self, const TVMFFIAny* args, int32_t num_args,
                                        TVMFFIAny* result) {
  TVMFFIAny device[2] = {{.type_index = kTVMFFIInt, .v_int64 = kDLCUDA}, args[0]};
  TVMFFIAny kernel[3] = {
      args[1], {.type_index = kTVMFFIInt, .v_int64 = 5}, {.type_index = kTVMFFIInt, .v_int64 = 32}};
  (void)self, (void)num_args, (void)result;
  if (call("__tvm_set_device", device, 2) != 0) return -1;
  return call("scale_kernel", kernel, 3);
}
