// SPDX-License-Identifier: Apache-2.0
// Shapes and tensors: allocated by one library, viewed, exported and released by the other.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <cstdlib>
#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;

constexpr DLDataType kFloat32{kDLFloat, 32, 1};
constexpr DLDevice kCPU{kDLCPU, 0};

// The number of live buffers of this library.
int64_t& LiveBuffers() {
  static int64_t count = 0;
  return count;
}

struct CountingAlloc {
  void AllocData(DLTensor* tensor) {
    ++LiveBuffers();
    tensor->data = std::malloc(GetDataSize(*tensor) + 1);
  }
  void FreeData(DLTensor* tensor) {
    --LiveBuffers();
    std::free(tensor->data);
  }
};

// A 3 x 4 matrix with the elements 0, 1, ...
Tensor NewMatrix() {
  Tensor tensor = Tensor::FromNDAlloc(CountingAlloc(), Shape{3, 4}, kFloat32, kCPU);
  float* data = static_cast<float*>(tensor.data_ptr());
  for (int i = 0; i < 12; ++i) data[i] = static_cast<float>(i);
  return tensor;
}

template <typename T>
void CheckIsMatrix(const T& tensor) {
  CHECK_EQ(tensor.ndim(), 2);
  CHECK_EQ(tensor.size(0), 3);
  CHECK_EQ(tensor.size(-1), 4);
  CHECK_EQ(tensor.stride(0), 4);
  CHECK_EQ(tensor.strides()[1], 1);
  CHECK_EQ(tensor.numel(), 12);
  CHECK_EQ(tensor.byte_offset(), uint64_t{0});
  CHECK(tensor.dtype() == kFloat32);
  CHECK_EQ(tensor.device().device_type, kDLCPU);
  CHECK(tensor.IsContiguous());
  CHECK_EQ(static_cast<const float*>(tensor.data_ptr())[11], 11.0f);
}

// ---- Shape --------------------------------------------------------------------------------------

Shape MakeShape(Any, int64_t ndim) {
  std::vector<int64_t> extents;
  for (int64_t i = 0; i < ndim; ++i) extents.push_back(i + 2);
  return Shape(extents);
}
Shape CheckShape(Shape shape, int64_t ndim) {
  CHECK_EQ(shape.size(), static_cast<size_t>(ndim));
  int64_t product = 1;
  for (int64_t i = 0; i < ndim; ++i) {
    CHECK_EQ(shape[static_cast<size_t>(i)], i + 2);
    product *= i + 2;
  }
  CHECK_EQ(shape.Product(), product);
  return shape;
}
Array<int64_t> MakeExtents(Any, int64_t ndim) {
  Shape shape = MakeShape(nullptr, ndim);
  return Array<int64_t>(shape.begin(), shape.end());
}

// ---- Owned tensors ------------------------------------------------------------------------------

Tensor MakeTensor(Any) { return NewMatrix(); }
Tensor CheckTensor(Tensor tensor) {
  CheckIsMatrix(tensor);
  return tensor;
}
void CheckTensorView(TensorView tensor) { CheckIsMatrix(tensor); }
Any CheckLiveBuffers(Any value, int64_t count) {
  CHECK_EQ(LiveBuffers(), count);
  return value;
}
// The transposed matrix without its first column: a view that owns the only reference to the
// memory.
Tensor MakeView(Tensor tensor) { return tensor.as_strided({3, 3}, {1, 4}, 1); }
Tensor CheckView(Tensor view) {
  const float* data = static_cast<const float*>(view.data_ptr());
  CHECK_EQ(view.size(0), 3);
  CHECK_EQ(view.stride(0), 1);
  CHECK_EQ(view.stride(1), 4);
  CHECK_EQ(data[0], 1.0f);
  CHECK_EQ(data[2 * view.stride(1) + view.stride(0)], 10.0f);
  CHECK(!view.IsContiguous());
  return view;
}
Tensor MakeScalar(Any) {
  Tensor tensor = Tensor::FromNDAlloc(CountingAlloc(), Shape(), DLDataType{kDLInt, 8, 1}, kCPU);
  *static_cast<int8_t*>(tensor.data_ptr()) = 42;
  return tensor;
}
void CheckScalar(Tensor tensor) {
  CHECK_EQ(tensor.ndim(), 0);
  CHECK_EQ(tensor.numel(), 1);
  CHECK_EQ(*static_cast<const int8_t*>(tensor.data_ptr()), 42);
}
Tensor MakeEmpty(Any) {
  return Tensor::FromNDAllocStrided(CountingAlloc(), Shape{2, 0}, Shape{7, 1}, kFloat32, kCPU);
}
void CheckEmpty(TensorView tensor) {
  CHECK_EQ(tensor.numel(), 0);
  CHECK_EQ(tensor.stride(0), 7);
  CHECK(tensor.IsContiguous());
}
// Takes a matrix through a parameter of each tensor type.
Function MakeTensorTaker(Any, String kind) {
  if (kind == "view") return Function::FromTyped([](TensorView tensor) { CheckIsMatrix(tensor); });
  if (kind == "tensor") return Function::FromTyped([](Tensor tensor) { CheckIsMatrix(tensor); });
  if (kind == "pointer") {
    return Function::FromTyped([](DLTensor* tensor) { CheckIsMatrix(TensorView(tensor)); });
  }
  if (kind == "optional view") {
    return Function::FromTyped([](Optional<TensorView> tensor) { CheckIsMatrix(tensor.value()); });
  }
  return Function::FromTyped([](Optional<Tensor> tensor) { CheckIsMatrix(tensor.value()); });
}
void PassTensor(Function take, String kind) {
  Tensor tensor = NewMatrix();
  take(tensor);
  if (kind == "tensor" || kind == "optional tensor") return;
  take(TensorView(tensor));
  DLTensor copy = *tensor.GetDLTensorPtr();
  take(&copy);
}

