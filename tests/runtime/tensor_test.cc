// SPDX-License-Identifier: Apache-2.0
// Tensors made from DLPack structs, and rejected structs.
#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "raised.h"
#include "tensor_source.h"
#include "values.h"

namespace {

// Runs a check for both DLPack structs; `body` receives a function that creates tensor sources.
#define FOR_BOTH_VERSIONS(Test) \
  Test<LegacySource>();         \
  Test<VersionedSource>()

template <typename Source>
void ImportedTensorDescribesTheSameMemory() {
  Source source({2, 3}, {3, 1});
  source.managed.dl_tensor.byte_offset = 8;
  source.managed.dl_tensor.device = {kDLCUDA, 2};
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(source.Import(0, 0, &tensor), 0);
  CHECK_EQ(TVMFFIObjectGetTypeIndex(tensor), 70);
  const DLTensor* view = TensorOf(tensor);
  CHECK_EQ(view->data, static_cast<void*>(source.elements));
  CHECK_EQ(view->shape, source.shape.data());
  CHECK_EQ(view->strides, source.strides.data());
  CHECK_EQ(view->ndim, 2);
  CHECK_EQ(view->byte_offset, 8u);
  CHECK_EQ(view->device.device_type, 2);
  CHECK_EQ(view->device.device_id, 2);
  CHECK_EQ(view->dtype.bits, 32);
  TVMFFIObjectDecRef(tensor);
}

template <typename Source>
void SourceIsDeletedOnceWithTheTensor() {
  Source source({2});
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(source.Import(0, 0, &tensor), 0);
  TVMFFIObjectIncRef(tensor);
  TVMFFIObjectDecRef(tensor);
  CHECK_EQ(source.deletions, 0);
  TVMFFIObjectDecRef(tensor);
  CHECK_EQ(source.deletions, 1);
}

template <typename Source>
void SourceWithoutDeleterIsAllowed() {
  Source source({2});
  source.managed.deleter = nullptr;
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(source.Import(0, 0, &tensor), 0);
  CHECK_EQ(TVMFFIObjectDecRef(tensor), 0);
}

template <typename Source>
void CheckStrides(const std::vector<int64_t>& shape, const std::vector<int64_t>& expected) {
  Source source(shape);
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(source.Import(0, 1, &tensor), 0);
  const int64_t* strides = TensorOf(tensor)->strides;
  CHECK(strides != nullptr);
  CHECK(std::vector<int64_t>(strides, strides + shape.size()) == expected);
  CHECK(source.managed.dl_tensor.strides == nullptr);  // the source tensor is not changed
  TVMFFIObjectDecRef(tensor);
}

template <typename Source>
void MissingStridesAreFilledIn() {
  CheckStrides<Source>({5}, {1});
  CheckStrides<Source>({2, 3, 4}, {12, 4, 1});
  CheckStrides<Source>({2, 1, 4}, {4, 4, 1});
  CheckStrides<Source>({2, 0, 4}, {4, 4, 1});  // a dimension with extent 0 counts as 1
}

template <typename Source>
void ScalarHasNoShape() {
  Source source({});
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(source.Import(0, 1, &tensor), 0);
  CHECK_EQ(TensorOf(tensor)->ndim, 0);
  TVMFFIObjectDecRef(tensor);
}

template <typename Source>
void CheckContiguity(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides,
                     bool is_contiguous) {
  Source source(shape, strides);
  TVMFFIObjectHandle tensor = &source;
  if (!is_contiguous) {
    CHECK_RAISES(source.Import(0, 1, &tensor), "RuntimeError",
                 "FromDLPack: Tensor is not contiguous.");
    CHECK_EQ(source.deletions, 0);
    CHECK_EQ(tensor, static_cast<void*>(&source));
  }
  int32_t required = is_contiguous ? 1 : 0;
  CHECK_EQ(source.Import(0, required, &tensor), 0);
  TVMFFIObjectDecRef(tensor);
  CHECK_EQ(source.deletions, 1);
}

template <typename Source>
void OnlyCompactRowMajorIsContiguous() {
  CheckContiguity<Source>({2, 3}, {3, 1}, true);
  CheckContiguity<Source>({2, 3}, {1, 2}, false);   // column-major
  CheckContiguity<Source>({2, 3}, {4, 1}, false);   // a gap after each row
  CheckContiguity<Source>({2, 3}, {3, 2}, false);   //
  CheckContiguity<Source>({2, 3}, {-3, 1}, false);  //
  CheckContiguity<Source>({2, 3}, {0, 1}, false);   // broadcast
  CheckContiguity<Source>({1, 3}, {77, 1}, true);   // strides of extent 1 are ignored
  CheckContiguity<Source>({3, 1}, {1, 77}, true);   //
  CheckContiguity<Source>({1, 1}, {-5, 9}, true);   //
  CheckContiguity<Source>({2, 1, 3}, {3, 9, 1}, true);
  CheckContiguity<Source>({2, 1, 3}, {4, 9, 1}, false);
  CheckContiguity<Source>({0, 3}, {1, 50}, true);  // no elements
  CheckContiguity<Source>({3, 0}, {7, 7}, true);
}

template <typename Source>
void CheckAlignment(DLDeviceType device, uint64_t address, uint64_t offset, int32_t alignment,
                    const char* refusal) {
  Source source({2});
  source.managed.dl_tensor.device.device_type = device;
  source.managed.dl_tensor.data = reinterpret_cast<void*>(address);
  source.managed.dl_tensor.byte_offset = offset;
  TVMFFIObjectHandle tensor = nullptr;
  if (refusal != nullptr) {
    CHECK_RAISES(source.Import(alignment, 0, &tensor), "RuntimeError", refusal);
    CHECK_EQ(source.deletions, 0);
    return;
  }
  CHECK_EQ(source.Import(alignment, 0, &tensor), 0);
  TVMFFIObjectDecRef(tensor);
}

template <typename Source>
void AlignmentIsThatOfTheFirstElement() {
  const char* refusal64 = "FromDLPack: Data is not aligned to 64 bytes.";
  CheckAlignment<Source>(kDLCPU, 0x1000, 0, 64, nullptr);
  CheckAlignment<Source>(kDLCPU, 0x1008, 0, 64, refusal64);
  CheckAlignment<Source>(kDLCPU, 0x1008, 0, 8, nullptr);
  CheckAlignment<Source>(kDLCPU, 0x1008, 56, 64, nullptr);
  CheckAlignment<Source>(kDLCPU, 0x1000, 4, 8, "FromDLPack: Data is not aligned to 8 bytes.");
  CheckAlignment<Source>(kDLCPU, 0x1001, 0, 0, nullptr);
  CheckAlignment<Source>(kDLCPU, 0x1001, 0, -64, nullptr);
  for (DLDeviceType type : {kDLCUDA, kDLCUDAHost, kDLROCM, kDLROCMHost, kDLCUDAManaged}) {
    CheckAlignment<Source>(type, 0x1008, 0, 64, refusal64);
    CheckAlignment<Source>(type, 0x1008, 56, 64, nullptr);
  }
  for (DLDeviceType type : {kDLOpenCL, kDLVulkan, kDLMetal, kDLWebGPU}) {
    CheckAlignment<Source>(type, 0x1008, 0, 64, nullptr);  // data is a handle, not an address
    CheckAlignment<Source>(type, 0x1000, 8, 64, refusal64);
  }
}

template <typename Source>
void CheckRefused(Source& source, const char* message) {
  TVMFFIObjectHandle tensor = &source;
  CHECK_RAISES(source.Import(0, 0, &tensor), "ValueError", message);
  CHECK_EQ(tensor, static_cast<void*>(&source));
  CHECK_EQ(source.deletions, 0);
}

template <typename Source>
void ImpossibleDescriptionsAreRefused() {
  for (int32_t ndim : {-1, INT32_MIN, 1025, INT32_MAX}) {
    Source source({2});
    source.managed.dl_tensor.ndim = ndim;
    CheckRefused(source, "FromDLPack: ndim must be in 0..1024");
  }
  Source without_shape({2});
  without_shape.managed.dl_tensor.shape = nullptr;
  CheckRefused(without_shape, "shape is NULL but ndim is 1");
  Source negative({2, -1});
  CheckRefused(negative, "shape[1] must be >= 0, got -1");
  Source most_negative({INT64_MIN});
  CheckRefused(most_negative, "shape[0] must be >= 0");
  Source too_many({int64_t{1} << 32, int64_t{1} << 31});
  CheckRefused(too_many, "overflows int64 at shape[1]");
  Source empty_but_absurd({0, int64_t{1} << 32, int64_t{1} << 32});
  CheckRefused(empty_but_absurd, "overflows int64 at shape[2]");
  Source too_large({int64_t{1} << 60});
  CheckRefused(too_large, "the size in bits overflows int64 at shape[0]");
  for (uint64_t offset : {uint64_t{1} << 63, UINT64_MAX - 3}) {
    Source outside({2});
    outside.managed.dl_tensor.byte_offset = offset;
    CheckRefused(outside, "leads out of the address space");
  }
  Source wrapped({2});
  wrapped.managed.dl_tensor.data = reinterpret_cast<void*>(~uintptr_t{15});
  wrapped.managed.dl_tensor.byte_offset = 16;
  CheckRefused(wrapped, "byte_offset 16 leads out of the address space");
  for (int lanes : {0, -1}) {
    Source without_lanes({2});
    without_lanes.managed.dl_tensor.dtype.lanes = static_cast<uint16_t>(lanes);
    CheckRefused(without_lanes, lanes == 0 ? "with 0 lanes" : "with -1 lanes");
  }
}

template <typename Source>
void LargestDescriptionsAreAccepted() {
  Source many_elements({int64_t{1} << 29, int64_t{1} << 28});
  Source many_dimensions(std::vector<int64_t>(1024, 1));
  for (Source* source : {&many_elements, &many_dimensions}) {
    TVMFFIObjectHandle tensor = nullptr;
    CHECK_EQ(source->Import(0, 1, &tensor), 0);
    TVMFFIObjectDecRef(tensor);
    CHECK_EQ(source->deletions, 1);
  }
}

}  // namespace

