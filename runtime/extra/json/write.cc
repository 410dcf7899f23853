// SPDX-License-Identifier: Apache-2.0
// JSON writer (json::Stringify): walks the value with an explicit stack.
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/extra/json.h>

#include <string>
#include <utility>
#include <vector>

#include "json/limits.h"
#include "json/number.h"
#include "walk/snapshot.h"
#include "walk/value_access.h"

namespace tvm::ffi::extra {
namespace {

// The largest indentation per level, in spaces; larger values would fill the memory after a few
// levels.
constexpr int kMaxIndent = 1000;

class Writer {
 public:
  explicit Writer(const Optional<int>& indent)
      : is_indented_(indent.has_value() && *indent != 0),
        spaces_per_level_(is_indented_ && *indent > 0 ? static_cast<size_t>(*indent) : 0) {
    if (indent.value_or(0) > kMaxIndent) {
      TVM_FFI_THROW(ValueError) << "indent must be at most " << kMaxIndent << " spaces, got "
                                << *indent;
    }
  }

  // `value` and its children must not change during the call.  However, under free-threaded Python,
  // other threads may change Lists.
  String Write(const Any& value) {
    WriteValue(value);
    while (!open_.empty()) WriteNextChild();
    return String(out_.data(), out_.size());
  }

 private:
  // An entry of the explicit stack: a container whose children are being written.  The entry has
  // the range of the remaining items of a sequence, or of the remaining pairs of a map.
  struct Open {
    const Object* object;
    const Any* item;
    const Any* item_end;
    MapBaseObj::iterator pair;
    MapBaseObj::iterator pair_end;
    Snapshot list;
    bool is_map;
    bool is_first;

    bool AtEnd() const { return is_map ? pair == pair_end : item == item_end; }
  };

  // Writes a scalar, or the opening bracket of a container.
  void WriteValue(const Any& value) {
    switch (value.type_index()) {
      case kTVMFFINone:
        out_ += "null";
        break;
      case kTVMFFIBool:
        out_ += *value.as<bool>() ? "true" : "false";
        break;
      case kTVMFFIInt:
        AppendJsonNumber(*value.as<int64_t>(), &out_);
        break;
      case kTVMFFIFloat:
        AppendJsonNumber(*value.as<double>(), &out_);
        break;
      case kTVMFFISmallStr:
      case kTVMFFIStr:
        WriteString(value);
        break;
      case kTVMFFIArray:
        BeginSequence(value);
        break;
      case kTVMFFIList:
        CheckNoCycle(value.as<ListObj>());
        BeginSequence(value);
        break;
      case kTVMFFIMap:
        BeginMap(value.as<MapObj>());
        break;
      default:
        TVM_FFI_THROW(ValueError) << "cannot write a value of type `" << value.GetTypeKey()
                                  << "` as JSON";
    }
  }

  void WriteString(const Any& value) {
    String text = *value.as<String>();
    detail::AppendEscapedJSON(std::string_view(text.data(), text.size()), &out_);
  }

  void BeginSequence(const Any& value) {
    Snapshot list(value);
    const SeqBaseObj* items = SequenceOf(list.Or(value));
    Begin({ObjectOf(value), items->begin(), items->end(), {}, {}, std::move(list), false, true});
  }
  void BeginMap(const MapObj* map) {
    Begin({map, nullptr, nullptr, map->begin(), map->end(), Snapshot(), true, true});
  }
  void Begin(Open&& container) {
    kJsonLimits.CheckDepth(open_.size());
    out_ += container.is_map ? '{' : '[';
    open_.push_back(std::move(container));
  }

  // Throws if the List is already being written, which means that the List contains itself.  Other
  // containers that can be written cannot contain themselves.
  void CheckNoCycle(const Object* list) const {
    for (const Open& container : open_) {
      if (container.object == list) {
        TVM_FFI_THROW(ValueError) << "Cycle detected: a List contains itself";
      }
    }
  }

  // Writes the next child of the innermost container, or its closing bracket.
  void WriteNextChild() {
    Open& container = open_.back();
    if (container.AtEnd()) {
      char bracket = container.is_map ? '}' : ']';
      open_.pop_back();  // before StartLine: the closing bracket is indented like the container
      StartLine();
      out_ += bracket;
      return;
    }
    if (!container.is_first) out_ += ',';
    container.is_first = false;
    StartLine();
    // WriteValue may push to open_ and invalidate `container`.
    const Any& value = container.is_map ? WriteKey(&container) : *container.item++;
    WriteValue(value);
  }

  // Writes the next key of the map and returns the value of the key.
  const Any& WriteKey(Open* map) {
    const MapBaseObj::KVType& pair = *map->pair;
    ++map->pair;
    int32_t key_type = pair.first.type_index();
    if (key_type != kTVMFFISmallStr && key_type != kTVMFFIStr) {
      TVM_FFI_THROW(ValueError) << "cannot write a map as JSON: expected string keys, got `"
                                << pair.first.GetTypeKey() << "`";
    }
    WriteString(pair.first);
    out_ += is_indented_ ? ": " : ":";
    return pair.second;
  }

  void StartLine() {
    if (!is_indented_) return;
    out_ += '\n';
    out_.append(open_.size() * spaces_per_level_, ' ');
  }

  bool is_indented_;
  size_t spaces_per_level_;
  std::string out_;
  std::vector<Open> open_;
};

}  // namespace

// The layout of Optional<int> at ABI levels 0.1.11 and 0.1.12.  Callers pass the address of a copy.
struct IndentOf0112 {
  int32_t value;
  bool has_value;
};
static_assert(sizeof(IndentOf0112) == 8, "layout of published binaries");

// json::Stringify(const Any&, Optional<int>) under the mangled name that binaries of ABI levels
// 0.1.11 and 0.1.12 import.
// Mach-O puts an underscore before each name.
#define TVM_FFI_STRING_OF(tokens) #tokens
#define TVM_FFI_EXPANDED_STRING_OF(tokens) TVM_FFI_STRING_OF(tokens)
TVM_FFI_DLL String
StringifyOf0112(const Any& value, const IndentOf0112* indent) __asm__(TVM_FFI_EXPANDED_STRING_OF(
    __USER_LABEL_PREFIX__) "_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8OptionalIivEE");
#undef TVM_FFI_EXPANDED_STRING_OF
#undef TVM_FFI_STRING_OF

String StringifyOf0112(const Any& value, const IndentOf0112* indent) {
  return json::Stringify(value, indent->has_value ? Optional<int>(indent->value) : std::nullopt);
}

}  // namespace tvm::ffi::extra

namespace tvm::ffi::json {

String Stringify(const Value& value, const Optional<int>& indent) {
  return extra::Writer(indent).Write(value);
}

}  // namespace tvm::ffi::json
