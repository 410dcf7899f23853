// SPDX-License-Identifier: Apache-2.0
// Programs that misuse any.h, string.h, error.h, expected.h and big_int.h.  Format:
// test_compile_fail.py.

// SHARED
struct Unsupported {};

// CASE message_of_an_unprintable_value: {no_match}
// ACCEPTED
void Fail() { TVM_FFI_THROW(ValueError) << 1; }
// REJECTED
void Fail() { TVM_FFI_THROW(ValueError) << Unsupported(); }

// CASE pointer_to_a_changeable_object_of_an_immutable_type: only const pointers
// ACCEPTED
Any Keep(ErrorObj* error) { return error; }
const ErrorObj* Take(const Any& any) { return any.cast<const ErrorObj*>(); }
// REJECTED
Any Keep(ErrorObj* error) { return error; }
ErrorObj* Take(const Any& any) { return any.cast<ErrorObj*>(); }

// CASE any_of_an_unsupported_type: {no_conversion}
// ACCEPTED
Any Make() { return 1; }
// REJECTED
Any Make() { return Unsupported(); }

// CASE any_view_of_an_unsupported_type: {no_conversion}
// ACCEPTED
void Take(AnyView);
void Call(int value) { Take(value); }
// REJECTED
void Take(AnyView);
void Call(Unsupported value) { Take(value); }

// CASE any_is_assigned_an_unsupported_type: {no_match}|{no_conversion}
// ACCEPTED
void Assign(Any& any, double value) { any = value; }
// REJECTED
void Assign(Any& any, Unsupported value) { any = value; }

// CASE any_is_cast_to_an_unsupported_type: {no_match}
// ACCEPTED
int64_t Cast(const Any& any) { return any.cast<int64_t>(); }
// REJECTED
Unsupported Cast(const Any& any) { return any.cast<Unsupported>(); }

// CASE any_is_tried_as_an_unsupported_type: {no_match}
// ACCEPTED
bool Cast(const AnyView& view) { return view.try_cast<int64_t>().has_value(); }
// REJECTED
bool Cast(const AnyView& view) { return view.try_cast<Unsupported>().has_value(); }

// CASE any_is_not_a_condition: {no_conversion}
// ACCEPTED
bool Holds(const Any& any) { return any != nullptr; }
// REJECTED
bool Holds(const Any& any) { return any; }

// CASE any_never_holds_a_c_string: CheckAnyStrict
// ACCEPTED
bool Holds(const Any& any) { return any.as<String>().has_value(); }
// REJECTED
bool Holds(const Any& any) { return any.as<const char*>().has_value(); }

// CASE any_never_holds_an_rvalue_ref: an RValueRef can only be an argument
// ACCEPTED
Any Keep(Shape shape) { return Any(std::move(shape)); }
// REJECTED
Any Keep(Shape shape) { return Any(RValueRef<Shape>(std::move(shape))); }

// CASE string_from_nullptr: {deleted}
// ACCEPTED
String Make() { return ""; }
// REJECTED
String Make() { return nullptr; }

// CASE string_is_made_of_bytes_explicitly: {no_conversion}
// ACCEPTED
String Make(TVMFFIByteArray bytes) { return String(bytes); }
// REJECTED
String Make(TVMFFIByteArray bytes) { return bytes; }

// CASE string_is_not_a_number: {no_conversion}
// ACCEPTED
std::string Text(const String& text) { return text; }
// REJECTED
int Text(const String& text) { return text; }

// CASE string_equal_to_nullptr: {deleted}
// ACCEPTED
bool Compare(const String& text) { return text == "a"; }
// REJECTED
bool Compare(const String& text) { return text == nullptr; }

// CASE nullptr_equal_to_string: {deleted}
// ACCEPTED
bool Compare(const String& text) { return "a" == text; }
// REJECTED
bool Compare(const String& text) { return nullptr == text; }

// CASE string_unequal_to_nullptr: {deleted}
// ACCEPTED
bool Compare(const String& text) { return text != "a"; }
// REJECTED
bool Compare(const String& text) { return text != nullptr; }

// CASE string_less_than_nullptr: {deleted}
// ACCEPTED
bool Compare(const String& text) { return text < "a"; }
// REJECTED
bool Compare(const String& text) { return text < nullptr; }

// CASE string_greater_than_nullptr: {deleted}
// ACCEPTED
bool Compare(const String& text) { return text > "a"; }
// REJECTED
bool Compare(const String& text) { return text > nullptr; }

// CASE string_at_most_nullptr: {deleted}
// ACCEPTED
bool Compare(const String& text) { return text <= "a"; }
// REJECTED
bool Compare(const String& text) { return text <= nullptr; }

// CASE string_at_least_nullptr: {deleted}
// ACCEPTED
bool Compare(const String& text) { return text >= "a"; }
// REJECTED
bool Compare(const String& text) { return text >= nullptr; }

// CASE error_has_no_default: {no_match}
// ACCEPTED
Error error("ValueError", "text", "");
// REJECTED
Error error;

// CASE expected_holds_an_error_as_its_value: Expected<T> holds a value
// ACCEPTED
auto size = sizeof(Expected<String>);
// REJECTED
auto size = sizeof(Expected<Error>);

// CASE expected_holds_const_void: Expected<T> holds a value
// ACCEPTED
auto size = sizeof(Expected<void>);
// REJECTED
auto size = sizeof(Expected<const void>);

// CASE expected_from_an_unrelated_value: {no_conversion}
// ACCEPTED
Expected<int64_t> Make() { return 1; }
// REJECTED
Expected<int64_t> Make() { return String("1"); }

// CASE unexpected_holds_a_number: Unexpected holds an Error
// ACCEPTED
auto size = sizeof(Unexpected<Error>);
// REJECTED
auto size = sizeof(Unexpected<int>);

// CASE unexpected_is_made_explicitly: {no_conversion}
// ACCEPTED
Unexpected<Error> Make(Error error) { return Unexpected<Error>(error); }
// REJECTED
Unexpected<Error> Make(Error error) { return error; }

// CASE expected_is_not_a_condition: {no_conversion}
// ACCEPTED
bool Holds(const Expected<int64_t>& expected) { return expected.has_value(); }
// REJECTED
bool Holds(const Expected<int64_t>& expected) { return expected; }

// CASE returning_check_in_a_function_that_returns_a_number: {no_conversion}
// ACCEPTED
Expected<int64_t> Half(int64_t value) {
  TVM_FFI_RET_CHECK(value % 2 == 0, ValueError);
  return value / 2;
}
// REJECTED
int64_t Half(int64_t value) {
  TVM_FFI_RET_CHECK(value % 2 == 0, ValueError);
  return value / 2;
}

// CASE big_int_is_made_of_a_double_explicitly: {no_conversion}
// ACCEPTED
BigInt Make(double value) { return BigInt(value); }
// REJECTED
BigInt Make(double value) { return value; }

// CASE big_int_is_narrowed_explicitly: {no_conversion}
// ACCEPTED
int64_t Narrow(const BigInt& value) { return static_cast<int64_t>(value); }
// REJECTED
int64_t Narrow(const BigInt& value) { return value; }
