// SPDX-License-Identifier: Apache-2.0
// Automatic constructors: the "__ffi_init__" of types that declare none.  Its arguments are the
// fields by position and, after the KWARGS sentinel, by name.
#include <tvm/ffi/reflection/creator.h>
#include <tvm/ffi/reflection/registry.h>

#include <algorithm>
#include <string>
#include <vector>

#include "reflection/registered_type.h"
#include "registration.h"

namespace tvm::ffi {
namespace {

using reflection::CallFieldSetter;

// A set of indices of fields.  Types with up to 64 fields need no allocation.
class FieldSet {
 public:
  explicit FieldSet(size_t num_fields) : more_(num_fields > 64 ? num_fields : 0) {}
  bool operator[](size_t i) const { return more_.empty() ? (first_ >> i & 1) != 0 : more_[i]; }
  void Add(size_t i) {
    if (more_.empty()) {
      first_ |= uint64_t{1} << i;
    } else {
      more_[i] = true;
    }
  }

 private:
  uint64_t first_ = 0;
  std::vector<bool> more_;
};

class AutoInit {
 public:
  AutoInit(const TypeInfo* type, extra::MakeEmptyObject make, size_t size)
      : type_(type), make_(make), size_(size) {
    reflection::ForEachFieldInfo(type, [&](const TVMFFIFieldInfo* field) { Add(*field); });
    std::stable_partition(positional_.begin(), positional_.end(),
                          [&](size_t i) { return !HasDefault(fields_[i]); });
  }

  void operator()(PackedArgs args, Any* rv) const {
    ObjectPtr<Object> object =
        make_ != nullptr ? make_(type_->type_index, size_) : CreateEmptyObject(type_);
    int num_positional = FindKwargs(args);
    if (static_cast<size_t>(num_positional) > positional_.size()) ThrowTooMany(num_positional);
    FieldSet is_set(fields_.size());
    for (int i = 0; i < num_positional; ++i) {
      size_t field = positional_[static_cast<size_t>(i)];
      Set(object.get(), field, args[i]);
      is_set.Add(field);
    }
    SetNamed(object.get(), args, num_positional + 1, &is_set);
    SetDefaults(object.get(), is_set);
    *rv = ObjectRef(std::move(object));
  }

 private:
  static bool HasDefault(const TVMFFIFieldInfo& field) {
    return (field.flags & kTVMFFIFieldFlagBitMaskHasDefault) != 0;
  }
  static bool IsParameter(const TVMFFIFieldInfo& field) {
    return (field.flags & kTVMFFIFieldFlagBitMaskInitOff) == 0;
  }
  static std::string NameOf(const TVMFFIFieldInfo& field) {
    return std::string(field.name.data, field.name.size);
  }

  // Copies the field info: the type table never frees the strings and the default that it points
  // to, but may move the array when more fields are registered.
  void Add(const TVMFFIFieldInfo& field) {
    bool is_keyword_only = (field.flags & kTVMFFIFieldFlagBitMaskKwOnly) != 0;
    if (IsParameter(field) && !is_keyword_only) positional_.push_back(fields_.size());
    fields_.push_back(field);
  }

  // Returns the index of the KWARGS sentinel, or the number of arguments if there is no sentinel.
  static int FindKwargs(PackedArgs args) {
    static const auto* sentinel =
        new ObjectRef(Function::GetGlobalRequired("ffi.GetKwargsObject")().cast<ObjectRef>());
    for (int i = 0; i < args.size(); ++i) {
      TVMFFIAny arg = args[i].CopyToTVMFFIAny();
      if (arg.type_index == kTVMFFIObject &&
          arg.v_obj == detail::ObjectUnsafe::TVMFFIObjectPtrFromObjectRef(*sentinel)) {
        return i;
      }
    }
    return args.size();
  }

  void SetNamed(const Object* object, PackedArgs args, int first, FieldSet* is_set) const {
    if (first < args.size() && (args.size() - first) % 2 != 0) {
      Throw("KWARGS requires an even number of key-value arguments");
    }
    for (int i = first; i < args.size(); i += 2) {
      std::string name = args[i].cast<String>();
      size_t field = FindParameter(name);
      if ((*is_set)[field]) Throw("got multiple values for argument '" + name + "'");
      Set(object, field, args[i + 1]);
      is_set->Add(field);
    }
  }
  size_t FindParameter(const std::string& name) const {
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (IsParameter(fields_[i]) && NameOf(fields_[i]) == name) return i;
    }
    Throw("got an unexpected keyword argument '" + name + "'");
  }

