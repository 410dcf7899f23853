// SPDX-License-Identifier: Apache-2.0
// Strings and bytes of every length, in the small form and on the heap.
#include <tvm/ffi/function.h>
#include <tvm/ffi/string.h>

#include <string>

#include "check.h"

namespace exchange {

using namespace tvm::ffi;

// The strings contain any bytes, also zero bytes.
std::string Content(int64_t length) {
  std::string content;
  for (int64_t i = 0; i < length; ++i) content.push_back(static_cast<char>(i * 37 + length));
  return content;
}

// `kind` names the type and the constructor; the adopting constructors put short strings on the
// heap.
Any MakeText(Any, String kind, int64_t length) {
  std::string content = Content(length);
  if (kind == "string") return String(content.data(), content.size());
  if (kind == "adopted string") return String(std::move(content));
  if (kind == "bytes") return Bytes(content.data(), content.size());
  return Bytes(std::move(content));
}

void CheckCell(const Any& text, bool on_heap, int32_t heap_index, const std::string& content) {
  TVMFFIAny cell = AnyView(text).CopyToTVMFFIAny();
  if (!on_heap) {
    CHECK_EQ(cell.type_index, heap_index == kTVMFFIStr ? kTVMFFISmallStr : kTVMFFISmallBytes);
    CHECK_EQ(cell.small_str_len, content.size());
    for (size_t i = 0; i < 8; ++i) {
      CHECK_EQ(cell.v_bytes[i], i < content.size() ? content[i] : '\0');
    }
    return;
  }
  CHECK_EQ(cell.type_index, heap_index);
  CHECK_EQ(cell.zero_padding, 0);
  TVMFFIByteArray* bytes = TVMFFIBytesGetByteArrayPtr(cell.v_obj);
  CHECK_EQ(std::string(bytes->data, bytes->size), content);
  CHECK_EQ(bytes->data[bytes->size], '\0');
}

Any CheckText(Any text, String kind, int64_t length) {
  std::string content = Content(length);
  bool is_adopted = kind == "adopted string" || kind == "adopted bytes";
  bool is_string = kind == "string" || kind == "adopted string";
  CheckCell(text, is_adopted || length > 7, is_string ? kTVMFFIStr : kTVMFFIBytes, content);
  for (const char* storage : {"", "adopted "}) {
    Any own = MakeText(nullptr, storage + std::string(is_string ? "string" : "bytes"), length);
    CHECK(AnyEqual()(own, text));
    CHECK_EQ(AnyHash()(own), AnyHash()(text));
  }
  Any other = MakeText(nullptr, is_string ? "bytes" : "string", length);
  CHECK(!AnyEqual()(other, text));
  CHECK(!AnyEqual()(MakeText(nullptr, kind, length + 1), text));
  return text;
}

void CheckString(String text, int64_t length) {
  std::string content = Content(length);
  CHECK_EQ(text.size(), content.size());
  CHECK(text == content);
  CHECK(text == String(content.data(), content.size()));
  CHECK(!(text < String(std::string(content))));
  CHECK_EQ(static_cast<std::string>(text + "!").size(), content.size() + 1);
  CHECK_EQ(std::string(text.c_str(), text.size()), content);
}
void CheckStdString(std::string text, int64_t length) { CHECK_EQ(text, Content(length)); }
void CheckBytes(Bytes bytes, int64_t length) {
  std::string content = Content(length);
  CHECK_EQ(bytes.size(), content.size());
  CHECK(Bytes::memequal(bytes.data(), content.data(), bytes.size(), content.size()));
}

// Types that are allowed only for arguments are converted to owned values when they are returned.
std::string MakeStdString(Any, int64_t length) { return Content(length); }

// ---- Published hashes ---------------------------------------------------------------------------

Any MakeFromCell(Any, int32_t type_index, int64_t padding, int64_t payload) {
  TVMFFIAny cell;
  cell.type_index = type_index;
  cell.zero_padding = static_cast<uint32_t>(padding);
  cell.v_int64 = payload;
  return AnyView::CopyFromTVMFFIAny(cell);
}
// `content` is in hexadecimal digits; the strings and bytes are on the heap, whatever their length.
Any MakeFromContent(Any, String kind, String content) {
  std::string bytes;
  for (size_t i = 0; i < content.size(); i += 2) {
    bytes.push_back(static_cast<char>(std::stoi(content.substr(i, 2), nullptr, 16)));
  }
  if (kind == "string") return String(std::move(bytes));
  if (kind == "bytes") return Bytes(std::move(bytes));
  TVMFFIByteArray words{bytes.data(), bytes.size()};
  TVMFFIAny integer;
  TVM_FFI_CHECK_SAFE_CALL(TVMFFIBigIntFromByteArray(&words, &integer));
  return detail::AnyUnsafe::MoveTVMFFIAnyToAny(&integer);
}
Any CheckHash(Any value, int64_t hash) {
  CHECK_EQ(AnyHash()(value), static_cast<uint64_t>(hash));
  CHECK(AnyEqual()(value, value));
  return value;
}
void CheckStableHash(Any, std::string text, int64_t hash) {
  CHECK_EQ(detail::StableHashBytes(text.data(), text.size()), static_cast<uint64_t>(hash));
}

}  // namespace exchange

TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_text, exchange::MakeText)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_text, exchange::CheckText)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_string, exchange::CheckString)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_std_string, exchange::CheckStdString)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_bytes, exchange::CheckBytes)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_std_string, exchange::MakeStdString)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_from_cell, exchange::MakeFromCell)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(make_from_content, exchange::MakeFromContent)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_hash, exchange::CheckHash)
TVM_FFI_DLL_EXPORT_TYPED_FUNC(check_stable_hash, exchange::CheckStableHash)
