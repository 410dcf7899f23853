/* SPDX-License-Identifier: Apache-2.0
 *
 * The function of Apache TVM's runtime that host code asks for which TVM and TileLang have
 * compiled, for processes without TVM.  It is no part of libtvm_ffi, which is in all processes:
 * there it would take the place of TVM's own. */
#include <tvm/ffi/extra/c_env_api.h>

/* What a module imports, or a global function: as TVMFFIEnvModLookupFromImports. */
TVM_FFI_DLL_EXPORT int TVMBackendGetFuncFromEnv(void* library_ctx, const char* name,
                                                TVMFFIObjectHandle* out);

int TVMBackendGetFuncFromEnv(void* library_ctx, const char* name, TVMFFIObjectHandle* out) {
  return TVMFFIEnvModLookupFromImports(library_ctx, name, out);
}
