// SPDX-License-Identifier: Apache-2.0
// DLPack exports of tensors, and views of part of a tensor.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "raised.h"
#include "tensor_source.h"
#include "values.h"

namespace {

template <typename Source>
TVMFFIObjectHandle Import(Source* source) {
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(source->Import(0, 0, &tensor), 0);
  return tensor;
}

DLTensor Prototype(int32_t ndim, void* data, int64_t* shape, int64_t* strides) {
  DLTensor prototype = {};
  prototype.data = data;
  prototype.device = {kDLCPU, 0};
  prototype.ndim = ndim;
  prototype.dtype = {kDLFloat, 32, 1};
  prototype.shape = shape;
  prototype.strides = strides;
  return prototype;
}

uint64_t ExportedFlags(TVMFFIObjectHandle tensor) {
  DLManagedTensorVersioned* managed = nullptr;
  CHECK_EQ(TVMFFITensorToDLPackVersioned(tensor, &managed), 0);
  uint64_t flags = managed->flags;
  managed->deleter(managed);
  return flags;
}

}  // namespace

TEST_CASE("a legacy export points into the tensor and keeps it alive") {
  LegacySource source({2, 3});
  TVMFFIObjectHandle tensor = Import(&source);
  DLManagedTensor* managed = nullptr;
  CHECK_EQ(TVMFFITensorToDLPack(tensor, &managed), 0);
  CHECK_EQ(StrongCount(tensor), 2u);
  CHECK_EQ(managed->dl_tensor.data, static_cast<void*>(source.elements));
  CHECK_EQ(managed->dl_tensor.shape, source.shape.data());
  CHECK_EQ(managed->dl_tensor.strides, TensorOf(tensor)->strides);
  CHECK_EQ(managed->dl_tensor.strides[0], 3);
  TVMFFIObjectDecRef(tensor);
  CHECK_EQ(source.deletions, 0);
  managed->deleter(managed);
  CHECK_EQ(source.deletions, 1);
}

TEST_CASE("a versioned export has version 1.3") {
  VersionedSource source({2, 3});
  TVMFFIObjectHandle tensor = Import(&source);
  DLManagedTensorVersioned* managed = nullptr;
  CHECK_EQ(TVMFFITensorToDLPackVersioned(tensor, &managed), 0);
  CHECK_EQ(managed->version.major, 1u);
  CHECK_EQ(managed->version.minor, 3u);
  CHECK_EQ(managed->flags, 0u);
  CHECK_EQ(managed->dl_tensor.ndim, 2);
  TVMFFIObjectDecRef(tensor);
  CHECK_EQ(source.deletions, 0);
  managed->deleter(managed);
  CHECK_EQ(source.deletions, 1);
}

