// SPDX-License-Identifier: Apache-2.0
// Programs that misuse containers, tensor.h and optional.h.  Format: test_compile_fail.py.

// SHARED
struct Unsupported {};

// CASE array_of_c_strings: Array requires an element type that Any can store
// ACCEPTED
auto size = sizeof(Array<String>);
// REJECTED
auto size = sizeof(Array<const char*>);

// CASE array_of_borrowed_tensors: Array requires an element type that Any can store
// ACCEPTED
auto size = sizeof(Array<Tensor>);
// REJECTED
auto size = sizeof(Array<TensorView>);

// CASE list_of_c_strings: List requires an element type that Any can store
// ACCEPTED
auto size = sizeof(List<String>);
// REJECTED
auto size = sizeof(List<const char*>);

// CASE map_with_keys_that_are_c_strings: key and value types that Any can store
// ACCEPTED
auto size = sizeof(Map<String, int64_t>);
// REJECTED
auto size = sizeof(Map<const char*, int64_t>);

// CASE dict_with_values_that_are_c_strings: key and value types that Any can store
// ACCEPTED
auto size = sizeof(Dict<String, String>);
// REJECTED
auto size = sizeof(Dict<String, const char*>);

// CASE tuple_of_c_strings: Tuple requires element types that Any can store
// ACCEPTED
auto size = sizeof(Tuple<int64_t, String>);
// REJECTED
auto size = sizeof(Tuple<int64_t, const char*>);

// CASE variant_of_c_strings: Variant requires alternatives that Any can store
// ACCEPTED
auto size = sizeof(Variant<int64_t, String>);
// REJECTED
auto size = sizeof(Variant<int64_t, const char*>);

// CASE array_narrows_its_element_type: {no_conversion}
// ACCEPTED
Array<Any> Convert(const Array<String>& array) { return array; }
// REJECTED
Array<String> Convert(const Array<Any>& array) { return array; }

// CASE list_narrows_its_element_type: {no_conversion}
// ACCEPTED
List<Any> Convert(const List<String>& list) { return list; }
// REJECTED
List<String> Convert(const List<Any>& list) { return list; }

// CASE map_narrows_its_value_type: {no_conversion}
// ACCEPTED
Map<String, Any> Convert(const Map<String, Shape>& map) { return map; }
// REJECTED
Map<String, Shape> Convert(const Map<String, Any>& map) { return map; }

// CASE list_shares_an_array: {no_conversion}
// ACCEPTED
List<int64_t> Convert(const List<int64_t>& list) { return list; }
// REJECTED
List<int64_t> Convert(const Array<int64_t>& list) { return list; }

// CASE dict_shares_a_map: {no_conversion}
// ACCEPTED
Dict<String, int64_t> Convert(const Dict<String, int64_t>& dict) { return dict; }
// REJECTED
Dict<String, int64_t> Convert(const Map<String, int64_t>& dict) { return dict; }

// CASE array_element_is_not_an_lvalue: {lvalue}
// ACCEPTED
void Change(Array<int64_t>& array) { array.Set(0, 1); }
// REJECTED
void Change(Array<int64_t>& array) { array[0] = 1; }

// CASE array_of_a_range_of_another_type: the elements of the range do not convert to T
// ACCEPTED
Array<int64_t> Make(const std::vector<int64_t>& v) { return {v.begin(), v.end()}; }
// REJECTED
Array<String> Make(const std::vector<int64_t>& v) { return {v.begin(), v.end()}; }

// CASE list_is_never_copied_on_write: {no_member}
// ACCEPTED
void Own(Array<int64_t>& sequence) { sequence.CopyOnWrite(); }
// REJECTED
void Own(List<int64_t>& sequence) { sequence.CopyOnWrite(); }

// CASE array_is_mutated_to_another_type: {no_match}
// ACCEPTED
void Change(Array<int64_t>& array) {
  array.MutateByApply([](int64_t value) { return value + 1; });
}
// REJECTED
void Change(Array<int64_t>& array) {
  array.MutateByApply([](int64_t) { return String("1"); });
}

// CASE map_is_looked_up_with_another_type: {no_conversion}
// ACCEPTED
int64_t Find(const Map<String, int64_t>& map) { return map["key"]; }
// REJECTED
int64_t Find(const Map<String, int64_t>& map) { return map[Shape({1})]; }

// CASE map_is_changed_through_an_index: {lvalue}
// ACCEPTED
void Change(Map<String, int64_t>& map) { map.Set("key", 1); }
// REJECTED
void Change(Map<String, int64_t>& map) { map["key"] = 1; }

