// SPDX-License-Identifier: Apache-2.0
#include "json/secret_hash.h"

#include <chrono>
#include <cstring>
#include <random>

namespace tvm::ffi::extra {
namespace {

__extension__ typedef unsigned __int128 Wide;
constexpr uint64_t kPrime = (uint64_t{1} << 61) - 1;

uint64_t Reduce(Wide value) {
  auto sum = static_cast<uint64_t>(value & kPrime) + static_cast<uint64_t>(value >> 61);
  return sum >= kPrime ? sum - kPrime : sum;
}

// Below kPrime, and odd.
uint64_t NewSecret() {
  uint64_t secret;
  try {
    std::random_device device;
    secret = uint64_t{device()} << 32 | device();
  } catch (const std::exception&) {  // a system without randomness
    auto now = std::chrono::steady_clock::now().time_since_epoch().count();
    secret = static_cast<uint64_t>(now) * 0x9e3779b97f4a7c15U;
  }
  return (secret >> 4) | 1;
}

uint64_t Secret() {
  static const uint64_t secret = NewSecret();
  return secret;
}

// The text as coefficients of a polynomial, evaluated at the secret: two texts of n bytes collide
// for n / 7 of 2^60 secrets.
uint64_t HashText(uint64_t kind, TVMFFIByteArray text) {
  constexpr size_t kBytes = 7;  // of a coefficient, which is below the prime
  uint64_t hash = kind + text.size;
  for (size_t place = 0; place < text.size; place += kBytes) {
    uint64_t word = 0;
    size_t left = text.size - place;
    std::memcpy(&word, text.data + place, left < kBytes ? left : kBytes);
    hash = Reduce(Wide{hash} * Secret() + word);
  }
  return Reduce(Wide{hash} * Secret());
}

uint64_t Mix(uint64_t hash) {
  hash = (hash ^ hash >> 32) * (Secret() << 3 | 1);
  return hash ^ hash >> 32;
}

}  // namespace

size_t SecretHash::operator()(const Any& value) const {
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
