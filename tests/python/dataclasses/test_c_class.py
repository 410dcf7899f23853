# SPDX-License-Identifier: Apache-2.0
"""`c_class`: Python classes of native types with the methods of a dataclass."""

from __future__ import annotations

import copy
import inspect
import math
import pickle
import sys
import warnings

import pytest

import tvm_ffi
from tvm_ffi import registry, testing
from tvm_ffi._types.type_info import type_info_of
from tvm_ffi.core import FFIProperty, Object, _object_type_key_to_index, _register_object_by_index
from tvm_ffi.dataclasses import c_class
from tvm_ffi.testing.testing import (
    _TestCxxAutoInit,
    _TestCxxAutoInitAllInitOff,
    _TestCxxAutoInitChild,
    _TestCxxAutoInitKwOnlyDefaults,
    _TestCxxAutoInitSimple,
    _TestCxxClassBase,
    _TestCxxClassDerived,
    _TestCxxClassDerivedDerived,
    _TestCxxInitSubset,
    _TestCxxKwOnly,
    _TestCxxNoAutoInit,
)

SIMPLE = "testing.TestCxxAutoInitSimple"  # two required integers, x and y


@pytest.fixture(autouse=True)
def _restored_classes():
    """Register the original classes of `tvm_ffi.testing` for their types after each test."""
    keys = (SIMPLE, "testing.TestObjectBase", "testing.TestObjectDerived")
    indices = [_object_type_key_to_index(key) for key in keys]
    classes = [(index, type_info_of(index).type_cls) for index in indices]
    yield
    for index, cls in classes:
        _register_object_by_index(index, cls)


def simple(**options):
    """Return a new class that is registered for the simple type."""

    @c_class(SIMPLE, **options)
    class Simple(Object):
        x: int
        y: int

    return Simple


# ---- Construction --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cls", "signature"),
    [
        (testing.TestIntPair, "(a: 'int', b: 'int', /)"),
        (testing.TestObjectBase, "(v_i64=10, v_f64=10.0, v_str='hello')"),
        (
            testing.TestObjectDerived,
            "(v_map, v_array, v_i64=10, v_f64=10.0, v_str='hello')",
        ),
        (_TestCxxAutoInit, "(a, d=99, *, c)"),
        (_TestCxxAutoInitAllInitOff, "()"),
        (
            _TestCxxAutoInitChild,
            "(parent_required, child_required, parent_default=5, *, child_kw_only)",
        ),
        (
            _TestCxxAutoInitKwOnlyDefaults,
            "(p_required, p_default=11, *, k_required, k_default=22)",
        ),
        (_TestCxxInitSubset, "(required_field)"),
        (_TestCxxKwOnly, "(*, x, y, z, w=100)"),
    ],
)
def test_required_parameters_come_before_defaulted_ones(cls, signature):
    assert str(inspect.signature(cls)) == signature


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: _TestCxxAutoInit(1, c=3), "(a=1, b=42, c=3, d=99)"),
        (lambda: _TestCxxAutoInit(1, 2, c=3), "(a=1, b=42, c=3, d=2)"),
        (_TestCxxAutoInitAllInitOff, "(x=7, y=9, z=1234)"),
        (
            lambda: _TestCxxAutoInitChild(1, 2, child_kw_only=3),
            "(parent_required=1, parent_default=5, child_required=2, child_kw_only=3)",
        ),
        (
            lambda: _TestCxxAutoInitKwOnlyDefaults(1, k_required=2),
            "(p_required=1, p_default=11, k_required=2, k_default=22, hidden=33)",
        ),
        (lambda: _TestCxxKwOnly(x=1, y=2, z=3), "(x=1, y=2, z=3, w=100)"),
        (
            lambda: _TestCxxInitSubset(1),
            '(required_field=1, optional_field=-1, note="default")',
        ),
        (
            lambda: _TestCxxClassDerivedDerived(1, 2, 3.0, True),
            '(v_f64=3, v_f32=8, v_str="default", v_bool=True)',
        ),
    ],
)
def test_construction(make, text):
    obj = make()
    assert repr(obj) == obj.__tvm_ffi_type_info__.type_key + text


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: _TestCxxAutoInitChild(1, child_kw_only=3),
            "missing required argument: 'child_required'",
        ),
        (lambda: _TestCxxKwOnly(x=1, y=2), "missing required keyword-only argument: 'z'"),
        (lambda: _TestCxxKwOnly(1, y=2, z=3), "takes at most 0 positional argument.* but 1 were"),
        (lambda: _TestCxxAutoInit(1, b=2, c=3), "got an unexpected keyword argument 'b'"),
        (lambda: _TestCxxAutoInitSimple(1, x=2), "got multiple values for argument 'x'"),
        (lambda: _TestCxxAutoInitSimple("1", 2), "field 'x':\n  Cannot convert"),
        (lambda: _TestCxxNoAutoInit(1, 2), "`_TestCxxNoAutoInit` cannot be constructed directly"),
        (
            lambda: testing.TestIntPair(a=1, b=2),
            r"TestIntPair\(\) got an unexpected keyword argument 'a': .* have no names",
        ),
        (lambda: simple(init=False)(1, 2), "`Simple` cannot be constructed directly"),
    ],
)
def test_refused_construction(make, message):
    with pytest.raises(TypeError, match=message):
        make()


