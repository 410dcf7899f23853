// SPDX-License-Identifier: Apache-2.0
// Test functions: packed and typed calls, errors, signals, C symbols, and results with tensors.
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/reflection/registry.h>

#include <chrono>
#include <thread>

namespace {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

// ---- Functions for calls and errors -------------------------------------------------------------

void Echo(PackedArgs args, Any* result) {
  if (args.size() < 1)
    TVM_FFI_THROW(TypeError) << "testing.echo: expected a value, got no argument";
  *result = args[0];
}

void Apply(PackedArgs args, Any* result) {
  if (args.size() < 1)
    TVM_FFI_THROW(TypeError) << "testing.apply: expected a function, got no argument";
  auto function = args[0].cast<Function>();  // the argument None converts to a null function
  if (function == nullptr)
    TVM_FFI_THROW(TypeError) << "testing.apply: expected a function, got None";
  function.CallPacked(args.Slice(1), result);
}

void Nop(PackedArgs, Any*) {}

int64_t AddOne(int64_t x) { return x + 1; }

// Returns the reference count of an object.  The argument is borrowed, so the call itself adds no
// reference.
int64_t ObjectUseCount(const Object* object) { return static_cast<int64_t>(object->use_count()); }

void RaiseError(const String& kind, const String& message) {
  throw Error(kind, message, std::string());
}

// Waits until the given number of seconds has passed or a signal is pending.
void RunCheckSignal(int64_t seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point end = Clock::now() + std::chrono::seconds(seconds);
  while (Clock::now() < end) {
    if (TVMFFIEnvCheckSignals() != 0) throw EnvErrorAlreadySet();
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// ---- C symbols ----------------------------------------------------------------------------------

int AddOneSafeCall(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  TVM_FFI_SAFE_CALL_BEGIN();
  if (num_args != 1) TVM_FFI_THROW(TypeError) << "Expected 1 but got " << num_args << " arguments";
  Any sum(AnyView::CopyFromTVMFFIAny(args[0]).cast<int64_t>() + 1);
  *result = details::AnyUnsafe::MoveAnyToTVMFFIAny(std::move(sum));
  TVM_FFI_SAFE_CALL_END();
}

// A function with the MLIR calling convention.  The parameters are pointers to the function handle,
// the arguments, the number of arguments, the result and the return code.
void AddOneMlirPacked(void** packed) {
  *static_cast<int*>(packed[4]) =
      AddOneSafeCall(*static_cast<void**>(packed[0]), *static_cast<const TVMFFIAny**>(packed[1]),
                     *static_cast<int32_t*>(packed[2]), *static_cast<TVMFFIAny**>(packed[3]));
}

template <typename F>
int64_t AddressOf(F* function) {
  return static_cast<int64_t>(reinterpret_cast<intptr_t>(function));
}

// ---- Results that contain tensors ---------------------------------------------------------------

Array<Any> MakeArrayWithTensor(const Tensor& tensor) { return {tensor}; }

Array<Any> MakeArrayWithMixed(const Tensor& tensor, int64_t number) {
  return {tensor, number, String("hello")};
}

Array<Any> MakeNestedArrayWithTensor(const Tensor& tensor) {
  return {Array<Any>{tensor, 42}, tensor};
}

Array<Any> MakeEmptyArrayWithTensorInput(const Tensor&) { return {}; }

List<Any> MakeListWithTensor(const Tensor& tensor, int64_t number) { return {tensor, number}; }

Dict<String, Any> MakeDictWithTensor(const Tensor& tensor) {
  return {{"tensor", tensor}, {"value", 42}};
}

Map<String, Any> MakeMapWithTensor(const Tensor& tensor) {
  return {{"tensor", tensor}, {"value", 42}, {"name", String("test")}};
}

Map<String, Any> MakeNestedMapWithTensor(const Tensor& first, const Tensor& second) {
  return {{"array", Array<Any>{first, second}},
          {"map", Map<String, Any>{{"t", first}}},
          {"scalar", 99}};
}

bool OptionalTensorViewHasValue(const Optional<TensorView>& tensor) { return tensor.has_value(); }

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::GlobalDef()
      .def_packed("testing.echo", Echo)
      .def_packed("testing.apply", Apply)
      .def_packed("testing.nop", Nop)
      .def("testing.add_one", AddOne)
      .def("testing.object_use_count", ObjectUseCount)
      .def("testing.test_raise_error", RaiseError)
      .def("testing.run_check_signal", RunCheckSignal)
      .def("testing.get_add_one_c_symbol", [] { return AddressOf(&AddOneSafeCall); })
      .def("testing.get_mlir_add_one_c_symbol", [] { return AddressOf(&AddOneMlirPacked); });
  refl::GlobalDef()
      .def("testing.make_array_with_tensor", MakeArrayWithTensor)
      .def("testing.make_array_with_mixed", MakeArrayWithMixed)
      .def("testing.make_nested_array_with_tensor", MakeNestedArrayWithTensor)
      .def("testing.make_empty_array_with_tensor_input", MakeEmptyArrayWithTensorInput)
      .def("testing.make_list_with_tensor", MakeListWithTensor)
      .def("testing.make_dict_with_tensor", MakeDictWithTensor)
      .def("testing.make_map_with_tensor", MakeMapWithTensor)
      .def("testing.make_nested_map_with_tensor", MakeNestedMapWithTensor)
      .def("testing.optional_tensor_view_has_value", OptionalTensorViewHasValue);
}

}  // namespace
