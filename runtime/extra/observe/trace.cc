// SPDX-License-Identifier: Apache-2.0
// Call trace: begin, end, arguments and stream of each call, in one log per thread.
//
// A thread appends to its log without a lock.  Another thread may read the log concurrently: the
// size of the log is stored after an event, and the end of an event after its status.
#include "observe/trace.h"

#include <tvm/ffi/extra/c_env_api.h>

#include <atomic>
#include <cstdio>
#include <limits>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "observe/argument_text.h"
#include "observe/observer.h"

namespace tvm::ffi::extra {
namespace {

// One call.
struct Event {
  int64_t begin_ns;
  std::atomic<int64_t> end_ns;   // 0: the call has not ended
  uint64_t stream;               // the stream of the first tensor that is not on the CPU, or 0
  const char* name;              // never freed
  const std::string* arguments;  // owned by the log
  int32_t status;
};

// The events of one thread.
class Log {
 public:
  explicit Log(int64_t thread) : thread_(thread) {}

  bool HasRoom() const { return size_.load(std::memory_order_relaxed) % kBlockSize != 0; }
  // Returns a new event; the thread of the log calls this function.
  Event* Add(const TVMFFIObservedCall& call) {
    size_t size = size_.load(std::memory_order_relaxed);
    if (size % kBlockSize == 0) {
      std::lock_guard<std::mutex> lock(mutex_);
      blocks_.push_back(std::make_unique<Event[]>(kBlockSize));
    }
    Event* event = &blocks_.back()[size % kBlockSize];
    event->name = call.name.data;
    event->arguments = DescriptionOf(call, &event->stream);
    event->begin_ns = NowNs();  // after the description, whose time is not the function's
    size_.store(size + 1, std::memory_order_release);
    return event;
  }

  // Returns [thread, packed events, descriptions]; an event has six 64-bit integers: begin, end,
  // stream, index of the name, index of the description, status.
  Array<Any> Read(std::unordered_map<const char*, int64_t>* names) {
    std::lock_guard<std::mutex> lock(mutex_);
    std::unordered_map<const std::string*, int64_t> texts;
    Array<String> descriptions;
    std::vector<int64_t> packed;
    size_t size = size_.load(std::memory_order_acquire);
    for (size_t i = 0; i < size; ++i) {
      const Event& event = blocks_[i / kBlockSize][i % kBlockSize];
      auto name = names->emplace(event.name, static_cast<int64_t>(names->size())).first;
      auto [text, is_new] = texts.emplace(event.arguments, static_cast<int64_t>(texts.size()));
      if (is_new) descriptions.push_back(String(*event.arguments));
      int64_t end_ns = event.end_ns.load(std::memory_order_acquire);
      for (int64_t field :
           {event.begin_ns, end_ns, static_cast<int64_t>(event.stream), name->second, text->second,
            end_ns == 0 ? int64_t{0} : int64_t{event.status}}) {
        packed.push_back(field);
      }
    }
    return {thread_, Bytes(reinterpret_cast<const char*>(packed.data()), packed.size() * 8),
            descriptions};
  }

  static constexpr size_t kBlockSize = 1024;

 private:
  const std::string* DescriptionOf(const TVMFFIObservedCall& call, uint64_t* stream) {
    text_.clear();
    AppendArguments(call, &text_);
    for (int32_t i = 0; i < call.num_args; ++i) {
      const DLTensor* tensor = TensorOf(call.args[i]);
      if (tensor == nullptr || tensor->device.device_type == kDLCPU || *stream != 0) continue;
      *stream = reinterpret_cast<uintptr_t>(
          TVMFFIEnvGetStream(tensor->device.device_type, tensor->device.device_id));
    }
    return &*texts_.insert(text_).first;
  }

  int64_t thread_;
  std::mutex mutex_;  // guards the vector blocks_, not the events
  std::vector<std::unique_ptr<Event[]>> blocks_;
  std::atomic<size_t> size_{0};
  std::string text_;
  std::unordered_set<std::string> texts_;
};

// The log of the calling thread in the trace that the thread used last.
struct CurrentLog {
  int64_t trace = -1;  // the number of the trace
  Log* log = nullptr;
};
thread_local CurrentLog current_log;

class Trace {
 public:
  explicit Trace(int64_t max_events) : room_(max_events) {}

  // The token is the event; null if the trace is full.
  void* Begin(const TVMFFIObservedCall& call) {
    Log* log = current_log.trace == number_ ? current_log.log : FindOrAddLog();
    constexpr auto kBlock = static_cast<int64_t>(Log::kBlockSize);
    if (!log->HasRoom() && room_.fetch_sub(kBlock, std::memory_order_relaxed) <= 0) {
      room_.fetch_add(kBlock, std::memory_order_relaxed);
      num_dropped_.fetch_add(1, std::memory_order_relaxed);
      return nullptr;
    }
    return log->Add(call);
  }
  void End(const TVMFFIObservedCall& call, void* token) {
    if (token == nullptr) return;
    auto* event = static_cast<Event*>(token);
    event->status = call.status;
    event->end_ns.store(NowNs(), std::memory_order_release);
  }

  // Returns [names, number of dropped calls, log of each thread].
  Array<Any> Read() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::unordered_map<const char*, int64_t> indices;
    Array<Any> result = {Any(), num_dropped_.load()};
    for (auto& [thread, log] : logs_) result.push_back(log->Read(&indices));
    std::vector<String> names(indices.size());
    for (auto& [name, index] : indices) names[static_cast<size_t>(index)] = name;
    result.Set(0, Array<String>(names.begin(), names.end()));
    return result;
  }

 private:
  Log* FindOrAddLog() {
    std::lock_guard<std::mutex> lock(mutex_);
    std::unique_ptr<Log>& log = logs_[std::this_thread::get_id()];
    if (log == nullptr) log = std::make_unique<Log>(static_cast<int64_t>(logs_.size()));
    current_log = {number_, log.get()};
    return log.get();
  }
  static int64_t NextNumber() {
    static std::atomic<int64_t> next{0};
    return next++;
  }

  const int64_t number_ = NextNumber();
  std::atomic<int64_t> room_;  // the number of events that may be added, in blocks
  std::atomic<int64_t> num_dropped_{0};
  std::mutex mutex_;
  std::unordered_map<std::thread::id, std::unique_ptr<Log>> logs_;  // guarded by mutex_
};

}  // namespace

Array<Any> AddTrace(const Array<String>& names, int64_t max_events) {
  return AddObserver(std::make_shared<Trace>(max_events), names);
}

}  // namespace tvm::ffi::extra