def test_a_constructor_in_the_body_is_kept():
    obj = _TestCxxClassBase(1, 2)
    assert (obj.v_i64, obj.v_i32) == (2, 4)
    assert (_TestCxxClassBase.not_field_1, _TestCxxClassBase.not_field_2) == (1, 2)


def test_the_constructor_of_the_base_refuses_objects_of_a_derived_type():
    @c_class("testing.TestObjectDerived")
    class Derived(testing.TestObjectBase):
        v_map: object
        v_array: object

        def __init__(self):
            super().__init__()

    with pytest.raises(
        TypeError, match="the constructor of `.*` cannot initialize an object of type"
    ):
        Derived()


# ---- Freezing ------------------------------------------------------------------------------------


def test_fields_of_a_frozen_class_refuse_assignment():
    obj = testing.TestFrozenCxx(1, "a")
    assert (obj.value, obj.tag) == (1, "a")
    for name in ("value", "tag"):
        with pytest.raises(AttributeError, match="of 'TestFrozenCxx' object has no setter"):
            setattr(obj, name, obj.value)
        with pytest.raises(AttributeError, match="of 'TestFrozenCxx' object has no deleter"):
            delattr(obj, name)
    assert all(field.frozen for field in testing.TestFrozenCxx.__tvm_ffi_type_info__.fields)


def test_frozen_fields_can_be_replaced_and_set():
    obj = testing.TestFrozenCxx(1, "a")
    assert repr(obj.__replace__(value=2)) == 'testing.TestFrozenCxx(value=2, tag="a")'
    testing.TestFrozenCxx.tag.set(obj, "b")
    assert (obj.value, obj.tag) == (1, "b")


def test_a_frozen_class_does_not_freeze_the_fields_of_its_base():
    @c_class("testing.TestObjectDerived", frozen=True)
    class Frozen(testing.TestObjectBase):
        v_map: object
        v_array: object

    obj = Frozen({}, [])
    for name in ("v_i64", "v_map"):
        with pytest.raises(AttributeError, match="object has no setter"):
            setattr(obj, name, getattr(obj, name))
    base = testing.TestObjectBase()
    base.v_i64 = 11
    assert base.v_i64 == 11


def test_the_next_class_of_the_type_need_not_be_frozen():
    frozen = simple(frozen=True)
    obj = simple()(1, 2)
    obj.x = 3
    assert obj.x == 3
    assert not isinstance(obj, frozen)


def test_names_in_the_body_are_not_frozen():
    @c_class(SIMPLE, frozen=True)
    class Named(Object):
        x: int
        y: str = "mine"

    assert Named(1, 2).y == "mine"
    assert isinstance(Named.x, FFIProperty)


# ---- Comparison and hash -------------------------------------------------------------------------


