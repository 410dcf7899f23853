// SPDX-License-Identifier: Apache-2.0
// Programs that misuse object.h, memory.h, cast.h, type_traits.h and reflection/registry.h.
// Format: test_compile_fail.py.

// SHARED
class BaseObj : public Object {
 public:
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("test.Base", BaseObj, Object);
};
class ChildObj : public BaseObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Child", ChildObj, BaseObj);
};
class Nullable : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NULLABLE(Nullable, ObjectRef, BaseObj);
};
class NotNull : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(NotNull, ObjectRef, BaseObj);
};

// CASE object_ptr_is_not_cast_down: only up-casts are implicit
// ACCEPTED
ObjectPtr<BaseObj> Cast(const ObjectPtr<ChildObj>& pointer) { return pointer; }
// REJECTED
ObjectPtr<ChildObj> Cast(const ObjectPtr<BaseObj>& pointer) { return pointer; }

// CASE object_ptr_is_not_moved_down: only up-casts are implicit
// ACCEPTED
ObjectPtr<BaseObj> Cast(ObjectPtr<ChildObj>&& pointer) { return std::move(pointer); }
// REJECTED
ObjectPtr<ChildObj> Cast(ObjectPtr<BaseObj>&& pointer) { return std::move(pointer); }

// CASE object_ptr_does_not_take_a_raw_pointer: {private}
// ACCEPTED
ObjectPtr<Object> Own(Object* object) { return GetObjectPtr<Object>(object); }
// REJECTED
ObjectPtr<Object> Own(Object* object) { return ObjectPtr<Object>(object); }

// CASE weak_pointer_has_no_target_to_read: {no_member}
// ACCEPTED
int32_t IndexOf(const WeakObjectPtr<BaseObj>& weak) { return weak.lock()->type_index(); }
// REJECTED
int32_t IndexOf(const WeakObjectPtr<BaseObj>& weak) { return weak->type_index(); }

// CASE weak_pointer_is_not_cast_down: {no_conversion}
// ACCEPTED
WeakObjectPtr<BaseObj> Cast(const WeakObjectPtr<ChildObj>& weak) { return weak; }
// REJECTED
WeakObjectPtr<ChildObj> Cast(const WeakObjectPtr<BaseObj>& weak) { return weak; }

// CASE arc_has_no_default: {no_match}
// ACCEPTED
ObjectPtr<BaseObj> pointer;
// REJECTED
Arc<BaseObj> pointer;

// CASE arc_is_never_null: {no_conversion}
// ACCEPTED
ObjectPtr<BaseObj> None() { return nullptr; }
// REJECTED
Arc<BaseObj> None() { return nullptr; }

// CASE arc_does_not_take_an_object_ptr: {private}
// ACCEPTED
ObjectPtr<BaseObj> Take(Arc<BaseObj> arc) { return ObjectPtr<BaseObj>(std::move(arc)); }
// REJECTED
Arc<BaseObj> Take(ObjectPtr<BaseObj> pointer) { return Arc<BaseObj>(std::move(pointer)); }

// CASE arc_is_not_cast_down: {no_conversion}
// ACCEPTED
Arc<BaseObj> Cast(const Arc<ChildObj>& arc) { return arc; }
// REJECTED
Arc<ChildObj> Cast(const Arc<BaseObj>& arc) { return arc; }

// CASE arc_cannot_be_reset: {private}
// ACCEPTED
void Clear(ObjectPtr<BaseObj> pointer) { pointer.reset(); }
// REJECTED
void Clear(Arc<BaseObj> pointer) { pointer.reset(); }

// CASE arc_cannot_be_swapped: {private}
// ACCEPTED
void Swap(ObjectPtr<BaseObj> a, ObjectPtr<BaseObj> b) { a.swap(b); }
// REJECTED
void Swap(Arc<BaseObj> a, Arc<BaseObj> b) { a.swap(b); }

// CASE reference_is_made_explicitly: {no_conversion}
// ACCEPTED
ObjectRef Wrap(ObjectPtr<Object> pointer) { return ObjectRef(std::move(pointer)); }
// REJECTED
ObjectRef Wrap(ObjectPtr<Object> pointer) { return pointer; }

// CASE not_nullable_reference_has_no_default: {no_match}
// ACCEPTED
Nullable ref;
// REJECTED
NotNull ref;

// CASE not_nullable_reference_does_not_take_a_pointer: {no_match}
// ACCEPTED
Nullable Wrap(ObjectPtr<BaseObj> pointer) { return Nullable(std::move(pointer)); }
// REJECTED
NotNull Wrap(ObjectPtr<BaseObj> pointer) { return NotNull(std::move(pointer)); }

// CASE reference_to_an_immutable_type_gives_const_objects: {no_conversion}
// ACCEPTED
const BaseObj* Get(const Nullable& ref) { return ref.get(); }
// REJECTED
BaseObj* Get(const Nullable& ref) { return ref.get(); }

// CASE reference_is_not_cast_to_a_number: {no_match}
// ACCEPTED
bool Check(const ObjectRef& ref) { return ref.as<Nullable>().has_value(); }
// REJECTED
bool Check(const ObjectRef& ref) { return ref.as<int>().has_value(); }

// CASE parent_class_is_final: the parent class is declared final
// ACCEPTED
class GrandchildObj : public BaseObj {
 public:
  static constexpr uint32_t _type_child_slots = 0;
  TVM_FFI_DECLARE_OBJECT_INFO("test.Grandchild", GrandchildObj, BaseObj);
};
// REJECTED
class GrandchildObj : public ChildObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO("test.Grandchild", GrandchildObj, ChildObj);
};

