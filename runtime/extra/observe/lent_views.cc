// SPDX-License-Identifier: Apache-2.0
// Lent views: a ring of pages, whose states the signal handler reads without a lock.
#include "observe/lent_views.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "../platform/platform.h"

namespace tvm::ffi::extra {
namespace {

using platform::PageAccess;

constexpr size_t kNumPages = 512;
constexpr size_t kMaxViews = 16;
constexpr size_t kMaxKept = 256;

enum class State : uint32_t {
  kFree,
  kLent,      // a call uses the page, or a thread changes the access to it
  kReturned,  // inaccessible
};

struct Page {
  std::atomic<State> state{State::kFree};
  const char* name;
  const void* function;
  size_t num_views;
  struct View {
    uint32_t end;  // the offset of its last byte, plus 1
    int32_t argument;
  };
  View views[kMaxViews];
};

struct Kept {
  std::atomic<bool> is_complete{false};
  KeptView view;
};

struct Ring {
  Ring() : memory(static_cast<char*>(operator new(kNumPages * size, std::align_val_t(size)))) {}

  char* MemoryOf(const Page& page) {
    return memory + static_cast<size_t>(&page - pages.data()) * size;
  }
  Page* PageAt(uintptr_t address) {
    size_t offset = address - reinterpret_cast<uintptr_t>(memory);
    return offset < kNumPages * size ? &pages[offset / size] : nullptr;
  }
  bool SetAccess(const Page& page, PageAccess access) {
    return platform::SetAccess(reinterpret_cast<uintptr_t>(MemoryOf(page)), size, access);
  }
  // Returns a page with the state kLent that is accessible, or null.
  Page* Take();
  // Makes a page with the state kLent accessible and free; returns false if the system cannot.
  bool Open(Page* page) {
    bool is_set = SetAccess(*page, PageAccess::kReadAndWrite);
    page->state.store(is_set ? State::kFree : State::kReturned);
    return is_set;
  }

  const size_t size = platform::PageSize();  // of a page, in bytes
  char* const memory;
  std::array<Page, kNumPages> pages;
  std::atomic<size_t> next_page{0};
  std::array<Kept, kMaxKept> kept;
};

// Null until the first call that lends views.  Never freed: functions may have kept pointers into
// its memory.
std::atomic<Ring*> existing_ring{nullptr};

Ring& GetRing() {
  static auto* created = new Ring();
  existing_ring.store(created, std::memory_order_release);
  return *created;
}

Page* Ring::Take() {
  Page& page = pages[next_page.fetch_add(1, std::memory_order_relaxed) % kNumPages];
  State state = page.state.load(std::memory_order_relaxed);
  if (state == State::kLent) return nullptr;
  if (!page.state.compare_exchange_strong(state, State::kLent, std::memory_order_acquire)) {
    return nullptr;
  }
  if (state == State::kFree || SetAccess(page, PageAccess::kReadAndWrite)) return &page;
  page.state.store(State::kReturned, std::memory_order_release);
  return nullptr;
}

// The free bytes of a page.
class Room {
 public:
  Room(char* begin, size_t size) : next_(begin), end_(begin + size) {}

  // Copies bytes to an address that is a multiple of 8; null if there is no room.
  void* Copy(const void* bytes, size_t count) {
    if (count > static_cast<size_t>(end_ - next_)) return nullptr;
    void* copy = next_;
    if (count > 0) std::memcpy(copy, bytes, count);
    next_ += std::min((count + 7) / 8 * 8, static_cast<size_t>(end_ - next_));
    return copy;
  }
  // Copies the content of a view, and makes the view point to the copy; false without room.
  bool CopyView(TVMFFIAny* view);
  char* next() const { return next_; }

 private:
  bool CopyTensor(DLTensor* tensor);

