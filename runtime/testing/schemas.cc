// SPDX-License-Identifier: Apache-2.0
// Test functions for each kind of type schema, and a class with a field of each kind.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/reflection/registry.h>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

template <typename T>
T Identity(T value) {
  return value;
}

using Numbers = Array<int64_t>;
using NumbersByName = Map<String, Numbers>;

// Returns `map`.  If `name` is given, first sets the value of that name to the numbers that are not
// None.
NumbersByName AddPresent(const Array<Optional<int64_t>>& numbers, NumbersByName map,
                         const Optional<String>& name) {
  if (!name.has_value()) return map;
  Numbers present;
  for (const Optional<int64_t>& number : numbers) {
    if (number.has_value()) present.push_back(*number);
  }
  map.Set(*name, present);
  return map;
}

class SchemaAllTypesObj : public Object {
 public:
  bool v_bool = true;
  int64_t v_int;
  double v_float;
  DLDevice v_device = {kDLCPU, 0};
  DLDataType v_dtype = {kDLFloat, 32, 1};
  String v_string;
  Bytes v_bytes;
  Optional<int64_t> v_opt_int;
  Optional<String> v_opt_str;
  Array<int64_t> v_arr_int;
  Array<String> v_arr_str;
  Map<String, int64_t> v_map_str_int;
  NumbersByName v_map_str_arr_int;
  Variant<String, Numbers, Map<String, int64_t>> v_variant = String("v");
  Optional<Array<Variant<int64_t, String>>> v_opt_arr_variant;

  SchemaAllTypesObj(int64_t v_int, double v_float, String v_string)
      : v_int(v_int), v_float(v_float), v_string(std::move(v_string)) {}

  int64_t AddInt(int64_t other) const { return v_int + other; }
  Numbers AppendInt(Numbers numbers, int64_t number) const {
    numbers.push_back(number);
    return numbers;
  }
  Optional<String> MaybeConcat(const Optional<String>& first,
                               const Optional<String>& second) const {
    if (first.has_value() && second.has_value()) return *first + *second;
    return first.has_value() ? first : second;
  }
  // Returns a map in which the arrays with equal names are concatenated.
  NumbersByName MergeMap(NumbersByName merged, const NumbersByName& other) const {
    for (const auto& [name, numbers] : other) {
      Numbers all = merged.Get(name).value_or(Numbers());
      for (int64_t number : numbers) all.push_back(number);
      merged.Set(name, all);
    }
    return merged;
  }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("testing.SchemaAllTypes", SchemaAllTypesObj, Object);
};

class SchemaAllTypes : public ObjectRef {
 public:
  SchemaAllTypes(int64_t v_int, double v_float, String v_string)
      : ObjectRef(make_object<SchemaAllTypesObj>(v_int, v_float, std::move(v_string))) {}
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(SchemaAllTypes, ObjectRef, SchemaAllTypesObj);
};

refl::Metadata ExampleMetadata() {
  return refl::Metadata{{"bool_attr", true}, {"int_attr", 1}, {"str_attr", "hello"}};
}

void RegisterClass() {
  using Class = SchemaAllTypesObj;
  refl::ObjectDef<Class>(refl::init(false))
      .def_rw("v_bool", &Class::v_bool, "bool field", ExampleMetadata())
      .def_rw("v_int", &Class::v_int, refl::DefaultValue(0), "int field")
      .def_rw("v_float", &Class::v_float, refl::DefaultValue(0.0), "float field")
      .def_rw("v_device", &Class::v_device, "device field")
      .def_rw("v_dtype", &Class::v_dtype, "dtype field")
      .def_rw("v_string", &Class::v_string, refl::DefaultValue("s"), "string field")
      .def_rw("v_bytes", &Class::v_bytes, "bytes field")
      .def_rw("v_opt_int", &Class::v_opt_int, "optional int")
      .def_rw("v_opt_str", &Class::v_opt_str, "optional str")
      .def_rw("v_arr_int", &Class::v_arr_int, "array<int>")
      .def_rw("v_arr_str", &Class::v_arr_str, "array<str>")
      .def_rw("v_map_str_int", &Class::v_map_str_int, "map<str,int>")
      .def_rw("v_map_str_arr_int", &Class::v_map_str_arr_int, "map<str,array<int>>")
      .def_rw("v_variant", &Class::v_variant, "variant<str,array<int>,map<str,int>>")
      .def_rw("v_opt_arr_variant", &Class::v_opt_arr_variant, "optional<array<variant<int,str>>>")
      .def("add_int", &Class::AddInt, "add int method", ExampleMetadata())
      .def("append_int", &Class::AppendInt, "append int to array")
      .def("maybe_concat", &Class::MaybeConcat, "optional concat")
      .def("merge_map", &Class::MergeMap, "merge maps")
      .def_static(
          "make_with",
          [](int64_t v_int, double v_float, const String& v_string) {
            return SchemaAllTypes(v_int, v_float, v_string);
          },
          "Constructor with subset of fields");
}

