// SPDX-License-Identifier: Apache-2.0
// CheckBudget: the time that the comparison of elements may take in the calls of one function.
//
// Small tensors and the first calls are compared completely.  After these, a call compares all
// elements only if earlier comparisons have not cost more time than the function itself.  Any other
// call compares a window: one of kWindows parts of each tensor, so that consecutive calls compare
// all parts.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_CHECK_BUDGET_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_CHECK_BUDGET_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace tvm::ffi::extra {

class CheckBudget {
 public:
  static constexpr size_t kWindows = 16;
  // Calls whose tensors have at most this many bytes are compared completely, and not measured.
  static constexpr size_t kFreeBytes = 2048;

  // Returns the window that the next call compares; kWindows for all elements.  Threads: any.
  size_t NextWindow() {
    if (num_calls_.load(std::memory_order_relaxed) < kCompleteCalls) {
      num_calls_.fetch_add(1, std::memory_order_relaxed);
      return kWindows;
    }
    if (debt_ns_.load(std::memory_order_relaxed) <= 0) return kWindows;
    return next_window_.fetch_add(1, std::memory_order_relaxed) % kWindows;
  }

  // True for the first calls whose views are lent (lent_views.h).  Threads: any.
  bool LendsViews() {
    if (num_lent_.load(std::memory_order_relaxed) >= kCompleteCalls) return false;
    num_lent_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }

  // Adds the times of a call in nanoseconds.  Threads: any; concurrent calls may lose a number.
  void Charge(int64_t check_ns, int64_t function_ns) {
    int64_t debt = debt_ns_.load(std::memory_order_relaxed) + check_ns - function_ns;
    debt_ns_.store(std::min(std::max(debt, -kMaxNs), kMaxNs), std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kCompleteCalls = 16;
  // The bound of the debt and of the credit: a function that becomes slow or fast gets other checks
  // within a second.
  static constexpr int64_t kMaxNs = 1'000'000'000;

  std::atomic<uint32_t> num_calls_{0};
  std::atomic<uint32_t> num_lent_{0};
  std::atomic<uint32_t> next_window_{0};
  std::atomic<int64_t> debt_ns_{0};  // the time of checks without the time of the function
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_CHECK_BUDGET_H_