def test_without_eq_equality_is_identity():
    cls = simple()
    obj = cls(1, 2)
    assert obj == obj  # noqa: PLR0124
    assert obj != cls(1, 2)
    with pytest.raises(TypeError, match="not supported between instances of 'Simple' and 'Simple'"):
        obj < cls(1, 3)  # noqa: B015


def test_eq_compares_fields_and_leaves_the_hash():
    cls = simple(eq=True)
    obj = cls(1, 2)
    assert obj == cls(1, 2)
    assert not obj != cls(1, 2)  # noqa: SIM202
    assert obj != cls(1, 3)
    assert obj.__eq__((1, 2)) is NotImplemented
    assert obj != (1, 2)
    assert hash(obj) == hash(obj)
    assert hash(obj) != hash(cls(1, 2))
    assert cls.__lt__ is Object.__lt__


def test_order_compares_fields_lexicographically():
    cls = simple(order=True)
    assert cls(1, 2) < cls(1, 3) < cls(2, 0)
    assert cls(1, 2) <= cls(1, 2) >= cls(1, 2)
    assert cls(2, 0) > cls(1, 9)
    assert not cls(1, 2) > cls(1, 2)
    assert cls(1, 2) != cls(1, 2)
    assert cls(1, 2).__lt__(3) is NotImplemented


def test_unsafe_hash_hashes_the_fields():
    cls = simple(eq=True, unsafe_hash=True)
    assert {cls(1, 2): "a"}[cls(1, 2)] == "a"
    assert hash(cls(1, 2)) != hash(cls(2, 1))


def test_objects_of_related_classes_are_compared():
    cls = simple(eq=True, order=True)

    class Left(cls):
        pass

    class Right(cls):
        pass

    assert Left(1, 2) == cls(1, 2)
    assert cls(1, 2) == Left(1, 2)
    assert Left(1, 2) < cls(1, 3)
    assert Left(1, 2) != Right(1, 2)
    with pytest.raises(TypeError, match="not supported between instances of 'Left' and 'Right'"):
        Left(1, 2) < Right(1, 3)  # noqa: B015


def test_objects_of_different_native_types_differ_and_have_no_order():
    base, derived = _TestCxxClassBase(0, 0), _TestCxxClassDerived(1, 2, 3.0)
    further = _TestCxxClassDerivedDerived(1, 2, 3.0, True)
    assert derived == _TestCxxClassDerived(1, 2, 3.0)
    assert derived < _TestCxxClassDerived(1, 2, 4.0)
    assert derived != base
    assert derived != further
    assert further == _TestCxxClassDerivedDerived(1, 2, 3.0, True)
    assert hash(further) == hash(_TestCxxClassDerivedDerived(1, 2, 3.0, True))
    with pytest.raises(TypeError, match="Cannot compare values of different types"):
        derived < further  # noqa: B015


def test_nan_equals_itself_and_has_no_order():
    not_a_number = _TestCxxClassDerived(1, 2, math.nan)
    assert not_a_number == _TestCxxClassDerived(1, 2, math.nan)
    with pytest.raises(TypeError):
        not_a_number < _TestCxxClassDerived(1, 2, 0.0)  # noqa: B015


def test_methods_in_the_body_are_kept():
    @c_class(SIMPLE, eq=True, unsafe_hash=True)
    class Own(Object):  # noqa: PLW1641
        x: int
        y: int
        __match_args__ = ("y",)

        def __eq__(self, other):
            return self.y == other.y

        def __repr__(self):
            return f"Own({self.x})"

        def __copy__(self):
            return "copy"

    assert Own(1, 2) == Own(3, 2)
    assert not Own(1, 2) != Own(3, 2)  # noqa: SIM202
    assert hash(Own(1, 2)) == hash(Own(1, 2))
    assert repr(Own(1, 2)) == "Own(1)"
    assert copy.copy(Own(1, 2)) == "copy"
    assert Own.__match_args__ == ("y",)


