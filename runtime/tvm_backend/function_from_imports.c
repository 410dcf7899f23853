/* SPDX-License-Identifier: Apache-2.0
 *
 * TVMBackendGetFuncFromEnv for processes without Apache TVM.
 *
 * Host code compiled by TVM and TileLang calls this function of TVM's runtime.  It is not part of
 * libtvm_ffi, because libtvm_ffi would then replace TVM's own function in processes with both. */
#include <tvm/ffi/extra/c_env_api.h>

/* Has the same contract as TVMFFIEnvModLookupFromImports, which this function calls. */
TVM_FFI_DLL_EXPORT int TVMBackendGetFuncFromEnv(void* library_ctx, const char* name,
                                                TVMFFIObjectHandle* out);

int TVMBackendGetFuncFromEnv(void* library_ctx, const char* name, TVMFFIObjectHandle* out) {
  return TVMFFIEnvModLookupFromImports(library_ctx, name, out);
}
