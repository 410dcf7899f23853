// SPDX-License-Identifier: Apache-2.0
// Call statistics: numbers of calls and errors, and a histogram of durations per function name.
#include <tvm/ffi/reflection/registry.h>

#include <array>
#include <atomic>
#include <string_view>

#include "../platform/probe.h"
#include "observe/contents.h"
#include "observe/debug.h"
#include "observe/fork_mutex.h"
#include "observe/observer.h"
#include "observe/recorder.h"
#include "observe/trace.h"
#include "registration.h"

namespace tvm::ffi::extra {
namespace {

// A histogram with 8 buckets per power of two: a quantile is exact up to 1/16 of its value.
constexpr int kLog2Parts = 3;
constexpr size_t kParts = 1 << kLog2Parts;
constexpr size_t kBuckets = (64 - kLog2Parts) * kParts + kParts;

size_t BucketOf(uint64_t value) {
  if (value < kParts) return static_cast<size_t>(value);
  int exponent = 63 - __builtin_clzll(value);
  return static_cast<size_t>(exponent - kLog2Parts + 1) * kParts +
         ((value >> (exponent - kLog2Parts)) & (kParts - 1));
}

// Returns the middle of a bucket.
double ValueOf(size_t bucket) {
  if (bucket < kParts) return static_cast<double>(bucket);
  size_t shift = bucket / kParts - 1;
  double unit = static_cast<double>(uint64_t{1} << shift);
  return (static_cast<double>(kParts + bucket % kParts) + 0.5) * unit;
}

// The numbers of one name.
struct Counters {
  explicit Counters(std::string_view text) : name(text) {}

  // Returns the smallest duration in nanoseconds that `share` of the calls do not exceed.
  double Quantile(double share, int64_t num_calls) const {
    auto rank = static_cast<int64_t>(share * static_cast<double>(num_calls - 1));
    size_t i = 0;
    for (int64_t below = buckets[0]; below <= rank && i + 1 < kBuckets; below += buckets[i]) ++i;
    return ValueOf(i);
  }

  std::string_view name;
  std::atomic<int64_t> errors{0};
  std::atomic<int64_t> total_ns{0};
  std::array<std::atomic<int64_t>, kBuckets> buckets{};  // numbers of calls by duration
};

class Stats {
 public:
  Stats() = default;
  Stats(const Stats&) = delete;
  Stats& operator=(const Stats&) = delete;
  ~Stats() {
    for (std::atomic<Block*>& slot : blocks_) {
      Block* block = slot.load();
      if (block == nullptr) continue;
      for (std::atomic<Counters*>& counters : *block) delete counters.load();
      delete block;
    }
  }

  // The token is the time at which the call began.
  void* Begin(const TVMFFIObservedCall&) { return reinterpret_cast<void*>(NowNs()); }
  void End(const TVMFFIObservedCall& call, void* token) {
    // On 32-bit processors the token has the low bits only; the difference is right up to 4 s.
    uintptr_t duration = static_cast<uintptr_t>(NowNs()) - reinterpret_cast<uintptr_t>(token);
    auto index = static_cast<size_t>(call.name_index);
    if (index >= kBlockSize * blocks_.size()) return;
    Block* block = FindOrAdd(&blocks_[index / kBlockSize], [] { return new Block(); });
    Counters* counters = FindOrAdd(&(*block)[index % kBlockSize],
                                   [&] { return new Counters({call.name.data, call.name.size}); });
    counters->total_ns.fetch_add(static_cast<int64_t>(duration), std::memory_order_relaxed);
    counters->buckets[BucketOf(duration)].fetch_add(1, std::memory_order_relaxed);
    if (call.status != 0) counters->errors.fetch_add(1, std::memory_order_relaxed);
  }

  // Returns [name, calls, errors, total ns, median ns, 99th percentile ns] for each name with
  // calls.
  Array<Array<Any>> Read() const {
    Array<Array<Any>> rows;
    for (const std::atomic<Block*>& slot : blocks_) {
      const Block* block = slot.load(std::memory_order_acquire);
      if (block == nullptr) continue;
      for (const std::atomic<Counters*>& element : *block) {
        const Counters* counters = element.load(std::memory_order_acquire);
        if (counters == nullptr) continue;
        int64_t num_calls = 0;
        for (const std::atomic<int64_t>& bucket : counters->buckets) num_calls += bucket;
        if (num_calls == 0) continue;
        rows.push_back({String(counters->name.data(), counters->name.size()), num_calls,
                        counters->errors.load(), counters->total_ns.load(),
                        counters->Quantile(0.5, num_calls), counters->Quantile(0.99, num_calls)});
      }
    }
    return rows;
  }

 private:
  static constexpr size_t kBlockSize = 256;
  using Block = std::array<std::atomic<Counters*>, kBlockSize>;

  template <typename T, typename Make>
  static T* FindOrAdd(std::atomic<T*>* slot, Make&& make) {
    T* found = slot->load(std::memory_order_acquire);
    if (found != nullptr) return found;
    T* added = make();
    if (slot->compare_exchange_strong(found, added, std::memory_order_acq_rel)) return added;
    delete added;
    return found;
  }

  // By the index of the name.  Calls of further names are not counted.
  std::array<std::atomic<Block*>, 1024> blocks_{};
};

Array<Any> AddStats(const Array<String>& names) {
  return AddObserver(std::make_shared<Stats>(), names);
}

void RemoveObserver(int64_t number) { TVM_FFI_CHECK_SAFE_CALL(TVMFFIObserverRemove(number)); }

void Show(const Function& function, const Optional<String>& name) {
  auto* handle = ffi::detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(function);
  String text = name.value_or(String());
  TVMFFIByteArray bytes{text.data(), text.size()};
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIObserverShow(handle, &bytes));
}

}  // namespace

void RegisterObservers() {
  RegisterForkMutexes();
  reflection::GlobalDef()
      .def("pytvmffi.ObserverAddDebug", &AddDebug)
      .def("pytvmffi.ObserverAddStats", &AddStats)
      .def("pytvmffi.ObserverAddRecorder", &AddRecorder)
      .def("pytvmffi.ObserverAddTrace", &AddTrace)
      .def("pytvmffi.ObserverRemove", &RemoveObserver)
      .def("pytvmffi.ObserverShow", &Show)
      .def("pytvmffi.ProbeBuild", [](const String& title, int64_t nanoseconds) {
        TVM_FFI_PROBE2("build", title.c_str(), nanoseconds);
      });
  RegisterContents();
}

}  // namespace tvm::ffi::extra