// ---- DLPack -------------------------------------------------------------------------------------

void* ExportVersioned(Any) { return NewMatrix().ToDLPackVersioned(); }
void* ExportLegacy(Any) { return NewMatrix().ToDLPack(); }
Tensor ImportVersioned(void* managed) {
  return Tensor::FromDLPackVersioned(static_cast<DLManagedTensorVersioned*>(managed), 4, true);
}
Tensor ImportLegacy(void* managed) {
  return Tensor::FromDLPack(static_cast<DLManagedTensor*>(managed), 4, true);
}
void* ExportAgain(Tensor tensor) { return tensor.ToDLPackVersioned(); }
// The caller still owns a tensor that the callee rejected.
void* RefuseImport(void* managed) {
  std::string message;
  try {
    Tensor::FromDLPackVersioned(static_cast<DLManagedTensorVersioned*>(managed), 1 << 30);
  } catch (const Error& error) {
    message = error.kind() + ": " + error.message();
  }
  CHECK_EQ(message, "RuntimeError: FromDLPack: Data is not aligned to 1073741824 bytes.");
  return managed;
}
void ReleaseExport(void* managed) {
  auto* tensor = static_cast<DLManagedTensorVersioned*>(managed);
  CHECK_EQ(tensor->version.major, 1);
  tensor->deleter(tensor);
}

// ---- Environment allocator ----------------------------------------------------------------------

int AllocateForEnvironment(DLTensor* prototype, DLManagedTensorVersioned** out, void*,
                           void (*)(void*, const char*, const char*)) {
  Tensor tensor = Tensor::FromNDAlloc(
      CountingAlloc(), ShapeView(prototype->shape, static_cast<size_t>(prototype->ndim)),
      prototype->dtype, prototype->device);
  *out = tensor.ToDLPackVersioned();
  return 0;
}
Any SetAllocator(Any, bool set) {
  DLPackManagedTensorAllocator previous = nullptr;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIEnvSetDLPackManagedTensorAllocator(
      set ? AllocateForEnvironment : nullptr, 0, &previous));
  CHECK_EQ(previous == nullptr, set);
  return nullptr;
}
Tensor AllocateTensor(Any) {
  return Tensor::FromEnvAlloc(TVMFFIEnvTensorAlloc, {2, 5}, kFloat32, kCPU);
}
Tensor CheckAllocated(Tensor tensor) {
  CHECK_EQ(tensor.numel(), 10);
  CHECK_EQ(tensor.stride(0), 5);
  CHECK_EQ(LiveBuffers(), 1);
  return tensor;
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_shape, exchange::MakeShape)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_shape, exchange::CheckShape)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_extents, exchange::MakeExtents)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_tensor, exchange::MakeTensor)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_tensor, exchange::CheckTensor)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_tensor_view, exchange::CheckTensorView)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_tensor_taker, exchange::MakeTensorTaker)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(pass_tensor, exchange::PassTensor)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_live_buffers, exchange::CheckLiveBuffers)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_view, exchange::MakeView)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_view, exchange::CheckView)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_scalar, exchange::MakeScalar)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_scalar, exchange::CheckScalar)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_empty_tensor, exchange::MakeEmpty)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_empty_tensor, exchange::CheckEmpty)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(export_versioned, exchange::ExportVersioned)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(export_legacy, exchange::ExportLegacy)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(import_versioned, exchange::ImportVersioned)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(import_legacy, exchange::ImportLegacy)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(export_again, exchange::ExportAgain)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(refuse_import, exchange::RefuseImport)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(release_export, exchange::ReleaseExport)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(set_allocator, exchange::SetAllocator)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(allocate_tensor, exchange::AllocateTensor)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_allocated, exchange::CheckAllocated)
