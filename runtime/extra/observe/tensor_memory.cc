// SPDX-License-Identifier: Apache-2.0
// Elements of a tensor in host memory: copies, fill pattern, comparison.
#include "observe/tensor_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace tvm::ffi::extra {
namespace {

constexpr size_t kMaxElementBytes = 64;
constexpr size_t kRunBytes = 8;

bool IsFloat(DLDataType dtype) { return dtype.code == kDLFloat || dtype.code == kDLBfloat; }

// True if the pattern is a value that functions do not write on purpose: not a bool, a NaN, or one
// of many values of a wide element.
bool IsUnlikely(DLDataType dtype) {
  return dtype.code == kDLBool || dtype.bits >= 32 || (IsFloat(dtype) && dtype.bits == 16);
}

// The fill pattern repeats after kPeriod bytes.  It is in memory twice, so that a period can be
// read from each offset.
constexpr size_t kPeriod = kMaxElementBytes;
struct Pattern {
  unsigned char bytes[2 * kPeriod];
};

// Makes a pattern of words of `word_bytes` bytes.  The last two bytes of a word make it a NaN of
// its size, and a single byte is no bool; the other bits depend on the place of the word.
constexpr Pattern MakePattern(size_t word_bytes) {
  Pattern pattern{};
  uint64_t random = 0x9E3779B97F4A7C15;
  for (size_t i = 0; i < kPeriod; ++i) {
    random = random * 6364136223846793005 + 1442695040888963407;
    auto byte = static_cast<unsigned char>(random >> 56);
    size_t place = i % word_bytes;
    if (word_bytes == 1) {
      byte |= 0x80;
    } else if (word_bytes == 2) {
      byte = place == 1 ? 0xFF : static_cast<unsigned char>(byte | 0xC1);
    } else if (place + 2 >= word_bytes) {
      byte = place + 2 == word_bytes ? 0xF5 : 0xFF;
    }
    pattern.bytes[i] = pattern.bytes[kPeriod + i] = byte;
  }
  return pattern;
}

// Returns the size of the largest word whose size divides the size of an element.
size_t WordBytes(size_t element_bytes) {
  return element_bytes % 8 == 0 ? 8 : element_bytes & (0 - element_bytes);
}

const unsigned char* PatternOf(size_t element_bytes) {
  static constexpr Pattern patterns[] = {MakePattern(1), MakePattern(2), MakePattern(4),
                                         MakePattern(8)};
  size_t word_bytes = WordBytes(element_bytes);
  return patterns[word_bytes == 8 ? 3 : word_bytes / 2].bytes;
}

// Returns false if no aligned word of the bytes is equal to the word of the pattern.  The loops
// over a period become vector instructions.
template <typename Word>
bool HasPatternWord(const char* bytes, size_t size, const unsigned char* pattern) {
  constexpr size_t kWords = kPeriod / sizeof(Word);
  Word expected[kWords];
  Word actual[kWords];
  Word found[kWords] = {};
  std::memcpy(expected, pattern, kPeriod);
  for (; size >= kPeriod; size -= kPeriod, bytes += kPeriod) {
    std::memcpy(actual, bytes, kPeriod);
    for (size_t k = 0; k < kWords; ++k) found[k] |= static_cast<Word>(actual[k] == expected[k]);
  }
  for (size_t k = 0; k < kWords; ++k) actual[k] = static_cast<Word>(~expected[k]);
  std::memcpy(actual, bytes, size);
  Word any = 0;
  for (size_t k = 0; k < kWords; ++k) {
    any |= static_cast<Word>(found[k] | static_cast<Word>(actual[k] == expected[k]));
  }
  return any != 0;
}

bool IsFinite(const char* address, DLDataType dtype) {
  uint16_t half;
  float single;
  double wide;
  switch (dtype.bits) {
    case 16:
      std::memcpy(&half, address, sizeof(half));
      return dtype.code == kDLBfloat ? (half & 0x7F80) != 0x7F80 : (half & 0x7C00) != 0x7C00;
    case 32:
      std::memcpy(&single, address, sizeof(single));
      return std::isfinite(single);
    default:
      std::memcpy(&wide, address, sizeof(wide));
      return std::isfinite(wide);
  }
}

}  // namespace

