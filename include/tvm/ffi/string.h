// SPDX-License-Identifier: Apache-2.0
// String and Bytes: immutable strings in a 16-byte value that all languages share.
//
// Strings of up to 7 bytes are stored in the value itself, longer ones in a heap object.  A short
// string may be in a heap object, too: construction from a std::string&& moves the std::string into
// a heap object.  Equal strings may therefore have different type indices, and all comparisons in
// this header compare the content.
#ifndef TVM_FFI_STRING_H_
#define TVM_FFI_STRING_H_

#include <tvm/ffi/error.h>

#include <stdexcept>
#include <string_view>
#include <vector>

namespace tvm {
namespace ffi {

// Returns a view of a byte array.
inline std::string_view ToStringView(TVMFFIByteArray bytes) {
  return std::string_view(bytes.data, bytes.size);
}

class String;

namespace detail {

inline std::string_view ViewOf(const String& text);
inline bool SameText(const String& lhs, const String& rhs);

class BytesObjBase : public Object, public TVMFFIByteArray {};

class BytesObj : public BytesObjBase {
 public:
  static constexpr int32_t _type_index = kTVMFFIBytes;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIBytes, BytesObj, Object)
};

class StringObj : public BytesObjBase {
 public:
  static constexpr int32_t _type_index = kTVMFFIStr;
  static constexpr bool _type_final = true;
  TVM_FFI_DECLARE_OBJECT_INFO_STATIC(StaticTypeKey::kTVMFFIStr, StringObj, Object)
};

// Str or Bytes object that owns a std::string instead of a copy of its bytes.
template <typename Base>
class BytesObjStdImpl : public Base {
 public:
  explicit BytesObjStdImpl(std::string text) : text_(std::move(text)) {
    this->data = text_.data();
    this->size = text_.size();
  }

