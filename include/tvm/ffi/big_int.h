// SPDX-License-Identifier: Apache-2.0
// BigInt: an integer of arbitrary size.
//
// A BigInt is one TVMFFIAny: an Int if the value fits 64 bits, else a BigIntObj with as few words
// as possible.  Each integer has only one representation; equality and hashing rely on that.
#ifndef TVM_FFI_BIG_INT_H_
#define TVM_FFI_BIG_INT_H_

#include <tvm/ffi/any.h>
#include <tvm/ffi/big_int_detail.h>

#include <limits>
#include <utility>

namespace tvm {
namespace ffi {

class BigInt;

namespace detail {

// Object of an integer wider than 64 bits.  The words of the two's complement number follow the
// object, least significant first.
class BigIntObj : public Object {
 public:
  size_t size;  // number of words

  explicit BigIntObj(size_t size) : size(size) {}
  // Not copyable: a copy would lack the words that follow the object.
  BigIntObj(const BigIntObj&) = delete;
  int64_t* words() { return reinterpret_cast<int64_t*>(this + 1); }

  static constexpr int32_t _type_index = kTVMFFIBigInt;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIBigInt, BigIntObj, Object)
};
static_assert(sizeof(BigIntObj) == 32, "words start at byte 32");

struct BigIntUnsafe;

}  // namespace detail

// An immutable integer of arbitrary size.  An integer that fits 64 bits needs no object.
class BigInt {
 public:
  using ArrayView = detail::BigIntWords;

  BigInt() : BigInt(0) {}
  template <typename Int,
            typename = std::enable_if_t<std::is_integral_v<Int> && sizeof(Int) <= 8>>
  BigInt(Int value) {  // NOLINT(*)
    if constexpr (std::is_unsigned_v<Int> && sizeof(Int) == 8) {
      if (static_cast<int64_t>(value) < 0) {
        SetWide(static_cast<int64_t>(value));
        return;
      }
    }
    detail::SetIntPayload(&data_, kTVMFFIInt, static_cast<int64_t>(value));
  }
  // Converts a double and drops its fraction.  Throws ValueError for NaN and OverflowError for
  // infinity.
  explicit BigInt(double value);
  BigInt(const BigInt& other) : data_(other.data_) {
    if (!IsSmall()) detail::IncRef(data_.v_obj);
  }
  BigInt(BigInt&& other) noexcept : data_(other.data_) {
    detail::SetIntPayload(&other.data_, kTVMFFIInt, 0);
  }
  ~BigInt() {
    if (!IsSmall()) detail::DecRef(data_.v_obj);
  }
  BigInt& operator=(const BigInt& other) {
    BigInt(other).swap(*this);
    return *this;
  }
  BigInt& operator=(BigInt&& other) noexcept {
    BigInt(std::move(other)).swap(*this);
    return *this;
  }
  void swap(BigInt& other) noexcept {
    TVMFFIAny data = data_;
    data_ = other.data_;
    other.data_ = data;
  }
  friend void swap(BigInt& lhs, BigInt& rhs) noexcept { lhs.swap(rhs); }

  explicit operator bool() const { return !IsSmall() || data_.v_int64 != 0; }
  // Throws OverflowError if the value does not fit int64_t.
  explicit operator int64_t() const;
  // Returns the nearest double; throws OverflowError if the value is too large for a finite double.
  explicit operator double() const;
  // Returns the value if the type Int can represent it, else std::nullopt.
  template <typename Int, typename = std::enable_if_t<std::is_integral_v<Int>>>
  std::optional<Int> as() const {
    ArrayView words = Words();
    if constexpr (std::is_unsigned_v<Int> && sizeof(Int) == 8) {
      if (words.size() == 2 && words[1] == 0) return static_cast<Int>(words[0]);
    }
    if (words.size() != 1) return std::nullopt;
    Int value = static_cast<Int>(words[0]);
    if (static_cast<int64_t>(value) != words[0] || (std::is_unsigned_v<Int> && words[0] < 0)) {
      return std::nullopt;
    }
    return value;
  }
  // Returns the stable hash of the words; map keys use the same hash.
  uint64_t hash() const {
    ArrayView words = Words();
    return detail::StableHashBytes(words.data(), words.size() * sizeof(int64_t));
  }

