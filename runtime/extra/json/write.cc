// SPDX-License-Identifier: Apache-2.0
// json::Stringify: walks the value with an explicit stack, so that nesting costs no machine stack.
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

// Blanks per level; more are a mistake, and a few levels of them fill the memory.
constexpr int kMaxIndent = 1000;

class Writer {
 public:
  explicit Writer(const Optional<int>& indent)
      : is_indented_(indent.has_value() && *indent != 0),
        blanks_per_level_(is_indented_ && *indent > 0 ? static_cast<size_t>(*indent) : 0) {
    if (indent.value_or(0) > kMaxIndent) {
      TVM_FFI_THROW(ValueError) << "indent must be at most " << kMaxIndent << " blanks, got "
                                << *indent;
    }
  }

  // `value` and all it holds stay unchanged meanwhile, but for Lists where threads run at once.
  String Write(const Any& value) {
    WriteValue(value);
    while (!open_.empty()) WriteNextPart();
    return String(out_.data(), out_.size());
  }

 private:
  // A container whose parts are being written: the rest of a sequence, or of a map.
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

  // A container is only begun.
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
        TVM_FFI_THROW(ValueError) << "Unsupported type: `" << value.GetTypeKey() << "`";
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

  // Of all containers that JSON knows only a List can come to hold itself.
  void CheckNoCycle(const Object* list) const {
    for (const Open& container : open_) {
      if (container.object == list) {
        TVM_FFI_THROW(ValueError) << "Cycle detected: a List contains itself";
      }
    }
  }

  // Of the innermost container: its next element, or its end.
  void WriteNextPart() {
    Open& container = open_.back();
    if (container.AtEnd()) {
      char bracket = container.is_map ? '}' : ']';
      open_.pop_back();  // first, because the bracket is indented like its container
      StartLine();
      out_ += bracket;
      return;
    }
    if (!container.is_first) out_ += ',';
    container.is_first = false;
    StartLine();
    // The stack may move once the element is begun.
    const Any& value = container.is_map ? WriteKey(&container) : *container.item++;
    WriteValue(value);
  }

  // Returns the value that belongs to the key.
  const Any& WriteKey(Open* map) {
    const MapBaseObj::KVType& pair = *map->pair;
    ++map->pair;
    int32_t key_type = pair.first.type_index();
    if (key_type != kTVMFFISmallStr && key_type != kTVMFFIStr) {
      TVM_FFI_THROW(ValueError) << "Expect key to be string, got `" << pair.first.GetTypeKey()
                                << "`";
    }
    WriteString(pair.first);
    out_ += is_indented_ ? ": " : ":";
    return pair.second;
  }

  void StartLine() {
    if (!is_indented_) return;
    out_ += '\n';
    out_.append(open_.size() * blanks_per_level_, ' ');
  }

  bool is_indented_;
  size_t blanks_per_level_;
  std::string out_;
  std::vector<Open> open_;
};

}  // namespace

// Optional<int> as binaries of 0.1.11 and 0.1.12 have it; they pass the address of a copy.
struct IndentOf0112 {
  int32_t value;
  bool has_value;
};
static_assert(sizeof(IndentOf0112) == 8, "layout of foreign binaries");

// json::Stringify(const Any&, Optional<int>) of those binaries, under the name they import.
TVM_FFI_DLL String StringifyOf0112(const Any& value, const IndentOf0112* indent) __asm__(
    "_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8OptionalIivEE");

String StringifyOf0112(const Any& value, const IndentOf0112* indent) {
  return json::Stringify(value, indent->has_value ? Optional<int>(indent->value) : std::nullopt);
}

}  // namespace tvm::ffi::extra

namespace tvm::ffi::json {

String Stringify(const Value& value, const Optional<int>& indent) {
  return extra::Writer(indent).Write(value);
}

}  // namespace tvm::ffi::json