 private:
  std::string text_;
};

TVM_FFI_HIDDEN_ inline void FreeText(void* object, int flags) {
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) AlignedFree(object);
}

// Stores a new Str or Bytes object in *out.  The bytes and a NUL follow the object.
inline void MakeHeapText(int32_t heap_index, const char* data, size_t size, TVMFFIAny* out) {
  constexpr size_t kMaxSize = (~size_t{0} >> 1) - sizeof(BytesObjBase) - 1;
  if (size > kMaxSize) throw std::bad_alloc();
  void* memory = AlignedAlloc(sizeof(BytesObjBase) + size + 1, alignof(BytesObjBase));
  TVMFFIObject* object = static_cast<TVMFFIObject*>(memory);
  object->combined_ref_count = kCombinedRefCountBothOne;
  object->type_index = heap_index;
  object->__padding = 0;
  object->deleter = FreeText;
  TVMFFIByteArray* bytes = TVMFFIBytesGetByteArrayPtr(object);
  char* content = reinterpret_cast<char*>(bytes + 1);
  std::memcpy(content, data, size);
  content[size] = '\0';
  bytes->data = content;
  bytes->size = size;
  SetPointerPayload(out, heap_index, object);
}

// Maximum number of bytes that a value stores without a heap object.
constexpr size_t kSmallTextSize = 7;

// Stores a string or bytes value in *out.  *out must not own a reference, because its previous
// content is not released.
inline void MakeText(int32_t small_index, int32_t heap_index, const char* data, size_t size,
                     TVMFFIAny* out) {
  if (size > kSmallTextSize) return MakeHeapText(heap_index, data, size, out);
  SetIntPayload(out, small_index, 0);
  out->small_str_len = static_cast<uint32_t>(size);
  if (size > 0) std::memcpy(out->v_bytes, data, size);
}

// Sets those bits of *difference in which the two 16-byte blocks differ.
inline void AddDifference(Block16* difference, const char* lhs, const char* rhs) {
  Block16 l;
  Block16 r;
  std::memcpy(&l, lhs, sizeof(l));
  std::memcpy(&r, rhs, sizeof(r));
  *difference |= l ^ r;
}

// Returns true if two memory blocks of `size` bytes are equal.  Most strings are short; for them,
// comparing overlapping 16-byte blocks is faster than a call of memcmp in the C library.
TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline bool SameBytes(const void* lhs, const void* rhs,
                                                        size_t size) {
  if (size < 16 || size > 64) return size == 0 || std::memcmp(lhs, rhs, size) == 0;
  const char* l = static_cast<const char*>(lhs);
  const char* r = static_cast<const char*>(rhs);
  size_t last = size - 16;
  Block16 difference{};
  AddDifference(&difference, l, r);
  AddDifference(&difference, l + last, r + last);
  if (size > 32) {
    AddDifference(&difference, l + 16, r + 16);
    AddDifference(&difference, l + last - 16, r + last - 16);
  }
  return (difference[0] | difference[1]) == 0;
}

// Enables a function template for std::string&& arguments only.  These functions are templates so
// that only files that use them instantiate them.
template <typename S>
using IfRvalueStdString = std::enable_if_t<std::is_same_v<S, std::string>>;

// The 16-byte value in a String or Bytes; owns a reference if its type index belongs to a heap
// object.
class BytesBaseCell {
 public:
  explicit BytesBaseCell(int32_t small_index) { SetIntPayload(&data_, small_index, 0); }
  // Takes ownership of the reference in `owned`.
  explicit BytesBaseCell(const TVMFFIAny& owned) { CopyPayload(&data_, owned); }
  BytesBaseCell(const BytesBaseCell& other) {
    CopyPayload(&data_, other.data_);
    if (IsHeap()) IncRef(data_.v_obj);
  }
  BytesBaseCell(BytesBaseCell&& other) noexcept {
    CopyPayload(&data_, other.data_);
    other.Clear();
  }
  ~BytesBaseCell() {
    if (IsHeap()) DecRef(data_.v_obj);
  }
  BytesBaseCell& operator=(const BytesBaseCell& other) {
    BytesBaseCell(other).swap(*this);
    return *this;
  }
  BytesBaseCell& operator=(BytesBaseCell&& other) noexcept {
    BytesBaseCell(std::move(other)).swap(*this);
    return *this;
  }

  bool IsHeap() const { return data_.type_index >= kTVMFFIStaticObjectBegin; }
  TVMFFIByteArray Content() const {
    return IsHeap() ? *TVMFFIBytesGetByteArrayPtr(data_.v_obj)
                    : TVMFFISmallBytesGetContentByteArray(&data_);
  }
  // Returns true if both values have the same content.  Both must be strings, or both must be
  // bytes.
  bool Equals(const BytesBaseCell& other) const {
    if (IsHeap() && other.IsHeap()) {
      const TVMFFIByteArray* lhs = TVMFFIBytesGetByteArrayPtr(data_.v_obj);
      const TVMFFIByteArray* rhs = TVMFFIBytesGetByteArrayPtr(other.data_.v_obj);
      return lhs->size == rhs->size && SameBytes(lhs->data, rhs->data, lhs->size);
    }
    // Values without a heap object are compared as 16 bytes, because their unused bytes are 0.
    if (IsHeap() == other.IsHeap()) return std::memcmp(&data_, &other.data_, sizeof(data_)) == 0;
    return EqualsAdopted(other);
  }
  void swap(BytesBaseCell& other) noexcept {
    TVMFFIAny data;
    CopyPayload(&data, data_);
    CopyPayload(&data_, other.data_);
    CopyPayload(&other.data_, data);
  }
  // Moves a std::string into a new heap object, which becomes the value.  The previous value must
  // be empty.
  template <typename HeapObject>
  void Adopt(std::string&& text) {
    TVMFFIObject* object = ObjectUnsafe::MoveObjectPtrToTVMFFIObjectPtr(
        make_object<BytesObjStdImpl<HeapObject>>(std::move(text)));
    SetPointerPayload(&data_, HeapObject::_type_index, object);
  }
  void CopyToAnyView(TVMFFIAny* out) const { CopyPayload(out, data_); }
  void MoveToAny(TVMFFIAny* out) {
    CopyPayload(out, data_);
    Clear();
  }
  TVMFFIAny* data() { return &data_; }

