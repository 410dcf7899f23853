// SPDX-License-Identifier: Apache-2.0
// Host calls (c_host_call.h): calls with the stream and allocator of a framework, whose errors are
// returned as status codes and text.
#include <tvm/ffi/extra/c_host_call.h>

#include <cstddef>
#include <cstring>
#include <functional>
#include <optional>
#include <string_view>
#include <utility>

#include "call_environment.h"
#include "error.h"
#include "function_table.h"

namespace tvm::ffi::runtime {
namespace {

// The size in bytes of TVMFFIHostScope in the first version of the struct.  Hosts compiled with a
// later version pass a larger struct_size.
constexpr size_t kScopeSize = offsetof(TVMFFIHostScope, read_only);
static_assert(sizeof(void*) < 8 || (kScopeSize == 32 && sizeof(TVMFFIHostScope) == 48),
              "hosts are compiled with these layouts");

using Entry = FunctionTable::Entry;

// Converts an entry of the function table to the opaque C type TVMFFIHostSlot.
const TVMFFIHostSlot* SlotOf(Entry* entry) { return reinterpret_cast<TVMFFIHostSlot*>(entry); }
Entry* EntryOf(const TVMFFIHostSlot* slot) {
  return reinterpret_cast<Entry*>(const_cast<TVMFFIHostSlot*>(slot));
}

[[noreturn]] void RaiseMissing(std::string_view name) {
  Raise("ValueError", "no global function is named '", name, "'");
}

Entry* FindEntry(std::string_view name) {
  Entry* entry = FunctionTable::Global().FindSlot(name);
  if (entry == nullptr) RaiseMissing(name);
  return entry;
}

FunctionObject* FunctionIn(Entry* entry) {
  if (FunctionObject* pinned = FunctionTable::PinnedIn(entry)) return pinned;
  FunctionObject* function = FunctionTable::Global().Pin(entry);
  if (function == nullptr) RaiseMissing(entry->name);
  return function;
}

// The scope of the innermost host call that runs on this thread, or null.
thread_local const TVMFFIHostScope* innermost_scope = nullptr;

// Sets the host's stream, allocator and read-only tensors.  The destructor restores the previous
// ones, also when the thread is cancelled.
class HostEnvironment {
 public:
  explicit HostEnvironment(const TVMFFIHostScope* scope) : scope_(scope) {
    if (scope == nullptr) return;
    if (scope->struct_size < kScopeSize) {
      Raise("ValueError", "TVMFFIHostCall: struct_size of the scope must be at least ", kScopeSize,
            ", got ", scope->struct_size);
    }
    environment_.emplace(scope->device, scope->stream, scope->allocator);
    previous_scope_ = std::exchange(innermost_scope, scope);
  }
  ~HostEnvironment() {
    if (scope_ != nullptr) innermost_scope = previous_scope_;
  }
  HostEnvironment(const HostEnvironment&) = delete;
  HostEnvironment& operator=(const HostEnvironment&) = delete;

 private:
  const TVMFFIHostScope* scope_;
  const TVMFFIHostScope* previous_scope_ = nullptr;
  std::optional<CallEnvironment> environment_;
};

TVMFFISafeCallType CallOf(TVMFFIObjectHandle function) {
  return EntryOf(static_cast<FunctionObject*>(static_cast<TVMFFIObject*>(function)));
}

int CallInScope(const TVMFFIHostScope* scope, TVMFFIObjectHandle function, TVMFFIAny* args,
                int32_t num_args, TVMFFIAny* result) {
  int code = 0;
  int guarded = GuardBoundary([&] {
    HostEnvironment environment(scope);
    *result = NoneAny();
    code = CallOf(function)(function, args, num_args, result);
  });
  return guarded != 0 ? guarded : code;
}

// Takes the pending error, or creates one if the callee set none.
TVMFFIObjectHandle TakeError(int code) {
  TVMFFIObjectHandle error = nullptr;
  TVMFFIErrorMoveFromRaised(&error);
  if (error != nullptr) return error;
  TVMFFIErrorSetRaisedFromCStr("RuntimeError",
                               code == kHostExceptionPending
                                   ? "the function left an exception pending in its own language"
                                   : "the function returned nonzero but set no error");
  TVMFFIErrorMoveFromRaised(&error);
  return error;
}

// The absl::StatusCode numbers of error kinds.  Kinds that are not in the table map to kInternal.
struct KindStatus {
  std::string_view kind;
  int32_t status;
};
constexpr KindStatus kStatuses[] = {
    {"ValueError", 3},      {"TypeError", 3},
    {"OverflowError", 3},   {"KeyError", 5},
    {"AttributeError", 5},  {"FileNotFoundError", 5},
    {"PermissionError", 7}, {"MemoryError", 8},
    {"IndexError", 11},     {"NotImplementedError", 12},
};
constexpr int32_t kInternal = 13;

// Appends strings to a buffer, truncates at its capacity, and counts the untruncated size.  Writes
// a NUL in a string as "\0", because the text ends at the first NUL.
struct BoundedText {
  char* buffer;
  size_t capacity;  // size of the buffer in bytes, including the final NUL
  size_t size = 0;  // size of the untruncated text in bytes, without the NUL

