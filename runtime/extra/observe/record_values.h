// SPDX-License-Identifier: Apache-2.0
// Values in recordings: words of 64 bits for arguments, results and contents of tensors.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_RECORD_VALUES_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_RECORD_VALUES_H_

#include <tvm/ffi/c_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace tvm::ffi::extra {

// The words of a record.  The memory is reused for later records.
class Words {
 public:
  void Clear() { size_ = 0; }
  // Adds words, which the caller must fill, and returns the first one.
  uint64_t* Extend(size_t count) {
    if (capacity_ - size_ < count) Grow(count);
    size_ += count;
    return words_.get() + size_ - count;
  }
  void Add(uint64_t word) { *Extend(1) = word; }
  // Adds the number of bytes, and the bytes with zeros up to a multiple of 8.
  void AddBytes(const void* bytes, size_t size) {
    *Extend(1) = size;
    size_t count = (size + 7) / 8;
    uint64_t* words = Extend(count);
    if (count == 0) return;
    words[count - 1] = 0;
    std::memcpy(words, bytes, size);
  }
  uint64_t* data() const { return words_.get(); }
  size_t size() const { return size_; }

 private:
  void Grow(size_t count) {
    size_t capacity = std::max(2 * capacity_, size_ + count + 64);
    std::unique_ptr<uint64_t[]> words(new uint64_t[capacity]);
    if (size_ != 0) std::memcpy(words.get(), words_.get(), size_ * 8);
    words_ = std::move(words);
    capacity_ = capacity;
  }

  std::unique_ptr<uint64_t[]> words_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

// Two integers in one word.
inline uint64_t Pair(uint32_t low, uint32_t high) { return low | uint64_t{high} << 32; }

// Which contents of tensors a recording has.  `src/tvm_ffi/observe/_recording.py` has the names.
enum class Contents : uint32_t {
  kNone,
  kDigest,
  kAll,    // digests of larger tensors
  kError,  // only of calls that fail, as the call left them
};

// How a content is written; the first word of a content.
constexpr uint64_t kNoContent = 0;
constexpr uint64_t kDigestContent = 1;  // followed by the digest
constexpr uint64_t kBytesContent = 2;   // followed by the bytes

// Writes values to the words.  `src/tvm_ffi/observe/_recorded_values.py` reads them.
class ValueWriter {
 public:
  ValueWriter(Words* words, size_t max_bytes) : words_(words), max_bytes_(max_bytes) {}

  // The tensors of the values are added to `tensors`, if it is not null.
  void set_tensors(std::vector<const DLTensor*>* tensors) { tensors_ = tensors; }
  // The contents of the tensors of values: kNone, kDigest or kAll.
  void set_contents(Contents contents) { contents_ = contents; }

  void AddValue(const TVMFFIAny& value) { AddValue(value, 0); }
  void AddContent(const DLTensor& tensor, Contents contents);

 private:
  void AddValue(const TVMFFIAny& value, int depth);
  void AddTensor(const DLTensor& tensor, const TVMFFIAny& value);
  void AddText(const TVMFFIAny& value, std::string_view text);
  void AddObject(const TVMFFIAny& value, int depth);
  void AddNull();  // a null pointer, for arguments that the callee will refuse
  void AddOpaque(const TVMFFIAny& value);

  Words* words_;
  size_t max_bytes_;
  Contents contents_ = Contents::kNone;
  std::vector<const DLTensor*>* tensors_ = nullptr;
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_RECORD_VALUES_H_
