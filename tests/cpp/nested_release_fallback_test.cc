// SPDX-License-Identifier: Apache-2.0
// Programs built with these headers release containers on a runtime without deferred release. The
// program simulates such a runtime: its TVMFFIGetTypeAttrColumn precedes the library's.
#include <dlfcn.h>
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/release_detail.h>

#include <string_view>

static int num_lookups = 0;

const TVMFFITypeAttrColumn* TVMFFIGetTypeAttrColumn(const TVMFFIByteArray* name) {
  if (std::string_view(name->data, name->size) == tvm::ffi::detail::kReleaseInTurnAttr) {
    ++num_lookups;
    return nullptr;
  }
  using Function = const TVMFFITypeAttrColumn* (*)(const TVMFFIByteArray*);
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, "TVMFFIGetTypeAttrColumn"))(name);
}

namespace {

using namespace tvm::ffi;

TEST_CASE("containers are released and the runtime is asked once") {
  Array<Any> kept = {1};
  for (int repeat = 0; repeat < 3; ++repeat) {
    Any nest = kept;
    for (int i = 0; i < 1000; ++i) nest = Array<Any>{std::move(nest)};
    CHECK_EQ(kept.use_count(), 2);
    nest = nullptr;
    CHECK_EQ(kept.use_count(), 1);
  }
  CHECK_EQ(num_lookups, 1);
}

}  // namespace