  // Sets the default of each field without a value; throws if a parameter without a default is
  // missing. A field that is not a parameter and has no default keeps its value in the newly
  // created object.
  void SetDefaults(const Object* object, const FieldSet& is_set) const {
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (is_set[i]) continue;
      if (HasDefault(fields_[i])) {
        SetDefault(object, i);
      } else if (IsParameter(fields_[i])) {
        ThrowMissing(fields_[i]);
      }
    }
  }
  // Sets the default of a field.  Does not change an error of a default factory.  Replaces an error
  // of the setter by an error that names the field.
  void SetDefault(const Object* object, size_t field) const {
    const TVMFFIFieldInfo& info = fields_[field];
    AnyView value = AnyView::CopyFromTVMFFIAny(info.default_value_or_factory);
    Any made;
    if ((info.flags & kTVMFFIFieldFlagBitMaskDefaultFromFactory) != 0) {
      made = value.cast<Function>()();
      value = made;
    }
    TVMFFIAny raw = value.CopyToTVMFFIAny();
    Check(field, "default for field '", CallFieldSetter(&info, Address(object, field), &raw));
  }
  void Set(const Object* object, size_t field, AnyView value) const {
    TVMFFIAny raw = value.CopyToTVMFFIAny();
    Check(field, "field '", CallFieldSetter(&fields_[field], Address(object, field), &raw));
  }
  void* Address(const Object* object, size_t field) const {
    return reinterpret_cast<char*>(detail::ObjectUnsafe::GetHeader(object)) + fields_[field].offset;
  }

  void Check(size_t field, const char* role, int status) const {
    if (TVM_FFI_PREDICT_FALSE(status != 0)) ThrowFromSetter(fields_[field], role);
  }
  // Throws an error of the same kind as the setter's error, with the name of the field.  The error
  // of the setter becomes the cause of the new error.
  [[noreturn]] TVM_FFI_COLD_CODE void ThrowFromSetter(const TVMFFIFieldInfo& field,
                                                      const char* role) const {
    Error cause = detail::MoveFromSafeCallRaised();
    std::string message = Prefix() + role + NameOf(field) + "':\n  " + std::string(cause.message());
    throw Error(cause.kind(), message, cause.backtrace(), cause, std::nullopt);
  }
  [[noreturn]] TVM_FFI_COLD_CODE void ThrowMissing(const TVMFFIFieldInfo& field) const {
    bool is_keyword_only = (field.flags & kTVMFFIFieldFlagBitMaskKwOnly) != 0;
    Throw(std::string("missing required ") + (is_keyword_only ? "keyword-only " : "") +
          "argument: '" + NameOf(field) + "'");
  }
  [[noreturn]] TVM_FFI_COLD_CODE void ThrowTooMany(int given) const {
    Throw("takes at most " + std::to_string(positional_.size()) + " positional argument(s), but " +
          std::to_string(given) + " were given");
  }
  [[noreturn]] TVM_FFI_COLD_CODE void Throw(const std::string& text) const {
    TVM_FFI_THROW(TypeError) << Prefix() << text;
    TVM_FFI_UNREACHABLE();
  }
  std::string Prefix() const {
    return std::string(type_->type_key.data, type_->type_key.size) + ".__ffi_init__() ";
  }

  const TypeInfo* type_;
  // The function that creates an empty object; null to call CreateEmptyObject.
  extra::MakeEmptyObject make_;
  size_t size_;                          // size of an object in bytes, an argument of make_
  std::vector<TVMFFIFieldInfo> fields_;  // all fields, with the fields of ancestors first
  std::vector<size_t> positional_;       // parameters, as indices in fields_; required ones first
};

// Registers the automatic constructor, unless the type cannot create empty objects.
void RegisterInit(int64_t type_index) {
  const TypeInfo* type = extra::RegisteredType(type_index);
  if (HasCreator(type)) extra::RegisterInitOf(type, nullptr, 0);
}

}  // namespace

void extra::RegisterInitOf(const TypeInfo* type, MakeEmptyObject make, size_t size) {
  reflection::detail::RegisterTypeAttr(type->type_index, type_attr::kInit.name,
                                       Function::FromPacked(AutoInit(type, make, size)));
}

void extra::RegisterAutoInit() {
  reflection::EnsureTypeAttrColumn(type_attr::kNew);
  reflection::EnsureTypeAttrColumn(type_attr::kInit);
  reflection::GlobalDef().def("ffi._RegisterFFIInit", &RegisterInit);
}

}  // namespace tvm::ffi
