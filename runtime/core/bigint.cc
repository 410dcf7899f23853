// SPDX-License-Identifier: Apache-2.0
// BigInt objects: little-endian two's-complement words after the object header.
//
// Equality and hashing rely on the canonical form: redundant sign words are removed, and a value
// that fits int64 is a plain Int.
#include <cstring>

#include "error.h"
#include "text.h"
#include "value.h"

namespace tvm::ffi::runtime {
namespace {

struct BigIntObject : TVMFFIObject {
  size_t word_count;  // number of words, at least 2; the words follow the struct
  int64_t* words() { return reinterpret_cast<int64_t*>(this + 1); }
};
static_assert(sizeof(BigIntObject) == 32, "words start at byte 32");

int64_t WordAt(std::string_view bytes, size_t i) {
  int64_t word;
  std::memcpy(&word, bytes.data() + i * sizeof(word), sizeof(word));
  return word;
}

// Returns the number of words that the integer needs, without redundant words at the top.  The top
// word is redundant if it only extends the sign of the word below it.
size_t CanonicalWordCount(std::string_view bytes) {
  size_t count = bytes.size() / sizeof(int64_t);
  while (count > 1 && WordAt(bytes, count - 1) == (WordAt(bytes, count - 2) < 0 ? -1 : 0)) --count;
  return count;
}

Value NewInteger(std::string_view bytes) {
  if (bytes.size() % sizeof(int64_t) != 0) {
    Raise("ValueError", "BigInt content must be a whole number of 8-byte words, got ", bytes.size(),
          " bytes");
  }
  size_t count = CanonicalWordCount(bytes);
  if (count <= 1) return Value::Int(count == 0 ? 0 : WordAt(bytes, 0));
  Ref<BigIntObject> object = NewObject<BigIntObject>(kTVMFFIBigInt, count * sizeof(int64_t));
  object->word_count = count;
  std::memcpy(object->words(), bytes.data(), count * sizeof(int64_t));
  return Value::FromObject(std::move(object));
}

}  // namespace
}  // namespace tvm::ffi::runtime

using namespace tvm::ffi::runtime;

int TVMFFIBigIntFromByteArray(const TVMFFIByteArray* input, TVMFFIAny* out) {
  *out = NoneAny();
  return GuardBoundary([&] { *out = NewInteger(View(*input)).Release(); });
}

TVMFFIByteArray TVMFFIBigIntGetContentByteArray(const TVMFFIAny* value) {
  TVMFFIByteArray content;
  if (value->type_index == kTVMFFIBigInt) {
    auto* object = static_cast<BigIntObject*>(value->v_obj);
    content.data = reinterpret_cast<const char*>(object->words());
    content.size = object->word_count * sizeof(int64_t);
  } else {
    content.data = value->v_bytes;  // borrowed from the payload of the plain Int `value`
    content.size = sizeof(int64_t);
  }
  return content;
}
