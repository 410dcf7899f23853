// SPDX-License-Identifier: Apache-2.0
// Part of big_int.h: arithmetic on arrays of 64-bit words.
//
// A word array is a two's complement number of any width, least significant word first.  The caller
// provides result arrays that are wide enough and do not overlap the operands.  Results may have
// redundant sign words, which NormalizedSize does not count.
#ifndef TVM_FFI_BIG_INT_DETAIL_H_
#define TVM_FFI_BIG_INT_DETAIL_H_

#include <tvm/ffi/error.h>

#include <cmath>
#include <string_view>
#include <vector>

namespace tvm {
namespace ffi {
namespace detail {

// A borrowed word array.
class BigIntWords {
 public:
  BigIntWords(const int64_t* data, size_t size) : data_(data), size_(size) {}
  const int64_t* data() const { return data_; }
  size_t size() const { return size_; }
  const int64_t* begin() const { return data_; }
  const int64_t* end() const { return data_ + size_; }
  int64_t operator[](size_t i) const { return data_[i]; }
  // Returns word i; for an index after the last word, returns a word of sign bits.
  uint64_t Extended(size_t i) const {
    return static_cast<uint64_t>(i < size_ ? data_[i] : data_[size_ - 1] >> 63);
  }

 private:
  const int64_t* data_;
  size_t size_;
};

namespace int_ops {

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowDivisionByZero() {
  TVM_FFI_THROW(ZeroDivisionError) << "Division by zero";
  TVM_FFI_UNREACHABLE();
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowWorkspaceTooLarge() {
  TVM_FFI_THROW(OverflowError)
      << "BigInt has too many words for division or conversion: expected at most SIZE_MAX / 16";
  TVM_FFI_UNREACHABLE();
}

inline bool IsNegative(BigIntWords a) { return a[a.size() - 1] < 0; }
inline bool IsNormalizedZero(BigIntWords a) { return a.size() == 1 && a[0] == 0; }

// Returns the number of words without redundant sign words; at least 1.
inline size_t NormalizedSize(const int64_t* data, size_t size) {
  while (size > 1 && data[size - 1] == data[size - 2] >> 63) --size;
  return size;
}

// Returns -1 if `a` < `b`, 0 if `a` == `b`, and 1 if `a` > `b`.  Neither may have redundant sign
// words.
inline int Compare(BigIntWords a, BigIntWords b) {
  bool negative = IsNegative(a);
  if (negative != IsNegative(b)) return negative ? -1 : 1;
  if (a.size() != b.size()) return (a.size() < b.size()) != negative ? -1 : 1;
  for (size_t i = a.size(); i > 0; --i) {
    if (a[i - 1] != b[i - 1]) {
      return static_cast<uint64_t>(a[i - 1]) < static_cast<uint64_t>(b[i - 1]) ? -1 : 1;
    }
  }
  return 0;
}

// Computes out = a + b if `subtract` is false, and out = a - b as a + ~b + 1 if it is true.
inline void AddOrSubtract(BigIntWords a, BigIntWords b, bool subtract, int64_t* out, size_t size) {
  uint64_t carry = subtract ? 1 : 0;
  for (size_t i = 0; i < size; ++i) {
    uint64_t x = a.Extended(i);
    uint64_t y = subtract ? ~b.Extended(i) : b.Extended(i);
    uint64_t sum = x + y;
    uint64_t total = sum + carry;
    carry = (sum < x ? 1 : 0) | (total < sum ? 1 : 0);
    out[i] = static_cast<int64_t>(total);
  }
}

// Returns the low word of a * b + c + d, which cannot overflow 128 bits; *high receives the high
// word.
inline uint64_t MultiplyAdd(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t* high) {
#ifdef __SIZEOF_INT128__
  __extension__ using Wide = unsigned __int128;
  Wide total = static_cast<Wide>(a) * b + c + d;
  *high = static_cast<uint64_t>(total >> 64);
  return static_cast<uint64_t>(total);
#else
  constexpr uint64_t kLow = 0xFFFFFFFF;
  uint64_t low = (a & kLow) * (b & kLow);
  uint64_t middle = (a >> 32) * (b & kLow) + (low >> 32);
  uint64_t cross = (a & kLow) * (b >> 32) + (middle & kLow);
  uint64_t top = (a >> 32) * (b >> 32) + (middle >> 32) + (cross >> 32);
  uint64_t result = cross << 32 | (low & kLow);
  result += c;
  top += result < c ? 1 : 0;
  result += d;
  top += result < d ? 1 : 0;
  *high = top;
  return result;
#endif
}

// Subtracts `words` from out[start], out[start + 1], ..., modulo the width of `out`.
inline void SubtractAt(int64_t* out, size_t size, size_t start, BigIntWords words) {
  uint64_t borrow = 0;
  for (size_t i = start; i < size; ++i) {
    uint64_t x = static_cast<uint64_t>(out[i]);
    uint64_t y = i - start < words.size() ? static_cast<uint64_t>(words[i - start]) : 0;
    uint64_t difference = x - y;
    uint64_t total = difference - borrow;
    borrow = (x < y ? 1 : 0) | (difference < borrow ? 1 : 0);
    out[i] = static_cast<int64_t>(total);
  }
}

// Computes out = a * b; `out` has a.size() + b.size() words.
inline void Multiply(BigIntWords a, BigIntWords b, int64_t* out) {
  size_t size = a.size() + b.size();
  for (size_t i = 0; i < size; ++i) out[i] = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    uint64_t carry = 0;
    for (size_t k = 0; k < b.size(); ++k) {
      out[i + k] =
          static_cast<int64_t>(MultiplyAdd(static_cast<uint64_t>(a[i]), static_cast<uint64_t>(b[k]),
                                           static_cast<uint64_t>(out[i + k]), carry, &carry));
    }
    out[i + b.size()] = static_cast<int64_t>(carry);
  }
  // The loop above multiplies the operands as unsigned numbers.  A negative operand, read as an
  // unsigned number, is too large by 2 to the power of its width; subtract that excess from the
  // product.
  if (IsNegative(a)) SubtractAt(out, size, a.size(), b);
  if (IsNegative(b)) SubtractAt(out, size, b.size(), a);
}

// Computes out = a << count; `out` has a.size() + count / 64 + 1 words.
inline void ShiftLeft(BigIntWords a, uint64_t count, int64_t* out) {
  size_t words = static_cast<size_t>(count / 64);
  unsigned bits = static_cast<unsigned>(count % 64);
  for (size_t i = 0; i < words; ++i) out[i] = 0;
  for (size_t i = 0; i <= a.size(); ++i) {
    uint64_t low = bits == 0 || i == 0 ? 0 : a.Extended(i - 1) >> (64 - bits);
    out[words + i] = static_cast<int64_t>(a.Extended(i) << bits | low);
  }
}

// Computes out = a >> count, rounded down; `out` has a.size() - count / 64 words, at least 1.
inline void ShiftRight(BigIntWords a, uint64_t count, int64_t* out) {
  size_t words = static_cast<size_t>(count / 64);
  unsigned bits = static_cast<unsigned>(count % 64);
  for (size_t i = words; i < a.size(); ++i) {
    uint64_t high = bits == 0 ? 0 : a.Extended(i + 1) << (64 - bits);
    out[i - words] = static_cast<int64_t>(a.Extended(i) >> bits | high);
  }
}

// An absolute value in 32-bit digits, least significant first, without leading zeros.
using Digits = std::vector<uint32_t>;

inline Digits MagnitudeOf(BigIntWords a) {
  if (a.size() > SIZE_MAX / 16) ThrowWorkspaceTooLarge();
  bool negative = IsNegative(a);
  Digits digits;
  digits.reserve(a.size() * 2 + 1);
  uint64_t carry = negative ? 1 : 0;
  for (int64_t word : a) {
    uint64_t value =
        (negative ? ~static_cast<uint64_t>(word) : static_cast<uint64_t>(word)) + carry;
    carry = carry != 0 && value == 0 ? 1 : 0;
    digits.push_back(static_cast<uint32_t>(value));
    digits.push_back(static_cast<uint32_t>(value >> 32));
  }
  while (!digits.empty() && digits.back() == 0) digits.pop_back();
  return digits;
}

// Returns the number of words that StoreMagnitude writes.
inline size_t WordsFor(const Digits& digits) { return digits.size() / 2 + 1; }

inline void StoreMagnitude(const Digits& digits, bool negative, int64_t* out) {
  uint64_t carry = negative ? 1 : 0;
  for (size_t i = 0; i < WordsFor(digits); ++i) {
    uint64_t low = 2 * i < digits.size() ? digits[2 * i] : 0;
    uint64_t high = 2 * i + 1 < digits.size() ? digits[2 * i + 1] : 0;
    uint64_t value = high << 32 | low;
    if (negative) {
      value = ~value + carry;
      carry = carry != 0 && value == 0 ? 1 : 0;
    }
    out[i] = static_cast<int64_t>(value);
  }
}

// Divides `digits` in place and returns the remainder.
inline uint32_t DivideBySmall(Digits* digits, uint32_t divisor) {
  uint64_t remainder = 0;
  for (size_t i = digits->size(); i > 0; --i) {
    uint64_t value = remainder << 32 | (*digits)[i - 1];
    (*digits)[i - 1] = static_cast<uint32_t>(value / divisor);
    remainder = value % divisor;
  }
  while (!digits->empty() && digits->back() == 0) digits->pop_back();
  return static_cast<uint32_t>(remainder);
}

inline void ShiftDigitsLeft(Digits* digits, unsigned bits) {
  uint32_t carry = 0;
  for (uint32_t& digit : *digits) {
    uint64_t value = static_cast<uint64_t>(digit) << bits | carry;
    digit = static_cast<uint32_t>(value);
    carry = static_cast<uint32_t>(value >> 32);
  }
  digits->push_back(carry);
}

inline unsigned LeadingZeros(uint32_t digit) {
  unsigned count = 0;
  for (; (digit >> 31) == 0; digit <<= 1) ++count;
  return count;
}

// Divides magnitude *u by magnitude `v`, which must not be zero (Knuth, TAOCP 2, 4.3.1, algorithm
// D).  Returns the quotient and stores the remainder in *u.
inline Digits DivRemFallback(Digits* u, Digits v) {
  if (u->size() < v.size()) return Digits();
  if (v.size() == 1) {
    Digits quotient = std::move(*u);
    uint32_t remainder = DivideBySmall(&quotient, v[0]);
    u->clear();
    if (remainder != 0) u->push_back(remainder);
    return quotient;
  }
  constexpr uint64_t kBase = uint64_t{1} << 32;
  size_t n = v.size();
  size_t m = u->size() - n;
  unsigned bits = LeadingZeros(v.back());
  ShiftDigitsLeft(&v, bits);
  v.pop_back();
  ShiftDigitsLeft(u, bits);
  Digits quotient(m + 1);
  for (size_t j = m + 1; j-- > 0;) {
    uint32_t* window = u->data() + j;
    uint64_t top = static_cast<uint64_t>(window[n]) << 32 | window[n - 1];
    uint64_t guess = top / v[n - 1];
    uint64_t rest = top % v[n - 1];
    while (guess >= kBase || guess * v[n - 2] > (rest << 32 | window[n - 2])) {
      --guess;
      rest += v[n - 1];
      if (rest >= kBase) break;
    }
    uint64_t carry = 0;
    uint64_t borrow = 0;
    for (size_t i = 0; i <= n; ++i) {
      uint64_t product = guess * (i < n ? v[i] : 0) + carry;
      carry = product >> 32;
      uint64_t difference = static_cast<uint64_t>(window[i]) - (product & (kBase - 1)) - borrow;
      window[i] = static_cast<uint32_t>(difference);
      borrow = difference >> 63;
    }
    if (borrow != 0) {  // the estimate of the quotient digit was too large by 1
      --guess;
      uint64_t sum = 0;
      for (size_t i = 0; i <= n; ++i) {
        sum += static_cast<uint64_t>(window[i]) + (i < n ? v[i] : 0);
        window[i] = static_cast<uint32_t>(sum);
        sum >>= 32;
      }
    }
    quotient[j] = static_cast<uint32_t>(guess);
  }
  while (!quotient.empty() && quotient.back() == 0) quotient.pop_back();
  // Undo the left shift of the remainder by `bits`.
  uint32_t carry = 0;
  for (size_t i = u->size(); i > 0; --i) {
    uint64_t value = static_cast<uint64_t>(carry) << 32 | (*u)[i - 1];
    (*u)[i - 1] = static_cast<uint32_t>(value >> bits);
    carry = static_cast<uint32_t>(value & ((uint64_t{1} << bits) - 1));
  }
  while (!u->empty() && u->back() == 0) u->pop_back();
  return quotient;
}

TVM_FFI_HIDDEN_ inline std::string ToDecimal(BigIntWords a) {
  constexpr uint32_t kGroup = 1000000000;
  bool negative = IsNegative(a);
  Digits digits = MagnitudeOf(a);
  std::string reversed;
  while (!digits.empty()) {
    uint32_t group = DivideBySmall(&digits, kGroup);
    // All groups of digits except the first are padded with zeros to 9 digits.
    for (int i = 0; i < 9 && (group != 0 || !digits.empty()); ++i, group /= 10) {
      reversed += static_cast<char>('0' + group % 10);
    }
  }
  if (reversed.empty()) reversed = "0";
  if (negative) reversed += '-';
  return std::string(reversed.rbegin(), reversed.rend());
}

// Parses decimal digits in groups of nine, because nine decimal digits fit into a 32-bit digit.
// The time is quadratic in the number of digits.
TVM_FFI_HIDDEN_ inline Digits MagnitudeFromDecimal(std::string_view text) {
  Digits digits;
  while (!text.empty()) {
    uint64_t carry = 0, factor = 1;
    size_t size = (text.size() - 1) % 9 + 1;  // all groups of digits except the first have 9 digits
    for (char c : text.substr(0, size)) {
      carry = carry * 10 + static_cast<uint64_t>(c - '0');
      factor *= 10;
    }
    text.remove_prefix(size);
    for (uint32_t& digit : digits) {
      carry += static_cast<uint64_t>(digit) * factor;
      digit = static_cast<uint32_t>(carry);
      carry >>= 32;
    }
    if (carry != 0) digits.push_back(static_cast<uint32_t>(carry));
  }
  return digits;
}

// Returns the nearest double, ties to even; infinity if the value is too large.
TVM_FFI_HIDDEN_ inline double ToDouble(BigIntWords a) {
  Digits digits = MagnitudeOf(a);
  if (digits.empty()) return 0.0;
  if (digits.size() > 32) return HUGE_VAL;
  unsigned bits = static_cast<unsigned>(digits.size()) * 32 - LeadingZeros(digits.back());
  // `top` holds the 64 highest bits of the number.  Its last bit is also set if any lower bit of
  // the number is set: a double does not store that bit, but rounding depends on it.
  uint64_t top = 0;
  bool sticky = false;
  for (size_t i = 0; i < digits.size(); ++i) {
    int shift = static_cast<int>(32 * i) - static_cast<int>(bits) + 64;
    uint64_t digit = digits[i];
    if (shift >= 0) {
      top |= digit << shift;
    } else if (shift > -32) {
      top |= digit >> -shift;
      sticky = sticky || (digit & ((uint64_t{1} << -shift) - 1)) != 0;
    } else {
      sticky = sticky || digit != 0;
    }
  }
  if (sticky) top |= 1;
  double magnitude = std::ldexp(static_cast<double>(top), static_cast<int>(bits) - 64);
  return IsNegative(a) ? -magnitude : magnitude;
}

}  // namespace int_ops
}  // namespace detail
}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_BIG_INT_DETAIL_H_
