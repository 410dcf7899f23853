// SPDX-License-Identifier: Apache-2.0
// JSON graph writer (ToJSONGraph): visits the value depth first, with an explicit stack, and writes
// the node of a value after the nodes of all its children.
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/extra/base64.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/reflection/creator.h>

#include <unordered_map>
#include <utility>
#include <vector>

#include "json/graph_format.h"
#include "json/limits.h"
#include "json/seeded_hash.h"
#include "walk/object_table.h"
#include "walk/value_access.h"

namespace tvm::ffi::extra {
namespace {

class GraphWriter {
 public:
  json::Object Write(const Any& root, const Any& metadata) {
    Begin(root);
    while (!open_.empty()) {
      Open& parent = open_.back();
      if (parent.indices.size() == parent.children.size()) {
        Finish();
      } else {
        Begin(Any(parent.children[parent.indices.size()]));
      }
    }
    json::Object graph{{"root_index", last_index_}, {"nodes", nodes_}};
    if (metadata != nullptr) graph.Set("metadata", metadata);
    return graph;
  }

 private:
  // An entry of the explicit stack: a value whose children are being written.
  struct Open {
    Any value;
    std::vector<Any> children;  // a copy of the children, because hooks may change the container
    json::Array indices;        // node indices of the children written so far
  };

  // Writes the node of the value, or pushes the value to the stack if it has children.  Does
  // nothing if the value has a node already.
  void Begin(const Any& value) {
    if (auto known = index_of_.find(value); known != index_of_.end())
      return SetIndex(known->second);
    switch (value.type_index()) {
      case kTVMFFINone:
        return AddNode(value, std::nullopt);
      case kTVMFFIBool:
      case kTVMFFIInt:
      case kTVMFFIFloat:
      case kTVMFFISmallStr:
      case kTVMFFIStr:
        return AddNode(value, value);
      case kTVMFFISmallBytes:
      case kTVMFFIBytes:
        return AddNode(value, Base64Encode(value.as_or_throw<Bytes>()));
      case kTVMFFIDataType:
        return AddNode(value, DLDataTypeToString(value.as_or_throw<DLDataType>()));
      case kTVMFFIDevice: {
        DLDevice device = value.as_or_throw<DLDevice>();
        return AddNode(value, json::Array{static_cast<int64_t>(device.device_type),
                                          static_cast<int64_t>(device.device_id)});
      }
      case kTVMFFIShape: {
        Shape shape = value.as_or_throw<Shape>();
        return AddNode(value, json::Array(shape.begin(), shape.end()));
      }
      case kTVMFFIArray:
        return OpenSequence(value, value.as<ArrayObj>());
      case kTVMFFIList:
        return OpenSequence(value, value.as<ListObj>());
      case kTVMFFIMap:
        return OpenMap(value, value.as<MapObj>());
      case kTVMFFIDict:
        return OpenMap(value, value.as<DictObj>());
      default:
        return BeginObject(value);
    }
  }

  void OpenSequence(const Any& value, const SeqBaseObj* items) {
    OpenValue(value, ElementsOf(items));
  }

  static std::vector<Any> ElementsOf(const SeqBaseObj* items) {
    ObjectLock lock(items);
    return {items->begin(), items->end()};
  }

  void OpenMap(const Any& value, const MapBaseObj* map) { OpenValue(value, PairsOf(map)); }
  static std::vector<Any> PairsOf(const MapBaseObj* map) {
    ObjectLock lock(map);
    std::vector<Any> children;
    children.reserve(2 * map->size());
    for (const MapBaseObj::KVType& pair : *map) {
      children.push_back(pair.first);
      children.push_back(pair.second);
    }
    return children;
  }

  void BeginObject(const Any& value) {
    static const reflection::TypeAttrColumn hooks("__data_to_json__");
    const TypeInfo* type = TVMFFIGetTypeInfo(value.type_index());
    if (type->type_index < kTVMFFIStaticObjectBegin) {
      TVM_FFI_THROW(RuntimeError) << "Cannot serialize type " << Quoted(type->type_key);
    }
    if (AnyView hook = hooks[type->type_index]; hook != nullptr) {
      return AddNode(value, hook.cast<Function>()(value));
    }
    if (const EnumObj* entry = value.as<EnumObj>()) {
      bool is_int = value.as<IntEnumObj>() != nullptr;
      return AddNode(value, is_int ? Any(entry->_int_index) : Any(entry->_str_index));
    }
    if (!HasCreator(type)) {
      TVM_FFI_THROW(TypeError) << "Type " << Quoted(type->type_key)
                               << " does not support ToJSONGraph (no native creator or __ffi_new__ "
                                  "type attr)";
    }
    std::vector<Any> children;
    reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) {
      if (!IsInline(field)) children.push_back(FieldOf(value, field));
    });
    OpenValue(value, std::move(children));
  }

