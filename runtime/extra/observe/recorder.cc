// SPDX-License-Identifier: Apache-2.0
// Flight recorder: calls with their arguments, results and errors, in a recording file.
//
// A thread encodes a call into words of its own, and appends them to its log without a lock.  The
// payloads of the records (record_values.cc has the form of values):
//
//   library    number of the library, digest of the file, path
//   function   number of the function, number of the library, name
//   call       number of the call, function and thread, number of the calling call or 0, stream,
//              number of arguments, arguments
//   result     number of the call, status and number of contents, result, contents
//
// A content after the call belongs to a tensor of the arguments: the index of the argument and of
// the tensor in the argument, content.
#include "observe/recorder.h"

#include <tvm/ffi/extra/c_env_api.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "../core/extra_layer.h"
#include "../platform/platform.h"
#include "module/library/library_module.h"
#include "observe/contents.h"
#include "observe/observer.h"
#include "observe/record_file.h"
#include "observe/record_values.h"
#include "registration.h"

namespace tvm::ffi::extra {
namespace {

// Number of forks between the first process and this one.  A recorder belongs to one process,
// because a child shares the mapped file with its parent.
std::atomic<int> num_forks{0};

// A tensor argument of a call in progress.
struct TensorArgument {
  uint32_t argument;
  uint32_t index;  // among the tensors in the argument
  uint64_t digest;
};

// A call in progress.
struct Frame {
  uint64_t number;
  std::vector<TensorArgument> tensors;  // empty unless contents are compared
};

// The state of a thread in a recorder.  When the thread has ended, another thread may use it.
struct ThreadLog {
  ThreadLog(RecordFile* file, uint64_t thread_number)
      : log(file, RecordLog::kCalls), thread(thread_number) {}

  struct KnownFunction {
    const void* name = nullptr;  // names are never freed
    const void* code = nullptr;
    uint32_t number = 0;
    RecordLog::Template last_call;
  };
  static constexpr size_t kKnown = 256;

  RecordLog log;
  uint64_t thread;
  Words words;
  std::vector<const DLTensor*> tensors;
  std::vector<Frame> frames;  // the last one is the innermost call
  std::array<KnownFunction, kKnown> functions;
};

class Recorder;

// The logs of the calling thread, one for each recorder that it has used.
struct LogsOfThread {
  struct Entry {
    int64_t recorder_number;
    std::weak_ptr<Recorder> recorder;
    ThreadLog* log;
  };
  ~LogsOfThread();
  std::vector<Entry> entries;
};

class Recorder : public std::enable_shared_from_this<Recorder> {
 public:
  Recorder(const std::string& path, bool replaces, const RecordSettings& settings)
      : file_(path, replaces, settings), definitions_(&file_, RecordLog::kDefinitions) {
    [[maybe_unused]] static bool registered = [] {
      platform::CallInForkedChild([] { num_forks.fetch_add(1, std::memory_order_relaxed); });
      return true;
    }();
  }

  // The token is null if the call is not recorded.
  void* Begin(const TVMFFIObservedCall& call) {
    if (num_forks_ != num_forks.load(std::memory_order_relaxed)) return nullptr;
    ThreadLog* thread = CurrentLog();
    Words& words = thread->words;
    words.Clear();
    uint64_t number = next_number_.fetch_add(1, std::memory_order_relaxed);
    uint64_t* head = words.Extend(7);
    head[2] = number;
    ThreadLog::KnownFunction& function = FunctionOf(call, thread);
    head[3] = Pair(function.number, static_cast<uint32_t>(thread->thread));
    head[4] = thread->frames.empty() ? 0 : thread->frames.back().number;
    head[6] = static_cast<uint32_t>(call.num_args);
    thread->frames.push_back({number, {}});
    uint64_t stream = WriteArguments(call, thread);
    words.data()[5] = stream;
    if (thread->log.AppendCall(words, &function.last_call)) return this;
    file_.CountDropped();
    thread->frames.pop_back();
    return nullptr;
  }

  void End(const TVMFFIObservedCall& call, void* token) {
    // A child that forked during the call has a copy of the frame.
    if (token == nullptr || num_forks_ != num_forks.load(std::memory_order_relaxed)) return;
    ThreadLog* thread = CurrentLog();
    if (thread->frames.empty()) return;  // the thread has ended its state during its exit
    Words& words = thread->words;
    words.Clear();
    Frame frame = std::move(thread->frames.back());
    thread->frames.pop_back();
    words.Extend(4)[2] = frame.number;
    ValueWriter writer(&words, settings().max_bytes);
    writer.set_contents(BeginContents());
    writer.AddValue(*call.result);
    uint32_t num_contents = 0;
    if (!frame.tensors.empty()) num_contents = WriteContents(call, frame, thread);
    words.data()[3] = Pair(static_cast<uint32_t>(call.status), num_contents);
    thread->log.Append(RecordKind::kResult, words);
  }