  char* next_;
  char* end_;
};

bool Room::CopyTensor(DLTensor* tensor) {
  // A tensor that the callee will refuse is not copied.
  if (tensor->ndim < 0 || (tensor->ndim > 0 && tensor->shape == nullptr)) return false;
  size_t size = static_cast<size_t>(tensor->ndim) * sizeof(int64_t);
  for (int64_t** extents : {&tensor->shape, &tensor->strides}) {
    if (*extents == nullptr) continue;
    *extents = static_cast<int64_t*>(Copy(*extents, size));
    if (*extents == nullptr) return false;
  }
  return true;
}

bool Room::CopyView(TVMFFIAny* view) {
  void* copy;
  if (view->type_index == kTVMFFIDLTensorPtr) {
    copy = Copy(view->v_ptr, sizeof(DLTensor));
    if (copy == nullptr || !CopyTensor(static_cast<DLTensor*>(copy))) return false;
  } else if (view->type_index == kTVMFFIRawStr) {
    copy = Copy(view->v_c_str, std::strlen(view->v_c_str) + 1);
  } else {
    copy = Copy(view->v_ptr, sizeof(TVMFFIByteArray));
    if (copy == nullptr) return false;
    auto* array = static_cast<TVMFFIByteArray*>(copy);
    array->data = static_cast<char*>(Copy(array->data, array->size));
    if (array->data == nullptr) return false;
  }
  if (copy == nullptr) return false;
  view->v_ptr = copy;
  return true;
}

// Copies the arguments to the page; null if there is no room.
TVMFFIAny* CopyArguments(const TVMFFIObservedCall& call, int32_t num_views, char* memory,
                         Page* page) {
  Room room(memory, platform::PageSize());
  size_t size = static_cast<size_t>(call.num_args) * sizeof(TVMFFIAny);
  auto* copy = static_cast<TVMFFIAny*>(room.Copy(call.args, size));
  if (copy == nullptr) return nullptr;
  page->num_views = 0;
  auto add_end = [&](int32_t argument) {
    page->views[page->num_views++] = {static_cast<uint32_t>(room.next() - memory), argument};
  };
  add_end(-1);
  for (int32_t i = 0; i < num_views && page->num_views < kMaxViews; ++i) {
    if (!IsView(copy[i]) || copy[i].v_ptr == nullptr) continue;
    if (!room.CopyView(&copy[i])) return nullptr;
    add_end(i);
  }
  return copy;
}

// Notes an access; later accesses than the first kMaxKept are not noted.
void Note(Ring* ring, const Page& page, size_t offset) noexcept {
  size_t number = num_kept_views.load(std::memory_order_relaxed);
  do {
    if (number == kMaxKept) return;
  } while (!num_kept_views.compare_exchange_weak(number, number + 1, std::memory_order_relaxed));
  Kept& kept = ring->kept[number];
  int32_t argument = -1;
  for (size_t i = page.num_views; i-- > 0 && offset < page.views[i].end;) {
    argument = page.views[i].argument;
  }
  kept.view.name = page.name;
  kept.view.function = page.function;
  kept.view.argument = argument;
  kept.view.stack.Read();
  kept.is_complete.store(true, std::memory_order_release);
}

}  // namespace

const TVMFFIAny* LendViews(const TVMFFIObservedCall& call, int32_t num_views) {
  if (std::none_of(call.args, call.args + num_views, IsView)) return nullptr;
  if (!platform::HandlesInvalidAccess()) return nullptr;
  Ring& ring = GetRing();
  Page* page = ring.Take();
  if (page == nullptr) return nullptr;
  page->name = call.name.data;
  page->function = call.function;
  const TVMFFIAny* copy = CopyArguments(call, num_views, ring.MemoryOf(*page), page);
  if (copy == nullptr) page->state.store(State::kFree, std::memory_order_release);
  return copy;
}

void ReturnViews(const TVMFFIAny* copy, bool is_kept) {
  Ring* ring = existing_ring.load(std::memory_order_acquire);
  Page* page = ring->PageAt(reinterpret_cast<uintptr_t>(copy));
  bool is_set = !is_kept && ring->SetAccess(*page, PageAccess::kNone);
  page->state.store(is_set ? State::kReturned : State::kFree, std::memory_order_release);
}

void AllowLentViews() {
  Ring* ring = existing_ring.load(std::memory_order_acquire);
  if (ring == nullptr) return;
  for (Page& page : ring->pages) {
    State state = State::kReturned;
    if (page.state.compare_exchange_strong(state, State::kLent)) ring->Open(&page);
  }
}

bool HandleLentAccess(uintptr_t address) noexcept {
  Ring* ring = existing_ring.load(std::memory_order_acquire);
  Page* page = ring == nullptr ? nullptr : ring->PageAt(address);
  if (page == nullptr) return false;
  State state = State::kReturned;
  if (!page->state.compare_exchange_strong(state, State::kLent)) {
    return true;  // another thread is changing the access, or has changed it
  }
  Note(ring, *page, address % ring->size);
  return ring->Open(page);
}

const KeptView* NextKeptView(std::atomic<size_t>* next) {
  size_t number = next->load(std::memory_order_relaxed);
  if (number >= num_kept_views.load(std::memory_order_relaxed)) return nullptr;
  const Kept& kept = existing_ring.load(std::memory_order_acquire)->kept[number];
  if (!kept.is_complete.load(std::memory_order_acquire)) return nullptr;
  if (!next->compare_exchange_strong(number, number + 1)) return nullptr;  // another call has it
  return &kept.view;
}

}  // namespace tvm::ffi::extra