  BigInt& operator+=(const BigInt& other) { return *this = *this + other; }
  BigInt& operator-=(const BigInt& other) { return *this = *this - other; }
  BigInt& operator*=(const BigInt& other) { return *this = *this * other; }
  BigInt& operator/=(const BigInt& other) { return *this = *this / other; }
  BigInt& operator%=(const BigInt& other) { return *this = *this % other; }
  BigInt& operator&=(const BigInt& other) { return *this = *this & other; }
  BigInt& operator|=(const BigInt& other) { return *this = *this | other; }
  BigInt& operator^=(const BigInt& other) { return *this = *this ^ other; }
  BigInt& operator<<=(const BigInt& count) { return *this = *this << count; }
  BigInt& operator>>=(const BigInt& count) { return *this = *this >> count; }
  BigInt& operator++() { return *this += 1; }
  BigInt& operator--() { return *this -= 1; }
  BigInt operator++(int) {
    BigInt before = *this;
    ++*this;
    return before;
  }
  BigInt operator--(int) {
    BigInt before = *this;
    --*this;
    return before;
  }
  friend BigInt operator+(const BigInt& a) { return a; }
  friend BigInt operator-(const BigInt& a) { return 0 - a; }
  friend BigInt operator~(const BigInt& a) { return -1 - a; }

  // Arithmetic.  Integers of at most 64 bits convert to BigInt implicitly.
  friend BigInt operator+(const BigInt& a, const BigInt& b) {
    int64_t sum;
    if (a.IsSmall() && b.IsSmall() &&
        !__builtin_add_overflow(a.data_.v_int64, b.data_.v_int64, &sum)) {
      return sum;
    }
    return AddOrSubtract(a, b, false);
  }
  friend BigInt operator-(const BigInt& a, const BigInt& b) {
    int64_t difference;
    if (a.IsSmall() && b.IsSmall() &&
        !__builtin_sub_overflow(a.data_.v_int64, b.data_.v_int64, &difference)) {
      return difference;
    }
    return AddOrSubtract(a, b, true);
  }
  friend BigInt operator*(const BigInt& a, const BigInt& b) {
    int64_t product;
    if (a.IsSmall() && b.IsSmall() &&
        !__builtin_mul_overflow(a.data_.v_int64, b.data_.v_int64, &product)) {
      return product;
    }
    return Multiply(a, b);
  }
  // Division truncates towards zero, as in C.
  friend BigInt operator/(const BigInt& a, const BigInt& b) { return Divide(a, b, nullptr); }
  friend BigInt operator%(const BigInt& a, const BigInt& b) {
    BigInt remainder;
    Divide(a, b, &remainder);
    return remainder;
  }
  friend BigInt operator&(const BigInt& a, const BigInt& b) {
    return Bitwise(a, b, [](uint64_t x, uint64_t y) { return x & y; });
  }
  friend BigInt operator|(const BigInt& a, const BigInt& b) {
    return Bitwise(a, b, [](uint64_t x, uint64_t y) { return x | y; });
  }
  friend BigInt operator^(const BigInt& a, const BigInt& b) {
    return Bitwise(a, b, [](uint64_t x, uint64_t y) { return x ^ y; });
  }
  // A right shift rounds towards negative infinity.
  friend BigInt operator<<(const BigInt& a, const BigInt& count) { return ShiftLeft(a, count); }
  friend BigInt operator>>(const BigInt& a, const BigInt& count) { return ShiftRight(a, count); }

  friend bool operator==(const BigInt& a, const BigInt& b) { return Compare(a, b) == 0; }
  friend bool operator!=(const BigInt& a, const BigInt& b) { return Compare(a, b) != 0; }
  friend bool operator<(const BigInt& a, const BigInt& b) { return Compare(a, b) < 0; }
  friend bool operator>(const BigInt& a, const BigInt& b) { return Compare(a, b) > 0; }
  friend bool operator<=(const BigInt& a, const BigInt& b) { return Compare(a, b) <= 0; }
  friend bool operator>=(const BigInt& a, const BigInt& b) { return Compare(a, b) >= 0; }