// CASE map_iterator_has_no_arrow_operator: {no_member}
// ACCEPTED
int64_t First(const Map<String, int64_t>& map) { return (*map.begin()).second; }
// REJECTED
int64_t First(const Map<String, int64_t>& map) { return map.begin()->second; }

// CASE table_object_has_no_public_constructor: {deleted}
// ACCEPTED
auto map = make_object<ArrayObj>();
// REJECTED
auto map = make_object<MapBaseObj>();

// CASE tuple_with_too_few_values: {no_match}
// ACCEPTED
Tuple<int64_t, String> tuple(1, "text");
// REJECTED
Tuple<int64_t, String> tuple(1);

// CASE tuple_with_another_type: {no_match}
// ACCEPTED
Tuple<int64_t, String> tuple(1, "text");
// REJECTED
Tuple<int64_t, String> tuple(1, Shape({1}));

// CASE tuple_of_another_length: {no_conversion}
// ACCEPTED
Tuple<Any, Any> Convert(const Tuple<int64_t, String>& tuple) { return tuple; }
// REJECTED
Tuple<Any> Convert(const Tuple<int64_t, String>& tuple) { return tuple; }

// CASE tuple_element_out_of_range: tuple
// ACCEPTED
auto Last(const Tuple<int64_t, String>& tuple) { return tuple.get<1>(); }
// REJECTED
auto Last(const Tuple<int64_t, String>& tuple) { return tuple.get<2>(); }

// CASE variant_has_no_default: {no_match}
// ACCEPTED
Variant<int64_t, String> variant(int64_t{1});
// REJECTED
Variant<int64_t, String> variant;

// CASE variant_from_another_type: {no_conversion}
// ACCEPTED
Variant<int64_t, String> Make() { return String("text"); }
// REJECTED
Variant<int64_t, String> Make() { return Shape({1}); }

// CASE variant_without_alternatives: a Variant has at least one alternative
// ACCEPTED
auto size = sizeof(Variant<Any>);
// REJECTED
auto size = sizeof(Variant<>);

// CASE shape_from_numbers_of_another_type: {no_conversion}
// ACCEPTED
Shape Make(const Array<int64_t>& extents) { return extents; }
// REJECTED
Shape Make(const Array<double>& extents) { return extents; }

// CASE view_of_a_temporary_tensor: {deleted}
Tensor Make();
// ACCEPTED
int32_t Rank() {
  Tensor tensor = Make();
  return TensorView(tensor).ndim();
}
// REJECTED
int32_t Rank() { return TensorView(Make()).ndim(); }

// CASE any_keeps_a_borrowed_tensor: a TensorView does not own its tensor
// ACCEPTED
Any Keep(const Tensor& tensor) { return tensor; }
// REJECTED
Any Keep(const TensorView& tensor) { return tensor; }

// CASE optional_from_another_type: {no_conversion}
// ACCEPTED
Optional<String> Make() { return String("text"); }
// REJECTED
Optional<String> Make() { return 1; }

// CASE optional_from_another_optional: {no_conversion}
// ACCEPTED
Optional<Shape> Make(const std::optional<Shape>& shape) { return shape; }
// REJECTED
Optional<Shape> Make(const std::optional<String>& shape) { return shape; }

// CASE optional_is_not_its_value: {no_conversion}
// ACCEPTED
int64_t Value(const Optional<int64_t>& optional) { return *optional; }
// REJECTED
int64_t Value(const Optional<int64_t>& optional) { return optional; }

// CASE optional_value_is_not_an_lvalue: {lvalue}
// ACCEPTED
void Change(Optional<int64_t>& optional) { optional = 1; }
// REJECTED
void Change(Optional<int64_t>& optional) { *optional = 1; }

// CASE optional_view_is_not_null: {no_conversion}
// ACCEPTED
Optional<TensorView> Make() { return std::nullopt; }
// REJECTED
Optional<TensorView> Make() { return nullptr; }

// CASE optional_with_another_default: {no_conversion}|{no_match}
// ACCEPTED
String Value(const Optional<String>& optional) { return optional.value_or("text"); }
// REJECTED
String Value(const Optional<String>& optional) { return optional.value_or(Shape({1})); }

// CASE optional_compared_with_another_type: {no_match}
// ACCEPTED
bool Compare(const Optional<int64_t>& optional) { return optional == 1; }
// REJECTED
bool Compare(const Optional<int64_t>& optional) { return optional == "1"; }
