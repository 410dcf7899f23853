// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <tvm/ffi/any.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/device.h>
#include <tvm/ffi/dtype.h>
#include <tvm/ffi/function.h>

#include <sstream>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

TEST_CASE("values have the type indices of the contract") {
  CHECK_EQ(Any().type_index(), kTVMFFINone);
  CHECK_EQ(Any(nullptr).type_index(), kTVMFFINone);
  CHECK_EQ(Any(true).type_index(), kTVMFFIBool);
  CHECK_EQ(Any(1).type_index(), kTVMFFIInt);
  CHECK_EQ(Any(1.0f).type_index(), kTVMFFIFloat);
  CHECK_EQ(Any(static_cast<void*>(nullptr)).type_index(), kTVMFFIOpaquePtr);
  CHECK_EQ(Any(DLDataType{kDLInt, 8, 1}).type_index(), kTVMFFIDataType);
  CHECK_EQ(Any(DLDevice{kDLCPU, 0}).type_index(), kTVMFFIDevice);
  CHECK_EQ(AnyView("text").type_index(), kTVMFFIRawStr);
  CHECK_EQ(Any("text").type_index(), kTVMFFISmallStr);
  CHECK_EQ(Any(std::string("text")).type_index(), kTVMFFIStr);
  CHECK_EQ(Any(ObjectRef()).type_index(), kTVMFFINone);
  CHECK_EQ(Any(kDLCUDA).type_index(), kTVMFFIInt);
}

TEST_CASE("casts follow the conversion table") {
  CHECK_EQ(Any(true).cast<int>(), 1);
  CHECK_EQ(Any(2).cast<bool>(), true);
  CHECK_EQ(Any(2).cast<double>(), 2.0);
  CHECK_EQ(Any(3).cast<DLDeviceType>(), kDLCUDAHost);
  CHECK(Any().cast<void*>() == nullptr);
  CHECK_EQ(AnyView("cuda:1").cast<DLDevice>().device_id, 1);
  CHECK_EQ(Any("metal").cast<DLDevice>().device_type, kDLMetal);
  CHECK(Any("int8").cast<DLDataType>() == (DLDataType{kDLInt, 8, 1}));
  CHECK_EQ(Any("text").cast<std::string>(), "text");
  CHECK(!Any(1.5).try_cast<int>().has_value());
  CHECK(!Any(1).as<bool>().has_value());
  CHECK(!Any(1).try_cast<StrictBool>().has_value());
  CHECK(!Any("cpu:x").try_cast<DLDevice>().has_value());
  CHECK(!Any(Bytes("a", 1)).try_cast<String>().has_value());
}

TEST_CASE("failed casts have exact messages") {
  CHECK_EQ(Thrown([] { Any(1.5).cast<int>(); }),
           "TypeError: Cannot convert from type `float` to `int`");
  CHECK_EQ(Thrown([] { Any("abc").cast<int>(); }),
           "TypeError: Cannot convert from type `ffi.SmallStr` to `int`");
  CHECK_EQ(Thrown([] { Any(1).as_or_throw<String>(); }),
           "TypeError: Cannot treat type `int` as type `str`");
  CHECK_EQ(Thrown([] { Any(~uint64_t{0}); }),
           "OverflowError: Integer value 18446744073709551615 is too large to fit in int64_t. "
           "Consider explicitly casting to int64_t first if this is intentional.");
  CHECK_EQ(Thrown([] {
             DLTensor tensor{};
             Any any(&tensor);
           }),
           "RuntimeError: DLTensor* cannot be held in Any as it does not retain ownership, use "
           "Tensor instead");
  CHECK_EQ(Thrown([] { Any("nonsense").try_cast<DLDataType>(); }).substr(0, 10), "ValueError");
}

TEST_CASE("rvalue casts move the value out") {
  Function function = Function::FromTyped([] { return 1; });
  Any any(function);
  CHECK_EQ(function.use_count(), 2);
  Function moved = std::move(any).cast<Function>();
  CHECK_EQ(function.use_count(), 2);
  CHECK(any == nullptr);
  any = function;
  CHECK(any.same_as(function));
  any = 5;
  CHECK_EQ(function.use_count(), 2);
}

TEST_CASE("hashes equal published vectors") {
  AnyHash hash;
  CHECK_EQ(hash(Any()), 0x000000009e3779b9u);
  CHECK_EQ(hash(Any(-1)), 0x000000009e3779f9u);
  CHECK_EQ(hash(Any(42)), 0x000000009e377a22u);
  CHECK_EQ(hash(Any(INT64_MIN)), 0x800000009e3779f8u);
  CHECK_EQ(hash(Any(false)), 0x000000009e377a3bu);
  CHECK_EQ(hash(Any("")), 0x000000009e378a48u);
  CHECK_EQ(hash(Any("abcdefg")), 0x000000010369b975u);
  CHECK_EQ(hash(Any(std::string("abcdefg"))), 0x000000010369b975u);
  CHECK_EQ(hash(Any("abcdefgh")), 0x00000000d369b977u);
}