 private:
  // Compares a short text with a heap object, which may also hold a short text.
  TVM_FFI_HIDDEN_ TVM_FFI_COLD_CODE TVM_FFI_NO_INLINE bool EqualsAdopted(
      const BytesBaseCell& other) const {
    TVMFFIByteArray lhs = Content();
    TVMFFIByteArray rhs = other.Content();
    return lhs.size == rhs.size && SameBytes(lhs.data, rhs.data, lhs.size);
  }
  void Clear() {
    bool bytes = data_.type_index == kTVMFFIBytes || data_.type_index == kTVMFFISmallBytes;
    SetIntPayload(&data_, bytes ? kTVMFFISmallBytes : kTVMFFISmallStr, 0);
  }

  TVMFFIAny data_;
};

}  // namespace detail

// An immutable byte string.  Up to 7 bytes are stored without a heap object.
class Bytes {
 public:
  Bytes() : data_(kTVMFFISmallBytes) {}
  Bytes(const char* data, size_t size) : data_(kTVMFFISmallBytes) {
    detail::MakeText(kTVMFFISmallBytes, kTVMFFIBytes, data, size, data_.data());
  }
  Bytes(TVMFFIByteArray bytes) : Bytes(bytes.data, bytes.size) {}         // NOLINT(*)
  Bytes(const std::string& other) : Bytes(other.data(), other.size()) {}  // NOLINT(*)
  template <typename S, typename = detail::IfRvalueStdString<S>>
  Bytes(S&& other) : data_(kTVMFFISmallBytes) {  // NOLINT(*)
    data_.Adopt<detail::BytesObj>(std::move(other));
  }
  template <typename T>
  Bytes& operator=(T&& other) {
    Bytes(std::forward<T>(other)).swap(*this);
    return *this;
  }
  Bytes(const Bytes&) = default;
  Bytes(Bytes&&) noexcept = default;
  Bytes& operator=(const Bytes&) = default;
  Bytes& operator=(Bytes&&) noexcept = default;

  const char* data() const { return data_.Content().data; }
  size_t size() const { return data_.Content().size; }
  void swap(Bytes& other) noexcept { data_.swap(other.data_); }
  operator std::string() const { return std::string(data(), size()); }  // NOLINT(*)

  // Returns -1, 0 or 1.  Compares the bytes as type char, which is signed on some platforms, then
  // the lengths.
  static int memncmp(const char* lhs, const char* rhs, size_t lhs_count, size_t rhs_count) {
    for (size_t i = 0; i < lhs_count && i < rhs_count; ++i) {
      if (lhs[i] != rhs[i]) return lhs[i] < rhs[i] ? -1 : 1;
    }
    return lhs_count < rhs_count ? -1 : (lhs_count > rhs_count ? 1 : 0);
  }
  static bool memequal(const void* lhs, const void* rhs, size_t lhs_count, size_t rhs_count) {
    return lhs_count == rhs_count && detail::SameBytes(lhs, rhs, lhs_count);
  }

 private:
  explicit Bytes(const TVMFFIAny& owned) : data_(owned) {}
  detail::BytesBaseCell data_;
  template <typename, typename>
  friend struct TypeTraits;
};

