// SPDX-License-Identifier: Apache-2.0
// JSON graph reader (FromJSONGraph): builds the values of all nodes reachable from the root,
// children first, with an explicit stack.  Graphs may be untrusted, so every node is validated.
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/extra/base64.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/reflection/creator.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "json/graph_format.h"
#include "json/limits.h"
#include "walk/collision_limit.h"

namespace tvm::ffi::extra {
namespace {

[[noreturn]] void Reject(const std::string& reason) {
  TVM_FFI_THROW(ValueError) << "Invalid JSON Object Graph" << reason;
  TVM_FFI_UNREACHABLE();
}

// The exception for an invalid node.  GraphReader adds the index of the node to its message.
struct BadNode {
  std::string reason;
};

// An error that the `__data_from_json__` hook of a client-defined type threw.  GraphReader rethrows
// the error unchanged.
struct HookError {
  Error error;
};

bool IsBase64(const String& text) {
  std::string_view digits(text.data(), text.size());
  if (digits.size() % 4 != 0) return false;
  for (int padding = 0; padding < 2 && !digits.empty() && digits.back() == '='; ++padding) {
    digits.remove_suffix(1);
  }
  return digits.find_first_not_of(
             "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
             "0123456789+/") == std::string_view::npos;
}

// A node of the graph: one element of the JSON array "nodes".
class Node {
 public:
  explicit Node(const Any& description) {
    auto members = description.try_cast<json::Object>();
    if (!members.has_value()) Reject("expected an object", description);
    auto type_key = members->Get("type");
    auto text = type_key.has_value() ? type_key->as<String>() : std::nullopt;
    if (!text.has_value()) Reject("expected `type` string field");
    type_ = TVMFFIGetTypeInfo(TypeKeyToIndex(std::string_view(text->data(), text->size())));
    data_ = members->Get("data");
  }

  const TypeInfo* type() const { return type_; }
  int32_t type_index() const { return type_->type_index; }

  const Any& Data() const {
    if (!data_.has_value()) Reject("expected `data` field");
    return *data_;
  }
  // Returns the data of the node as T.  Throws BadNode if the data has another type.
  //
  // expected  a description of T for the error message
  template <typename T>
  T DataAs(const char* expected) const {
    auto data = Data().try_cast<T>();
    if (!data.has_value()) Reject(std::string("expected `data` to be ") + expected, Data());
    return *std::move(data);
  }
  json::Object Fields() const { return DataAs<json::Object>("an object"); }
  // Returns the JSON data of a field, or nullopt if `fields` does not contain the field.
  static std::optional<Any> FieldData(const json::Object& fields, const TVMFFIFieldInfo* field) {
    return fields.Get(String(field->name));
  }
  int64_t ChildIndex(const Any& index) const {
    if (index.type_index() != kTVMFFIInt) Reject("expected the index of a node", index);
    return *index.as<int64_t>();
  }

  [[noreturn]] static void Reject(const std::string& reason) { throw BadNode{reason}; }
  [[noreturn]] static void Reject(const std::string& reason, const Any& got) {
    Reject(reason + ", got `" + got.GetTypeKey() + "`");
  }

 private:
  const TypeInfo* type_{nullptr};
  std::optional<Any> data_;
};

// Builds the values of nodes without children.
class LeafReader {
 public:
  static Any ReadBytes(const Node& node) {
    String text = node.DataAs<String>("base64 text");
    if (!IsBase64(text)) node.Reject("expected `data` to be base64 text");
    return Base64Decode(text);
  }

  static Any ReadDevice(const Node& node) {
    auto pair = node.DataAs<Array<int64_t>>("an array of integers");
    if (pair.size() != 2) {
      node.Reject("Device data must be an array of [device_type, device_id], got " +
                  std::to_string(pair.size()) + " element(s)");
    }
    return DLDevice{static_cast<DLDeviceType>(Int32(node, pair[0])), Int32(node, pair[1])};
  }

  static Any ReadShape(const Node& node) {
    auto extents = node.DataAs<Array<int64_t>>("an array of integers");
    return Shape(extents.begin(), extents.end());
  }

  static Any ReadEnum(const Node& node) {
    if (detail::IsObjectInstance<IntEnumObj>(node.type_index())) {
      return EnumObj::_GetByIntIndex(node.type_index(), node.DataAs<int64_t>("an integer"));
    }
    return EnumObj::_GetByStrIndex(node.type_index(), node.DataAs<String>("a string"));
  }