TEST_CASE("equality distinguishes types") {
  AnyEqual equal;
  CHECK(!equal(Any(1), Any(true)));
  CHECK(!equal(Any(1), Any(1.0)));
  CHECK(!equal(Any(0.0), Any(-0.0)));
  CHECK(!equal(Any("a"), Any(Bytes("a", 1))));
  CHECK(equal(Any(Bytes("a", 1)), Any(Bytes(std::string("a")))));
}

TEST_CASE("dtype abbreviations") {
  CHECK_EQ(DTypeAbbrev({kDLInt, 32, 1}), "i32");
  CHECK_EQ(DTypeAbbrev({kDLUInt, 8, 1}), "u8");
  CHECK_EQ(DTypeAbbrev({kDLFloat, 16, 4}), "f16x4");
  CHECK_EQ(DTypeAbbrev({kDLBfloat, 16, 1}), "bf16");
  CHECK_EQ(DTypeAbbrev({kDLBool, 8, 1}), "bool");
  CHECK_EQ(DTypeAbbrev({kDLFloat8_e4m3fn, 8, 1}), "f8_e4m3fn");
  CHECK_EQ(DTypeAbbrev({kDLOpaqueHandle, 0, 0}), "void");
  CHECK_EQ(DTypeAbbrev({kDLOpaqueHandle, 64, 1}), "handle");
  CHECK_EQ(Thrown([] { DTypeAbbrev({77, 8, 1}); }),
           "ValueError: DLDataType contains unknown type_code=77");
  CHECK((DTypeIsFloat({kDLFloat4_e2m1fn, 4, 1}) && DTypeIsInt({kDLUInt, 8, 1})));
}

TEST_CASE("devices compare and print") {
  DLDevice cuda{kDLCUDA, 1};
  CHECK(cuda == Any("cuda:1").cast<DLDevice>());
  CHECK(cuda != DLDevice{kDLCUDA, 0});
  CHECK(cuda != DLDevice{kDLCPU, 1});
  std::ostringstream out;
  out << cuda << " " << DLDevice{kDLWebGPU, 0} << " " << DLDevice{static_cast<DLDeviceType>(99), 2};
  CHECK_EQ(out.str(), "cuda:1 webgpu:0 99:2");
}

TEST_CASE("the message of a failed cast names the element") {
  ObjectRef array = Array<Any>{1, "a"};
  CHECK_EQ(Thrown([&] { array.as_or_throw<Array<String>>(); }),
           "TypeError: Cannot treat type `Array[index 0: int]` as type `Array<str>`");
  ObjectRef map = Map<String, int>{{"a", 1}};
  CHECK_EQ(Thrown([&] { map.as_or_throw<Map<String, String>>(); }),
           "TypeError: Cannot treat type `Map[K, some value is int]` as type `Map<str, str>`");
  CHECK_EQ(
      Thrown([&] { std::move(map).as_or_throw<Map<int, int>>(); }),
      "TypeError: Cannot treat type `Map[some key is ffi.SmallStr, V]` as type `Map<int, int>`");
  CHECK_EQ(Thrown([] { ObjectRef().as_or_throw<Array<int>>(); }),
           "TypeError: Cannot treat type `None` as type `Array<int>`");
}

class OpenObj : public Object {
 public:
  int value = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.any.Open", OpenObj, Object);
};

TEST_CASE("objects are cast to pointers") {
  Any any = make_object<OpenObj>();
  any.cast<OpenObj*>()->value = 5;
  CHECK_EQ(any.as<OpenObj*>().value()->value, 5);
  CHECK_EQ(AnyView(any).as_or_throw<const OpenObj*>()->value, 5);
  CHECK(!Any(3).try_cast<OpenObj*>().has_value());
  CHECK(any.as<OpenObj>()->unique());
}

TEST_CASE("an expected value is moved out once") {
  struct Source : Any {
    // Classes of clients derive from Any and read its 16 bytes.
    int32_t index() const { return data_.type_index; }
  };
  Source source;
  CHECK_EQ(source.index(), kTVMFFINone);
  Expected<String> text = String("too long for the cell itself");
  String moved = std::move(text).value();
  CHECK_EQ(moved, "too long for the cell itself");
  CHECK_EQ(text.type_index(), kTVMFFINone);
  Expected<Array<int>> array = Array<int>{1};
  Expected<ObjectRef> wider = std::move(array);
  CHECK_EQ(wider.value().use_count(), 2);  // references of the object and of the copy
  CHECK_EQ(array.type_index(), kTVMFFINone);
  Expected<int> failed = Unexpected<Error>(Error("ValueError", "m", ""));
  Error error = std::move(failed).error();
  CHECK_EQ(error.use_count(), 1);
  CHECK_EQ(failed.type_index(), kTVMFFINone);
}

}  // namespace
