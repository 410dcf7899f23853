// SPDX-License-Identifier: Apache-2.0
// Write protection of memory, and the handler of invalid accesses, on Linux.
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "platform.h"

namespace tvm::ffi::platform {
namespace {

std::atomic<AccessHandler> access_handler{nullptr};
struct sigaction previous_action;

void OnInvalidAccess(int number, siginfo_t* info, void* context) {
  int error = errno;
  AccessHandler handler = access_handler.load(std::memory_order_acquire);
  // A signal that another process sent has no address.
  bool is_access = info->si_code > 0;
  bool may_repeat =
      is_access && handler != nullptr && handler(reinterpret_cast<uintptr_t>(info->si_addr));
  errno = error;
  if (may_repeat) return;
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    return previous_action.sa_sigaction(number, info, context);
  }
  if (previous_action.sa_handler == SIG_DFL || previous_action.sa_handler == SIG_IGN) {
    // The access is repeated, and the default action ends the process.
    sigaction(number, &previous_action, nullptr);
    if (!is_access) raise(number);
    return;
  }
  previous_action.sa_handler(number);
}

bool IsOurs(const struct sigaction& action) {
  return (action.sa_flags & SA_SIGINFO) != 0 && action.sa_sigaction == &OnInvalidAccess;
}

}  // namespace

size_t PageSize() noexcept {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

bool SetWritable(uintptr_t page, size_t size, bool is_writable) noexcept {
  auto* memory = reinterpret_cast<void*>(page);
  return mprotect(memory, size, is_writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
}

bool HandlesInvalidAccess() noexcept {
  struct sigaction current;
  return sigaction(SIGSEGV, nullptr, &current) == 0 && IsOurs(current);
}

bool HandleInvalidAccess(AccessHandler handler) noexcept {
  if (handler == nullptr) {
    // If another handler was set since, it may call this one, which then does nothing.
    if (HandlesInvalidAccess()) sigaction(SIGSEGV, &previous_action, nullptr);
    access_handler.store(nullptr, std::memory_order_release);
    return true;
  }
  access_handler.store(handler, std::memory_order_release);
  if (HandlesInvalidAccess()) return true;
  struct sigaction action{};
  action.sa_sigaction = &OnInvalidAccess;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  struct sigaction replaced;
  if (sigaction(SIGSEGV, &action, &replaced) != 0) return false;
  previous_action = replaced;
  return true;
}

}  // namespace tvm::ffi::platform