def test_empty_objects_are_refused():
    cls = simple(eq=True, order=True, unsafe_hash=True)
    empty = cls.__new__(cls)
    assert repr(empty) == "Simple(chandle=None)"
    for use in (copy.copy, copy.deepcopy, hash, lambda obj: obj == cls(1, 2)):
        with pytest.raises(ValueError, match="Simple is empty"):
            use(empty)


# ---- repr and match patterns ---------------------------------------------------------------------


def test_repr_can_be_left_to_the_base():
    class Spoken(Object):
        def __repr__(self):
            return "spoken"

    @c_class(SIMPLE, repr=False)
    class Silent(Spoken):
        x: int
        y: int

    assert repr(Silent(1, 2)) == "spoken"

    @c_class(SIMPLE)
    class Shown(Spoken):
        x: int
        y: int

    assert repr(Shown(1, 2)) == "testing.TestCxxAutoInitSimple(x=1, y=2)"


@pytest.mark.parametrize(
    ("cls", "names"),
    [
        (_TestCxxAutoInit, ("a", "d")),
        (testing.TestObjectDerived, ("v_i64", "v_f64", "v_str", "v_map", "v_array")),
        (_TestCxxKwOnly, ()),
    ],
)
def test_match_args_are_the_positional_fields_in_order(cls, names):
    assert cls.__match_args__ == names


def test_match_args_can_be_left_out():
    assert "__match_args__" not in vars(simple(match_args=False))


# ---- Copies --------------------------------------------------------------------------------------


def test_shallow_copies_share_field_values():
    obj = testing.TestObjectDerived({1: 2}, [3, 4], v_str="text")
    copied = copy.copy(obj)
    assert type(copied) is testing.TestObjectDerived
    assert not copied.same_as(obj)
    assert copied.v_str == "text"
    assert copied.v_array.same_as(obj.v_array)


def test_deep_copies_share_no_mutable_values():
    obj = testing.TestObjectDerived({1: 2}, [3, 4])
    copied = copy.deepcopy([obj, obj])
    assert copied[0] is copied[1]
    assert type(copied[0]) is testing.TestObjectDerived
    assert list(copied[0].v_array) == [3, 4]
    assert not copied[0].v_array.same_as(obj.v_array)


def test_copies_keep_the_class_and_instance_attributes():
    class Open(simple()):
        __slots__ = ("__dict__",)

    obj = Open(1, 2)
    obj.note = ["a", obj]
    for copied in (copy.copy(obj), obj.__replace__(x=1)):
        assert (type(copied), copied.x, copied.y) == (Open, 1, 2)
        assert copied.note is obj.note
        assert not copied.same_as(obj)
    deep = copy.deepcopy(obj)
    assert (type(deep), deep.y, deep.note[0]) == (Open, 2, "a")
    assert deep.note is not obj.note
    assert deep.note[1] is deep


def test_replace_changes_a_copy():
    obj = testing.TestObjectDerived({}, [3])
    changed = obj.__replace__(v_i64=77, v_f64=1.25)  # the field v_f64 is read-only
    assert (changed.v_i64, changed.v_f64, obj.v_i64, obj.v_f64) == (77, 1.25, 10, 10.0)
    assert changed.v_array.same_as(obj.v_array)
    if sys.version_info >= (3, 13):
        assert copy.replace(obj, v_i64=5).v_i64 == 5


def test_replace_accepts_fields_only():
    obj = testing.TestObjectBase()
    with pytest.raises(AttributeError, match="'TestObjectBase' has no attribute 'absent'"):
        obj.__replace__(absent=1)
    with pytest.raises(AttributeError, match="'TestObjectBase' has no field 'add_i64'"):
        obj.__replace__(add_i64=1)
    with pytest.raises(TypeError, match="Cannot convert from type `str` to `int`"):
        obj.__replace__(v_i64="x")


def test_objects_can_be_pickled():
    obj = pickle.loads(pickle.dumps(testing.TestObjectDerived({1: 2}, [3])))
    assert type(obj) is testing.TestObjectDerived
    assert (dict(obj.v_map), list(obj.v_array)) == ({1: 2}, [3])
    frozen = pickle.loads(pickle.dumps(testing.TestFrozenCxx(5, "text")))
    assert (frozen.value, frozen.tag) == (5, "text")


