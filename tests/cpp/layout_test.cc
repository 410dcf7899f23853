// SPDX-License-Identifier: Apache-2.0
// Sizes and offsets that libraries built with other headers rely on.  The static assertions are the
// test.
#include <doctest/doctest.h>
#include <tvm/ffi/cast.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/container/variant.h>
#include <tvm/ffi/expected.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/rvalue_ref.h>

using namespace tvm::ffi;

static_assert(sizeof(Object) == 24 && alignof(Object) == 8);
static_assert(sizeof(ObjectPtr<Object>) == 8 && sizeof(Arc<Object>) == 8);
static_assert(sizeof(WeakObjectPtr<Object>) == 8 && sizeof(ObjectRef) == 8);
static_assert(sizeof(Function) == 8 && sizeof(TypedFunction<int(int)>) == 8);
static_assert(sizeof(Tensor) == 8 && sizeof(Shape) == 8);
static_assert(sizeof(Array<Any>) == 8 && sizeof(List<Any>) == 8);
static_assert(sizeof(RValueRef<ObjectRef>) == 8);

static_assert(sizeof(Any) == 16 && sizeof(AnyView) == 16);
static_assert(std::is_standard_layout_v<Any> && std::is_trivially_copyable_v<AnyView>);
static_assert(sizeof(String) == 16 && sizeof(Bytes) == 16);
static_assert(sizeof(Expected<int>) == 16 && sizeof(Expected<void>) == 16);
static_assert(sizeof(std::pair<Any, Any>) == 32);

static_assert(sizeof(Error) == 16);
static_assert(sizeof(ErrorObj) == 96 && sizeof(FunctionObj) == 40);
static_assert(sizeof(detail::StringObj) == 40 && sizeof(detail::BytesObj) == 40);
static_assert(sizeof(detail::BytesObjStdImpl<detail::StringObj>) == 40 + sizeof(std::string));
static_assert(sizeof(SeqBaseObj) == 56 && sizeof(ArrayObj) == 56 && sizeof(ListObj) == 56);
static_assert(sizeof(ShapeObj) == 40 && sizeof(TensorObj) == 72);
static_assert(sizeof(TensorView) == 48 && std::is_standard_layout_v<TensorView>);
static_assert(sizeof(ShapeView) == 16 && sizeof(PackedArgs) == 16);

static_assert(sizeof(Optional<ObjectRef>) == 8 && sizeof(Optional<Array<int>>) == 8);
static_assert(sizeof(Optional<ObjectPtr<Object>>) == 8 && sizeof(Optional<Arc<Object>>) == 8);
static_assert(sizeof(Optional<int>) == 16 && sizeof(Optional<String>) == 16);
static_assert(sizeof(Optional<DLDataType>) == 16 && sizeof(Optional<bool>) == 16);
static_assert(sizeof(Optional<TensorView>) == 56 && sizeof(Optional<DLTensor*>) == 16);

TEST_CASE("cells follow the header") {
  ErrorObj error;
  const char* base = reinterpret_cast<const char*>(static_cast<Object*>(&error));
  CHECK_EQ(reinterpret_cast<const char*>(&error.kind) - base, 24);
  CHECK_EQ(reinterpret_cast<const char*>(&error.update_backtrace) - base, 72);
  CHECK_EQ(reinterpret_cast<const char*>(&error.extra_context) - base, 88);
}

TEST_CASE("error base classes are in the expected order") {
  Error error("Kind", "text", "");
  const char* base = reinterpret_cast<const char*>(&error);
  CHECK_EQ(reinterpret_cast<const char*>(static_cast<std::exception*>(&error)) - base, 0);
  CHECK_EQ(reinterpret_cast<const char*>(static_cast<ObjectRef*>(&error)) - base, 8);
  CHECK_EQ(typeid(Error).name(), std::string("N3tvm3ffi5ErrorE"));
}

template <typename T>
std::string MangledName() {
  return typeid(T).name();
}

// Mangled names of functions with these parameters contain the class names.
TEST_CASE("mangled names") {
  CHECK_EQ(MangledName<Array<int>>(), "N3tvm3ffi5ArrayIivEE");
  CHECK_EQ(MangledName<List<int>>(), "N3tvm3ffi4ListIivEE");
  CHECK_EQ((MangledName<Map<int, int>>()), "N3tvm3ffi3MapIiivEE");
  CHECK_EQ((MangledName<Dict<int, int>>()), "N3tvm3ffi4DictIiivEE");
  CHECK_EQ(MangledName<Optional<Array<int>>>(), "N3tvm3ffi8OptionalINS0_5ArrayIivEEvEE");
  CHECK_EQ((MangledName<Tuple<int, int>>()), "N3tvm3ffi5TupleIJiiEEE");
  CHECK_EQ((MangledName<Variant<int, String>>()), "N3tvm3ffi7VariantIJiNS0_6StringEEEE");
  CHECK_EQ(MangledName<Expected<int>>(), "N3tvm3ffi8ExpectedIiEE");
  CHECK_EQ(MangledName<TypedFunction<int(int)>>(), "N3tvm3ffi13TypedFunctionIFiiEEE");
}