  void OpenValue(const Any& value, std::vector<Any> children) {
    if (!open_objects_.Insert(ObjectOf(value))) ThrowCycle(value);
    kJsonLimits.CheckDepth(open_.size());
    open_.push_back({value, std::move(children), json::Array()});
    open_.back().indices.reserve(static_cast<int64_t>(open_.back().children.size()));
  }

  void Finish() {
    Open done = std::move(open_.back());
    open_.pop_back();
    open_objects_.Erase(ObjectOf(done.value));
    switch (done.value.type_index()) {
      case kTVMFFIArray:
      case kTVMFFIList:
      case kTVMFFIMap:
      case kTVMFFIDict:
        return AddNode(done.value, std::move(done.indices));
      default:
        return AddNode(done.value, DataOfFields(done.value, done.indices));
    }
  }

  // Returns the JSON data of an object.  `indices` has one node index per field that is not inline,
  // in the order of the fields.
  static json::Object DataOfFields(const Any& value, const json::Array& indices) {
    json::Object data;
    int64_t next = 0;
    const TypeInfo* type = TVMFFIGetTypeInfo(value.type_index());
    reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) {
      data.Set(String(field->name),
               IsInline(field) ? InlineData(FieldOf(value, field)) : indices[next++]);
    });
    return data;
  }

  static Any InlineData(const Any& value) {
    if (value.type_index() != kTVMFFIDataType) return value;
    return DLDataTypeToString(value.as_or_throw<DLDataType>());
  }

  void AddNode(const Any& value, const std::optional<Any>& data) {
    String type_key = TypeKeyOf(value);
    auto index = static_cast<int64_t>(nodes_.size());
    nodes_.push_back(data.has_value() ? json::Object{{"type", type_key}, {"data", *data}}
                                      : json::Object{{"type", type_key}});
    index_of_.emplace(value, index);
    SetIndex(index);
  }

  static String TypeKeyOf(const Any& value) {
    switch (value.type_index()) {
      case kTVMFFISmallStr:
        return StaticTypeKey::kTVMFFIStr;
      case kTVMFFISmallBytes:
        return StaticTypeKey::kTVMFFIBytes;
      default:
        return String(TVMFFIGetTypeInfo(value.type_index())->type_key);
    }
  }

  // Stores the node index of the value that the last call of Begin received.
  void SetIndex(int64_t index) {
    last_index_ = index;
    if (!open_.empty()) open_.back().indices.push_back(index);
  }

  // Throws the error for a cycle: `value` is already on the stack.  The message names the first
  // List or Dict of the cycle, because a cycle usually contains a mutable container.  Without a
  // List or Dict, the message names the type of `value`.
  [[noreturn]] void ThrowCycle(const Any& value) const {
    size_t begin = 0;
    while (!open_[begin].value.same_as(value)) ++begin;
    for (size_t i = begin; i < open_.size(); ++i) {
      int32_t type = open_[i].value.type_index();
      if (type == kTVMFFIList) ThrowCycleOf("List");
      if (type == kTVMFFIDict) ThrowCycleOf("Dict");
    }
    ThrowCycleOf(Quoted(TVMFFIGetTypeInfo(value.type_index())->type_key));
  }
  [[noreturn]] static void ThrowCycleOf(const std::string& name) {
    TVM_FFI_THROW(ValueError) << "Cycle detected during serialization: a " << name
                              << " contains itself";
    TVM_FFI_UNREACHABLE();
  }

  static Any FieldOf(const Any& object, const TVMFFIFieldInfo* field) {
    return ReadField(ObjectOf(object), field);
  }

  json::Array nodes_;
  std::unordered_map<Any, int64_t, SeededHash, AnyEqual> index_of_;
  std::vector<Open> open_;
  ObjectSet open_objects_;
  int64_t last_index_{0};
};

}  // namespace
}  // namespace tvm::ffi::extra

namespace tvm::ffi {

json::Value ToJSONGraph(const Any& value, const Any& metadata) {
  return extra::GraphWriter().Write(value, metadata);
}

}  // namespace tvm::ffi
