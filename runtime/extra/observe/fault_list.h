// SPDX-License-Identifier: Apache-2.0
// FaultList: the faults that a debug context found, each once with a count.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_FAULT_LIST_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_FAULT_LIST_H_

#include <tvm/ffi/container/array.h>
#include <tvm/ffi/function.h>

#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <tuple>

#include "observe/fork_mutex.h"

namespace tvm::ffi::extra {

// A broken rule.  Faults with the same function, argument and rule are counted as one.
struct Fault {
  std::string_view function;  // the observed name, never freed
  const void* address;        // the function object if it has no name, else null
  std::string argument;       // the name or number of the argument, "result" or ""
  const char* rule;
  std::string message;
  std::string events = {};  // the stacks of other events, each after a line with a heading
};

// Returns the lines of an event for Fault::events; empty if the stack is unknown.
inline std::string EventText(const char* heading, const std::string& stack) {
  return stack.empty() ? std::string() : std::string("  ") + heading + ":\n" + stack;
}

class FaultList {
 public:
  // stack, report: see AddDebug.
  FaultList(Function stack, Function report)
      : stack_(std::move(stack)), report_(std::move(report)) {}

  // Adds a fault.  The first fault of its kind gets the native stack of this thread and, if
  // `can_call_host`, the stack of the host language.
  void Add(const Fault& fault, bool can_call_host);
  // Adds a fault with a stack of the host language that was read earlier.
  void AddLater(const Fault& fault, const String& host_stack);
  // Returns the stack of the host language; empty if it cannot be read.
  String HostStack() const;

  // Returns [function, argument, rule, message, count, host stack, native stack, events] for each
  // fault.
  Array<Array<Any>> Read() const;

 private:
  struct Entry {
    Fault fault;
    int64_t count = 1;
    String host_stack;
    String native_stack;
  };
  using Key = std::tuple<std::string, const void*, std::string, std::string>;

  // Returns the new entry of a fault; null if the fault is in the list, after counting it.
  Entry* AddEntry(const Fault& fault);
  void Report(const Fault& fault, const String& host_stack) const;

  Function stack_;
  Function report_;
  mutable ForkMutex mutex_;  // no host code runs while it is held
  std::deque<Entry> entries_;
  std::map<Key, Entry*> index_;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_FAULT_LIST_H_
