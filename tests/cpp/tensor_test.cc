// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/function.h>

#include <algorithm>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

int live_allocations = 0;

struct Allocator {
  void AllocData(DLTensor* tensor, int fill) {
    ++live_allocations;
    tensor->data = std::malloc(GetDataSize(*tensor));
    std::memset(tensor->data, fill, GetDataSize(*tensor));
  }
  void FreeData(DLTensor* tensor) {
    --live_allocations;
    std::free(tensor->data);
  }
};

constexpr DLDataType kFloat32{kDLFloat, 32, 1};
constexpr DLDevice kCPU{kDLCPU, 0};

Tensor NewTensor(ShapeView shape) {
  return Tensor::FromNDAlloc(Allocator(), shape, kFloat32, kCPU, 0);
}

TEST_CASE("an allocated tensor is compact") {
  {
    Tensor tensor = NewTensor({2, 3});
    CHECK_EQ(tensor.ndim(), 2);
    CHECK_EQ(tensor.numel(), 6);
    CHECK_EQ(tensor.size(-1), 3);
    CHECK_EQ(tensor.stride(0), 3);
    CHECK_EQ(GetDataSize(tensor), 24u);
    CHECK((tensor.IsContiguous() && tensor.is_contiguous() && tensor.IsAligned(4)));
    CHECK(tensor.dtype() == kFloat32);
    CHECK_EQ(live_allocations, 1);
  }
  CHECK_EQ(live_allocations, 0);
}

TEST_CASE("strided views share memory") {
  Tensor tensor = NewTensor({2, 3});
  Tensor transposed = tensor.as_strided({3, 2}, {1, 3});
  CHECK(!transposed.IsContiguous());
  CHECK(transposed.data_ptr() == tensor.data_ptr());
  Tensor column = tensor.as_strided({2}, {3}, 1);
  CHECK_EQ(static_cast<char*>(column.data_ptr()) - static_cast<char*>(tensor.data_ptr()), 4);
  TensorView view = tensor;
  int64_t shape[] = {6};
  int64_t strides[] = {1};
  CHECK_EQ(view.as_strided(ShapeView(shape, 1), ShapeView(strides, 1)).numel(), 6);
  CHECK_EQ(Thrown([&] { Tensor::FromNDAllocStrided(Allocator(), {2}, {1, 1}, kFloat32, kCPU, 0); }),
           "ValueError: shape and strides must have the same size.");
  Tensor strided = Tensor::FromNDAllocStrided(Allocator(), {2, 2}, {1, 2}, kFloat32, kCPU, 0);
  CHECK_EQ(strided.stride(1), 2);
}

TEST_CASE("dimensions are checked") {
  Tensor tensor = NewTensor({2, 3});
  CHECK_EQ(Thrown([&] { tensor.size(2); }),
           "IndexError: Index 2 out of bounds for tensor with 2 dimensions");
  CHECK_EQ(Thrown([&] { TensorView(tensor).stride(-3); }),
           "IndexError: Index -3 out of bounds for tensor with 2 dimensions");
  DLTensor bare = *tensor.GetDLTensorPtr();
  bare.strides = nullptr;
  CHECK_EQ(TensorView(&bare).stride(0), 3);
  CHECK_EQ(Thrown([&] { TensorView(&bare).strides(); }).substr(0, 13), "InternalError");
  CHECK_EQ(Thrown([] { TensorView view{Tensor().GetDLTensorPtr()}; }).substr(0, 13),
           "InternalError");
}

TEST_CASE("contiguity ignores unit extents") {
  int64_t shape[] = {1, 3};
  int64_t strides[] = {77, 1};
  DLTensor tensor{nullptr, kCPU, 2, kFloat32, shape, strides, 0};
  CHECK(IsContiguous(tensor));
  strides[1] = 2;
  CHECK(!IsContiguous(tensor));
  shape[0] = 0;
  CHECK(IsContiguous(tensor));
  CHECK_EQ(GetDataSize(3, DLDataType{kDLFloat4_e2m1fn, 4, 1}), 2u);
}