void RegisterPlainIdentities() {
  refl::GlobalDef()
      .def("testing.schema_id_int", Identity<int64_t>, ExampleMetadata())
      .def("testing.schema_id_float", Identity<double>)
      .def("testing.schema_id_bool", Identity<bool>)
      .def("testing.schema_id_device", Identity<DLDevice>)
      .def("testing.schema_id_dtype", Identity<DLDataType>)
      .def("testing.schema_id_string", Identity<String>)
      .def("testing.schema_id_bytes", Identity<Bytes>)
      .def("testing.schema_id_func", Identity<Function>)
      .def("testing.schema_id_func_typed", Identity<TypedFunction<void(int64_t, float, Function)>>)
      .def("testing.schema_id_any", Identity<Any>)
      .def("testing.schema_id_object", Identity<ObjectRef>)
      .def("testing.schema_id_dltensor", Identity<DLTensor*>)
      .def("testing.schema_id_tensor", Identity<Tensor>)
      .def("testing.schema_id_opt_int", Identity<Optional<int64_t>>)
      .def("testing.schema_id_opt_str", Identity<Optional<String>>)
      .def("testing.schema_id_opt_obj", Identity<Optional<ObjectRef>>)
      .def("testing.schema_id_variant_int_str", Identity<Variant<int64_t, String>>)
      .def("testing.schema_variant_mix", Identity<Variant<int64_t, String, Numbers>>);
}

void RegisterContainerIdentities() {
  refl::GlobalDef()
      .def("testing.schema_id_arr_int", Identity<Numbers>)
      .def("testing.schema_id_arr_str", Identity<Array<String>>)
      .def("testing.schema_id_arr_obj", Identity<Array<ObjectRef>>)
      .def("testing.schema_id_arr", Identity<const ArrayObj*>)
      .def("testing.schema_id_list_int", Identity<List<int64_t>>)
      .def("testing.schema_id_list_str", Identity<List<String>>)
      .def("testing.schema_id_list_obj", Identity<List<ObjectRef>>)
      .def("testing.schema_id_map_str_int", Identity<Map<String, int64_t>>)
      .def("testing.schema_id_map_str_str", Identity<Map<String, String>>)
      .def("testing.schema_id_map_str_obj", Identity<Map<String, ObjectRef>>)
      .def("testing.schema_id_map", Identity<const MapObj*>)
      .def("testing.schema_id_dict_str_int", Identity<Dict<String, int64_t>>)
      .def("testing.schema_id_dict_str_str", Identity<Dict<String, String>>);
}

void RegisterOtherFunctions() {
  refl::GlobalDef()
      .def("testing.schema_arr_map_opt", AddPresent)
      .def("testing.schema_no_args", []() -> int64_t { return 1; })
      .def("testing.schema_no_return", [](int64_t) {})
      .def("testing.schema_no_args_no_return", [] {})
      .def("testing.schema_tensor_view_input", [](const TensorView&) {})
      .def_packed("testing.schema_packed", [](PackedArgs, Any*) {});
}

TVM_FFI_STATIC_INIT_BLOCK() {
  RegisterClass();
  RegisterPlainIdentities();
  RegisterContainerIdentities();
  RegisterOtherFunctions();
}

}  // namespace