TEST_CASE("import describes the same memory") {
  FOR_BOTH_VERSIONS(ImportedTensorDescribesTheSameMemory);
}
TEST_CASE("import takes ownership") { FOR_BOTH_VERSIONS(SourceIsDeletedOnceWithTheTensor); }
TEST_CASE("import accepts a null deleter") { FOR_BOTH_VERSIONS(SourceWithoutDeleterIsAllowed); }
TEST_CASE("import fills in missing strides") { FOR_BOTH_VERSIONS(MissingStridesAreFilledIn); }
TEST_CASE("import accepts scalars") { FOR_BOTH_VERSIONS(ScalarHasNoShape); }
TEST_CASE("import checks contiguity on request") {
  FOR_BOTH_VERSIONS(OnlyCompactRowMajorIsContiguous);
}
TEST_CASE("import checks alignment on request") {
  FOR_BOTH_VERSIONS(AlignmentIsThatOfTheFirstElement);
}
TEST_CASE("import rejects impossible metadata") {
  FOR_BOTH_VERSIONS(ImpossibleDescriptionsAreRefused);
}
TEST_CASE("import accepts the largest metadata") {
  FOR_BOTH_VERSIONS(LargestDescriptionsAreAccepted);
}

TEST_CASE("tensor fields are at the documented offsets") {
  VersionedSource source({4});
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(source.Import(0, 0, &tensor), 0);
  CHECK(reinterpret_cast<char*>(TensorOf(tensor)) == static_cast<char*>(tensor) + 24);
  CHECK_EQ(static_cast<TVMFFIObject*>(tensor)->combined_ref_count, UINT64_C(0x0000000100000001));
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("a forged major version is rejected") {
  for (uint32_t major : {0u, 2u, 9u, UINT32_MAX}) {
    VersionedSource source({2});
    source.managed.version.major = major;
    CheckRefused(source, "is not supported, expected 1.x");
  }
}

TEST_CASE("any minor version is accepted") {
  VersionedSource source({2});
  source.managed.version.minor = 99;
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_EQ(source.Import(0, 0, &tensor), 0);
  TVMFFIObjectDecRef(tensor);
}

TEST_CASE("padded subbyte types are rejected") {
  VersionedSource source({2});
  source.managed.flags = DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  TVMFFIObjectHandle tensor = nullptr;
  CHECK_RAISES(source.Import(0, 0, &tensor), "RuntimeError",
               "FromDLPack: tensors with padded sub-byte elements are not supported");
  CHECK_EQ(source.deletions, 0);
}
