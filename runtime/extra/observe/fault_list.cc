// SPDX-License-Identifier: Apache-2.0
// List of the faults that a debug context found.
#include "observe/fault_list.h"

#include <exception>

namespace tvm::ffi::extra {

FaultList::Entry* FaultList::AddEntry(const Fault& fault) {
  std::lock_guard<ForkMutex> lock(mutex_);
  Key key(fault.function, fault.address, fault.argument, fault.rule);
  auto [found, is_new] = index_.emplace(std::move(key), nullptr);
  if (!is_new) {
    ++found->second->count;
    return nullptr;
  }
  found->second = &entries_.emplace_back();
  found->second->fault = fault;
  return found->second;
}

void FaultList::Add(const Fault& fault, bool can_call_host) {
  Entry* added = AddEntry(fault);
  if (added == nullptr) return;
  const TVMFFIByteArray* native = TVMFFIBacktrace(nullptr, 0, nullptr, 0);
  String native_stack(native->data, native->size);
  String host_stack = can_call_host ? HostStack() : String();
  {
    std::lock_guard<ForkMutex> lock(mutex_);
    added->native_stack = native_stack;
    added->host_stack = host_stack;
  }
  if (can_call_host) Report(fault, host_stack);
}

void FaultList::AddLater(const Fault& fault, const String& host_stack) {
  Entry* added = AddEntry(fault);
  if (added == nullptr) return;
  {
    std::lock_guard<ForkMutex> lock(mutex_);
    added->host_stack = host_stack;
  }
  Report(fault, host_stack);
}

// The functions below ignore errors: the interpreter may be exiting.

String FaultList::HostStack() const {
  try {
    return stack_().cast<String>();
  } catch (const std::exception&) {
    return String();
  }
}

void FaultList::Report(const Fault& fault, const String& host_stack) const {
  try {
    report_(String(std::string(fault.function)), String(fault.argument), String(fault.rule),
            String(fault.message), host_stack, String(fault.events));
  } catch (const std::exception&) {
  }
}

Array<Array<Any>> FaultList::Read() const {
  std::lock_guard<ForkMutex> lock(mutex_);
  Array<Array<Any>> rows;
  for (const Entry& entry : entries_) {
    const Fault& fault = entry.fault;
    rows.push_back({String(std::string(fault.function)), String(fault.argument), String(fault.rule),
                    String(fault.message), entry.count, entry.host_stack, entry.native_stack,
                    String(fault.events)});
  }
  return rows;
}

}  // namespace tvm::ffi::extra
