// SPDX-License-Identifier: Apache-2.0
// Native stack walk.  Each thread caches the description of a code
// address (library, demangled name, visible or hidden, end of the walk or not), so raising the same
// error again costs the walk and one append per frame.  A cache has at most kMaxFrames entries.
//
// Names come from the dynamic symbol table: static functions are not in it and are left out.  Only
// the frame that the caller of TVMFFIBacktrace passes has a line number.
#include "backtrace.h"

#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string>
#include <unordered_map>

#include "../platform/platform.h"
#include "text.h"
#include "thread_state.h"

namespace tvm::ffi::runtime {
namespace {

struct Frame {
  std::string line;          // the line of text for the frame; empty if backtraces omit the frame
  bool is_boundary = false;  // true if the stack walk ends before this frame
};

bool StartsWith(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

// Returns true if the frame belongs to the FFI implementation.  Backtraces omit such frames,
// because they do not help the reader.
bool IsHidden(std::string_view name) {
  for (std::string_view prefix : {"tvm::ffi::Function", "tvm::ffi::detail::", "tvm::ffi::runtime::",
                                  "TVMFFI", "__libc_", "ffi_call_", "__pyx_"}) {
    if (StartsWith(name, prefix)) return true;
  }
  return false;
}

// Returns true if the frame is the first frame of the calling language, such as Python.  The
// traceback of the calling language describes this frame and all outer frames.
bool IsBoundary(std::string_view name) {
  return name == "TVMFFIFunctionCall" || name == "slot_tp_call" ||
         name == "object_is_not_callable" || StartsWith(name, "_Py") ||
         StartsWith(name, "PyObject") || StartsWith(name, "PyEval") ||
         StartsWith(name, "PyVectorcall");
}

std::string FormatLine(const char* filename, int lineno, std::string_view func) {
  return Concat("  File \"", filename == nullptr ? "<unknown>" : filename, "\", line ", lineno,
                ", in ", func, "\n");
}

// Returns the file name of the library in angle brackets, to print instead of an unknown source
// file.  Without the brackets, tools that print tracebacks would open the library as a source file.
std::string LibraryName(const std::string& path) {
  if (path.empty()) return "<unknown>";
  return Concat("<", path.substr(platform::FileNameIn(path)), ">");
}

Frame Describe(uintptr_t address) {
  Frame frame;
  platform::AddressDescription found =
      platform::DescribeAddress(reinterpret_cast<const void*>(address));
  if (found.symbol.empty()) return frame;
  std::string name = platform::Demangle(found.symbol.c_str());
  frame.is_boundary = IsBoundary(name);
  if (!frame.is_boundary && !IsHidden(name)) {
    frame.line = FormatLine(LibraryName(found.library).c_str(), 0, name);
  }
  return frame;
}

int FrameLimit() {
  static const int limit = [] {
    const char* text = std::getenv("TVM_TRACEBACK_LIMIT");
    // strtol returns 0 if the text is not a number, and LONG_MAX if the number does not fit.
    long value = text == nullptr ? 0 : std::strtol(text, nullptr, 10);  // NOLINT(*-runtime-int)
    return value > 0 ? static_cast<int>(std::min<long>(value, INT_MAX)) : 512;
  }();
  return limit;
}

struct ThreadBacktrace {
  std::unordered_map<uintptr_t, Frame> frames;
  std::string text;
  TVMFFIByteArray bytes;
};

struct Walk {
  ThreadBacktrace* local;
  int skipped_frames;     // number of innermost frames to skip
  int remaining_frames;   // number of frames left below TVM_TRACEBACK_LIMIT
  bool crosses_boundary;  // true to continue after the first frame of the calling language
};

const Frame& FrameAt(ThreadBacktrace* local, uintptr_t address) {
  auto known = local->frames.find(address);
  if (known != local->frames.end()) return known->second;
  // JIT compilers load and unload code at new addresses, so the cache must be bounded.
  constexpr size_t kMaxFrames = 4096;
  if (local->frames.size() >= kMaxFrames) local->frames.clear();
  return local->frames.emplace(address, Describe(address)).first->second;
}

bool VisitFrame(uintptr_t address, void* data) noexcept try {
  auto* walk = static_cast<Walk*>(data);
  if (walk->skipped_frames > 0) {
    --walk->skipped_frames;
    return true;
  }
  if (walk->remaining_frames-- <= 0 || address == 0) return false;
  // A return address may belong to the next function: look up the byte before it.
  const Frame& frame = FrameAt(walk->local, address - 1);
  if (frame.is_boundary && !walk->crosses_boundary) return false;
  walk->local->text += frame.line;
  return true;
} catch (...) {
  return false;  // out of memory: the backtrace ends here
}

__attribute__((noinline)) void AppendStack(ThreadBacktrace* local, int skipped_frames,
                                           bool crosses_boundary) {
  Walk walk{local, skipped_frames + 1, FrameLimit(), crosses_boundary};
  platform::WalkStack(&VisitFrame, &walk);
}

}  // namespace

std::string_view BacktraceOf(const uintptr_t* addresses, size_t count) {
  auto& local = ThreadState<ThreadBacktrace>::Get();
  local.text.clear();
  Walk walk{&local, 0, FrameLimit(), false};
  for (size_t i = 0; i < count && VisitFrame(addresses[i], &walk); ++i) {
  }
  return local.text;
}

std::string_view CurrentBacktrace() {
  auto& local = ThreadState<ThreadBacktrace>::Get();
  local.text.clear();
  AppendStack(&local, 0, false);
  return local.text;
}

}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

const TVMFFIByteArray* TVMFFIBacktrace(const char* filename, int lineno, const char* func,
                                       int cross_ffi_boundary) {
  static const TVMFFIByteArray no_memory = {"", 0};
  try {
    auto& local = ThreadState<ThreadBacktrace>::Get();
    local.text.clear();
    bool names_caller = filename != nullptr && func != nullptr;
    if (names_caller) local.text = FormatLine(filename, lineno, func);
    // Skip the frame of this function.  If the caller has passed its own file, line and name, the
    // first line of the text describes the caller, so skip the caller's frame as well.
    AppendStack(&local, names_caller ? 2 : 1, cross_ffi_boundary != 0);
    local.bytes = BorrowBytes(local.text);
    return &local.bytes;
  } catch (...) {
    return &no_memory;
  }
}