TEST_CASE("exports are independent of each other") {
  VersionedSource source({2});
  TVMFFIObjectHandle tensor = Import(&source);
  DLManagedTensor* legacy = nullptr;
  DLManagedTensorVersioned* versioned = nullptr;
  CHECK_EQ(TVMFFITensorToDLPack(tensor, &legacy), 0);
  CHECK_EQ(TVMFFITensorToDLPackVersioned(tensor, &versioned), 0);
  CHECK_EQ(StrongCount(tensor), 3u);
  legacy->deleter(legacy);
  versioned->deleter(versioned);
  CHECK_EQ(StrongCount(tensor), 1u);
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("an export may be imported again") {
  LegacySource source({2});
  TVMFFIObjectHandle tensor = Import(&source);
  DLManagedTensorVersioned* managed = nullptr;
  CHECK_EQ(TVMFFITensorToDLPackVersioned(tensor, &managed), 0);
  TVMFFIObjectDecRef(tensor);
  TVMFFIObjectHandle again = nullptr;
  CHECK_EQ(TVMFFITensorFromDLPackVersioned(managed, 4, 1, &again), 0);
  CHECK_EQ(TensorOf(again)->data, static_cast<void*>(source.elements));
  CHECK_EQ(source.deletions, 0);
  TVMFFIObjectDecRef(again);
  CHECK_EQ(source.deletions, 1);
}

TEST_CASE("the read-only flag survives the round trip") {
  VersionedSource writable({2});
  VersionedSource read_only({2});
  writable.managed.flags = DLPACK_FLAG_BITMASK_IS_COPIED;  // the flag describes only that export
  read_only.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED;
  TVMFFIObjectHandle tensor = Import(&writable);
  CHECK_EQ(ExportedFlags(tensor), 0u);
  TVMFFIObjectDecRef(tensor);
  tensor = Import(&read_only);
  CHECK_EQ(ExportedFlags(tensor), DLPACK_FLAG_BITMASK_READ_ONLY);
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("a view of a read-only tensor is read-only") {
  VersionedSource source({2});
  source.managed.flags = DLPACK_FLAG_BITMASK_READ_ONLY;
  TVMFFIObjectHandle tensor = Import(&source);
  int64_t shape[] = {1}, strides[] = {1};
  DLTensor prototype = Prototype(1, source.elements, shape, strides);
  TVMFFIObjectHandle view = nullptr, view_of_view = nullptr;
  CHECK_EQ(TVMFFITensorCreateUnsafeView(tensor, &prototype, &view), 0);
  CHECK_EQ(TVMFFITensorCreateUnsafeView(view, &prototype, &view_of_view), 0);
  CHECK_EQ(ExportedFlags(view_of_view), DLPACK_FLAG_BITMASK_READ_ONLY);
  TVMFFIObjectDecRef(view_of_view);
  TVMFFIObjectDecRef(view);
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("a view copies its metadata and keeps the source alive") {
  VersionedSource source({4, 4});
  TVMFFIObjectHandle tensor = Import(&source);
  int64_t shape[] = {2, 2}, strides[] = {4, 1};
  DLTensor prototype = Prototype(2, source.elements + 5, shape, strides);
  prototype.byte_offset = 4;
  TVMFFIObjectHandle view = nullptr;
  CHECK_EQ(TVMFFITensorCreateUnsafeView(tensor, &prototype, &view), 0);
  shape[0] = strides[0] = -1;
  TVMFFIObjectDecRef(tensor);
  CHECK_EQ(source.deletions, 0);
  const DLTensor* described = TensorOf(view);
  CHECK_EQ(TVMFFIObjectGetTypeIndex(view), 70);
  CHECK_EQ(described->data, static_cast<void*>(source.elements + 5));
  CHECK_EQ(described->ndim, 2);
  CHECK_EQ(described->byte_offset, 4u);
  CHECK_EQ(described->shape[0], 2);
  CHECK_EQ(described->shape[1], 2);
  CHECK_EQ(described->strides[0], 4);
  CHECK_EQ(described->strides[1], 1);
  TVMFFIObjectDecRef(view);
  CHECK_EQ(source.deletions, 1);
}

TEST_CASE("a view may be a scalar") {
  VersionedSource source({4});
  TVMFFIObjectHandle tensor = Import(&source), view = nullptr;
  int64_t nothing[] = {0};
  DLTensor prototype = Prototype(0, source.elements, nullptr, nothing);
  CHECK_EQ(TVMFFITensorCreateUnsafeView(tensor, &prototype, &view), 0);
  CHECK_EQ(TensorOf(view)->ndim, 0);
  TVMFFIObjectDecRef(view);
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("a view needs strides even for a scalar") {
  VersionedSource source({4});
  TVMFFIObjectHandle tensor = Import(&source), view = &source;
  int64_t shape[] = {4};
  for (int32_t ndim : {0, 1}) {
    DLTensor prototype = Prototype(ndim, source.elements, shape, nullptr);
    CHECK_RAISES(TVMFFITensorCreateUnsafeView(tensor, &prototype, &view), "InternalError",
                 "strides");
  }
  CHECK_EQ(view, static_cast<void*>(&source));
  CHECK_EQ(StrongCount(tensor), 1u);
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("a view rejects impossible metadata") {
  VersionedSource source({4});
  TVMFFIObjectHandle tensor = Import(&source), view = nullptr;
  int64_t shape[] = {-4}, strides[] = {1};
  DLTensor prototype = Prototype(1, source.elements, shape, strides);
  CHECK_RAISES(TVMFFITensorCreateUnsafeView(tensor, &prototype, &view), "ValueError",
               "shape[0] must be >= 0, got -4");
  prototype = Prototype(1, source.elements, nullptr, strides);
  CHECK_RAISES(TVMFFITensorCreateUnsafeView(tensor, &prototype, &view), "ValueError",
               "shape is NULL");
  prototype = Prototype(-1, source.elements, shape, strides);
  CHECK_RAISES(TVMFFITensorCreateUnsafeView(tensor, &prototype, &view), "ValueError", "ndim");
  CHECK_EQ(StrongCount(tensor), 1u);
  TVMFFIObjectDecRef(tensor);
}
