// SPDX-License-Identifier: Apache-2.0
// Guarded memory: a fixed table of ranges, which the signal handler reads without a lock.
#include "observe/guarded_memory.h"

#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>

#include "../platform/platform.h"
#include "observe/access_stack.h"
#include "observe/fork_mutex.h"
#include "observe/lent_views.h"
#include "observe/observer.h"

namespace tvm::ffi::extra {
namespace {

using platform::PageAccess;

constexpr size_t kMaxRanges = 64;
// The pages of a range whose content is kept.  After these, writes to the range are not handled
// page by page.
constexpr size_t kMaxWrites = 8;
constexpr int64_t kLateNs = 1'000'000'000;

struct PageWrite {
  std::atomic<uintptr_t> page;  // 0 until the other members are complete
  AccessStack stack;
};

// A write may be handled after its range was released, because another thread made it.
struct Range {
  std::atomic<bool> is_active{false};
  std::atomic<uintptr_t> first{0};
  std::atomic<uintptr_t> last{0};
  std::atomic<int64_t> released_ns{0};
  std::atomic<size_t> num_writes{0};
  std::array<PageWrite, kMaxWrites> writes;
  std::unique_ptr<char[]> pages;  // the contents, in the order of `writes`
};

std::array<Range, kMaxRanges>& Ranges() {
  static auto* ranges = new std::array<Range, kMaxRanges>();  // used by calls after `exit` began
  return *ranges;
}

struct Handling {
  ForkMutex mutex;
  int num_users = 0;                                            // guarded by mutex
  std::atomic<void (*)(uintptr_t) noexcept> describe{nullptr};  // see AccessHandling

  static Handling& Global() {
    static auto* handling = new Handling();
    return *handling;
  }
};

// Keeps the page, and allows writes to it.
bool HandleWrite(Range* range, uintptr_t address) {
  size_t size = platform::PageSize();
  uintptr_t page = address / size * size;
  size_t index = range->num_writes.fetch_add(1, std::memory_order_relaxed);
  if (index >= kMaxWrites) {
    uintptr_t first = range->first.load(std::memory_order_relaxed);
    size_t num_bytes = range->last.load(std::memory_order_relaxed) - first;
    return platform::SetAccess(first, num_bytes, PageAccess::kReadAndWrite);
  }
  std::memcpy(range->pages.get() + index * size, reinterpret_cast<const void*>(page), size);
  PageWrite& write = range->writes[index];
  write.stack.Read();
  write.page.store(page, std::memory_order_release);
  return platform::SetAccess(page, size, PageAccess::kReadAndWrite);
}

bool Contains(const Range& range, uintptr_t address) {
  return address >= range.first.load(std::memory_order_relaxed) &&
         address < range.last.load(std::memory_order_relaxed);
}

bool HandleAccess(uintptr_t address) noexcept {
  if (HandleLentAccess(address)) return true;
  // Ranges of earlier calls may have the same pages: the active ranges first.
  for (Range& range : Ranges()) {
    bool is_active = range.is_active.load(std::memory_order_acquire);
    // False: the memory was read-only before.
    if (is_active && Contains(range, address) && HandleWrite(&range, address)) return true;
  }
  for (const Range& range : Ranges()) {
    bool is_active = range.is_active.load(std::memory_order_acquire);
    if (is_active || !Contains(range, address)) continue;
    if (NowNs() - range.released_ns.load(std::memory_order_relaxed) > kLateNs) continue;
    size_t size = platform::PageSize();
    uintptr_t page = address / size * size;
    if (platform::SetAccess(page, size, PageAccess::kReadAndWrite)) return true;
  }
  auto* describe = Handling::Global().describe.load(std::memory_order_acquire);
  if (describe != nullptr) describe(address);
  return false;
}

}  // namespace

AccessHandling::AccessHandling(void (*describe)(uintptr_t address) noexcept) {
  Handling& handling = Handling::Global();
  std::lock_guard<ForkMutex> lock(handling.mutex);
  if (handling.num_users++ > 0) return;
  Ranges();
  handling.describe.store(describe, std::memory_order_release);
  platform::HandleInvalidAccess(&HandleAccess);
}

AccessHandling::~AccessHandling() {
  Handling& handling = Handling::Global();
  std::lock_guard<ForkMutex> lock(handling.mutex);
  if (--handling.num_users > 0) return;
  AllowLentViews();
  platform::HandleInvalidAccess(nullptr);
  handling.describe.store(nullptr, std::memory_order_release);
}

int GuardPages(uintptr_t first, uintptr_t last) {
  static auto* mutex = new ForkMutex();  // used by calls after `exit` began
  Range* free = nullptr;
  std::lock_guard<ForkMutex> lock(*mutex);
  if (!platform::HandlesInvalidAccess()) return -1;
  for (Range& range : Ranges()) {
    if (!range.is_active.load(std::memory_order_acquire)) {
      // The range that was released first: a late write to the others is handled.
      if (free == nullptr || range.released_ns < free->released_ns) free = &range;
    } else if (first < range.last && range.first < last) {
      return -1;
    }
  }
  if (free == nullptr) return -1;
  if (free->pages == nullptr) {
    free->pages.reset(new char[kMaxWrites * platform::PageSize()]);
  }
  for (PageWrite& write : free->writes) write.page.store(0, std::memory_order_relaxed);
  free->num_writes.store(0, std::memory_order_relaxed);
  free->first.store(first, std::memory_order_relaxed);
  free->last.store(last, std::memory_order_relaxed);
  free->is_active.store(true, std::memory_order_release);
  if (platform::SetAccess(first, last - first, PageAccess::kRead)) {
    return static_cast<int>(free - Ranges().data());
  }
  // The system may have protected a part.
  platform::SetAccess(first, last - first, PageAccess::kReadAndWrite);
  free->is_active.store(false, std::memory_order_release);
  return -1;
}

std::optional<GuardedChange> ReleasePages(int index) {
  Range& range = Ranges()[static_cast<size_t>(index)];
  platform::SetAccess(range.first, range.last - range.first, PageAccess::kReadAndWrite);
  std::optional<GuardedChange> change;
  size_t size = platform::PageSize();
  for (size_t i = 0; i < kMaxWrites && !change.has_value(); ++i) {
    const PageWrite& write = range.writes[i];
    uintptr_t page = write.page.load(std::memory_order_acquire);
    const char* before = range.pages.get() + i * size;
    const auto* after = reinterpret_cast<const char*>(page);
    if (page == 0 || std::memcmp(before, after, size) == 0) continue;
    size_t byte = 0;
    while (before[byte] == after[byte]) ++byte;
    change = {page + byte, page, std::string(before, size), write.stack.Text()};
  }
  range.released_ns.store(NowNs(), std::memory_order_relaxed);
  range.is_active.store(false, std::memory_order_release);
  return change;
}

size_t GuardPageSize() { return platform::PageSize(); }

}  // namespace tvm::ffi::extra