def test_types_that_cannot_be_copied():
    obj = testing.TestNonCopyable(3)
    for make_copy in (copy.copy, lambda obj: obj.__replace__(value=4)):
        with pytest.raises(TypeError, match="Type `TestNonCopyable` does not support copy"):
            make_copy(obj)
    with pytest.raises(RuntimeError, match="is not copy-constructible"):
        copy.deepcopy(obj)


def test_copies_keep_the_native_type_of_the_object():
    """A class may be registered for a derived native type that has additional fields."""
    make = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")
    index = _object_type_key_to_index("testing.TestObjectDerived")
    _register_object_by_index(index, testing.TestObjectBase)
    obj = make("testing.TestObjectDerived", "v_map", {}, "v_array", [1, 2])
    assert type(obj) is testing.TestObjectBase
    assert repr(copy.copy(obj)).endswith("v_map={}, v_array=(1, 2))")


# ---- Registration --------------------------------------------------------------------------------


def test_fields_without_annotation_are_warned_of():
    message = r"@c_class\('testing.TestCxxAutoInitSimple'\): class `Part` does not annotate .*: y\."
    with pytest.warns(UserWarning, match=message) as caught:

        @c_class(SIMPLE)
        class Part(Object):
            x: int

    assert [entry.filename for entry in caught] == [__file__]


def test_annotations_of_bases_count_for_inherited_fields_only():
    with warnings.catch_warnings():
        warnings.simplefilter("error")

        @c_class("testing.TestObjectDerived")
        class Derived(testing.TestObjectBase):
            v_map: object
            v_array: "NotDefined"  # noqa: F821, UP037

    class Unregistered(Object):
        x: int
        y: int

    with pytest.warns(UserWarning, match="does not annotate .*: x, y"):

        @c_class(SIMPLE)
        class Bare(Unregistered):
            pass


def test_refused_registration():
    with pytest.raises(ValueError, match=r"no native type has the type key 'no\.such\.type'; load"):
        c_class("no.such.type")(Object)
    with pytest.raises(TypeError, match="type_key must be a str, got _ObjectMeta"):
        c_class(Object)
    with pytest.raises(TypeError, match="derives from Object"):
        c_class(SIMPLE)(int)


def test_class_that_does_not_derive_from_object():
    """Regression: TypeError; published packages define such classes."""

    class Named:
        def name(self):
            return "a pair"

    class Plain(Named):
        """A class with a body."""

        x: int
        y: int

        def name(self):
            return super().name() + f" of {self.x} and {self.y}"

        @property
        def twice(self):
            return super().name() * 2

        @classmethod
        def made(cls):
            return super().__new__(cls)

    pair_class = c_class(SIMPLE)(Plain)
    assert issubclass(pair_class, Object)
    assert issubclass(pair_class, Named)
    assert (pair_class.__name__, pair_class.__qualname__) == (Plain.__name__, Plain.__qualname__)
    assert (pair_class.__module__, pair_class.__doc__) == (__name__, "A class with a body.")
    pair = pair_class(1, 2)
    assert (pair.x, pair.y, pair.name()) == (1, 2, "a pair of 1 and 2")
    assert pair.twice == "a paira pair"
    assert type(pair_class.made()) is pair_class
    assert type(testing.create_object(SIMPLE, x=1, y=2)) is pair_class
    assert not issubclass(Plain, Object)
    with pytest.raises(TypeError, match="must be a class that derives from Object: "):
        c_class(SIMPLE)(type("Number", (int,), {}))
    assert type(testing.create_object(SIMPLE, x=1, y=2)) is pair_class


def test_unknown_types_can_be_skipped(monkeypatch):
    monkeypatch.setattr(registry, "_SKIP_UNKNOWN_OBJECTS", True)

    class Unknown(Object):
        pass

    assert c_class("no.such.type", eq=True)(Unknown) is Unknown
    assert "__eq__" not in vars(Unknown)