  void Append(std::string_view piece) {
    for (size_t end; (end = piece.find('\0')) != piece.npos; piece.remove_prefix(end + 1)) {
      AppendBytes(piece.substr(0, end));
      AppendBytes("\\0");
    }
    AppendBytes(piece);
  }
  void AppendBytes(std::string_view piece) {
    if (size + 1 < capacity) {
      size_t room = capacity - 1 - size;
      std::memcpy(buffer + size, piece.data(), piece.size() < room ? piece.size() : room);
    }
    size += piece.size();
  }
  void Terminate() {
    if (capacity != 0) buffer[size < capacity ? size : capacity - 1] = '\0';
  }
};

}  // namespace
}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIHostFindSlot(const TVMFFIByteArray* name, const TVMFFIHostSlot** out) {
  return GuardBoundary([&] { *out = SlotOf(FindEntry(View(*name))); });
}

int TVMFFIHostSlotFunction(const TVMFFIHostSlot* slot, TVMFFIObjectHandle* out) {
  FunctionObject* pinned = FunctionTable::PinnedIn(EntryOf(slot));
  if (pinned == nullptr) return GuardBoundary([&] { *out = FunctionIn(EntryOf(slot)); });
  *out = pinned;
  return 0;
}

int TVMFFIHostFindFunction(const TVMFFIByteArray* name, TVMFFIObjectHandle* out) {
  return GuardBoundary([&] { *out = FunctionIn(FindEntry(View(*name))); });
}

int TVMFFIHostCall(const TVMFFIHostScope* scope, TVMFFIObjectHandle function, TVMFFIAny* args,
                   int32_t num_args, TVMFFIAny* result, TVMFFIObjectHandle* error) {
  DropPendingError();  // an earlier call on this thread may have left a pending error
  int code = CallInScope(scope, function, args, num_args, result);
  if (code == 0) return 0;
  *error = TakeError(code);
  return -1;
}

int32_t TVMFFIHostIsReadOnly(const DLTensor* tensor) {
  const TVMFFIHostScope* scope = innermost_scope;
  if (scope == nullptr || scope->struct_size < sizeof(TVMFFIHostScope)) return 0;
  std::less<const DLTensor*> is_before;
  return !is_before(tensor, scope->read_only) &&
         is_before(tensor, scope->read_only + scope->num_read_only);
}

size_t TVMFFIHostErrorText(TVMFFIObjectHandle error, char* buffer, size_t capacity) {
  const TVMFFIErrorCell* cell = TVMFFIErrorGetCellPtr(error);
  BoundedText text{buffer, capacity};
  text.Append(View(cell->kind));
  text.Append(": ");
  text.Append(View(cell->message));
  text.Terminate();
  return text.size;
}

int32_t TVMFFIHostErrorStatus(TVMFFIObjectHandle error) {
  std::string_view kind = View(TVMFFIErrorGetCellPtr(error)->kind);
  for (const KindStatus& row : kStatuses) {
    if (row.kind == kind) return row.status;
  }
  return kInternal;
}
