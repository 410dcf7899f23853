// SPDX-License-Identifier: Apache-2.0
// Reference counting of the object header, opaque objects, and the allocator slot.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "raised.h"
#include "threads.h"
#include "values.h"

namespace {

// An object on the stack, whose deleter records its flags.
struct TracedObject {
  TVMFFIObject header;
  std::vector<int> deleter_flags;
  uint64_t count_in_deleter = 0;

  explicit TracedObject(uint64_t count) {
    header.combined_ref_count = count;
    header.type_index = kTVMFFIObject;
    header.__padding = 0;
    header.deleter = [](void* self, int flags) {
      auto* object = reinterpret_cast<TracedObject*>(self);
      object->deleter_flags.push_back(flags);
      object->count_in_deleter = object->header.combined_ref_count;
    };
  }
};

constexpr uint64_t Counts(uint64_t weak, uint64_t strong) { return weak << 32 | strong; }

int opaque_deletions = 0;
void CountOpaqueDeletion(void* tag) { opaque_deletions += *static_cast<int*>(tag); }

}  // namespace

TEST_CASE("the version is that of the contract") {
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  CHECK_EQ(version.major, 0u);
  CHECK_EQ(version.minor, 1u);
  CHECK_EQ(version.patch, 16u);
}

TEST_CASE("IncRef adds one strong reference") {
  TracedObject object(Counts(1, 1));
  CHECK_EQ(TVMFFIObjectIncRef(&object.header), 0);
  CHECK_EQ(object.header.combined_ref_count, Counts(1, 2));
}

TEST_CASE("DecRef of a shared object only decrements") {
  TracedObject object(Counts(1, 2));
  CHECK_EQ(TVMFFIObjectDecRef(&object.header), 0);
  CHECK_EQ(object.header.combined_ref_count, Counts(1, 1));
  CHECK_EQ(object.deleter_flags.size(), 0u);
}

TEST_CASE("the last reference destroys and frees in one call") {
  TracedObject object(Counts(1, 1));
  TVMFFIObjectDecRef(&object.header);
  CHECK(object.deleter_flags == std::vector<int>{3});
  CHECK_EQ(object.count_in_deleter, Counts(1, 0));
}

TEST_CASE("the last strong reference with a weak one remaining only destroys") {
  TracedObject object(Counts(2, 1));
  TVMFFIObjectDecRef(&object.header);
  CHECK(object.deleter_flags == std::vector<int>{1});
  CHECK_EQ(object.count_in_deleter, Counts(2, 0));
  CHECK_EQ(object.header.combined_ref_count, Counts(1, 0));
}

TEST_CASE("a weak reference released during destruction leaves the memory to the last strong one") {
  TracedObject object(Counts(2, 1));
  object.header.deleter = [](void* self, int flags) {
    auto* traced = reinterpret_cast<TracedObject*>(self);
    traced->deleter_flags.push_back(flags);
    if (flags == 1) traced->header.combined_ref_count -= TVM_FFI_REF_COUNT_WEAK_ONE;
  };
  TVMFFIObjectDecRef(&object.header);
  CHECK((object.deleter_flags == std::vector<int>{1, 2}));
  CHECK_EQ(object.header.combined_ref_count, 0u);
}

TEST_CASE("DecRef of null does nothing") { CHECK_EQ(TVMFFIObjectDecRef(nullptr), 0); }

TEST_CASE("a null deleter is skipped") {
  TracedObject object(Counts(1, 1));
  object.header.deleter = nullptr;
  CHECK_EQ(TVMFFIObjectDecRef(&object.header), 0);
  TracedObject weak(Counts(2, 1));
  weak.header.deleter = nullptr;
  CHECK_EQ(TVMFFIObjectDecRef(&weak.header), 0);
  CHECK_EQ(weak.header.combined_ref_count, Counts(1, 0));
}

TEST_CASE("memory outlives the destructor while a weak reference exists") {
  int one = 1;
  opaque_deletions = 0;
  TVMFFIObjectHandle opaque = NewOpaque(&one, &CountOpaqueDeletion);
  auto* header = static_cast<TVMFFIObject*>(opaque);
  header->combined_ref_count += TVM_FFI_REF_COUNT_WEAK_ONE;
  TVMFFIObjectDecRef(opaque);
  CHECK_EQ(opaque_deletions, 1);
  // Still readable: under AddressSanitizer these loads are the test.
  CHECK_EQ(header->combined_ref_count, Counts(1, 0));
  CHECK_EQ(header->type_index, 74);
  header->deleter(header, kTVMFFIObjectDeleterFlagBitMaskWeak);
  CHECK_EQ(opaque_deletions, 1);
}

