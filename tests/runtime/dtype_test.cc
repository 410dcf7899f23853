// SPDX-License-Identifier: Apache-2.0
// Custom dtypes, which use global functions.  test_dtype_vectors.py checks the built-in names.
#include <doctest/doctest.h>

#include "raised.h"
#include "values.h"

namespace {

int code_of_custom_type = 0;

// A registered function whose result has a wrong type.
int AnswerCode(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  CHECK_EQ(num_args, 1);
  if (TextOf(args[0]) == "wrong") {
    *result = None();
  } else {
    CHECK_EQ(TextOf(args[0]), "posit");
    *result = Int(code_of_custom_type);
  }
  return 0;
}

int AnswerName(void*, const TVMFFIAny* args, int32_t, TVMFFIAny* result) {
  if (args[0].v_int64 == 131) {
    TVMFFIByteArray name = Bytes("posit");
    return TVMFFIStringFromByteArray(&name, result);
  }
  if (args[0].v_int64 == 132) {
    TVMFFIByteArray name = Bytes("long_posit_name");
    return TVMFFIStringFromByteArray(&name, result);
  }
  *result = None();
  return 0;
}

void Register(const char* name, TVMFFISafeCallType call) {
  TVMFFIByteArray bytes = Bytes(name);
  TVMFFIObjectHandle function = nullptr;
  CHECK_EQ(TVMFFIFunctionCreate(nullptr, call, nullptr, &function), 0);
  CHECK_EQ(TVMFFIFunctionSetGlobal(&bytes, function, 1), 0);
  TVMFFIObjectDecRef(function);
}

int Parse(const char* text, DLDataType* out) {
  TVMFFIByteArray bytes = Bytes(text);
  return TVMFFIDataTypeFromString(&bytes, out);
}

}  // namespace

TEST_CASE("custom types need their functions") {
  DLDataType dtype = {1, 2, 3};
  CHECK_RAISES(Parse("custom[posit]16", &dtype), "ValueError",
               "Function dtype.get_custom_type_code not found");
  CHECK_EQ(dtype.lanes, 3);
  TVMFFIAny text = GarbageAny();
  dtype = {131, 16, 1};
  CHECK_RAISES(TVMFFIDataTypeToString(&dtype, &text), "ValueError",
               "Function dtype.get_custom_type_name not found");
  CHECK(SameBytes(text, GarbageAny()));
}

TEST_CASE("custom types parse through the registered function") {
  Register("dtype.get_custom_type_code", &AnswerCode);
  code_of_custom_type = 131;
  DLDataType dtype;
  CHECK_EQ(Parse("custom[posit]16x4", &dtype), 0);
  CHECK_EQ(dtype.code, 131);
  CHECK_EQ(dtype.bits, 16);
  CHECK_EQ(dtype.lanes, 4);
}

TEST_CASE("custom types print through the registered function") {
  Register("dtype.get_custom_type_name", &AnswerName);
  TVMFFIAny text = GarbageAny();
  DLDataType dtype = {131, 16, 1};
  CHECK_EQ(TVMFFIDataTypeToString(&dtype, &text), 0);
  CHECK_EQ(TakeText(text), "custom[posit]16");
  dtype = {132, 8, 2};
  CHECK_EQ(TVMFFIDataTypeToString(&dtype, &text), 0);
  CHECK_EQ(TakeText(text), "custom[long_posit_name]8x2");
}

// Regression: the results were read as an int and as a string without a check of their type.
TEST_CASE("custom type functions that return a wrong type raise a type error") {
  DLDataType dtype = {133, 16, 1};
  CHECK_RAISES(Parse("custom[wrong]16", &dtype), "TypeError", "dtype.get_custom_type_code");
  TVMFFIAny text = GarbageAny();
  CHECK_RAISES(TVMFFIDataTypeToString(&dtype, &text), "TypeError", "dtype.get_custom_type_name");
}

TEST_CASE("custom type code outside one byte is a value error") {
  DLDataType dtype;
  code_of_custom_type = 256;
  CHECK_RAISES(Parse("custom[posit]16", &dtype), "ValueError", "256");
}

TEST_CASE("unclosed custom name is a value error") {
  DLDataType dtype;
  CHECK_RAISES(Parse("custom[posit", &dtype), "ValueError", "unknown dtype `custom[posit`");
}

TEST_CASE("long names print as heap strings and short ones as small") {
  TVMFFIAny text = GarbageAny();
  DLDataType dtype = {kDLFloat, 32, 1};
  CHECK_EQ(TVMFFIDataTypeToString(&dtype, &text), 0);
  CHECK_EQ(text.type_index, 11);
  CHECK_EQ(text.v_uint64, UINT64_C(0x00323374616f6c66));  // "float32"
  dtype = {kDLBfloat, 16, 1};
  CHECK_EQ(TVMFFIDataTypeToString(&dtype, &text), 0);
  CHECK_EQ(text.type_index, 65);
  CHECK_EQ(TakeText(text), "bfloat16");
}
