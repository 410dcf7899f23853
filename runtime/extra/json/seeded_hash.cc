// SPDX-License-Identifier: Apache-2.0
// SeededHash: a polynomial hash of strings and bytes, and mixed AnyHash for other values.
#include "json/seeded_hash.h"

#include <tvm/ffi/big_int.h>

#include <chrono>
#include <cstring>
#include <random>

namespace tvm::ffi::extra {
namespace {

constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

// Returns a * b + c modulo kPrime, which is 2^61 - 1: the sum of the low 61 bits and the others.
uint64_t MultiplyAdd(uint64_t a, uint64_t b, uint64_t c) {
  uint64_t high;
  uint64_t low = ffi::detail::int_ops::MultiplyAdd(a, b, c, 0, &high);
  uint64_t sum = (low & kPrime) + (high << 3 | low >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}

// Returns a random odd number below kPrime.
uint64_t NewSeed() {
  uint64_t seed;
  try {
    std::random_device device;
    seed = uint64_t{device()} << 32 | device();
  } catch (const std::exception&) {  // the system has no source of randomness
    auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    seed = static_cast<uint64_t>(now) * 0x9e3779b97f4a7c15U;
  }
  return (seed >> 4) | 1;
}

uint64_t Seed() {
  static const uint64_t seed = NewSeed();
  return seed;
}

// Returns a polynomial hash of the text: each group of 7 bytes is a coefficient, and the seed is
// the value of the variable.  Two given texts of n bytes collide for at most n / 7 of the 2^60
// seeds.
uint64_t HashText(uint64_t kind, TVMFFIByteArray text) {
  constexpr size_t kBytes = 7;  // bytes per coefficient; coefficients must be below kPrime
  uint64_t hash = kind + text.size;
  for (size_t offset = 0; offset < text.size; offset += kBytes) {
    uint64_t word = 0;
    size_t left = text.size - offset;
    std::memcpy(&word, text.data + offset, left < kBytes ? left : kBytes);
    hash = MultiplyAdd(hash, Seed(), word);
  }
  return MultiplyAdd(hash, Seed(), 0);
}

uint64_t Mix(uint64_t hash) {
  hash = (hash ^ hash >> 32) * (Seed() << 3 | 1);
  return hash ^ hash >> 32;
}

}  // namespace

size_t SeededHash::operator()(const Any& value) const {
  const TVMFFIAny* raw = ffi::detail::AnyUnsafe::TVMFFIAnyPtrFromAny(value);
  switch (raw->type_index) {
    case kTVMFFISmallStr:
    case kTVMFFIStr:
      return HashText(kTVMFFIStr, ffi::detail::TextContent(raw));
    case kTVMFFISmallBytes:
    case kTVMFFIBytes:
      return HashText(kTVMFFIBytes, ffi::detail::TextContent(raw));
    default:
      return Mix(AnyHash()(value));
  }
}

}  // namespace tvm::ffi::extra