  // Comparison with the exact value of a floating-point number.  NaN is unequal to every value.
#define TVM_FFI_COMPARE_WITH_FLOAT_(op)                                                         \
  template <typename Float>                                                                     \
  friend std::enable_if_t<std::is_floating_point_v<Float>, bool> operator op(const BigInt& a,   \
                                                                             Float b) {         \
    double value = static_cast<double>(b);                                                      \
    return value == value ? CompareFloat(a, value) op 0 : 0 op value;                           \
  }                                                                                             \
  template <typename Float>                                                                     \
  friend std::enable_if_t<std::is_floating_point_v<Float>, bool> operator op(Float a,           \
                                                                             const BigInt& b) { \
    double value = static_cast<double>(a);                                                      \
    return value == value ? 0 op CompareFloat(b, value) : 0 op value;                           \
  }
  TVM_FFI_COMPARE_WITH_FLOAT_(==)
  TVM_FFI_COMPARE_WITH_FLOAT_(!=)
  TVM_FFI_COMPARE_WITH_FLOAT_(<)
  TVM_FFI_COMPARE_WITH_FLOAT_(>)
  TVM_FFI_COMPARE_WITH_FLOAT_(<=)
  TVM_FFI_COMPARE_WITH_FLOAT_(>=)
#undef TVM_FFI_COMPARE_WITH_FLOAT_

 private:
  bool IsSmall() const { return data_.type_index == kTVMFFIInt; }
  detail::BigIntObj* object() const {
    return detail::ObjectUnsafe::RawObjectPtrFromUnowned<detail::BigIntObj>(data_.v_obj);
  }
  ArrayView Words() const {
    return IsSmall() ? ArrayView(&data_.v_int64, 1) : ArrayView(object()->words(), object()->size);
  }
  // Returns -1 if `a` < `b`, 0 if `a` == `b`, and 1 if `a` > `b`.  `b` must not be NaN.
  static int CompareFloat(const BigInt& a, double b);
  static int Compare(const BigInt& a, const BigInt& b) {
    if (a.IsSmall() && b.IsSmall()) {
      return a.data_.v_int64 < b.data_.v_int64 ? -1 : a.data_.v_int64 > b.data_.v_int64;
    }
    return detail::int_ops::Compare(a.Words(), b.Words());
  }

  // Returns a BigInt with `size` words, which write(words) fills.  Redundant sign words are then
  // removed.
  template <typename F>
  static BigInt Build(size_t size, F&& write) {
    BigInt result;
    write(result.AllocateWords(size));
    result.Normalize();
    return result;
  }
  // Sets the value, which must not own an object.
  void Adopt(ObjectPtr<detail::BigIntObj> words) {
    detail::SetPointerPayload(
        &data_, kTVMFFIBigInt,
        detail::ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(std::move(words)));
  }
  int64_t* AllocateWords(size_t size) {
    Adopt(make_inplace_array_object<detail::BigIntObj, int64_t>(size, size));
    return object()->words();
  }
  void Normalize() {
    if (IsSmall()) return;
    ShrinkSize(detail::int_ops::NormalizedSize(object()->words(), object()->size));
  }
  void ShrinkSize(size_t size) {
    if (size == 1) {
      *this = BigInt(object()->words()[0]);
    } else {
      object()->size = size;
    }
  }
  // Sets the value to `low`, read as an unsigned integer.  `low` must be negative: the unsigned
  // value then needs a second word, which is 0.
  TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE void SetWide(int64_t low) {
    int64_t* words = AllocateWords(2);
    words[0] = low;
    words[1] = 0;
  }

  static BigInt AddOrSubtract(const BigInt& a, const BigInt& b, bool subtract);
  static BigInt Multiply(const BigInt& a, const BigInt& b);
  // Returns the quotient, rounded towards zero.  If `remainder` is not null, it receives the
  // remainder, which has the sign of `a`.
  static BigInt Divide(const BigInt& a, const BigInt& b, BigInt* remainder);
  static BigInt ShiftLeft(const BigInt& a, const BigInt& count);
  static BigInt ShiftRight(const BigInt& a, const BigInt& count);
  template <typename F>
  static BigInt Bitwise(const BigInt& a, const BigInt& b, F f) {
    ArrayView x = a.Words();
    ArrayView y = b.Words();
    size_t size = x.size() > y.size() ? x.size() : y.size();
    if (size == 1) return static_cast<int64_t>(f(x.Extended(0), y.Extended(0)));
    return Build(size, [&](int64_t* out) {
      for (size_t i = 0; i < size; ++i) {
        out[i] = static_cast<int64_t>(f(x.Extended(i), y.Extended(i)));
      }
    });
  }