// An immutable UTF-8 string.  Up to 7 bytes are stored without a heap object.
class String {
 public:
  String(std::nullptr_t) = delete;
  String() : data_(kTVMFFISmallStr) {}
  String(const char* other) : String(other, std::strlen(other)) {}  // NOLINT(*)
  String(const char* data, size_t size) : data_(kTVMFFISmallStr) {
    detail::MakeText(kTVMFFISmallStr, kTVMFFIStr, data, size, data_.data());
  }
  String(const std::string& other) : String(other.data(), other.size()) {}  // NOLINT(*)
  template <typename S, typename = detail::IfRvalueStdString<S>>
  String(S&& other) : data_(kTVMFFISmallStr) {  // NOLINT(*)
    data_.Adopt<detail::StringObj>(std::move(other));
  }
  explicit String(TVMFFIByteArray bytes) : String(bytes.data, bytes.size) {}
  String(const String&) = default;
  String(String&&) noexcept = default;
  String& operator=(const String&) = default;
  String& operator=(String&&) noexcept = default;
  String& operator=(const std::string& other) { return *this = String(other); }
  template <typename S, typename = detail::IfRvalueStdString<S>>
  String& operator=(S&& other) {
    return *this = String(std::move(other));
  }
  String& operator=(const char* other) { return *this = String(other); }

  static constexpr size_t npos = static_cast<size_t>(-1);
  const char* data() const { return data_.Content().data; }
  const char* c_str() const { return data(); }
  size_t size() const { return data_.Content().size; }
  size_t length() const { return size(); }
  bool empty() const { return size() == 0; }
  void swap(String& other) noexcept { data_.swap(other.data_); }
  operator std::string() const { return std::string(data(), size()); }  // NOLINT(*)

