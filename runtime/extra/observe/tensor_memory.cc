// SPDX-License-Identifier: Apache-2.0
// Elements of a tensor in host memory: copies, fill pattern, comparison.
#include "observe/tensor_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
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

// Returns the fill pattern of a word.  Its first bits are the bits of a NaN of each size; the other
// bits depend on the number of the word.
template <typename Word>
Word PatternOf(size_t number) {
  if constexpr (sizeof(Word) == 1) {
    return static_cast<Word>(0xA5 ^ (number & 0x42));
  } else {
    constexpr int kShift = static_cast<int>(sizeof(Word) - 2) * 8;
    uint64_t mixed = (number + 1) * uint64_t{0x9E3779B97F4A7C15};
    uint64_t low_mask = (uint64_t{1} << kShift) - 1;
    return static_cast<Word>((uint64_t{0xFFF5} << kShift) | ((mixed >> 16) & low_mask));
  }
}

template <typename Word>
bool IsFilledWith(const char* address, size_t number) {
  Word word;
  std::memcpy(&word, address, sizeof(word));
  return word == PatternOf<Word>(number);
}

// Calls visit(Word()) for the largest word whose size divides the size of an element.
template <typename Visit>
void WithWord(size_t element_bytes, Visit&& visit) {
  if (element_bytes % 8 == 0) return visit(uint64_t{});
  if (element_bytes % 4 == 0) return visit(uint32_t{});
  if (element_bytes % 2 == 0) return visit(uint16_t{});
  visit(uint8_t{});
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
  std::copy_n(tensor.shape, ndim_, shape_.begin());
  size_t count = 1;
  for (size_t i = ndim_; i-- > 0;) {
    if (shape_[i] <= 0) return;
    strides_[i] = tensor.strides == nullptr ? static_cast<int64_t>(count) : tensor.strides[i];
    if (static_cast<size_t>(shape_[i]) > max_bytes / element_bytes_ / count) return;
    count *= static_cast<size_t>(shape_[i]);
  }
  first_ = reinterpret_cast<uintptr_t>(data_);
  last_ = first_ + element_bytes_;
  for (size_t i = 0; i < ndim_; ++i) {
    int64_t reach = (shape_[i] - 1) * strides_[i] * static_cast<int64_t>(element_bytes_);
    (reach < 0 ? first_ : last_) += static_cast<uintptr_t>(reach);
  }
  num_elements_ = count;
  is_checkable_ = true;
}

template <typename Visit>
void TensorMemory::ForEachRun(Visit&& visit) const {
  size_t run = 1;
  size_t outer = ndim_;
  while (outer > 0 && (shape_[outer - 1] == 1 || strides_[outer - 1] == int64_t(run))) {
    run *= static_cast<size_t>(shape_[--outer]);
  }
  std::array<int64_t, kMaxDimensions> index{};
  for (size_t element = 0;; element += run) {
    int64_t offset = 0;
    for (size_t i = 0; i < outer; ++i) offset += index[i] * strides_[i];
    visit(data_ + offset * static_cast<int64_t>(element_bytes_), element, run);
    size_t axis = outer;
    while (axis > 0 && ++index[axis - 1] == shape_[axis - 1]) index[--axis] = 0;
    if (axis == 0) return;
  }
}

char* TensorMemory::Address(int64_t element) const {
  int64_t offset = 0;
  for (size_t i = ndim_; i-- > 0;) {
    offset += element % shape_[i] * strides_[i];
    element /= shape_[i];
  }
  return data_ + offset * static_cast<int64_t>(element_bytes_);
}

std::vector<char> TensorMemory::Copy() const {
  std::vector<char> copy(num_elements_ * element_bytes_);
  ForEachRun([&](const char* address, size_t first, size_t count) {
    std::memcpy(copy.data() + first * element_bytes_, address, count * element_bytes_);
  });
  return copy;
}

void TensorMemory::Fill() const {
  WithWord(element_bytes_, [this](auto word) {
    size_t num_words = element_bytes_ / sizeof(word);
    ForEachRun([=](char* address, size_t first, size_t count) {
      for (size_t i = 0; i < count * num_words; ++i, address += sizeof(word)) {
        auto pattern = PatternOf<decltype(word)>(first * num_words + i);
        std::memcpy(address, &pattern, sizeof(word));
      }
    });
  });
}

int64_t TensorMemory::FindDifference(const std::vector<char>& copy) const {
  int64_t found = -1;
  ForEachRun([&](const char* address, size_t first, size_t count) {
    const char* before = copy.data() + first * element_bytes_;
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
void TensorMemory::ForEachFilled(Visit&& visit) const {
  WithWord(element_bytes_, [&](auto word) {
    size_t num_words = element_bytes_ / sizeof(word);
    ForEachRun([&](char* address, size_t first, size_t count) {
      for (size_t i = 0; i < count; ++i, address += element_bytes_) {
        size_t k = 0;
        size_t number = (first + i) * num_words;
        while (k < num_words &&
               IsFilledWith<decltype(word)>(address + k * sizeof(word), number + k)) {
          ++k;
        }
        if (k == num_words) visit(address, first + i);
      }
    });
  });
}

int64_t TensorMemory::FindFilled(size_t* count) const {
  size_t min_run = IsUnlikely(dtype_) ? 1 : (kRunBytes + element_bytes_ - 1) / element_bytes_;
  int64_t found = -1;
  size_t run = 0;
  size_t next = 0;
  *count = 0;
  ForEachFilled([&](const char*, size_t element) {
    run = element == next ? run + 1 : 1;
    next = element + 1;
    if (run == min_run) *count += min_run;
    if (run > min_run) ++*count;
    if (run == min_run && found < 0) found = static_cast<int64_t>(next - min_run);
  });
  return found;
}

void TensorMemory::RestoreFilled(const std::vector<char>& copy) const {
  ForEachFilled([&](char* address, size_t element) {
    std::memcpy(address, copy.data() + element * element_bytes_, element_bytes_);
  });
}

std::string TensorMemory::IndexText(int64_t element) const {
  std::array<int64_t, kMaxDimensions> index{};
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