// CASE child_reserves_as_many_slots_as_its_parent: a child reserves fewer slots than its parent
// ACCEPTED
class WideObj : public BaseObj {
 public:
  static constexpr uint32_t _type_child_slots = 3;
  TVM_FFI_DECLARE_OBJECT_INFO("test.Wide", WideObj, BaseObj);
};
// REJECTED
class WideObj : public BaseObj {
 public:
  static constexpr uint32_t _type_child_slots = 4;
  TVM_FFI_DECLARE_OBJECT_INFO("test.Wide", WideObj, BaseObj);
};

// CASE child_changes_a_fixed_structural_kind: fixes _type_s_eq_hash_kind for its children
class FixedObj : public Object {
 public:
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  static constexpr bool _type_s_eq_hash_subclass_kind_fixed = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.Fixed", FixedObj, Object);
};
// ACCEPTED
class VariedObj : public FixedObj {
 public:
  TVM_FFI_DECLARE_OBJECT_INFO("test.Varied", VariedObj, FixedObj);
};
// REJECTED
class VariedObj : public FixedObj {
 public:
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO("test.Varied", VariedObj, FixedObj);
};

// CASE parameter_is_a_mutable_pointer_to_an_immutable_type: only const pointers: the type is not
// ACCEPTED
Function function = Function::FromTyped([](const BaseObj*) {});
// REJECTED
Function function = Function::FromTyped([](BaseObj*) {});

// CASE get_ref_of_a_typed_array: the reference type cannot hold every object of this type
// ACCEPTED
ObjectRef Own(const ArrayObj* array) { return GetRef<ObjectRef>(array); }
// REJECTED
ObjectRef Own(const ArrayObj* array) { return GetRef<Array<int>>(array); }

// CASE get_ref_of_an_unrelated_type: the reference type cannot hold every object of this type
// ACCEPTED
Shape Own(const ShapeObj* object) { return GetRef<Shape>(object); }
// REJECTED
Shape Own(const ArrayObj* object) { return GetRef<Shape>(object); }

// CASE get_object_ptr_casts_down: only up-casts are possible
// ACCEPTED
ObjectPtr<BaseObj> Own(ChildObj* object) { return GetObjectPtr<BaseObj>(object); }
// REJECTED
ObjectPtr<ChildObj> Own(BaseObj* object) { return GetObjectPtr<ChildObj>(object); }

// CASE make_object_of_something_else: make_object makes objects
// ACCEPTED
auto made = make_object<ChildObj>();
// REJECTED
auto made = make_object<std::pair<int, int>>();

// CASE trailing_elements_need_more_alignment: elements must be aligned
struct alignas(64) WideElement {};
// ACCEPTED
auto made = make_inplace_array_object<ChildObj, int64_t>(2);
// REJECTED
auto made = make_inplace_array_object<ChildObj, WideElement>(2);

// CASE reference_falls_back_on_bool: use StrictBool
// ACCEPTED
using Traits = ObjectRefWithFallbackTraitsBase<Nullable, StrictBool>;
auto size = sizeof(Traits);
// REJECTED
using Traits = ObjectRefWithFallbackTraitsBase<Nullable, bool>;
auto size = sizeof(Traits);

// CASE parameter_type_falls_back_on_bool: use StrictBool
struct Flag {};
// ACCEPTED
auto size = sizeof(FallbackOnlyTraitsBase<Flag, int64_t, StrictBool>);
// REJECTED
auto size = sizeof(FallbackOnlyTraitsBase<Flag, int64_t, bool>);

// CASE rvalue_ref_of_a_number: RValueRef wraps references to objects
// ACCEPTED
auto size = sizeof(RValueRef<Nullable>);
// REJECTED
auto size = sizeof(RValueRef<int64_t>);

// CASE rvalue_ref_of_an_lvalue: {no_match}|{no_conversion}
// ACCEPTED
RValueRef<Nullable> Wrap(Nullable& ref) { return RValueRef<Nullable>(std::move(ref)); }
// REJECTED
RValueRef<Nullable> Wrap(Nullable& ref) { return RValueRef<Nullable>(ref); }

// CASE rvalue_ref_is_read_in_place: {qualifiers}
// ACCEPTED
Nullable Take(RValueRef<Nullable>& ref) { return *std::move(ref); }
// REJECTED
Nullable Take(RValueRef<Nullable>& ref) { return *ref; }

// CASE constructor_names_some_parameters: name all parameters with refl::arg, or none
class PairObj : public Object {
 public:
  PairObj(int64_t, int64_t) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Pair", PairObj, Object);
};
// ACCEPTED
void Register() {
  reflection::ObjectDef<PairObj>().def(reflection::init<int64_t, int64_t>(), reflection::arg("a"),
                                       reflection::arg("b", 1));
}
// REJECTED
void Register() {
  reflection::ObjectDef<PairObj>().def(reflection::init<int64_t, int64_t>(), reflection::arg("a"));
}

// CASE method_names_its_receiver: name all parameters with refl::arg, or none
class CounterObj : public Object {
 public:
  int64_t Add(int64_t n) const { return n; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.Counter", CounterObj, Object);
};
// ACCEPTED
void Register() {
  reflection::ObjectDef<CounterObj>().def("add", &CounterObj::Add, reflection::arg("n"));
}
// REJECTED
void Register() {
  reflection::ObjectDef<CounterObj>().def("add", &CounterObj::Add, reflection::arg("self"),
                                          reflection::arg("n"));
}