// Regression: signed arithmetic on sizes overflowed; UBSan reports this.
TEST_CASE("beside an extent of 0, other extents may be of any size") {
  int64_t shape[] = {0, int64_t{1} << 40, int64_t{1} << 40};
  int64_t strides[] = {1, 1, 1};
  DLTensor tensor{nullptr, kCPU, 3, kFloat32, shape, strides, 0};
  CHECK(IsContiguous(tensor));
  CHECK_EQ(ShapeView(shape, 3).Product(), 0);
  std::reverse(shape, shape + 3);
  CHECK_EQ(ShapeView(shape, 3).Product(), 0);
}

// Regression: sizes wrapped around, so that allocators received requests for a few bytes or for
// none.
TEST_CASE("a tensor whose size overflows is refused before its allocator is called") {
  constexpr int64_t kHuge = int64_t{1} << 62;
  const char* too_large =
      "ValueError: a tensor of this shape, of 2 dimensions, is too large: the size of its data in "
      "bits overflows 64 bits";
  CHECK_EQ(Thrown([&] { NewTensor({kHuge, 4}); }), too_large);
  CHECK_EQ(Thrown([&] { NewTensor({(int64_t{1} << 59) + 1, 1}); }), too_large);
  CHECK_EQ(Thrown([] { NewTensor({-4, -4}); }), "ValueError: shape[0] must be >= 0, got -4");
  CHECK_EQ(Thrown([] { NewTensor({0, INT64_MIN}); }),
           "ValueError: shape[1] must be >= 0, got -9223372036854775808");
  CHECK_EQ(Thrown([&] {
             Tensor::FromNDAllocStrided(Allocator(), {kHuge, 4}, {0, 1}, kFloat32, kCPU, 0);
           }),
           too_large);
  CHECK_EQ(live_allocations, 0);
  CHECK_EQ(GetDataSize(NewTensor({kHuge, 0, 4})), 0u);
}

TEST_CASE("the size of a borrowed tensor is checked") {
  int64_t shape[] = {int64_t{1} << 40, int64_t{1} << 40};
  DLTensor tensor{nullptr, kCPU, 2, kFloat32, shape, nullptr, 0};
  CHECK_EQ(Thrown([&] { GetDataSize(tensor); }).substr(0, 10), "ValueError");
  CHECK_EQ(Thrown([&] { GetDataSize(TensorView(&tensor)); }).substr(0, 10), "ValueError");
  shape[1] = -1;
  CHECK_EQ(Thrown([&] { GetDataSize(tensor); }), "ValueError: shape[1] must be >= 0, got -1");
  shape[1] = 1;
  CHECK_EQ(GetDataSize(tensor), size_t{1} << 42);
  tensor.ndim = 0;
  CHECK_EQ(GetDataSize(tensor), 4u);
}

TEST_CASE("an element offset that overflows is refused") {
  Tensor tensor = NewTensor({2});
  CHECK_EQ(Thrown([&] { tensor.as_strided({1}, {1}, int64_t{1} << 60); }),
           "ValueError: as_strided: the element offset is too large");
}

TEST_CASE("DLPack round trip") {
  {
    Tensor tensor = NewTensor({4});
    Tensor again = Tensor::FromDLPackVersioned(tensor.ToDLPackVersioned());
    CHECK(again.data_ptr() == tensor.data_ptr());
    DLManagedTensor* managed = tensor.as_strided({2}, {2}).ToDLPack();
    CHECK_EQ(Thrown([&] { Tensor::FromDLPack(managed, 0, true); }),
             "RuntimeError: FromDLPack: Tensor is not contiguous.");
    managed->deleter(managed);
  }
  CHECK_EQ(live_allocations, 0);
}

TEST_CASE("views are made from elements") {
  using TensorMap = Map<String, Tensor>;
  Array<Tensor> array{NewTensor({2}), NewTensor({3})};
  TensorMap map{{"a", NewTensor({4})}};
  TensorView element = array[1];
  TensorView first = *array.begin();
  TensorView mapped = map["a"];
  TensorView found = map.at("a");
  CHECK_EQ(element.size(0), 3);
  CHECK_EQ(first.size(0), 2);
  CHECK_EQ(mapped.size(0), 4);
  CHECK(found.data_ptr() == mapped.data_ptr());
  for (TensorView view : array) CHECK_EQ(view.ndim(), 1);
  for (const auto& [name, tensor] : map) CHECK_EQ(TensorView(tensor).numel(), 4);
  static_assert(!std::is_constructible_v<TensorView, Tensor>, "nothing keeps it alive");
}