  char at(size_t pos) const {
    if (pos >= size()) ThrowOutOfRange("tvm::String index out of bounds");
    return data()[pos];
  }
  int compare(const String& other) const { return Compare(other.View()); }
  int compare(const std::string& other) const { return Compare(other); }
  int compare(const char* other) const { return Compare(other); }
  int compare(const TVMFFIByteArray& other) const { return Compare(ToStringView(other)); }
  size_t find(const String& text, size_t pos = 0) const { return View().find(text.View(), pos); }
  size_t find(const char* text, size_t pos = 0) const { return View().find(text, pos); }
  size_t find(const char* text, size_t pos, size_t count) const {
    return View().find(text, pos, count);
  }
  String substr(size_t pos = 0, size_t count = npos) const {
    if (pos > size()) ThrowOutOfRange("tvm::String substr index out of bounds");
    size_t rest = size() - pos;
    return String(data() + pos, count < rest ? count : rest);
  }
  bool starts_with(const String& prefix) const { return starts_with(prefix.View()); }
  bool starts_with(std::string_view prefix) const {
    return View().substr(0, prefix.size()) == prefix;
  }
  bool starts_with(const char* prefix) const { return starts_with(std::string_view(prefix)); }
  bool starts_with(const char* prefix, size_t count) const {
    return starts_with(std::string_view(prefix, count));
  }
  bool ends_with(const String& suffix) const { return ends_with(suffix.View()); }
  bool ends_with(std::string_view suffix) const {
    return size() >= suffix.size() && View().substr(size() - suffix.size()) == suffix;
  }
  bool ends_with(const char* suffix) const { return ends_with(std::string_view(suffix)); }
  bool ends_with(const char* suffix, size_t count) const {
    return ends_with(std::string_view(suffix, count));
  }
  // Returns the parts between delimiters, borrowed until this string is destroyed.
  template <typename Part = std::string_view>
  std::vector<Part> Split(char delimiter) const {
    std::vector<Part> parts;
    std::string_view rest = View();
    for (size_t end = rest.find(delimiter); end != npos; end = rest.find(delimiter)) {
      parts.push_back(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    parts.push_back(rest);
    return parts;
  }

 private:
  explicit String(const TVMFFIAny& owned) : data_(owned) {}
  std::string_view View() const { return ToStringView(data_.Content()); }
  int Compare(std::string_view other) const {
    return Bytes::memncmp(data(), other.data(), size(), other.size());
  }
  [[noreturn]] TVM_FFI_FAILURE_ static void ThrowOutOfRange(const char* message) {
    throw std::out_of_range(message);
  }

  detail::BytesBaseCell data_;
  template <typename, typename>
  friend struct TypeTraits;
  friend std::string_view detail::ViewOf(const String& text);
  friend bool detail::SameText(const String& lhs, const String& rhs);
};

namespace detail {

inline std::string_view ViewOf(const String& text) { return text.View(); }
inline std::string_view ViewOf(std::string_view text) { return text; }
inline std::string_view ViewOf(const std::string& text) { return text; }
inline std::string_view ViewOf(const char* text) { return text; }

inline MessageStream& operator<<(MessageStream& out, const String& text) {
  return out << ViewOf(text);
}

TVM_FFI_HIDDEN_ TVM_FFI_NO_INLINE inline String Concatenate(std::string_view lhs,
                                                            std::string_view rhs) {
  std::string text;
  text.reserve(lhs.size() + rhs.size());
  text.append(lhs.data(), lhs.size());
  text.append(rhs.data(), rhs.size());
  return String(text);
}

inline bool SameText(std::string_view lhs, std::string_view rhs) {
  return Bytes::memequal(lhs.data(), rhs.data(), lhs.size(), rhs.size());
}
inline bool SameText(const String& lhs, const String& rhs) { return lhs.data_.Equals(rhs.data_); }
inline int CompareText(std::string_view lhs, std::string_view rhs) {
  return Bytes::memncmp(lhs.data(), rhs.data(), lhs.size(), rhs.size());
}

}  // namespace detail

#define TVM_FFI_STRING_BINARY_(Result, op, Lhs, Rhs, expression) \
  inline Result operator op(Lhs lhs, Rhs rhs) {                  \
    return expression(detail::ViewOf(lhs), detail::ViewOf(rhs)); \
  }
#define TVM_FFI_STRING_BINARY_MIXED_(Result, op, expression)                        \
  TVM_FFI_STRING_BINARY_(Result, op, const String&, const std::string&, expression) \
  TVM_FFI_STRING_BINARY_(Result, op, const std::string&, const String&, expression) \
  TVM_FFI_STRING_BINARY_(Result, op, const String&, const char*, expression)        \
  TVM_FFI_STRING_BINARY_(Result, op, const char*, const String&, expression)
#define TVM_FFI_STRING_BINARY_MIXES_(Result, op, expression)                   \
  TVM_FFI_STRING_BINARY_(Result, op, const String&, const String&, expression) \
  TVM_FFI_STRING_BINARY_MIXED_(Result, op, expression)
#define TVM_FFI_STRING_NO_NULL_(op)                         \
  bool operator op(const String&, std::nullptr_t) = delete; \
  bool operator op(std::nullptr_t, const String&) = delete;

// Operators between String and String, std::string or C strings.  An operand nullptr does not
// compile.
inline bool operator==(const String& lhs, const String& rhs) { return detail::SameText(lhs, rhs); }
inline bool operator!=(const String& lhs, const String& rhs) { return !detail::SameText(lhs, rhs); }
TVM_FFI_STRING_BINARY_MIXED_(bool, ==, detail::SameText)
TVM_FFI_STRING_BINARY_MIXED_(bool, !=, !detail::SameText)
TVM_FFI_STRING_BINARY_MIXES_(String, +, detail::Concatenate)
TVM_FFI_STRING_BINARY_MIXES_(bool, <, 0> detail::CompareText)
TVM_FFI_STRING_BINARY_MIXES_(bool, >, 0 < detail::CompareText)
TVM_FFI_STRING_BINARY_MIXES_(bool, <=, 0 >= detail::CompareText)
TVM_FFI_STRING_BINARY_MIXES_(bool, >=, 0 <= detail::CompareText)
TVM_FFI_STRING_NO_NULL_(==)
TVM_FFI_STRING_NO_NULL_(!=)
TVM_FFI_STRING_NO_NULL_(<)
TVM_FFI_STRING_NO_NULL_(>)
TVM_FFI_STRING_NO_NULL_(<=)
TVM_FFI_STRING_NO_NULL_(>=)
#undef TVM_FFI_STRING_BINARY_
#undef TVM_FFI_STRING_BINARY_MIXED_
#undef TVM_FFI_STRING_BINARY_MIXES_
#undef TVM_FFI_STRING_NO_NULL_

// Writes the string.  The operator is a template, so that only callers need <ostream>.
template <typename Traits>
std::basic_ostream<char, Traits>& operator<<(std::basic_ostream<char, Traits>& out,
                                             const String& text) {
  out.write(text.data(), static_cast<decltype(out.width())>(text.size()));
  return out;
}

// ---- Conversion traits ------------------------------------------------------------------------

namespace detail {

// Traits of String and Bytes.  A cast also accepts the borrowed form (C string or byte array),
// whose type index is `view_index`.
template <typename T, int32_t small_index, int32_t heap_index, int32_t view_index>
struct TextTraits : TypeTraitsBase {
  static constexpr int32_t field_static_type_index = kTVMFFIAny;
  static bool CheckAnyStrict(const TVMFFIAny* src) {
    return src->type_index == small_index || src->type_index == heap_index;
  }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    if (CheckAnyStrict(src)) return TypeTraits<T>::CopyFromAnyViewAfterCheck(src);
    if (src->type_index != view_index) return std::nullopt;
    if constexpr (view_index == kTVMFFIRawStr) {
      return T(src->v_c_str, std::strlen(src->v_c_str));
    } else {
      return T(*static_cast<TVMFFIByteArray*>(src->v_ptr));
    }
  }
};

}  // namespace detail

#define TVM_FFI_TEXT_TRAITS_(T, small_index, heap_index, view_index, name, key)               \
  template <>                                                                                 \
  struct TypeTraits<T> : detail::TextTraits<T, small_index, heap_index, view_index> {         \
    static void CopyToAnyView(const T& src, TVMFFIAny* out) { src.data_.CopyToAnyView(out); } \
    static void MoveToAny(T src, TVMFFIAny* out) { src.data_.MoveToAny(out); }                \
    static T CopyFromAnyViewAfterCheck(const TVMFFIAny* src) {                                \
      TVMFFIAny owned;                                                                        \
      detail::CopyPayload(&owned, *src);                                                      \
      if (owned.type_index == heap_index) detail::IncRef(owned.v_obj);                        \
      return T(owned);                                                                        \
    }                                                                                         \
    static T MoveFromAnyAfterCheck(TVMFFIAny* src) {                                          \
      TVMFFIAny owned;                                                                        \
      detail::CopyPayload(&owned, *src);                                                      \
      detail::SetIntPayload(src, kTVMFFINone, 0);                                             \
      return T(owned);                                                                        \
    }                                                                                         \
    static std::string TypeStr() { return name; }                                             \
    static std::string TypeSchema() { return detail::SchemaOfKey(key); }                      \
  }
TVM_FFI_TEXT_TRAITS_(String, kTVMFFISmallStr, kTVMFFIStr, kTVMFFIRawStr, "str", "ffi.String");
TVM_FFI_TEXT_TRAITS_(Bytes, kTVMFFISmallBytes, kTVMFFIBytes, kTVMFFIByteArrayPtr, "bytes",
                     "ffi.Bytes");
#undef TVM_FFI_TEXT_TRAITS_

// Traits of C strings: an AnyView borrows the C string, an Any copies it.
namespace detail {
template <typename T>
struct RawStrTraits : TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    SetPointerPayload(result, kTVMFFIRawStr, const_cast<char*>(src));
  }
  static void MoveToAny(T src, TVMFFIAny* result) {
    MakeText(kTVMFFISmallStr, kTVMFFIStr, src, std::strlen(src), result);
  }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFIRawStr) return T(src->v_c_str);
    return std::nullopt;
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIRawStr; }
  static std::string TypeSchema() { return SchemaOfKey(StaticTypeKey::kTVMFFIRawStr); }
};
}  // namespace detail
template <>
struct TypeTraits<const char*> : detail::RawStrTraits<const char*> {};

