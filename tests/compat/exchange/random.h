// SPDX-License-Identifier: Apache-2.0
// A pseudo-random sequence that is the same on every platform and in every library.
#ifndef TVM_FFI_TESTS_COMPAT_EXCHANGE_RANDOM_H_
#define TVM_FFI_TESTS_COMPAT_EXCHANGE_RANDOM_H_

#include <cstdint>

namespace exchange {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  // Returns a number in [0, bound).
  int64_t Below(int64_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int64_t>((state_ >> 33) % static_cast<uint64_t>(bound));
  }

 private:
  uint64_t state_;
};

}  // namespace exchange

#endif  // TVM_FFI_TESTS_COMPAT_EXCHANGE_RANDOM_H_