TEST_CASE("parameters accept views and tensors") {
  Tensor tensor = NewTensor({2});
  Function function = Function::FromTyped(
      [](TensorView a, const TensorView& b, Optional<TensorView> c, Tensor d, DLTensor* e) {
        TVM_FFI_ICHECK_EQ(a.dtype(), b.dtype());
        return a.ndim() + c.has_value() * 10 + d.defined() * 100 + (e != nullptr) * 1000;
      });
  CHECK_EQ(function(tensor, TensorView(tensor), nullptr, nullptr, tensor).cast<int>(), 1001);
  CHECK_EQ(function(tensor, tensor, tensor, tensor, tensor).cast<int>(), 1111);
  CHECK(Thrown([&] {
          function(nullptr, tensor, nullptr, nullptr, tensor);
        }).find("Expected `DLTensor*` but got `None`") != std::string::npos);
}

TEST_CASE("the object of a tensor is accessible") {
  Tensor tensor = NewTensor({2, 3});
  CHECK_EQ(tensor->ndim, 2);
  const TensorObj* object = tensor.get();
  CHECK(object == tensor.as<TensorObj>());
  const TensorView view = tensor;
  DLTensor* raw = view.GetDLTensorPtr();
  CHECK_EQ(raw->shape[1], 3);
  static_assert(std::is_same_v<Shape::index_type, int64_t>);
}

TEST_CASE("the environment's allocator allocates tensors with strides") {
  static int64_t requested = -1;
  auto allocate = [](DLTensor* prototype, TVMFFIObjectHandle* out) {
    requested = prototype->ndim == 1 ? prototype->shape[0] : -1;
    return TVMFFIEnvTensorAlloc(prototype, out);
  };
  Tensor tensor = Tensor::FromEnvAllocStrided(allocate, {2, 3}, {1, 4}, kFloat32, kCPU);
  CHECK_EQ(requested, 10);
  CHECK_EQ(tensor.size(0), 2);
  CHECK_EQ(tensor.size(1), 3);
  CHECK_EQ(tensor.stride(0), 1);
  CHECK_EQ(tensor.stride(1), 4);
  Tensor repeated = Tensor::FromEnvAllocStrided(allocate, {1 << 20, 2}, {0, 1}, kFloat32, kCPU);
  CHECK_EQ(requested, 2);
  CHECK_EQ(Tensor::FromEnvAllocStrided(allocate, {0, 5}, {5, 1}, kFloat32, kCPU).numel(), 0);
  CHECK_EQ(requested, 0);
  CHECK_EQ(Tensor::FromEnvAllocStrided(allocate, {}, {}, kFloat32, kCPU).ndim(), 0);
  auto thrown = [&](ShapeView shape, ShapeView strides) {
    requested = -2;
    std::string text =
        Thrown([&] { Tensor::FromEnvAllocStrided(allocate, shape, strides, kFloat32, kCPU); });
    CHECK_EQ(requested, -2);
    return text;
  };
  CHECK_EQ(thrown({2, 3}, {1}), "ValueError: shape and strides must have the same size.");
  CHECK_EQ(thrown({2}, {-1}), "ValueError: FromEnvAllocStrided: expected strides >= 0");
  CHECK(thrown({-2}, {1}).find("ValueError: ") == 0);
  CHECK(thrown({2, 3}, {INT64_MAX, 1}).find("ValueError: ") == 0);
}

TEST_CASE("strides for another shape are rejected") {
  constexpr const char* kMessage = "ValueError: shape and strides must have the same size.";
  CHECK_EQ(Thrown([] { Tensor::FromNDAllocStrided(Allocator(), {2, 3}, {1}, kFloat32, kCPU, 0); }),
           kMessage);
  Tensor tensor = NewTensor({2, 3});
  CHECK_EQ(Thrown([&] { tensor.as_strided({2}, {1, 2}); }), kMessage);
}

}  // namespace
