// SPDX-License-Identifier: Apache-2.0
// Quarantine of released objects.
#include "observe/quarantine.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../core/extra_layer.h"
#include "../platform/platform.h"
#include "observe/fork_mutex.h"
#include "observe/kept_arguments.h"
#include "observe/result_slot.h"

namespace tvm::ffi::extra {
namespace {

using Deleter = void (*)(void*, int);

// Reference counts of an object in the quarantine, which has the only weak reference.
constexpr uint64_t kKeptCounts = uint64_t{1} << 32;
constexpr size_t kMaxBytes = size_t{64} << 20;
constexpr size_t kMaxObjects = 16384;
constexpr size_t kNumLatest = 2;      // objects that are examined after each call
constexpr size_t kLatestBytes = 256;  // bytes of their data that are examined
constexpr uint32_t kStacksPerFunction = 16;
constexpr size_t kMaxFindings = 1000;
// Released memory consists of these words.  Each part of 2, 4 or 8 bytes is a NaN.
constexpr uint64_t kFill = 0xFFF5FFF5FFF5FFF5;

void FillReleased(void* memory, size_t size) {
  auto* bytes = static_cast<char*>(memory);
  for (size_t i = 0; i < size; i += sizeof(kFill)) {
    std::memcpy(bytes + i, &kFill, std::min(sizeof(kFill), size - i));
  }
}

// Returns the first byte that differs from the fill; `size` if there is none.
size_t FindWritten(const void* memory, size_t size) {
  const auto* bytes = static_cast<const char*>(memory);
  const auto* fill = reinterpret_cast<const char*>(&kFill);
  if (size == 0) return 0;
  size_t first = std::min(size, sizeof(kFill));
  bool is_filled =
      std::memcmp(bytes, fill, first) == 0 && std::memcmp(bytes, bytes + first, size - first) == 0;
  if (is_filled) return size;
  size_t i = 0;
  while (bytes[i] == fill[i % sizeof(kFill)]) ++i;
  return i;
}

// The data of a released tensor of the default allocator.
struct ReleasedData {
  void* data = nullptr;
  size_t size = 0;
};

// An object that the debug context has adopted.
struct Adopted {
  Deleter deleter;  // its own
  std::string_view origin;
  bool is_result;
  std::string created;  // stacks
  Place released;
  bool is_kept;
  bool is_reported;   // a use after the release
  size_t num_filled;  // bytes after the header that were filled
  ReleasedData data;

  size_t bytes() const { return sizeof(TVMFFIObject) + num_filled + data.size; }
};

// Bytes after the header that an object of the type certainly has, and that no code reads after the
// destructor.
size_t CellBytes(int32_t type_index) {
  switch (type_index) {
    case kTVMFFITensor:
      return sizeof(DLTensor);
    case kTVMFFIStr:
    case kTVMFFIBytes:
      return sizeof(TVMFFIByteArray);
    case kTVMFFIShape:
      return sizeof(TVMFFIShapeCell);
    default:
      return 0;
  }
}

// Receives the data that the deleter of this thread releases.
thread_local ReleasedData* released_data = nullptr;

// Sets released_data; a cancelled thread may be unwound inside a deleter.
struct DataScope {
  ReleasedData data;
  ReleasedData* outer = std::exchange(released_data, &data);
  DataScope() = default;
  DataScope(const DataScope&) = delete;
  DataScope& operator=(const DataScope&) = delete;
  ~DataScope() { released_data = outer; }
};

void KeepData(void* data, size_t size) {
  if (released_data == nullptr || released_data->data != nullptr || size > kMaxBytes) {
    return platform::FreeAligned(data);
  }
  *released_data = {data, size};
}

class Quarantine {
 public:
  static Quarantine& Global() {
    static auto* quarantine = new Quarantine();  // deleters run after `exit` began
    return *quarantine;
  }

  void Use(PlaceFunction place);
  void Unuse();
  void Adopt(TVMFFIObject* object, std::string_view origin, bool is_result);
  void Delete(TVMFFIObject* object, int flags);
  std::string EventsOf(const TVMFFIObject* object);
  void Examine(size_t num_objects, size_t max_bytes, std::string_view function);
  std::optional<QuarantineFinding> TakeFinding(std::atomic<size_t>* next);

