// SPDX-License-Identifier: Apache-2.0
// Write protection of memory, and the handler of invalid accesses, on Linux.
#include <signal.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

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

bool VisitWritableMemory(size_t max_bytes, VisitMemory visit, void* data) {
  constexpr size_t kBlockBytes = size_t{1} << 20;
  void* block =
      mmap(nullptr, kBlockBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) return false;
  auto block_address = reinterpret_cast<uintptr_t>(block);
  std::vector<std::pair<uintptr_t, uintptr_t>> ranges;
  size_t total = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first = 0;
    unsigned long long last = 0;
    char rights[5] = "";
    if (std::sscanf(line.c_str(), "%llx-%llx %4s", &first, &last, rights) != 3) continue;
    bool is_device = line.find("/dev/") != std::string::npos;
    if (rights[0] != 'r' || rights[1] != 'w' || rights[3] != 'p' || is_device) continue;
    total += last - first;
    if (total > max_bytes) break;  // the shadow memory of a sanitizer has terabytes
    // The kernel may have joined the block with its neighbours.
    for (uintptr_t begin = first; begin < last;) {
      bool is_before = begin < block_address;
      if (begin == block_address) {
        begin += kBlockBytes;
        continue;
      }
      uintptr_t end = std::min<uintptr_t>(last, begin + kBlockBytes);
      if (is_before) end = std::min(end, block_address);
      ranges.emplace_back(begin, end);
      begin = end;
    }
  }
  bool is_listed = total > 0 && total <= max_bytes;
  for (size_t i = 0; is_listed && i < ranges.size(); ++i) {
    auto [begin, end] = ranges[i];
    iovec from = {reinterpret_cast<void*>(begin), end - begin};
    iovec to = {block, end - begin};
    ssize_t copied = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    if (copied < 0) continue;  // unmapped by another thread
    visit(begin, static_cast<const uintptr_t*>(block),
          static_cast<size_t>(copied) / sizeof(uintptr_t), data);
  }
  munmap(block, kBlockBytes);
  return is_listed;
}

size_t PageSize() noexcept {
  static const auto size = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

bool SetAccess(uintptr_t page, size_t size, PageAccess access) noexcept {
  constexpr int kProtections[] = {PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE};
  int protection = kProtections[static_cast<int>(access)];
  return mprotect(reinterpret_cast<void*>(page), size, protection) == 0;
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
