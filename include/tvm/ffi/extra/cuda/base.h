// SPDX-License-Identifier: Apache-2.0
// CUDA error checks, and dim3 for launch grids.
//
// The macro TVM_FFI_CHECK_CUDA_ERROR converts status codes of the CUDA runtime API to exceptions.
// tvm::ffi::dim3 has the same layout in host compilers and in nvcc.
#ifndef TVM_FFI_EXTRA_CUDA_BASE_H_
#define TVM_FFI_EXTRA_CUDA_BASE_H_

#include <cuda_runtime.h>
#include <tvm/ffi/error.h>

#include <tuple>  // published kernel sources rely on this include

namespace tvm {
namespace ffi {

// Numbers of threads of a block, or of blocks of a grid, along the axes x, y and z.
struct dim3 {
  unsigned int x;
  unsigned int y;
  unsigned int z;

  constexpr dim3() : x(1), y(1), z(1) {}
  constexpr explicit dim3(unsigned int x_) : x(x_), y(1), z(1) {}
  constexpr explicit dim3(unsigned int x_, unsigned int y_) : x(x_), y(y_), z(1) {}
  constexpr explicit dim3(unsigned int x_, unsigned int y_, unsigned int z_)
      : x(x_), y(y_), z(z_) {}
};

namespace detail {

// Throws RuntimeError "<prefix><name> (<code>): <text>".
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowCudaStatus(const char* prefix, const char* name,
                                                          int code, const char* text,
                                                          const TVMFFIByteArray* backtrace) {
  MessageStream message;
  message << prefix << name << " (" << code << "): " << text;
  throw MakeError("RuntimeError", message.view(),
                  std::string_view(backtrace->data, backtrace->size));
}

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowCudaRuntimeError(::cudaError_t status,
                                                                const TVMFFIByteArray* backtrace) {
  ThrowCudaStatus("CUDA Runtime Error: ", ::cudaGetErrorName(status), static_cast<int>(status),
                  ::cudaGetErrorString(status), backtrace);
}

}  // namespace detail
}  // namespace ffi
}  // namespace tvm

// Statement that calls a CUDA runtime API function and throws RuntimeError if it fails.  Evaluates
// `stmt` once.
#define TVM_FFI_CHECK_CUDA_ERROR(stmt)                                                      \
  do {                                                                                      \
    ::cudaError_t tvm_ffi_cuda_status = (stmt);                                             \
    if (TVM_FFI_PREDICT_FALSE(tvm_ffi_cuda_status != ::cudaSuccess)) {                      \
      ::tvm::ffi::detail::ThrowCudaRuntimeError(                                            \
          tvm_ffi_cuda_status, ::TVMFFIBacktrace(__FILE__, __LINE__, TVM_FFI_FUNC_SIG, 0)); \
    }                                                                                       \
  } while (false)

#endif  // TVM_FFI_EXTRA_CUDA_BASE_H_