  // Returns [number of calls, number of dropped calls, message of the error that ended the
  // recording].
  Array<Any> Read() {
    int error = file_.error();
    String message = error == 0 ? "" : std::system_category().message(error);
    return {static_cast<int64_t>(next_number_.load() - 1 - file_.num_dropped()),
            static_cast<int64_t>(file_.num_dropped()), message};
  }

  void Return(ThreadLog* log) {
    if (num_forks_ != num_forks.load()) return;  // another thread of the parent may hold the lock
    std::lock_guard<std::mutex> lock(mutex_);
    log->frames.clear();
    unused_.push_back(log);
  }

 private:
  const RecordSettings& settings() const { return file_.settings(); }
  // Contents of tensors before the call.
  Contents BeginContents() const {
    return settings().contents == Contents::kError ? Contents::kNone : settings().contents;
  }

  ThreadLog* CurrentLog() {
    LogsOfThread* logs = runtime::ThreadState<LogsOfThread>::Find();
    if (logs != nullptr) {
      for (const LogsOfThread::Entry& entry : logs->entries) {
        if (entry.recorder_number == number_) return entry.log;
      }
    }
    return AddLog();
  }

  ThreadLog* AddLog() {
    std::lock_guard<std::mutex> lock(mutex_);
    ThreadLog* log;
    ++num_threads_;
    if (unused_.empty()) {
      logs_.push_back(std::make_unique<ThreadLog>(&file_, num_threads_));
      log = logs_.back().get();
    } else {
      log = unused_.back();
      unused_.pop_back();
      log->thread = num_threads_;
    }
    auto& entries = runtime::ThreadState<LogsOfThread>::Get().entries;
    auto is_old = [](const LogsOfThread::Entry& entry) { return entry.recorder.expired(); };
    entries.erase(std::remove_if(entries.begin(), entries.end(), is_old), entries.end());
    entries.push_back({number_, weak_from_this(), log});
    return log;
  }

  // Writes the arguments and returns the stream of the first tensor that is not on the CPU.
  uint64_t WriteArguments(const TVMFFIObservedCall& call, ThreadLog* thread) {
    thread->tensors.clear();
    ValueWriter writer(&thread->words, settings().max_bytes);
    writer.set_tensors(&thread->tensors);
    writer.set_contents(BeginContents());
    bool has_contents = settings().contents != Contents::kNone;
    for (int32_t i = 0; i < call.num_args; ++i) {
      size_t first = thread->tensors.size();
      writer.AddValue(call.args[i]);
      if (!has_contents) continue;
      for (size_t j = first; j < thread->tensors.size(); ++j) {
        AddTensorArgument(*thread->tensors[j], static_cast<uint32_t>(i),
                          static_cast<uint32_t>(j - first), &thread->frames.back());
      }
    }
    for (const DLTensor* tensor : thread->tensors) {
      if (tensor->device.device_type == kDLCPU) continue;
      return reinterpret_cast<uintptr_t>(
          TVMFFIEnvGetStream(tensor->device.device_type, tensor->device.device_id));
    }
    return 0;
  }

  void AddTensorArgument(const DLTensor& tensor, uint32_t argument, uint32_t index, Frame* frame) {
    std::optional<size_t> size = ReadableSize(tensor);
    if (!size || *size == 0) return;
    uint64_t digest = settings().contents == Contents::kError ? 0 : DigestOfElements(tensor, *size);
    frame->tensors.push_back({argument, index, digest});
  }

  // Writes the contents that the call has changed, or all contents if only errors have contents.
  uint32_t WriteContents(const TVMFFIObservedCall& call, const Frame& frame, ThreadLog* thread) {
    bool only_errors = settings().contents == Contents::kError;
    if (only_errors && call.status == 0) return 0;
    Words scratch;
    uint32_t num_contents = 0;
    int64_t argument = -1;
    ValueWriter writer(&thread->words, settings().max_bytes);
    for (const TensorArgument& before : frame.tensors) {
      if (argument != before.argument) {
        // Encodes the argument again to find its tensors.
        argument = before.argument;
        scratch.Clear();
        thread->tensors.clear();
        ValueWriter finder(&scratch, 0);
        finder.set_tensors(&thread->tensors);
        finder.AddValue(call.args[argument]);
      }
      if (before.index >= thread->tensors.size()) continue;  // the argument was moved
      const DLTensor& tensor = *thread->tensors[before.index];
      std::optional<size_t> size = ReadableSize(tensor);
      if (!size) continue;
      if (!only_errors && DigestOfElements(tensor, *size) == before.digest) continue;
      ++num_contents;
      thread->words.Add(Pair(before.argument, before.index));
      writer.AddContent(tensor, only_errors ? Contents::kAll : settings().contents);
    }
    return num_contents;
  }

  ThreadLog::KnownFunction& FunctionOf(const TVMFFIObservedCall& call, ThreadLog* thread) {
    const void* name = call.name.data;
    const void* code = CodeOfFunction(call.function, runtime::OwnEntryOf(call.function));
    auto hash = reinterpret_cast<uintptr_t>(name) / 16 + reinterpret_cast<uintptr_t>(code) / 16;
    ThreadLog::KnownFunction& known = thread->functions[hash % ThreadLog::kKnown];
    if (known.name != name || known.code != code) {
      known = {name, code, AddFunction(call, code), {}};
    }
    return known;
  }

