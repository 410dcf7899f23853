// SPDX-License-Identifier: Apache-2.0
// TVM_FFI_RETURN_ADDRESS(): the address in the caller to which the current function returns, or
// null on WebAssembly, where code has no addresses and Emscripten ends the program.
#ifndef TVM_FFI_RUNTIME_PLATFORM_RETURN_ADDRESS_H_
#define TVM_FFI_RUNTIME_PLATFORM_RETURN_ADDRESS_H_

#ifdef __EMSCRIPTEN__
#define TVM_FFI_RETURN_ADDRESS() static_cast<const void*>(nullptr)
#else
#define TVM_FFI_RETURN_ADDRESS() __builtin_return_address(0)
#endif

#endif  // TVM_FFI_RUNTIME_PLATFORM_RETURN_ADDRESS_H_