TensorMemory::TensorMemory(const DLTensor& tensor, size_t max_bytes)
    : data_(static_cast<char*>(tensor.data) + tensor.byte_offset),
      dtype_(tensor.dtype),
      element_bytes_(size_t{tensor.dtype.bits} * tensor.dtype.lanes / 8) {
  bool is_host = tensor.device.device_type == kDLCPU || tensor.device.device_type == kDLCUDAHost;
  bool has_bytes = size_t{dtype_.bits} * dtype_.lanes % 8 == 0 && element_bytes_ > 0;
  if (!is_host || !has_bytes || element_bytes_ > kMaxElementBytes || tensor.data == nullptr) return;
  if (tensor.ndim < 0 || static_cast<size_t>(tensor.ndim) > kMaxDimensions) return;
  if (tensor.ndim > 0 && tensor.shape == nullptr) return;
  ndim_ = static_cast<size_t>(tensor.ndim);
  size_t count = 1;
  for (size_t i = ndim_; i-- > 0;) {
    shape_[i] = tensor.shape[i];
    if (shape_[i] <= 0) return;
    strides_[i] = tensor.strides == nullptr ? static_cast<int64_t>(count) : tensor.strides[i];
    bool is_adjacent = shape_[i] == 1 || strides_[i] == static_cast<int64_t>(count);
    if (num_outer_ == 0 && !is_adjacent) num_outer_ = i + 1;
    if (__builtin_mul_overflow(count, static_cast<size_t>(shape_[i]), &count)) return;
    if (num_outer_ == 0) num_adjacent_ = count;
  }
  size_t num_bytes;
  if (__builtin_mul_overflow(count, element_bytes_, &num_bytes) || num_bytes > max_bytes) return;
  num_elements_ = count;
  first_ = reinterpret_cast<uintptr_t>(data_);
  last_ = first_ + num_adjacent_ * element_bytes_;
  for (size_t i = 0; i < num_outer_; ++i) {
    int64_t reach = (shape_[i] - 1) * strides_[i] * static_cast<int64_t>(element_bytes_);
    (reach < 0 ? first_ : last_) += static_cast<uintptr_t>(reach);
  }
  is_checkable_ = true;
}

bool TensorMemory::Restrict(size_t index, size_t count) {
  if (num_outer_ > 0) return index == 0;
  size_t begin = num_elements_ / count * index + std::min(index, num_elements_ % count);
  size_t length = num_elements_ / count + (index < num_elements_ % count ? 1 : 0);
  data_ += begin * element_bytes_;
  num_before_ = begin;
  num_elements_ = num_adjacent_ = length;
  return length > 0;
}

