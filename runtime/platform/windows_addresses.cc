// SPDX-License-Identifier: Apache-2.0
// Code addresses, stack walks and the loader's calls of initialisers on Windows.
#include "pe_image.h"
#include "platform.h"
#include "windows_text.h"

namespace tvm::ffi::platform {
namespace {

// State of the stack walk, which starts at the innermost frame and ends at the first frame of
// ntdll, the loader.  The last frame before the loader belongs to the static initialiser.
struct Walk {
  HMODULE loader;
  uintptr_t previous = 0;
  uintptr_t initialiser = 0;
};

bool VisitFrame(uintptr_t address, void* data) noexcept {
  auto* walk = static_cast<Walk*>(data);
  if (LibraryAt(reinterpret_cast<const void*>(address)) == walk->loader) {
    walk->initialiser = walk->previous;
    return false;
  }
  walk->previous = address;
  return true;
}

}  // namespace

const void* LibraryStartAt(const void* address) noexcept { return LibraryAt(address); }

// The symbol is the last exported name before the address, because Windows has no other names.
AddressDescription DescribeAddress(const void* address) {
  AddressDescription result;
  HMODULE library = LibraryAt(address);
  if (library == nullptr) return result;
  result.library = PathOfLibrary(library);
  const char* last = nullptr;
  auto* code = static_cast<const char*>(address);
  ForEachExport(library, [&](const char* name, const char* start) {
    if (start > code || (last != nullptr && start <= last)) return;
    last = start;
    result.symbol = name;
  });
  return result;
}

// Not inlined, because the walk skips the frame of this function.
[[gnu::noinline]] void WalkStack(bool (*visit)(uintptr_t address, void* data) noexcept,
                                 void* data) noexcept {
  constexpr ULONG kFrames = 62;  // per call, which some versions of Windows limit
  void* frames[kFrames];
  for (ULONG skipped = 1;; skipped += kFrames) {
    USHORT count = CaptureStackBackTrace(skipped, kFrames, frames, nullptr);
    for (USHORT i = 0; i < count; ++i) {
      if (!visit(reinterpret_cast<uintptr_t>(frames[i]), data)) return;
    }
    if (count < kFrames) return;
  }
}

const void* LibraryBeingInitialised() noexcept {
  Walk walk;
  walk.loader = GetModuleHandleW(L"ntdll.dll");
  WalkStack(&VisitFrame, &walk);
  if (walk.initialiser == 0) return nullptr;
  HMODULE library = LibraryAt(reinterpret_cast<const void*>(walk.initialiser - 1));
  // ntdll also calls kernel32, where every thread starts.
  bool is_start = library == GetModuleHandleW(L"kernel32.dll");
  return is_start ? nullptr : library;
}

std::string_view SymbolBytes(const void* address, const char* /*symbol*/) {
  MEMORY_BASIC_INFORMATION region;
  auto first = reinterpret_cast<uintptr_t>(address);
  auto size = static_cast<size_t>(~first);
  if (VirtualQuery(address, &region, sizeof(region)) != 0) {
    size = reinterpret_cast<uintptr_t>(region.BaseAddress) + region.RegionSize - first;
  }
  return {static_cast<const char*>(address), size};
}

}  // namespace tvm::ffi::platform
