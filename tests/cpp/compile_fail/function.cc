// SPDX-License-Identifier: Apache-2.0
// Programs that misuse function.h.  Format: test_compile_fail.py.

// SHARED
struct Unsupported {};

// CASE export_with_an_unsupported_parameter: a parameter or the result has no conversion
// ACCEPTED
void Kernel(TensorView, int64_t) {}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(takes_unsupported, Kernel);
// REJECTED
void Kernel(TensorView, Unsupported) {}
TVM_FFI_DLL_EXPORT_TYPED_FUNC(takes_unsupported, Kernel);

// CASE export_with_an_unsupported_result: a parameter or the result has no conversion
// ACCEPTED
int64_t Kernel(TensorView) { return 0; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(returns_unsupported, Kernel);
// REJECTED
Unsupported Kernel(TensorView) { return {}; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(returns_unsupported, Kernel);

// CASE export_returns_a_borrowed_tensor: a TensorView does not own its tensor
// ACCEPTED
Tensor Kernel(Tensor tensor) { return tensor; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(returns_view, Kernel);
// REJECTED
TensorView Kernel(TensorView tensor) { return tensor; }
TVM_FFI_DLL_EXPORT_TYPED_FUNC(returns_view, Kernel);

// CASE parameter_is_a_reference: is a non-const reference
// ACCEPTED
Function function = Function::FromTyped([](const String&) {});
// REJECTED
Function function = Function::FromTyped([](String&) {});

// CASE parameter_is_a_reference_to_any: is a non-const reference
// ACCEPTED
Function function = Function::FromTyped([](Any) {});
// REJECTED
Function function = Function::FromTyped([](Any&) {});

// CASE result_is_a_reference: is a non-const reference|has no conversion
String text;
// ACCEPTED
Function function = Function::FromTyped([]() -> String { return text; });
// REJECTED
Function function = Function::FromTyped([]() -> const String& { return text; });

// CASE result_is_a_view: has no conversion
// ACCEPTED
Function function = Function::FromTyped([](Any any) -> Any { return any; });
// REJECTED
Function function = Function::FromTyped([](AnyView any) -> AnyView { return any; });

// CASE packed_callable_with_other_parameters: a packed callable takes
// ACCEPTED
Function function = Function::FromPacked([](PackedArgs, Any*) {});
// REJECTED
Function function = Function::FromPacked([](int) {});

// CASE function_is_made_explicitly: {no_conversion}
// ACCEPTED
Function Make() {
  return Function([](PackedArgs, Any*) {});
}
// REJECTED
Function Make() {
  return [](PackedArgs, Any*) {};
}

// CASE function_from_a_typed_callable: {no_match}
// ACCEPTED
Function function(Function::FromTyped([](int64_t value) { return value; }));
// REJECTED
Function function([](int64_t value) { return value; });

// CASE call_with_an_unsupported_argument: {no_match}
// ACCEPTED
Any Call(const Function& function) { return function(1, "text"); }
// REJECTED
Any Call(const Function& function) { return function(1, Unsupported()); }

// CASE typed_function_from_other_parameters: {no_conversion}
// ACCEPTED
TypedFunction<int64_t(String)> Make() {
  return [](String text) { return text.size(); };
}
// REJECTED
TypedFunction<int64_t(String)> Make() {
  return [](Shape shape) { return shape.size(); };
}

// CASE typed_function_from_another_result: {no_conversion}
// ACCEPTED
TypedFunction<int64_t()> Make() {
  return [] { return 1; };
}
// REJECTED
TypedFunction<int64_t()> Make() {
  return [] { return String("1"); };
}

// CASE typed_function_is_called_with_too_few_arguments: {few_arguments}
// ACCEPTED
void Call(const TypedFunction<void(int64_t, String)>& function) { function(1, "text"); }
// REJECTED
void Call(const TypedFunction<void(int64_t, String)>& function) { function(1); }

// CASE typed_function_is_called_with_another_type: {no_conversion}
// ACCEPTED
void Call(const TypedFunction<void(String)>& function) { function("text"); }
// REJECTED
void Call(const TypedFunction<void(String)>& function) { function(Shape({1})); }

// CASE unpack_call_with_too_few_indices: one index per parameter
void Add(int64_t, int64_t) {}
// ACCEPTED
void Unpack(const AnyView* args, Any* result) {
  detail::unpack_call<void>(std::make_index_sequence<2>(), nullptr, Add, args, 2, result);
}
// REJECTED
void Unpack(const AnyView* args, Any* result) {
  detail::unpack_call<void>(std::make_index_sequence<1>(), nullptr, Add, args, 2, result);
}

// CASE unpack_call_with_another_result: R is the result type of f
int64_t One() { return 1; }
// ACCEPTED
void Unpack(const AnyView* args, Any* result) {
  detail::unpack_call<int64_t>(std::make_index_sequence<0>(), nullptr, One, args, 0, result);
}
// REJECTED
void Unpack(const AnyView* args, Any* result) {
  detail::unpack_call<String>(std::make_index_sequence<0>(), nullptr, One, args, 0, result);
}

// CASE standard_container_of_an_unsupported_type: a parameter or the result has no conversion
// ACCEPTED
Function function = Function::FromTyped([](std::vector<int64_t>) {});
// REJECTED
Function function = Function::FromTyped([](std::vector<Unsupported>) {});