  TVMFFIAny data_;
  friend struct detail::BigIntUnsafe;
  template <typename, typename>
  friend struct TypeTraits;
};

static_assert(sizeof(BigInt) == sizeof(TVMFFIAny), "a BigInt is one TVMFFIAny");

namespace detail {

// Access to the representation of a BigInt, for code that reads or computes the words.
struct BigIntUnsafe {
  static bool CheckInt64(const BigInt& value) { return value.IsSmall(); }
  // Returns the value as int64_t.  CheckInt64(value) must be true.
  static int64_t GetInt64(const BigInt& value) { return value.data_.v_int64; }
  static BigInt::ArrayView GetArrayView(const BigInt& value) { return value.Words(); }
  // The same functions for an int64_t, for the words of a number under construction, and for a
  // value that contains an Int or a BigInt.
  static bool CheckInt64(const int64_t&) { return true; }
  static int64_t GetInt64(const int64_t& value) { return value; }
  static BigInt::ArrayView GetArrayView(const int64_t& value) {
    return BigInt::ArrayView(&value, 1);
  }
  static BigInt::ArrayView GetArrayView(const ObjectPtr<BigIntObj>& words) {
    return BigInt::ArrayView(words->words(), words->size);
  }
  static BigInt::ArrayView GetArrayView(const TVMFFIAny* value) {
    if (value->type_index == kTVMFFIInt) return GetArrayView(value->v_int64);
    BigIntObj* words = ObjectUnsafe::RawObjectPtrFromUnowned<BigIntObj>(value->v_obj);
    return BigInt::ArrayView(words->words(), words->size);
  }
  // Return the words of make_inplace_array_object<BigIntObj, int64_t>(size, size), set their
  // number, and make a BigInt from them.
  static int64_t* GetMutableData(const ObjectPtr<BigIntObj>& words) { return words->words(); }
  static void ShrinkSize(const ObjectPtr<BigIntObj>& words, size_t size) { words->size = size; }
  static BigInt Normalize(ObjectPtr<BigIntObj> words) {
    BigInt value;
    value.Adopt(std::move(words));
    value.Normalize();
    return value;
  }
  // Returns the words for modification.  No other BigInt may share the object.
  static int64_t* GetMutableData(BigInt* value) {
    return value->IsSmall() ? &value->data_.v_int64 : value->object()->words();
  }
  static void ShrinkSize(BigInt* value, size_t size) {
    if (!value->IsSmall()) value->ShrinkSize(size);
  }
  static void Normalize(BigInt* value) { value->Normalize(); }
  // Returns a BigInt with `size` uninitialized words.  The caller fills them, then calls
  // Normalize().
  static BigInt Allocate(size_t size) {
    BigInt value;
    value.AllocateWords(size);
    return value;
  }
  static BigInt FromMagnitude(const int_ops::Digits& digits, bool negative) {
    BigInt value = Allocate(int_ops::WordsFor(digits));
    int_ops::StoreMagnitude(digits, negative, GetMutableData(&value));
    value.Normalize();
    return value;
  }
  // Returns the quotient, rounded towards zero, of a divisor that is not 0.  If `remainder` is not
  // null, it receives the remainder, which has the sign of `a`.
  static BigInt Divide(BigInt::ArrayView a, BigInt::ArrayView b, BigInt* remainder) {
    bool negative = int_ops::IsNegative(a);
    bool flip = negative != int_ops::IsNegative(b);
    int_ops::Digits rest = int_ops::MagnitudeOf(a);
    int_ops::Digits quotient = int_ops::DivRemFallback(&rest, int_ops::MagnitudeOf(b));
    if (remainder != nullptr) *remainder = FromMagnitude(rest, negative);
    return FromMagnitude(quotient, flip);
  }
};

namespace int_ops {
// Returns the quotient and the remainder of BigIntUnsafe::Divide.
inline std::pair<BigInt, BigInt> DivRemFallback(BigInt::ArrayView a, BigInt::ArrayView b) {
  if (IsNormalizedZero(b)) ThrowDivisionByZero();
  std::pair<BigInt, BigInt> result;
  result.first = BigIntUnsafe::Divide(a, b, &result.second);
  return result;
}
inline std::pair<BigInt, BigInt> DivRemFallback(BigInt::ArrayView a, int64_t b) {
  return DivRemFallback(a, BigInt::ArrayView(&b, 1));
}
}  // namespace int_ops

[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowBigIntOverflow(const char* message) {
  TVM_FFI_THROW(OverflowError) << message;
  TVM_FFI_UNREACHABLE();
}
[[noreturn]] TVM_FFI_FAILURE_ inline void ThrowBigIntValue(const char* message) {
  TVM_FFI_THROW(ValueError) << message;
  TVM_FFI_UNREACHABLE();
}

inline MessageStream& operator<<(MessageStream& out, const BigInt& value) {
  return out << int_ops::ToDecimal(BigIntUnsafe::GetArrayView(value));
}

}  // namespace detail

inline int BigInt::CompareFloat(const BigInt& a, double b) {
  if (std::isinf(b)) return b > 0 ? -1 : 1;
  int order = Compare(a, BigInt(b));
  double fraction = b - std::trunc(b);
  return order != 0 ? order : (fraction > 0 ? -1 : fraction < 0);
}

inline BigInt::BigInt(double value) : BigInt(0) {
  if (value >= -9223372036854775808.0 && value < 9223372036854775808.0) {
    data_.v_int64 = static_cast<int64_t>(value);
    return;
  }
  if (std::isnan(value)) detail::ThrowBigIntValue("Cannot convert NaN to BigInt");
  if (std::isinf(value)) detail::ThrowBigIntOverflow("Cannot convert infinity to BigInt");
  // A double of at least 2^63 has no fraction: it is a 53-bit integer times a power of two.
  int exponent;
  double fraction = std::frexp(value, &exponent);
  *this = BigInt(static_cast<int64_t>(std::ldexp(fraction, 53))) << (exponent - 53);
}

inline BigInt::operator int64_t() const {
  if (!IsSmall()) detail::ThrowBigIntOverflow("BigInt does not fit int64_t");
  return data_.v_int64;
}

inline BigInt::operator double() const {
  if (IsSmall()) return static_cast<double>(data_.v_int64);
  double value = detail::int_ops::ToDouble(Words());
  if (std::isinf(value)) detail::ThrowBigIntOverflow("BigInt does not fit finite double");
  return value;
}

TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline BigInt BigInt::AddOrSubtract(const BigInt& a,
                                                                      const BigInt& b,
                                                                      bool subtract) {
  ArrayView x = a.Words();
  ArrayView y = b.Words();
  size_t size = (x.size() > y.size() ? x.size() : y.size()) + 1;
  return Build(size,
               [&](int64_t* out) { detail::int_ops::AddOrSubtract(x, y, subtract, out, size); });
}

TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline BigInt BigInt::Multiply(const BigInt& a, const BigInt& b) {
  ArrayView x = a.Words();
  ArrayView y = b.Words();
  return Build(x.size() + y.size(), [&](int64_t* out) { detail::int_ops::Multiply(x, y, out); });
}

TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline BigInt BigInt::Divide(const BigInt& a, const BigInt& b,
                                                               BigInt* remainder) {
  using detail::BigIntUnsafe;
  if (!b) detail::int_ops::ThrowDivisionByZero();
  // Division by -1 takes the general path, because the quotient of INT64_MIN and -1 does not fit
  // int64_t.
  if (a.IsSmall() && b.IsSmall() && b.data_.v_int64 != -1) {
    if (remainder != nullptr) *remainder = a.data_.v_int64 % b.data_.v_int64;
    return a.data_.v_int64 / b.data_.v_int64;
  }
  return BigIntUnsafe::Divide(a.Words(), b.Words(), remainder);
}

TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline BigInt BigInt::ShiftLeft(const BigInt& a,
                                                                  const BigInt& count) {
  if (count < 0) detail::ThrowBigIntValue("Negative BigInt shift count");
  if (!a) return 0;
  if (!count.IsSmall()) detail::ThrowBigIntOverflow("BigInt shift count is too large");
  uint64_t bits = static_cast<uint64_t>(count.data_.v_int64);
  if (bits / 64 >= SIZE_MAX / 16) detail::ThrowBigIntOverflow("BigInt shift count is too large");
  ArrayView words = a.Words();
  return Build(words.size() + static_cast<size_t>(bits / 64) + 1,
               [&](int64_t* out) { detail::int_ops::ShiftLeft(words, bits, out); });
}

TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline BigInt BigInt::ShiftRight(const BigInt& a,
                                                                   const BigInt& count) {
  if (count < 0) detail::ThrowBigIntValue("Negative BigInt shift count");
  ArrayView words = a.Words();
  uint64_t bits = static_cast<uint64_t>(count.data_.v_int64);
  if (!count.IsSmall() || bits / 64 >= words.size()) {
    return detail::int_ops::IsNegative(words) ? -1 : 0;
  }
  return Build(words.size() - static_cast<size_t>(bits / 64),
               [&](int64_t* out) { detail::int_ops::ShiftRight(words, bits, out); });
}

// Return the quotient rounded towards zero (truncdiv) and the remainder of that division
// (truncmod). The operators / and % of int64_t compute the same results.
inline BigInt truncdiv(const BigInt& a, const BigInt& b) { return a / b; }
inline BigInt truncmod(const BigInt& a, const BigInt& b) { return a % b; }
// Returns the quotient rounded towards negative infinity.
inline BigInt floordiv(const BigInt& a, const BigInt& b) {
  BigInt quotient = a / b;
  bool inexact = quotient * b != a;
  return inexact && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}
// Returns the remainder of floordiv, which has the sign of `b`.
inline BigInt floormod(const BigInt& a, const BigInt& b) {
  BigInt remainder = a % b;
  return remainder && (remainder < 0) != (b < 0) ? remainder + b : remainder;
}
// Return the smaller (min) and the larger (max) of two values.
inline BigInt min(const BigInt& a, const BigInt& b) { return b < a ? b : a; }
inline BigInt max(const BigInt& a, const BigInt& b) { return a < b ? b : a; }

// Writes the value as decimal digits.  The operator is a template, so that only callers need the
// stream headers.
template <typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const BigInt& value) {
  return out << detail::int_ops::ToDecimal(detail::BigIntUnsafe::GetArrayView(value));
}
// Reads an optional sign and decimal digits.  Without digits, sets failbit and leaves the value
// unchanged.
template <typename Traits>
std::basic_istream<char, Traits>& operator>>(std::basic_istream<char, Traits>& in, BigInt& value) {
  typename std::basic_istream<char, Traits>::sentry ready(in);
  if (!ready) return in;
  std::string digits;
  bool negative = in.peek() == '-';
  if (negative || in.peek() == '+') in.get();
  while (in.peek() >= '0' && in.peek() <= '9') digits += static_cast<char>(in.get());
  if (digits.empty()) {
    in.setstate(std::basic_istream<char, Traits>::failbit);
  } else {
    value = detail::BigIntUnsafe::FromMagnitude(detail::int_ops::MagnitudeFromDecimal(digits),
                                                negative);
  }
  return in;
}

template <>
struct TypeTraits<BigInt> : TypeTraitsBase {
  static void CopyToAnyView(const BigInt& src, TVMFFIAny* result) { *result = src.data_; }
  static void MoveToAny(BigInt src, TVMFFIAny* result) {
    *result = src.data_;
    detail::SetIntPayload(&src.data_, kTVMFFIInt, 0);
  }
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == kTVMFFIInt || src->type_index == kTVMFFIBigInt;
  }
  static BigInt CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {
    BigInt value;
    value.data_ = *src;
    if (!value.IsSmall()) detail::IncRef(value.data_.v_obj);
    return value;
  }
  static BigInt MoveFromAnyAfterCheck(TVMFFIAny* src) {
    BigInt value;
    value.data_ = *src;
    detail::SetIntPayload(src, kTVMFFINone, 0);
    return value;
  }
  static std::optional<BigInt> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return CopyFromAnyViewAfterCheck(src);
    if (src->type_index == kTVMFFIBool) return BigInt(src->v_int64);
    return std::nullopt;
  }
  static std::string TypeStr() { return "BigInt"; }
  static std::string TypeSchema() { return detail::SchemaOfKey(StaticTypeKey::kTVMFFIBigInt); }
};

}  // namespace ffi
}  // namespace tvm

template <>
struct std::hash<::tvm::ffi::BigInt> {
  std::size_t operator()(const ::tvm::ffi::BigInt& value) const {
    return static_cast<std::size_t>(value.hash());
  }
};
#endif  // TVM_FFI_BIG_INT_H_
