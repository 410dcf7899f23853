// SPDX-License-Identifier: Apache-2.0
// Kernels that keep all rules, in C++: the headers inline counting, containers and calls.
#include <tvm/ffi/tvm_ffi.h>

namespace ffi = tvm::ffi;

static ffi::String greet(ffi::String name) {
  if (name.empty()) TVM_FFI_THROW(ValueError) << "`name` is empty";
  return "hello, " + std::string(name);
}

static ffi::Array<int64_t> append(ffi::Array<int64_t> items, int64_t item) {
  items.push_back(item);  // copies: the caller has a reference
  return items;
}

static int64_t sum_values(ffi::Map<ffi::Any, int64_t> map) {
  int64_t sum = 0;
  for (auto [key, value] : map) sum += value;
  return sum;
}

static ffi::Any lookup(ffi::Map<ffi::Any, ffi::Any> map, ffi::Any key) { return map.at(key); }

// Changes a Dict of the reference in place, from small to dense and through several sizes.
static void fill_dict(ffi::Dict<int64_t, ffi::Any> dict, int64_t count) {
  for (int64_t i = 0; i < count; ++i)
    dict.Set(i * 7919, ffi::String(std::to_string(i) + " squared"));
  for (int64_t i = 0; i < count; i += 3) dict.erase(i * 7919);
}

static ffi::Dict<int64_t, int64_t> new_dict(int64_t count) {
  ffi::Dict<int64_t, int64_t> dict;
  for (int64_t i = 0; i < count; ++i) dict.Set(i * 7919, i);
  return dict;
}

// Replaces the buffer of a List of the reference.
static void extend_list(ffi::List<ffi::Any> list, int64_t count) {
  for (int64_t i = 0; i < count; ++i) list.push_back(i);
}

static ffi::Any call(ffi::Function function, ffi::Any argument) { return function(argument); }

static ffi::String caught(ffi::Function function) {
  try {
    function();
  } catch (const ffi::Error& error) {
    return error.kind() + "/" + error.message();
  }
  return "none";
}

static ffi::Function multiplier(int64_t factor) {
  return ffi::Function::FromTyped([factor](int64_t value) { return factor * value; });
}

// The destructor of a static object releases the string after the interpreter has ended.
static void keep_until_exit(ffi::String text) {
  static ffi::Any kept;
  kept = text;
}

class PointObj : public ffi::Object {
 public:
  int64_t x = 0;
  ffi::String label;
  PointObj(int64_t x, ffi::String label) : x(x), label(label) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("conformance.Point", PointObj, ffi::Object);
};
class Point : public ffi::ObjectRef {
 public:
  Point(int64_t x, ffi::String label) { data_ = ffi::make_object<PointObj>(x, label); }
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Point, ffi::ObjectRef, PointObj);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  ffi::reflection::GlobalDef().def("conformance.twice", [](int64_t value) { return 2 * value; });
}

TVM_FFI_DLL_EXPORT_TYPED_FUNC(greet, greet);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(append, append);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(sum_values, sum_values);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(lookup, lookup);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(fill_dict, fill_dict);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(new_dict, new_dict);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(extend_list, extend_list);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(call, call);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(caught, caught);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(multiplier, multiplier);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(keep_until_exit, keep_until_exit);
TVM_FFI_DLL_EXPORT_TYPED_FUNC(new_point, [](int64_t x) { return Point(x, "a label on the heap"); });
TVM_FFI_DLL_EXPORT_TYPED_FUNC(point_x, [](Point point) { return point->x; });
