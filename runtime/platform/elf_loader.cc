// SPDX-License-Identifier: Apache-2.0
// The loader of ELF libraries, in a stack walk: it calls the initialisers of a library.
#include <link.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <new>

#include "platform.h"

namespace tvm::ffi::platform {
namespace {

struct AddressRange {
  uintptr_t begin = 0;
  uintptr_t end = 0;

  bool Contains(uintptr_t address) const { return begin <= address && address < end; }
};

int FindLoader(dl_phdr_info* library, size_t /*size*/, void* data) {
  auto* loader = static_cast<AddressRange*>(data);
  if (library->dlpi_addr != loader->begin) return 0;
  for (int i = 0; i < library->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = library->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    loader->end =
        std::max<uintptr_t>(loader->end, library->dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  return 1;
}

// Finds r_debug, the struct in which the loader describes itself to debuggers, through DT_DEBUG of
// the program's dynamic section.  Linking to the symbol _r_debug would make the loader a needed
// library, and dlsym is not available in a program without dynamic loading.
int FindDebug(dl_phdr_info* program, size_t /*size*/, void* data) {
  for (int i = 0; i < program->dlpi_phnum; ++i) {
    const ElfW(Phdr) & segment = program->dlpi_phdr[i];
    if (segment.p_type != PT_DYNAMIC) continue;
    auto* entry = reinterpret_cast<const ElfW(Dyn)*>(program->dlpi_addr + segment.p_vaddr);
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag != DT_DEBUG) continue;
      *static_cast<const r_debug**>(data) = reinterpret_cast<const r_debug*>(entry->d_un.d_ptr);
    }
  }
  return 1;  // stop the iteration, because the first object in the loader's list is the program
}

// Returns the addresses of the system's loader.  Empty if the loader and the C library are one
// file, as with musl: every stack begins in the C library.
AddressRange FindLoaderRange() {
  AddressRange loader;
  const r_debug* debug = nullptr;
  dl_iterate_phdr(&FindDebug, &debug);
  if (debug == nullptr) return {};
  loader.begin = debug->r_ldbase;
  const void* libc = LibraryStartAt(reinterpret_cast<const void*>(&std::fopen));
  if (loader.begin == 0 || reinterpret_cast<uintptr_t>(libc) == loader.begin) return {};
  dl_iterate_phdr(&FindLoader, &loader);
  return loader;
}

// Returns the address range of the loader, from a cache.  The cache is an atomic pointer and not a
// static variable with a guard: an initialiser could wait for the guard while the thread that holds
// the guard waits for the loader.
AddressRange LoaderRange() {
  static std::atomic<const AddressRange*> cached{nullptr};
  const AddressRange* range = cached.load(std::memory_order_acquire);
  if (range != nullptr) return *range;
  AddressRange loader = FindLoaderRange();
  const auto* found = new (std::nothrow) AddressRange(loader);
  if (!cached.compare_exchange_strong(range, found, std::memory_order_acq_rel)) delete found;
  return loader;
}

// State of the stack walk, which starts at the innermost frame and ends at the first frame of the
// loader.  The last frame before the loader belongs to the static initialiser.
struct Walk {
  AddressRange loader;
  uintptr_t previous = 0;
  uintptr_t initialiser = 0;
};

bool VisitFrame(uintptr_t address, void* data) noexcept {
  auto* walk = static_cast<Walk*>(data);
  if (walk->loader.Contains(address)) {
    walk->initialiser = walk->previous;
    return false;
  }
  walk->previous = address;
  return true;
}

}  // namespace

const void* LibraryBeingInitialised() noexcept {
  Walk walk;
  walk.loader = LoaderRange();
  WalkStack(&VisitFrame, &walk);
  // Look up the byte before the return address, which is in the call instruction.  The return
  // address itself may be after the last byte of the function.
  return walk.initialiser == 0
             ? nullptr
             : LibraryStartAt(reinterpret_cast<const void*>(walk.initialiser - 1));
}

}  // namespace tvm::ffi::platform