  uint32_t AddFunction(const TVMFFIObservedCall& call, const void* code) {
    std::lock_guard<std::mutex> lock(mutex_);
    auto key = std::make_pair(static_cast<const void*>(call.name.data), code);
    auto [found, is_new] = functions_.emplace(key, static_cast<uint32_t>(functions_.size()));
    if (!is_new) return found->second;
    uint64_t library = AddLibrary(platform::DescribeAddress(code).library);
    Words words;
    uint64_t* head = words.Extend(4);
    head[2] = found->second;
    head[3] = library;
    words.AddBytes(call.name.data, call.name.size);
    definitions_.Append(RecordKind::kFunction, words);
    return found->second;
  }

  // The caller holds mutex_.
  uint64_t AddLibrary(const std::string& path) {
    auto [found, is_new] = libraries_.emplace(path, libraries_.size());
    if (!is_new) return found->second;
    Words words;
    uint64_t* head = words.Extend(4);
    head[2] = found->second;
    head[3] = DigestOfFile(path);
    words.AddBytes(path.data(), path.size());
    definitions_.Append(RecordKind::kLibrary, words);
    return found->second;
  }

  static int64_t NextNumber() {
    static std::atomic<int64_t> next{0};
    return next++;
  }

  const int64_t number_ = NextNumber();
  const int num_forks_ = num_forks.load();
  RecordFile file_;
  std::atomic<uint64_t> next_number_{1};
  std::mutex mutex_;  // guards the members below
  RecordLog definitions_;
  uint64_t num_threads_ = 0;
  std::vector<std::unique_ptr<ThreadLog>> logs_;
  std::vector<ThreadLog*> unused_;  // logs of threads that have ended
  std::map<std::pair<const void*, const void*>, uint32_t> functions_;
  std::map<std::string, uint64_t> libraries_;
};

LogsOfThread::~LogsOfThread() {
  for (Entry& entry : entries) {
    if (std::shared_ptr<Recorder> recorder = entry.recorder.lock()) recorder->Return(entry.log);
  }
}

// Returns the value of a variable, "" if it is not set.
std::string Text(const char* variable) { return variable == nullptr ? "" : variable; }

// Returns the value of a variable as a number, or the default if it is empty.
uint64_t NumberIn(const char* name, const std::string& text, uint64_t default_value) {
  if (text.empty()) return default_value;
  char* end;
  uint64_t number = std::strtoull(text.c_str(), &end, 10);
  if (*end != '\0' || text[0] == '-') {
    TVM_FFI_THROW(ValueError) << name << ": expected a number, got " << text;
  }
  return number;
}

RecordSettings SettingsOfEnvironment() {
  RecordSettings settings;
  constexpr std::string_view kNames[] = {"none", "digest", "all", "error"};
  std::string contents = Text(std::getenv("TVM_FFI_RECORD_CONTENTS"));
  const auto* found = std::find(std::begin(kNames), std::end(kNames), contents);
  if (found == std::end(kNames) && !contents.empty()) {
    TVM_FFI_THROW(ValueError)
        << "TVM_FFI_RECORD_CONTENTS: expected none, digest, all or error, got " << contents;
  }
  if (!contents.empty()) settings.contents = static_cast<Contents>(found - std::begin(kNames));
  settings.max_bytes = NumberIn("TVM_FFI_RECORD_MAX_BYTES",
                                Text(std::getenv("TVM_FFI_RECORD_MAX_BYTES")), uint64_t{1} << 20);
  settings.last_calls =
      NumberIn("TVM_FFI_RECORD_LAST", Text(std::getenv("TVM_FFI_RECORD_LAST")), 0);
  return settings;
}

}  // namespace

Array<Any> AddRecorder(const String& path, const Array<String>& names, int64_t contents,
                       int64_t max_bytes, int64_t last_calls) {
  RecordSettings settings = {static_cast<Contents>(contents), static_cast<uint64_t>(max_bytes),
                             static_cast<uint64_t>(last_calls)};
  return AddObserver(std::make_shared<Recorder>(path, true, settings), names);
}

void StartRecorderOfEnvironment() {
  std::string path = Text(std::getenv("TVM_FFI_RECORD"));
  if (path.empty()) return;
  try {
    std::shared_ptr<Recorder> recorder;
    RecordSettings settings = SettingsOfEnvironment();
    try {
      recorder = std::make_shared<Recorder>(path, false, settings);
    } catch (const Error&) {
      // The file of another process, which has the same variable.
      path += "." + std::to_string(platform::ProcessNumber());
      recorder = std::make_shared<Recorder>(path, true, settings);
    }
    AddObserver(std::move(recorder), SplitNames(Text(std::getenv("TVM_FFI_RECORD_NAMES"))));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "tvm_ffi: no recording was started: %s\n", error.what());
  }
}

}  // namespace tvm::ffi::extra