template <size_t N>
struct TypeTraits<char[N]> : TypeTraits<const char*> {
  static void CopyToAnyView(const char (&src)[N], TVMFFIAny* result) {
    TypeTraits<const char*>::CopyToAnyView(src, result);
  }
  static void MoveToAny(const char (&src)[N], TVMFFIAny* result) {
    TypeTraits<const char*>::MoveToAny(src, result);
  }
};

namespace detail {
template <typename T>
struct ByteArrayTraits : TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static constexpr int32_t field_static_type_index = kTVMFFIByteArrayPtr;
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    SetPointerPayload(result, kTVMFFIByteArrayPtr, src);
  }
  static void MoveToAny(T src, TVMFFIAny* result) {
    MakeText(kTVMFFISmallBytes, kTVMFFIBytes, src->data, src->size, result);
  }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    if (src->type_index == kTVMFFIByteArrayPtr) return static_cast<T>(src->v_ptr);
    return std::nullopt;
  }
  static std::string TypeStr() { return StaticTypeKey::kTVMFFIByteArrayPtr; }
  static std::string TypeSchema() { return SchemaOfKey(StaticTypeKey::kTVMFFIByteArrayPtr); }
};
}  // namespace detail
template <>
struct TypeTraits<TVMFFIByteArray*> : detail::ByteArrayTraits<TVMFFIByteArray*> {};