template <typename Visit>
void TensorMemory::ForEachRun(Visit&& visit) const {
  if (num_outer_ == 0) return visit(data_, size_t{0}, num_adjacent_);
  std::array<int64_t, kMaxDimensions> index{};
  for (size_t element = 0;; element += num_adjacent_) {
    int64_t offset = 0;
    for (size_t i = 0; i < num_outer_; ++i) offset += index[i] * strides_[i];
    visit(data_ + offset * static_cast<int64_t>(element_bytes_), element, num_adjacent_);
    size_t axis = num_outer_;
    while (axis > 0 && ++index[axis - 1] == shape_[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

char* TensorMemory::Address(int64_t element) const {
  if (num_outer_ == 0) return data_ + static_cast<size_t>(element) * element_bytes_;
  int64_t offset = 0;
  for (size_t i = ndim_; i-- > 0;) {
    offset += element % shape_[i] * strides_[i];
    element /= shape_[i];
  }
  return data_ + offset * static_cast<int64_t>(element_bytes_);
}

void TensorMemory::CopyTo(char* copy) const {
  ForEachRun([&](const char* address, size_t first, size_t count) {
    std::memcpy(copy + first * element_bytes_, address, count * element_bytes_);
  });
}

void TensorMemory::CopyAndFill(char* copy) const {
  constexpr size_t kBlockBytes = 64 * kPeriod;  // stays in the first cache between copy and fill
  const unsigned char* pattern = PatternOf(element_bytes_);
  ForEachRun([&](char* address, size_t first, size_t count) {
    const unsigned char* period = pattern + first * element_bytes_ % kPeriod;
    char* to = copy + first * element_bytes_;
    for (size_t left = count * element_bytes_; left > 0;) {
      size_t size = std::min(left, kBlockBytes);
      std::memcpy(to, address, size);
      to += size;
      left -= size;
      const char* end = address + size;
      for (; size >= kPeriod; size -= kPeriod) {
        std::memcpy(address, period, kPeriod);
        address += kPeriod;
      }
      std::memcpy(address, period, static_cast<size_t>(end - address));
      address += end - address;
    }
  });
}

int64_t TensorMemory::FindDifference(const char* copy) const {
  int64_t found = -1;
  ForEachRun([&](const char* address, size_t first, size_t count) {
    const char* before = copy + first * element_bytes_;
    if (found >= 0 || std::memcmp(address, before, count * element_bytes_) == 0) return;
    size_t byte = 0;
    while (address[byte] == before[byte]) ++byte;
    found = static_cast<int64_t>(first + byte / element_bytes_);
  });
  return found;
}

int64_t TensorMemory::FindNotFinite() const {
  int64_t found = -1;
  bool is_known = dtype_.bits == 16 || dtype_.bits == 32 || dtype_.bits == 64;
  if (!IsFloat(dtype_) || !is_known || dtype_.lanes != 1) return found;
  ForEachRun([&](const char* address, size_t first, size_t count) {
    for (size_t i = 0; i < count && found < 0; ++i) {
      if (!IsFinite(address + i * element_bytes_, dtype_)) found = static_cast<int64_t>(first + i);
    }
  });
  return found;
}

template <typename Visit>
void TensorMemory::ForEachFilledRun(Visit&& visit) const {
  constexpr size_t kBlockBytes = 1024;
  const unsigned char* pattern = PatternOf(element_bytes_);
  // An element that is unlikely to be equal to the pattern is a run of its own.  A run of other
  // elements has at least 8 bytes, and therefore a whole word of 4 bytes.
  bool is_unlikely = IsUnlikely(dtype_);
  size_t min_run = is_unlikely ? 1 : (kRunBytes + element_bytes_ - 1) / element_bytes_;
  size_t word_bytes = is_unlikely ? WordBytes(element_bytes_) : 4;
  auto* has_word = word_bytes >= 4   ? &HasPatternWord<uint32_t>
                   : word_bytes == 2 ? &HasPatternWord<uint16_t>
                                     : &HasPatternWord<uint8_t>;
  // Whole words of 4 bytes.  A small tensor needs no division, which takes as long as its checks.
  size_t block = num_bytes() <= kBlockBytes ? (num_elements_ + 3) / 4 * 4
                                            : kBlockBytes / element_bytes_ / 4 * 4;
  size_t begin = 0;  // the run that was found last: elements [begin, end)
  size_t end = 0;
  auto finish = [&] {
    if (end - begin >= min_run) visit(begin, end - begin);
  };
  ForEachRun([&](const char* address, size_t first, size_t count) {
    size_t examined = 0;
    for (size_t i = 0; i < count; i = std::max(i + block, examined)) {
      size_t size = std::min(block, count - i) * element_bytes_;
      const unsigned char* period = pattern + (first + i) * element_bytes_ % kPeriod;
      if (size >= kRunBytes && !has_word(address + i * element_bytes_, size, period)) {
        continue;
      }
      // A run may begin in the block before.
      size_t k = std::max(examined, i - std::min(i, min_run));
      for (; k < std::min(i + block, count); ++k) {
        size_t element = first + k;
        if (std::memcmp(address + k * element_bytes_, pattern + element * element_bytes_ % kPeriod,
                        element_bytes_) != 0) {
          continue;
        }
        if (element != end || begin == end) {
          finish();
          begin = element;
        }
        end = element + 1;
      }
      examined = k;
    }
  });
  finish();
}

int64_t TensorMemory::ReplaceFilled(const char* copy, size_t* count) const {
  int64_t found = -1;
  *count = 0;
  ForEachFilledRun([&](size_t first, size_t length) {
    if (found < 0) found = static_cast<int64_t>(first);
    *count += length;
    if (num_outer_ == 0) {
      size_t offset = first * element_bytes_;
      std::memcpy(data_ + offset, copy + offset, length * element_bytes_);
      return;
    }
    for (size_t i = first; i < first + length; ++i) {
      std::memcpy(Address(static_cast<int64_t>(i)), copy + i * element_bytes_, element_bytes_);
    }
  });
  return found;
}

std::string TensorMemory::IndexText(int64_t element) const {
  std::array<int64_t, kMaxDimensions> index{};
  element += static_cast<int64_t>(num_before_);
  for (size_t i = ndim_; i-- > 0; element /= shape_[i]) index[i] = element % shape_[i];
  std::string text = "[";
  for (size_t i = 0; i < ndim_; ++i) {
    text.append(i == 0 ? "" : ", ").append(std::to_string(index[i]));
  }
  return text + "]";
}

std::string TensorMemory::Text(const char* address) const {
  char text[32];
  if (dtype_.code == kDLFloat && dtype_.lanes == 1 && dtype_.bits >= 32) {
    double value;
    float single;
    std::memcpy(&value, address, std::min(sizeof(value), element_bytes_));
    std::memcpy(&single, address, sizeof(single));
    std::snprintf(text, sizeof(text), "%.9g", dtype_.bits == 32 ? double{single} : value);
    return text;
  }
  if (dtype_.code <= kDLUInt && dtype_.lanes == 1 && dtype_.bits <= 64) {
    uint64_t value = 0;
    std::memcpy(&value, address, element_bytes_);
    int shift = 64 - dtype_.bits;
    if (dtype_.code == kDLUInt) return std::to_string(value);
    return std::to_string(static_cast<int64_t>(value << shift) >> shift);
  }
  std::string hex = "0x";
  for (size_t byte = std::min<size_t>(element_bytes_, 8); byte-- > 0;) {
    std::snprintf(text, sizeof(text), "%02x", static_cast<unsigned char>(address[byte]));
    hex.append(text);
  }
  return hex;
}

}  // namespace tvm::ffi::extra