  std::atomic<size_t> num_kept{0};
  std::atomic<size_t> num_findings{0};

 private:
  bool IsAdoptable(const TVMFFIObject* object);
  void Keep(TVMFFIObject* object, Adopted* adopted);
  void ExamineOne(TVMFFIObject* object, Adopted* adopted, size_t max_bytes,
                  std::string_view function);
  void Find(Adopted* adopted, std::string_view function, const char* rule, std::string message);
  // Removes the oldest objects from the quarantine until at most `max_bytes` are kept.  Returns the
  // objects, which the caller frees without the lock.
  std::vector<std::pair<TVMFFIObject*, Adopted>> Evict(size_t max_bytes);
  static void Free(std::vector<std::pair<TVMFFIObject*, Adopted>> evicted);
  static std::string Events(const Adopted& adopted);

  ForkMutex mutex_;  // guards the members below; no other code runs while it is held
  int num_users_ = 0;
  std::shared_ptr<const PlaceFunction> place_;  // null: objects are not kept
  std::unordered_map<TVMFFIObject*, Adopted> adopted_;
  // In the order of their release; the pointers are to elements of adopted_.
  std::deque<std::pair<TVMFFIObject*, Adopted*>> kept_;
  size_t kept_bytes_ = 0;
  std::unordered_map<std::string_view, uint32_t> num_stacks_;  // by origin
  std::deque<QuarantineFinding> findings_;
};

void Quarantine::Use(PlaceFunction place) {
  auto shared = std::make_shared<const PlaceFunction>(std::move(place));
  std::lock_guard<ForkMutex> lock(mutex_);
  ++num_users_;
  place_.swap(shared);
  runtime::released_data_hook.store(&KeepData, std::memory_order_release);
}

void Quarantine::Unuse() {
  std::unique_lock<ForkMutex> lock(mutex_);
  if (--num_users_ > 0) return;
  std::shared_ptr<const PlaceFunction> place = std::move(place_);
  place_ = nullptr;
  runtime::released_data_hook.store(nullptr, std::memory_order_release);
  auto evicted = Evict(0);
  lock.unlock();
  Free(std::move(evicted));
}

bool Quarantine::IsAdoptable(const TVMFFIObject* object) {
  // Functions, errors and read-only tensors are recognised by their deleters.
  int32_t type = object->type_index;
  if (type == kTVMFFIFunction || type == kTVMFFIError || type == kTVMFFIOpaquePyObject)
    return false;
  // The code of another library may be unloaded before the memory is freed.
  const void* own = platform::LibraryStartAt(reinterpret_cast<const void*>(&DeleteAdopted));
  bool is_own = platform::LibraryStartAt(reinterpret_cast<const void*>(object->deleter)) == own &&
                own != nullptr && !runtime::IsReadOnlyTensor(object);
  if (!is_own) {
    ForeignDeleterLike(object->deleter).store(object->deleter, std::memory_order_relaxed);
  }
  return is_own;
}

void Quarantine::Adopt(TVMFFIObject* object, std::string_view origin, bool is_result) {
  if (!IsAdoptable(object)) return;
  std::shared_ptr<const PlaceFunction> place;
  bool wants_stack;
  {
    std::lock_guard<ForkMutex> lock(mutex_);
    place = place_;
    if (place == nullptr) return;
    wants_stack = num_stacks_[origin]++ < kStacksPerFunction;
  }
  std::string stack = wants_stack ? (*place)(Stack::kInHook).stack : std::string();
  std::lock_guard<ForkMutex> lock(mutex_);
  if (object->deleter == &DeleteAdopted) return;  // another thread was faster
  Adopted adopted{object->deleter, origin, is_result, std::move(stack), {}, false, false, 0, {}};
  adopted_.insert_or_assign(object, std::move(adopted));
  __atomic_store_n(&object->deleter, &DeleteAdopted, __ATOMIC_RELEASE);
}

// The deleter of adopted objects.
void Quarantine::Delete(TVMFFIObject* object, int flags) {
  bool is_strong = (flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0;
  bool is_weak = (flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0;
  std::shared_ptr<const PlaceFunction> get_place;  // released without the lock
  std::unique_lock<ForkMutex> lock(mutex_);
  get_place = place_;
  auto found = adopted_.find(object);
  if (found == adopted_.end()) return;  // it was freed: the word of a finding is all that is known
  Adopted* adopted = &found->second;
  if (adopted->is_kept) {
    // A reference was added to a released object, and released.
    __atomic_store_n(&object->combined_ref_count, kKeptCounts, __ATOMIC_RELAXED);
    std::string_view function = get_place == nullptr ? "" : (*get_place)(Stack::kNone).function;
    return Find(adopted, function, "object.used-after-release",
                "a reference was added to an object that has been released");
  }
  Deleter deleter = adopted->deleter;
  if (get_place == nullptr && is_weak) {
    adopted_.erase(found);
    lock.unlock();
    return deleter(object, flags);
  }
  bool wants_stack = !adopted->created.empty();
  lock.unlock();
  if (is_strong) {
    Place place = get_place == nullptr
                      ? Place()
                      : (*get_place)(wants_stack ? Stack::kInDeleter : Stack::kNone);
    lock.lock();
    adopted_.at(object).released = std::move(place);
    lock.unlock();
    DataScope scope;
    deleter(object, kTVMFFIObjectDeleterFlagBitMaskStrong);
    FillReleased(scope.data.data, scope.data.size);
    lock.lock();
    adopted_.at(object).data = scope.data;
    lock.unlock();
  }
  if (!is_weak) return;
  lock.lock();
  Keep(object, &adopted_.at(object));
  auto evicted = Evict(kMaxBytes);
  lock.unlock();
  Free(std::move(evicted));
}

void Quarantine::Keep(TVMFFIObject* object, Adopted* adopted) {
  // A release that was deferred has a weak reference, and the destructor has not run yet.
  uint64_t counts = __atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED);
  bool is_destroyed = counts <= kKeptCounts;
  if (counts == 0) __atomic_store_n(&object->combined_ref_count, kKeptCounts, __ATOMIC_RELAXED);
  if (is_destroyed) {
    adopted->num_filled = CellBytes(object->type_index);
    FillReleased(object + 1, adopted->num_filled);
  }
  adopted->is_kept = true;
  __atomic_store_n(&object->__padding, kReleasedMark, __ATOMIC_RELAXED);
  kept_.emplace_back(object, adopted);
  kept_bytes_ += adopted->bytes();
  num_kept.store(kept_.size(), std::memory_order_relaxed);
}

std::vector<std::pair<TVMFFIObject*, Adopted>> Quarantine::Evict(size_t max_bytes) {
  std::vector<std::pair<TVMFFIObject*, Adopted>> evicted;
  while (!kept_.empty() && (kept_bytes_ > max_bytes || kept_.size() > kMaxObjects)) {
    auto [object, adopted] = kept_.front();
    ExamineOne(object, adopted, SIZE_MAX, {});
    kept_bytes_ -= adopted->bytes();
    kept_.pop_front();
    evicted.emplace_back(object, std::move(*adopted));
    adopted_.erase(object);
  }
  num_kept.store(kept_.size(), std::memory_order_relaxed);
  return evicted;
}

void Quarantine::Free(std::vector<std::pair<TVMFFIObject*, Adopted>> evicted) {
  for (auto& [object, adopted] : evicted) {
    if (adopted.data.data != nullptr) platform::FreeAligned(adopted.data.data);
    // A deferred release still has a weak reference; its end frees the memory.
    __atomic_store_n(&object->deleter, adopted.deleter, __ATOMIC_RELEASE);
    __atomic_store_n(&object->__padding, 0, __ATOMIC_RELAXED);
    uint64_t before =
        __atomic_fetch_sub(&object->combined_ref_count, kKeptCounts, __ATOMIC_ACQ_REL);
    if (before == kKeptCounts) adopted.deleter(object, kTVMFFIObjectDeleterFlagBitMaskWeak);
  }
}

std::string Quarantine::Events(const Adopted& adopted) {
  std::string text = "  the object was ";
  text += adopted.is_result ? "returned by " : "first passed to ";
  text.append(adopted.origin.empty() ? "an unnamed function" : adopted.origin).append("\n");
  text += adopted.created;
  text += "  and released ";
  if (adopted.released.function.empty()) {
    text += "outside of observed calls\n";
  } else {
    text.append("in a call of ").append(adopted.released.function).append("\n");
  }
  return text + adopted.released.stack;
}

std::string Quarantine::EventsOf(const TVMFFIObject* object) {
  std::lock_guard<ForkMutex> lock(mutex_);
  auto found = adopted_.find(const_cast<TVMFFIObject*>(object));
  if (found == adopted_.end()) return {};
  found->second.is_reported = true;
  return Events(found->second);
}

void Quarantine::Find(Adopted* adopted, std::string_view function, const char* rule,
                      std::string message) {
  if (adopted->is_reported || findings_.size() == kMaxFindings) return;
  adopted->is_reported = true;
  findings_.push_back(
      {function.empty() ? adopted->origin : function, rule, std::move(message), Events(*adopted)});
  num_findings.store(findings_.size(), std::memory_order_release);
}

void Quarantine::ExamineOne(TVMFFIObject* object, Adopted* adopted, size_t max_bytes,
                            std::string_view function) {
  uint64_t counts = __atomic_load_n(&object->combined_ref_count, __ATOMIC_RELAXED);
  auto strong = static_cast<uint32_t>(counts);
  if (strong != 0) {
    // Below zero, the strong count borrows from the weak count.
    bool is_missing = static_cast<int32_t>(strong) < 0;
    __atomic_fetch_sub(&object->combined_ref_count,
                       static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(strong))),
                       __ATOMIC_RELAXED);
    Find(adopted, function, is_missing ? "object.released-too-often" : "object.used-after-release",
         "a reference of a released " + TypeName(object->type_index) +
             (is_missing ? " was released again" : " was added"));
  }
  size_t written = FindWritten(object + 1, adopted->num_filled);
  if (written < adopted->num_filled) {
    FillReleased(object + 1, adopted->num_filled);
    Find(adopted, function, "object.used-after-release",
         "byte " + std::to_string(sizeof(TVMFFIObject) + written) + " of a released " +
             TypeName(object->type_index) + " was written");
  }
  auto [data, data_size] = adopted->data;
  size_t size = std::min(data_size, max_bytes);
  written = FindWritten(data, size);
  if (written < size) {
    FillReleased(data, data_size);
    Find(adopted, function, "object.used-after-release",
         "byte " + std::to_string(written) + " of the elements of a released tensor was written");
  }
}

void Quarantine::Examine(size_t num_objects, size_t max_bytes, std::string_view function) {
  std::lock_guard<ForkMutex> lock(mutex_);
  size_t count = std::min(kept_.size(), num_objects);
  for (size_t i = kept_.size() - count; i < kept_.size(); ++i) {
    ExamineOne(kept_[i].first, kept_[i].second, max_bytes, function);
  }
}

std::optional<QuarantineFinding> Quarantine::TakeFinding(std::atomic<size_t>* next) {
  std::lock_guard<ForkMutex> lock(mutex_);
  size_t number = next->load(std::memory_order_relaxed);
  if (number >= findings_.size()) return {};
  next->store(number + 1, std::memory_order_relaxed);
  return findings_[number];
}

}  // namespace

void DeleteAdopted(void* object, int flags) {
  Quarantine::Global().Delete(static_cast<TVMFFIObject*>(object), flags);
}

QuarantineUse::QuarantineUse(PlaceFunction place) { Quarantine::Global().Use(std::move(place)); }
QuarantineUse::~QuarantineUse() { Quarantine::Global().Unuse(); }

void AdoptNew(TVMFFIObject* object, std::string_view origin, bool is_result) {
  Quarantine::Global().Adopt(object, origin, is_result);
}

std::string EventsOf(const TVMFFIObject* object) { return Quarantine::Global().EventsOf(object); }

void ExamineLatest(std::string_view function) {
  Quarantine& quarantine = Quarantine::Global();
  if (quarantine.num_kept.load(std::memory_order_relaxed) == 0) return;
  quarantine.Examine(kNumLatest, kLatestBytes, function);
}

void ExamineAll() { Quarantine::Global().Examine(SIZE_MAX, SIZE_MAX, {}); }

size_t NumFindings() { return Quarantine::Global().num_findings.load(std::memory_order_acquire); }

std::optional<QuarantineFinding> TakeFinding(std::atomic<size_t>* next) {
  return Quarantine::Global().TakeFinding(next);
}

}  // namespace tvm::ffi::extra