namespace detail {
template <typename T>
struct StdStringTraits : TypeTraitsBase {
  static constexpr bool storage_enabled = false;
  static void CopyToAnyView(const T& src, TVMFFIAny* result) {
    TypeTraits<const char*>::CopyToAnyView(src.c_str(), result);
  }
  static void MoveToAny(T src, TVMFFIAny* result) {
    TypeTraits<String>::MoveToAny(String(std::move(src)), result);
  }
  static std::optional<T> TryCastFromAnyView(const TVMFFIAny* src) {
    switch (src->type_index) {
      case kTVMFFIRawStr:
        return T(src->v_c_str);
      case kTVMFFIByteArrayPtr: {
        const TVMFFIByteArray* bytes = static_cast<const TVMFFIByteArray*>(src->v_ptr);
        return T(bytes->data, bytes->size);
      }
      case kTVMFFISmallStr:
      case kTVMFFISmallBytes:
        return T(src->v_bytes, src->small_str_len);
      case kTVMFFIStr:
      case kTVMFFIBytes: {
        const TVMFFIByteArray* bytes = TVMFFIBytesGetByteArrayPtr(src->v_obj);
        return T(bytes->data, bytes->size);
      }
      default:
        return std::nullopt;
    }
  }
  static std::string TypeStr() { return "std::string"; }
  static std::string TypeSchema() { return SchemaOfKey("std::string"); }
};
}  // namespace detail
template <>
struct TypeTraits<std::string> : detail::StdStringTraits<std::string> {};

}  // namespace ffi
}  // namespace tvm

template <>
struct std::hash<::tvm::ffi::String> {
  std::size_t operator()(const ::tvm::ffi::String& text) const {
    return std::hash<std::string_view>()(std::string_view(text.data(), text.size()));
  }
};
template <>
struct std::hash<::tvm::ffi::Bytes> {
  std::size_t operator()(const ::tvm::ffi::Bytes& bytes) const {
    return std::hash<std::string_view>()(std::string_view(bytes.data(), bytes.size()));
  }
};

#include <tvm/ffi/string_escape_detail.h>
#endif  // TVM_FFI_STRING_H_