 private:
  static int32_t Int32(const Node& node, int64_t value) {
    using Limits = std::numeric_limits<int32_t>;
    if (value < Limits::min() || value > Limits::max())
      node.Reject("expected the Device data to be 32-bit integers, got " + std::to_string(value));
    return static_cast<int32_t>(value);
  }
};

// Returns the hook "__data_from_json__" of the type; None if the type has no such hook.
AnyView FromJsonHook(int32_t type_index) {
  static const reflection::TypeAttrColumn hooks("__data_from_json__");
  return hooks[type_index];
}

// Returns true if the data of the node is a JSON object that maps the field names of an FFI object
// to values.
bool HasFields(const Node& node) {
  switch (node.type_index()) {
    case kTVMFFIStr:
    case kTVMFFIBytes:
    case kTVMFFIShape:
    case kTVMFFIArray:
    case kTVMFFIList:
    case kTVMFFIMap:
    case kTVMFFIDict:
      return false;
    default:
      return node.type_index() >= kTVMFFIStaticObjectBegin &&
             FromJsonHook(node.type_index()) == nullptr &&
             !detail::IsObjectInstance<EnumObj>(node.type_index());
  }
}

class GraphReader {
 public:
  explicit GraphReader(const json::Value& graph) {
    auto members = graph.try_cast<json::Object>();
    if (!members.has_value()) Reject(", expected an object");
    auto root = members->Get("root_index");
    if (!root.has_value() || root->type_index() != kTVMFFIInt) {
      Reject(", expected `root_index` integer field");
    }
    auto nodes = members->Get("nodes");
    auto descriptions = nodes.has_value() ? nodes->try_cast<json::Array>() : std::nullopt;
    if (!descriptions.has_value()) Reject(", expected `nodes` array field");
    root_ = *root->as<int64_t>();
    descriptions_ = *std::move(descriptions);
    values_.resize(descriptions_.size());
    states_.resize(descriptions_.size(), State::kUntouched);
  }

  Any Read() {
    Begin(root_);
    while (!open_.empty()) {
      Open& parent = open_.back();
      if (parent.next == parent.children.size()) {
        Finish();
      } else {
        Begin(parent.children[parent.next++]);
      }
    }
    return values_[static_cast<size_t>(root_)];
  }

 private:
  enum class State : char { kUntouched, kOpen, kBuilt };
  // An entry of the explicit stack: a node whose children are being built.
  struct Open {
    int64_t index;  // index of the node in the array "nodes"
    Node node;
    std::vector<int64_t> children;  // node indices of the children
    size_t next;                    // index in `children` of the next child to build
  };

  // Builds the value of the node, or pushes the node to open_ if it has children.
  void Begin(int64_t index) {
    if (index < 0 || index >= static_cast<int64_t>(states_.size())) {
      Reject(": invalid node index " + std::to_string(index));
    }
    State state = states_[static_cast<size_t>(index)];
    if (state == State::kBuilt) return;
    if (state == State::kOpen) RejectNode(index, "contains itself");
    bool has_children = WithNode(index, [&] {
      Node node(descriptions_[index]);
      std::vector<int64_t> children = ChildrenOf(node);
      if (children.empty()) {
        Store(index, Build(node, children));
        return false;
      }
      open_.push_back({index, std::move(node), std::move(children), 0});
      return true;
    });
    if (!has_children) return;
    kJsonLimits.CheckDepth(open_.size() - 1);
    states_[static_cast<size_t>(index)] = State::kOpen;
  }

  void Finish() {
    Open done = std::move(open_.back());
    open_.pop_back();
    WithNode(done.index, [&] { Store(done.index, Build(done.node, done.children)); });
  }

  [[noreturn]] static void RejectNode(int64_t index, const std::string& reason) {
    Reject(", node " + std::to_string(index) + ": " + reason);
  }

  // Calls `body` and converts its errors to a ValueError that names the node.  Errors of
  // constructors and setters that `body` calls are converted as well.
  template <typename Body>
  static auto WithNode(int64_t index, Body&& body) -> decltype(body()) {
    try {
      return body();
    } catch (const BadNode& bad) {
      RejectNode(index, bad.reason);
    } catch (const HookError& hook_error) {
      throw hook_error.error;
    } catch (const Error& error) {
      // Rethrow the two kinds of errors that do not mean that the node is invalid: a pending
      // exception of the host language, and lack of memory.
      if (error.kind() == "EnvErrorAlreadySet" || error.kind() == "MemoryError") throw;
      throw Error(
          "ValueError",
          "Invalid JSON Object Graph, node " + std::to_string(index) + ": " + error.message(),
          error.backtrace(), std::optional<Error>(error), std::optional<ObjectRef>());
    }
  }

  void Store(int64_t index, Any value) {
    values_[static_cast<size_t>(index)] = std::move(value);
    states_[static_cast<size_t>(index)] = State::kBuilt;
  }

  static std::vector<int64_t> ChildrenOf(const Node& node) {
    std::vector<int64_t> children;
    switch (node.type_index()) {
      case kTVMFFIMap:
      case kTVMFFIDict:
      case kTVMFFIArray:
      case kTVMFFIList:
        for (const Any& index : node.DataAs<json::Array>("an array")) {
          children.push_back(node.ChildIndex(index));
        }
        break;
      default:
        if (HasFields(node)) CollectFieldChildren(node, &children);
    }
    return children;
  }

