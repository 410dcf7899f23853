// SPDX-License-Identifier: Apache-2.0
// C++ kernels that each break one rule of the ABI or of their signature.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cstdint>
#include <limits>

namespace ffi = tvm::ffi;

#define SIGNATURE(name, text)                                                                    \
  extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi__metadata_##name(void*, const TVMFFIAny*, int32_t, \
                                                               TVMFFIAny* result) {              \
    static const char kText[] = "{\"signature\": \"" #name text "\"}";                           \
    const TVMFFIByteArray bytes = {kText, sizeof(kText) - 1};                                    \
    return TVMFFIStringFromByteArray(&bytes, result);                                            \
  }

namespace {

float* Floats(const ffi::TensorView& x) { return static_cast<float*>(x.data_ptr()); }

void NegateInput(ffi::TensorView x, ffi::TensorView y) {
  for (int64_t i = 0; i < x.numel(); ++i) Floats(y)[i] = Floats(x)[i] *= -1;
}

void HalfOfOutput(ffi::TensorView x, ffi::TensorView y) {
  for (int64_t i = 0; i < x.numel() / 2; ++i) Floats(y)[i] = Floats(x)[i];
}

void DivideByZero(ffi::TensorView y) {
  for (int64_t i = 0; i < y.numel(); ++i) Floats(y)[i] = std::numeric_limits<float>::infinity();
}

// Keeps a reference that nobody releases.
int64_t LeakTensor(ffi::Tensor x) {
  int64_t ndim = x.ndim();
  ffi::detail::ObjectUnsafe::MoveObjectRefToTVMFFIObjectPtr(std::move(x));
  return ndim;
}

// Releases the reference of the caller.
int64_t ReleaseTensor(ffi::Tensor x) {
  TVMFFIObjectDecRef(ffi::detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(x));
  return 0;
}

void ThrowWithoutText() { TVM_FFI_THROW(ValueError) << ""; }

void ThrowUnknownKind() { TVM_FFI_THROW(QuotaError) << "too many"; }

void LeaveStream(int64_t stream) {
  TVM_FFI_CHECK_SAFE_CALL(
      TVMFFIEnvSetStream(kDLCUDA, 1, reinterpret_cast<TVMFFIStreamHandle>(stream), nullptr));
}

}  // namespace

TVM_FFI_DLL_EXPORT_TYPED_FUNC(negate_input, NegateInput)
SIGNATURE(negate_input, "(x: float32[n], y: out float32[n])")
TVM_FFI_DLL_EXPORT_TYPED_FUNC(half_of_output, HalfOfOutput)
SIGNATURE(half_of_output, "(x: float32[n], y: out float32[n])")
TVM_FFI_DLL_EXPORT_TYPED_FUNC(divide_by_zero, DivideByZero)
SIGNATURE(divide_by_zero, "(y: out float32[n])")
TVM_FFI_DLL_EXPORT_TYPED_FUNC(leak_tensor, LeakTensor)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(release_tensor, ReleaseTensor)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_without_text, ThrowWithoutText)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(throw_unknown_kind, ThrowUnknownKind)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(leave_stream, LeaveStream)

// A C++ object as the result, with the type index of another type.
extern "C" TVM_FFI_DLL_EXPORT int __tvm_ffi_mistyped_string(void*, const TVMFFIAny*, int32_t,
                                                            TVMFFIAny* result) {
  ffi::Any text = ffi::String("a string on the heap");
  *result = ffi::detail::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(text));
  result->type_index = kTVMFFIBytes;
  return 0;
}
