// SPDX-License-Identifier: Apache-2.0
// Shared functions of the fuzz targets.  A target turns bytes into input, calls one reader, and
// checks the result: a reader either succeeds with a consistent result, or fails with one of the
// kinds of errors that it documents.
#ifndef TVM_FFI_TESTS_FUZZ_FUZZ_H_
#define TVM_FFI_TESTS_FUZZ_FUZZ_H_

#include <tvm/ffi/error.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>

namespace fuzz {

// A failed check ends the program, which libFuzzer reports.
inline void RequireAt(bool holds, const char* file, int line, std::string_view condition) {
  if (holds) return;
  std::fprintf(stderr, "%s:%d: broken: %.*s\n", file, line, static_cast<int>(condition.size()),
               condition.data());
  std::abort();
}

#define FUZZ_REQUIRE(condition) fuzz::RequireAt(condition, __FILE__, __LINE__, #condition)

inline void RequireKind(const tvm::ffi::Error& error,
                        std::initializer_list<std::string_view> kinds) {
  for (std::string_view kind : kinds) {
    if (error.kind() == kind) return;
  }
  RequireAt(false, __FILE__, __LINE__, "kind of error: " + error.kind() + ": " + error.message());
}

// Makes decisions from the input bytes; zeros when the bytes are used up.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : data_(data), left_(size) {}

  bool IsEmpty() const { return left_ == 0; }
  uint8_t Byte() {
    if (left_ == 0) return 0;
    --left_;
    return *data_++;
  }
  uint32_t Below(uint32_t count) { return Byte() % count; }
  uint64_t Number(int num_bytes) {
    uint64_t value = 0;
    for (int i = 0; i < num_bytes; ++i) value = value << 8 | Byte();
    return value;
  }
  // Returns an integer that is often at a boundary.
  int64_t Integer() {
    constexpr int64_t kEdges[] = {
        0,         -1,  1,   2,     INT32_MAX,        INT32_MIN,        INT64_MAX,
        INT64_MIN, 255, 256, 65535, int64_t{1} << 32, int64_t{1} << 62, 64,
        128,       8};
    uint8_t choice = Byte();
    if (choice < 16) return kEdges[choice];
    if (choice < 128) return static_cast<int8_t>(Byte());
    return static_cast<int64_t>(Number(1 + choice % 8));
  }
  // Returns arbitrary bytes, fewer than 64.
  std::string_view Text() {
    size_t size = Byte() % 64u;
    if (size > left_) size = left_;
    std::string_view text(reinterpret_cast<const char*>(data_), size);
    data_ += size;
    left_ -= size;
    return text;
  }
  std::string_view Rest() const { return {reinterpret_cast<const char*>(data_), left_}; }

 private:
  const uint8_t* data_;
  size_t left_;
};

}  // namespace fuzz

#endif  // TVM_FFI_TESTS_FUZZ_FUZZ_H_
