// SPDX-License-Identifier: Apache-2.0
// Search for a second copy of the runtime among the loaded ELF libraries.
#include <link.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>

#include "platform.h"

namespace tvm::ffi::platform {
namespace {

// The SONAME of the runtime.  Every copy of the runtime has this SONAME, because clients are linked
// to it.
constexpr const char* kSoname = "libtvm_ffi.so";

// State of the scan of the loader's list of libraries.  The loader appends new libraries to the
// list.
struct ScanState {
  unsigned long long num_removed = 0;
  size_t num_libraries = 0;
  uintptr_t warned_of[8] = {};  // load addresses of the first copies that a warning named
  size_t num_warned = 0;
};

struct Search {
  ScanState* state;
  uintptr_t own;    // load address of this runtime
  size_t position;  // index in the loader's list of the next library
  char* path;       // buffer for the path of another copy of the runtime
  size_t path_size;
  bool is_found;
};

uintptr_t OwnAddress() {
  return reinterpret_cast<uintptr_t>(LibraryStartAt(reinterpret_cast<const void*>(&OwnAddress)));
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

bool HasRuntimeSoname(const dl_phdr_info& library) {
  const ElfW(Dyn)* entry = DynamicSection(library);
  if (entry == nullptr) return false;
  uintptr_t strings = 0, name = 0;
  for (; entry->d_tag != DT_NULL; ++entry) {
    if (entry->d_tag == DT_STRTAB) strings = entry->d_un.d_ptr;
    if (entry->d_tag == DT_SONAME) name = entry->d_un.d_val;
  }
  if (strings == 0 || name == 0) return false;
  // Some loaders leave an offset in the entry and do not replace it by an address.
  if (strings < library.dlpi_addr) strings += library.dlpi_addr;
  return std::strcmp(reinterpret_cast<const char*>(strings + name), kSoname) == 0;
}

// Returns true for a copy of the runtime that was not reported before.  The scan may examine a
// library twice, because unloading another library shortens the loader's list.
bool IsNew(ScanState* seen, uintptr_t address) {
  uintptr_t* end = seen->warned_of + seen->num_warned;
  if (std::find(seen->warned_of, end, address) != end) return false;
  if (seen->num_warned < std::size(seen->warned_of)) seen->warned_of[seen->num_warned++] = address;
  return true;
}

// Examines one library of the loader's list, under the loader's lock.
int Look(dl_phdr_info* library, size_t /*size*/, void* data) {
  auto* search = static_cast<Search*>(data);
  ScanState* seen = search->state;
  if (search->position == 0 && seen->num_removed != library->dlpi_subs) {
    seen->num_removed = library->dlpi_subs;
    seen->num_libraries = 0;
  }
  if (search->position++ < seen->num_libraries || library->dlpi_addr == search->own) return 0;
  if (!HasRuntimeSoname(*library) || !IsNew(seen, library->dlpi_addr)) return 0;
  std::snprintf(search->path, search->path_size, "%s", library->dlpi_name);
  search->is_found = true;
  return 1;  // stop the iteration; the next scan continues after this library
}

}  // namespace

bool FindOtherRuntime(char* path, size_t size) noexcept {
  static std::mutex mutex;
  static ScanState seen;
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  if (!lock.owns_lock()) return false;  // another thread is scanning; the next load scans again
  static const uintptr_t own = OwnAddress();
  Search search{&seen, own, 0, path, size, false};
  dl_iterate_phdr(&Look, &search);
  seen.num_libraries = search.position;
  return search.is_found;
}

}  // namespace tvm::ffi::platform