  static void CollectFieldChildren(const Node& node, std::vector<int64_t>* children) {
    json::Object fields = node.Fields();
    reflection::ForEachFieldInfo(node.type(), [&](const TVMFFIFieldInfo* field) {
      if (IsInline(field)) return;
      auto data = Node::FieldData(fields, field);
      if (data.has_value()) children->push_back(node.ChildIndex(*data));
    });
  }

  Any Build(const Node& node, const std::vector<int64_t>& children) const {
    switch (node.type_index()) {
      case kTVMFFINone:
        return Any();
      case kTVMFFIBool:
        return node.DataAs<bool>("a bool");
      case kTVMFFIInt:
        return node.DataAs<int64_t>("an integer");
      case kTVMFFIFloat:
        return node.DataAs<double>("a number");
      case kTVMFFIStr:
        return node.DataAs<String>("a string");
      case kTVMFFIBytes:
        return LeafReader::ReadBytes(node);
      case kTVMFFIDataType:
        return StringToDLDataType(node.DataAs<String>("a string"));
      case kTVMFFIDevice:
        return LeafReader::ReadDevice(node);
      case kTVMFFIShape:
        return LeafReader::ReadShape(node);
      case kTVMFFIArray:
        return BuildSequence<Array<Any>>(children);
      case kTVMFFIList:
        return BuildSequence<List<Any>>(children);
      case kTVMFFIMap:
        return BuildMap<Map<Any, Any>>(node, children);
      case kTVMFFIDict:
        return BuildMap<Dict<Any, Any>>(node, children);
      default:
        return BuildObject(node);
    }
  }

  template <typename Sequence>
  Any BuildSequence(const std::vector<int64_t>& children) const {
    Sequence sequence;
    sequence.reserve(static_cast<int64_t>(children.size()));
    for (int64_t child : children) sequence.push_back(ValueAt(child));
    return sequence;
  }

  template <typename Table>
  Any BuildMap(const Node& node, const std::vector<int64_t>& children) const {
    if (children.size() % 2 != 0) {
      node.Reject("Map/Dict data must contain an even number of [key, value] entries, got " +
                  std::to_string(children.size()));
    }
    auto key_at = [&](size_t i) -> const Any& { return ValueAt(children[2 * i]); };
    if (HaveTooManyCollisions(children.size() / 2, key_at)) node.Reject(kTooManyCollisions);
    Table table;
    for (size_t i = 0; i < children.size(); i += 2) {
      table.Set(ValueAt(children[i]), ValueAt(children[i + 1]));
    }
    return table;
  }

  Any BuildObject(const Node& node) const {
    AnyView hook = FromJsonHook(node.type_index());
    if (hook != nullptr) return CallHook(node, hook.cast<Function>());
    if (detail::IsObjectInstance<EnumObj>(node.type_index())) return LeafReader::ReadEnum(node);
    ObjectPtr<Object> object = CreateEmptyObject(node.type());
    // `object` is not null: CreateEmptyObject throws for types whose objects it cannot create, such
    // as plain values.
    json::Object fields = node.Fields();
    reflection::ForEachFieldInfo(
        node.type(), [&](const TVMFFIFieldInfo* field) { SetField(node, fields, field, object); });
    return ObjectRef(std::move(object));
  }

  static Any CallHook(const Node& node, const Function& hook) {
    const Any& data = node.Data();
    try {
      return hook(data);
    } catch (const Error& error) {
      // Hooks of built-in types throw only if the node is invalid, so WithNode reports their errors
      // as an invalid node.
      if (node.type_index() < kTVMFFIDynObjectBegin) throw;
      throw HookError{error};
    }
  }

  void SetField(const Node& node, const json::Object& fields, const TVMFFIFieldInfo* field,
                const ObjectPtr<Object>& object) const {
    if (field->setter == nullptr) {
      TVM_FFI_THROW(TypeError) << "Field " << Quoted(field->name) << " of type "
                               << Quoted(node.type()->type_key) << " has no setter";
    }
    auto data = Node::FieldData(fields, field);
    if (data.has_value()) {
      Any value = IsInline(field) ? *std::move(data) : ValueAt(node.ChildIndex(*data));
      reflection::FieldSetter setter(field);
      setter(object, value);
    } else if ((field->flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0) {
      reflection::SetFieldToDefault(field, reflection::detail::FieldAddress(object.get(), field));
    } else {
      TVM_FFI_THROW(TypeError) << "Required field " << Quoted(field->name) << " not set in type "
                               << Quoted(node.type()->type_key);
    }
  }

  const Any& ValueAt(int64_t index) const { return values_[static_cast<size_t>(index)]; }

  int64_t root_{0};
  json::Array descriptions_;
  std::vector<Any> values_;
  std::vector<State> states_;
  std::vector<Open> open_;
};

}  // namespace
}  // namespace tvm::ffi::extra

namespace tvm::ffi {

Any FromJSONGraph(const json::Value& value) { return extra::GraphReader(value).Read(); }

}  // namespace tvm::ffi
