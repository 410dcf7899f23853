// SPDX-License-Identifier: Apache-2.0
#include "module/library/other_runtimes.h"

#include <dlfcn.h>
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>

namespace tvm::ffi::extra {
namespace {

// The loader finds libraries that are loaded by this name, so every copy of a runtime has it.
constexpr const char* kSoname = "libtvm_ffi.so";

// What is known of the loader's list, to which new libraries are appended.
struct Seen {
  unsigned long long num_removed = 0;
  size_t num_libraries = 0;
  uintptr_t warned_of[8] = {};  // where they lie; more than that are not told apart
  size_t num_warned = 0;
};

struct Search {
  Seen* seen;
  uintptr_t own;    // where this library lies
  size_t position;  // in the list
  char found[1024];
};

uintptr_t OwnAddress() {
  Dl_info info;
  bool is_known = dladdr(reinterpret_cast<const void*>(&OwnAddress), &info) != 0;
  return is_known ? reinterpret_cast<uintptr_t>(info.dli_fbase) : 0;
}

const ElfW(Dyn) * DynamicSection(const dl_phdr_info& library) {
  for (size_t i = 0; i < library.dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = library.dlpi_phdr[i];
    if (segment.p_type == PT_DYNAMIC) {
      return reinterpret_cast<const ElfW(Dyn)*>(library.dlpi_addr + segment.p_vaddr);
    }
  }
  return nullptr;
}

bool HasNameOfRuntime(const dl_phdr_info& library) {
  const ElfW(Dyn)* entry = DynamicSection(library);
  if (entry == nullptr) return false;
  uintptr_t texts = 0, name = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) texts = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
  }
  if (texts == 0 || name == 0) return false;
  if (texts < library.dlpi_addr) texts += library.dlpi_addr;  // not every loader relocates it
  return std::strcmp(reinterpret_cast<const char*>(texts + name), kSoname) == 0;
}

// Whether it is the first time, which it is not when an earlier library has left the list.
bool IsNews(Seen* seen, uintptr_t address) {
  uintptr_t* end = seen->warned_of + seen->num_warned;
  if (std::find(seen->warned_of, end, address) != end) return false;
  if (seen->num_warned < std::size(seen->warned_of)) seen->warned_of[seen->num_warned++] = address;
  return true;
}

// Called with the loader's lock, under which nothing is printed.
int Look(dl_phdr_info* library, size_t /*size*/, void* data) {
  auto* search = static_cast<Search*>(data);
  Seen* seen = search->seen;
  if (search->position == 0 && seen->num_removed != library->dlpi_subs) {
    seen->num_removed = library->dlpi_subs;
    seen->num_libraries = 0;
  }
  if (search->position++ < seen->num_libraries || library->dlpi_addr == search->own) return 0;
  if (!HasNameOfRuntime(*library) || !IsNews(seen, library->dlpi_addr)) return 0;
  std::snprintf(search->found, sizeof(search->found), "%s", library->dlpi_name);
  return 1;  // the next search goes on from here
}

}  // namespace

void WarnOfOtherRuntimes() noexcept {
  static std::mutex mutex;
  static Seen seen;
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) return;  // another thread is looking; what it misses is found next time
  static const uintptr_t own = OwnAddress();
  Search search{&seen, own, 0, {}};
  dl_iterate_phdr(&Look, &search);
  seen.num_libraries = search.position;
  if (search.found[0] == '\0') return;
  std::fprintf(stderr,
               "warning: %s is a second copy of the TVM FFI runtime in this process; what uses it "
               "and what uses the first know nothing of each other's types and functions, so "
               "remove it or what loads it\n",
               search.found);
}

}  // namespace tvm::ffi::extra
