// SPDX-License-Identifier: Apache-2.0
#include "duplicate_registration.h"

#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

#include "../platform/platform.h"

namespace tvm::ffi::runtime {
namespace {

std::string NameOfLibraryAt(const void* address) {
  std::string path = address == nullptr ? "" : platform::DescribeAddress(address).library;
  return path.empty() ? "the program" : path;
}

// Returns true if no warning has been printed for this library yet.
bool IsFirstWarning(const std::string& library) {
  static auto* mutex = new std::mutex();
  static auto* warned_libraries = new std::vector<std::string>();
  std::lock_guard<std::mutex> lock(*mutex);
  for (const std::string& other : *warned_libraries) {
    if (other == library) return false;
  }
  warned_libraries->push_back(library);
  return true;
}

}  // namespace

bool WarnIfLibraryIsLoading(const char* kind, std::string_view name, const void* registrant) {
  const void* library = platform::LibraryBeingInitialised();
  if (library == nullptr) return false;
  std::string path = NameOfLibraryAt(library);
  if (IsFirstWarning(path)) {
    std::fprintf(stderr,
                 "warning: %s registers the %s `%.*s`, which is already registered by %s; the "
                 "first registration stays in effect, also for further duplicates\n",
                 path.c_str(), kind, static_cast<int>(name.size()), name.data(),
                 NameOfLibraryAt(registrant).c_str());
  }
  return true;
}

}  // namespace tvm::ffi::runtime