TEST_CASE("references of every thread are counted") {
  TracedObject object(Counts(1, 1));
  constexpr int kThreads = 8;
  constexpr int kRounds = 2000;
  RunTogether(kThreads, [&](int) {
    for (int i = 0; i < kRounds; ++i) TVMFFIObjectIncRef(&object.header);
    for (int i = 0; i < kRounds; ++i) TVMFFIObjectDecRef(&object.header);
  });
  CHECK_EQ(object.header.combined_ref_count, Counts(1, 1));
  CHECK_EQ(object.deleter_flags.size(), 0u);
}

TEST_CASE("the deleter sees the writes of other threads before their release") {
  struct Shared {
    int writes[4] = {};
    int sum = 0;
  } shared;
  TVMFFIObjectHandle object = NewOpaque(&shared, [](void* tag) {
    auto* written = static_cast<Shared*>(tag);
    for (int value : written->writes) written->sum += value;
  });
  for (int i = 1; i < 4; ++i) TVMFFIObjectIncRef(object);
  RunTogether(4, [&](int i) {
    shared.writes[i] = i + 1;
    TVMFFIObjectDecRef(object);
  });
  CHECK_EQ(shared.sum, 10);
}

TEST_CASE("an opaque object has the documented layout") {
  int tag = 0;
  TVMFFIObjectHandle object = NewOpaque(&tag, nullptr);
  auto* header = static_cast<TVMFFIObject*>(object);
  CHECK_EQ(header->combined_ref_count, UINT64_C(0x0000000100000001));
  CHECK_EQ(header->type_index, 74);
  CHECK_EQ(header->__padding, 0u);
  void* handle = nullptr;
  std::memcpy(&handle, static_cast<char*>(object) + 24, sizeof(handle));
  CHECK_EQ(handle, static_cast<void*>(&tag));
  TVMFFIObjectDecRef(object);
}

TEST_CASE("an opaque deleter runs once with the handle") {
  int hundred = 100;
  opaque_deletions = 0;
  TVMFFIObjectHandle object = NewOpaque(&hundred, &CountOpaqueDeletion);
  TVMFFIObjectIncRef(object);
  TVMFFIObjectDecRef(object);
  CHECK_EQ(opaque_deletions, 0);
  TVMFFIObjectDecRef(object);
  CHECK_EQ(opaque_deletions, 100);
}

TEST_CASE("an opaque object rejects other types") {
  int one = 1;
  opaque_deletions = 0;
  TVMFFIObjectHandle object = &one;
  CHECK_RAISES(TVMFFIObjectCreateOpaque(&one, kTVMFFIModule, &CountOpaqueDeletion, &object),
               "RuntimeError",
               "TVMFFIObjectCreateOpaque: expected the type index kTVMFFIOpaquePyObject, got ");
  CHECK_EQ(object, static_cast<void*>(&one));  // the out-parameter is unchanged
  CHECK_EQ(opaque_deletions, 0);               // the caller keeps ownership
}

TEST_CASE("the default allocator aligns the body and precedes it with its deleter") {
  TVMFFICustomAllocator* allocator = TVMFFIGetCustomAllocator();
  CHECK(allocator != nullptr);
  for (size_t alignment : {size_t{1}, size_t{8}, size_t{64}, size_t{4096}}) {
    void* body = allocator->allocate(40, alignment, kTVMFFIObject, allocator->context);
    CHECK(body != nullptr);
    CHECK_EQ(reinterpret_cast<uintptr_t>(body) % alignment, 0u);
    std::memset(body, 0x5A, 40);
    auto* header = static_cast<TVMFFIObjectAllocHeader*>(body) - 1;
    header->delete_space(body);
  }
}

TEST_CASE("the default allocator returns null for impossible sizes") {
  TVMFFICustomAllocator* allocator = TVMFFIGetCustomAllocator();
  CHECK(allocator->allocate(SIZE_MAX, 8, kTVMFFIObject, allocator->context) == nullptr);
}

TEST_CASE("a custom allocator is stored by address until replaced") {
  TVMFFICustomAllocator* original = TVMFFIGetCustomAllocator();
  TVMFFICustomAllocator own = {[](size_t, size_t, int32_t, void*) -> void* { return nullptr; },
                               nullptr};
  CHECK_EQ(TVMFFISetCustomAllocator(&own), 0);
  CHECK_EQ(TVMFFIGetCustomAllocator(), &own);
  CHECK_EQ(TVMFFISetCustomAllocator(nullptr), 0);
  CHECK_EQ(TVMFFIGetCustomAllocator(), original);
}
