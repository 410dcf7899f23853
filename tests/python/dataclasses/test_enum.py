# SPDX-License-Identifier: Apache-2.0
"""Enum, IntEnum and StrEnum, whose variants are native objects."""

import copy
import enum
import itertools
import json
import pickle
from typing import ClassVar

import pytest
from types_in_text import load_types

import tvm_ffi
from tvm_ffi import Object, core, testing  # noqa: F401  (the last loads enumerations from C++)
from tvm_ffi.dataclasses import (
    Enum,
    EnumState,
    IntEnum,
    StrEnum,
    auto,
    c_class,
    entry,
    field,
    py_class,
)

_numbers = itertools.count()


def key():
    """Return a type key that no other test uses."""
    return f"test.enum.Type{next(_numbers)}"


class Color(Enum, type_key="test.enum.Color"):
    """An enumeration whose variants have a field."""

    rgb: int
    red = entry(rgb=1)
    green = entry(rgb=2)


class Priority(IntEnum, type_key="test.enum.Priority"):
    """An enumeration whose variants are integers."""

    low = 10
    high = entry(value=20)
    lowest = 10


class Sign(StrEnum, type_key="test.enum.Sign"):
    """An enumeration whose variants are strings."""

    plus = "+"
    times = entry(value="*")


def test_variants_of_a_class():
    assert list(Color) == [Color.red, Color.green]
    assert (len(Color), Color.red.rgb, Color.green.rgb) == (2, 1, 2)
    assert [(x._int_index, x._str_index) for x in Color] == [(0, "red"), (1, "green")]
    assert repr(Color.red) == "test.enum.Color.red"
    assert list(Color.all_entries()) == list(Color)
    assert Color.red in Color
    assert "red" not in Color
    assert bool(Color)


@pytest.mark.parametrize("variant", [Color.green, Priority.lowest, Sign.plus])
def test_variants_of_a_class_cannot_be_changed(variant):
    """Regression: the class forgot a variant that native code still returned."""
    cls = type(variant)
    name = next(name for name, value in vars(cls).items() if value is variant)
    with pytest.raises(
        AttributeError, match=f"{cls.__name__}: cannot reassign the variant '{name}'"
    ):
        setattr(cls, name, 3)
    with pytest.raises(AttributeError, match=f"{cls.__name__}: cannot delete the variant '{name}'"):
        delattr(cls, name)
    assert getattr(cls, name) is variant


def test_other_attributes_of_an_enumeration_can_be_changed():
    Color.favourite = Color.red
    Color.favourite = Color.green
    assert Color.favourite is Color.green
    del Color.favourite
    assert not hasattr(Color, "favourite")


def test_look_up_by_index_name_and_variant():
    assert Color("red") is Color.red
    assert Color(1) is Color.green
    assert Color(Color.red) is Color.red
    assert Color.get("green") is Color.green
    for value in ("blue", 9, None, 1.5):
        with pytest.raises(ValueError, match=f"{value!r} is not a valid Color"):
            Color(value)
    with pytest.raises(KeyError, match="blue"):
        Color.get("blue")
    with pytest.raises(TypeError, match="expected an int or str as index, got float"):
        Color.get(1.5)
    with pytest.raises(OverflowError, match="outside int64"):
        Color.get(2**70)
    with pytest.raises(AttributeError, match="has no setter"):
        Color.red.rgb = 3


def test_variants_are_found_by_integers_of_derived_classes():
    """Regression: the search for a free variant number was linear in the values of the enum."""

    class Number(enum.IntEnum):
        LOW = 10
        NONE = 5
        LARGE = 2**70

    assert Priority(Number.LOW) is Priority.low
    for number in (Number.NONE, Number.LARGE):
        with pytest.raises(ValueError, match="is not a valid Priority"):
            Priority(number)
    with pytest.raises(OverflowError, match="outside int64"):
        Priority.get(Number.LARGE)


@pytest.mark.parametrize("variant", [Color.red, Priority.high, Sign.plus], ids=repr)
def test_a_variant_is_always_the_same_object(variant):
    echo = tvm_ffi.get_global_func("testing.echo")
    assert echo(variant) is variant
    assert tvm_ffi.Array([variant])[0] is variant
    assert copy.copy(variant) is variant
    assert copy.deepcopy([variant])[0] is variant
    assert pickle.loads(pickle.dumps(variant)) is variant
    text = tvm_ffi.serialization.to_json_graph_str(variant)
    assert tvm_ffi.serialization.from_json_graph_str(text) is variant
    assert variant.__chandle__() != 0


def _pass_by_move(obj):
    tvm_ffi.get_global_func("testing.echo")(obj._move())


def _pass_reference_by_move(obj):
    tvm_ffi.get_global_func("testing.echo")(core.ObjectRValueRef(obj))


def _move_to_another_wrapper(obj):
    core.Object.__new__(core.Object).__move_handle_from__(obj)


@pytest.mark.parametrize("move", [_pass_by_move, _pass_reference_by_move, _move_to_another_wrapper])
@pytest.mark.parametrize("shared", [Color.red, Priority.high, core.MISSING, core.KWARGS], ids=repr)
def test_a_move_does_not_empty_an_object_of_the_whole_process(shared, move):
    """Regression: the move emptied the variant for all code of the process."""
    address, text = shared.__chandle__(), repr(shared)
    move(shared)
    assert (shared.__chandle__(), repr(shared)) == (address, text)
    if isinstance(shared, Color):
        assert Color("red") is shared


def test_integers():
    rows = [(x.value, x.name, x._int_index) for x in Priority]
    assert rows == [(10, "low", 10), (20, "high", 20)]
    assert Priority.lowest is Priority.low
    assert (str(Priority.low), f"{Priority.high}", repr(Priority.low)) == (
        "10",
        "20",
        "Priority.low",
    )
    assert Priority.low == 10
    assert Priority.low != 11
    assert Priority.low != Priority.high
    assert hash(Priority.low) == hash(10)
    assert Priority(20) is Priority("high") is Priority.high
    assert 10 in Priority
    assert 11 not in Priority
    with pytest.raises(TypeError, match="not supported between"):
        Priority.low < Priority.high  # noqa: B015
    with pytest.raises(TypeError, match="int"):
        int(Priority.low)


def test_text():
    assert [(x.value, x.name, x._int_index) for x in Sign] == [("+", "+", 0), ("*", "*", 1)]
    assert (str(Sign.plus), repr(Sign.plus)) == ("+", "Sign.+")
    assert Sign.plus == "+"
    assert hash(Sign.plus) == hash("+")
    assert Sign("+") is Sign(0) is Sign.plus
    assert "+" in Sign
    with pytest.raises(ValueError, match="'plus' is not a valid Sign"):
        Sign("plus")


def test_fields_accept_the_values_of_variants():
    @py_class(key())
    class Task(tvm_ffi.Object):
        priority: Priority
        sign: Sign = field(default="*")

    task = Task(20)
    assert task.priority is Priority.high
    assert task.sign is Sign.times
    task.priority = Priority.low
    assert task.priority == 10
    with pytest.raises(TypeError, match="expected test.enum.Priority, got int"):
        task.priority = 11


def test_json_graphs_of_variants():
    text = tvm_ffi.serialization.to_json_graph_str([Color.red, Priority.low, Sign.plus])
    assert json.loads(text)["nodes"][:3] == [
        {"type": "test.enum.Color", "data": "red"},
        {"type": "test.enum.Priority", "data": 10},
        {"type": "test.enum.Sign", "data": "+"},
    ]


def test_named_variants_come_before_declared_ones():
    class Mixed(Enum, type_key=key()):
        x = auto()
        z: ClassVar["Mixed"]

    assert [(x._int_index, x._str_index) for x in Mixed] == [(0, "z"), (1, "x")]


def test_columns():
    class Op(Enum, type_key=key()):
        x = auto()
        y = auto()

    cost = Op.def_attr("cost", default=3)
    assert cost[Op.x] == 3
    cost[Op.y] = 7
    assert (cost[Op.y], cost.get(Op.x), cost.get(Op.x, 9), cost.name) == (7, None, 9, "cost")
    assert (Op.y in cost, Op.x in cost, Color.red in cost) == (True, False, False)
    assert Op.def_attr("cost")[Op.y] == 7
    assert Op.attr_dict["cost"][Op.y] == 7
    empty = Op.def_attr("empty")
    with pytest.raises(KeyError, match="has no extensible attribute 'empty'"):
        empty[Op.x]
    with pytest.raises(TypeError, match="expected a variant of Op as key, got Color"):
        empty[Color.red]


def test_the_variants_are_registered_as_a_type_attribute():
    state = core._lookup_type_attr(Color.__tvm_ffi_type_info__.type_index, "__ffi_enum__")
    assert isinstance(state, EnumState)
    assert [x._str_index for x in state.entries] == ["red", "green"]
    assert state.indexes[1] is state.indexes["green"] is Color.green
    assert len(EnumState().entries) == 0


def test_variants_of_an_enumeration_from_cpp():
    class Variant(Enum, type_key="testing.TestEnumVariant"):
        Alpha: ClassVar["Variant"]
        Beta: ClassVar["Variant"]

    get = tvm_ffi.get_global_func("testing.enum_variant_get")
    assert get("Alpha") is Variant.Alpha
    assert Variant.attr_dict["code"][Variant.Beta] == 20
    with pytest.raises(AttributeError, match="Variant: cannot reassign the variant 'Alpha'"):
        Variant.Alpha = Variant.Beta
    with pytest.raises(RuntimeError, match="'testing.TestEnumVariant' has no enum at string index"):

        class Missing(Enum, type_key="testing.TestEnumVariant"):
            Gamma: ClassVar[int]

    with pytest.raises(ValueError, match="a variant with this index already exists"):

        class Twice(Enum, type_key="testing.TestEnumVariant"):
            Alpha = auto()


MEMBERLESS = r"""
#include <tvm/ffi/enum.h>
#include <tvm/ffi/reflection/registry.h>

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class GradeObj : public IntEnumObj {
 public:
  using IntEnumObj::IntEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.enum.Grade", GradeObj, IntEnumObj);
};
// Not an IntEnum, so native code does not convert an int to a member.
class Grade : public ObjectRef {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Grade, ObjectRef, GradeObj);
};
class ModeObj : public StrEnumObj {
 public:
  using StrEnumObj::StrEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.enum.Mode", ModeObj, StrEnumObj);
};
class ReportObj : public Object {
 public:
  int64_t pages = 0;
  Grade grade{UnsafeInit{}};
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.enum.Report", ReportObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<GradeObj>(refl::init(false));
  refl::ObjectDef<ModeObj>(refl::init(false));
  refl::ObjectDef<ReportObj>()
      .def_rw("pages", &ReportObj::pages, refl::DefaultValue(1))
      .def_rw("grade", &ReportObj::grade);
}
"""


@pytest.fixture(scope="module")
def memberless(tmp_path_factory):
    return load_types(tmp_path_factory.mktemp("memberless"), MEMBERLESS)


@pytest.fixture(scope="module")
def grade(memberless):
    class Grade(IntEnum, type_key="test.enum.Grade"):
        good = entry(value=10)
        bad = 20

    return Grade


def test_python_adds_variants_to_an_enumeration_from_cpp(memberless, grade):
    """Regression: the field `value`, in the memory of an index, was not set: TypeError."""
    assert (grade.good.value, grade(20).name, list(grade)) == (10, "bad", [grade.good, grade.bad])
    assert grade.good._int_index == 10

    class Mode(StrEnum, type_key="test.enum.Mode"):
        read = entry(value="r")

    assert (Mode.read.value, Mode("r"), Mode.read._int_index) == ("r", Mode.read, 0)


def test_fields_whose_native_setter_takes_only_variants_take_values(grade):
    """Regression: only fields of libraries compiled with the headers of this package did."""

    @c_class("test.enum.Report")
    class Report(Object):
        pages: int
        grade: "grade"

    assert Report(grade=10).grade is grade.good
    assert Report(20, pages=3).grade is grade.bad
    assert Report(grade.bad, pages=3).pages == 3
    report = Report(grade.good)
    report.grade = 20
    assert report.grade is grade.bad
    for value in (11, "good", None):
        with pytest.raises(TypeError, match=r"test\.enum\.Grade"):
            report.grade = value
        with pytest.raises(TypeError, match=r"test\.enum\.Grade"):
            Report(value)
    assert report.grade is grade.bad


def test_objects_of_enumerations_without_a_class_are_enums():
    """Regression: the classes of value-like enums were not found for derived native types."""
    columns = core._lookup_type_attr(
        core._object_type_key_to_index("testing.TestCxxStrEnum"), "__ffi_enum__"
    )
    assert isinstance(columns.entries[0], StrEnum)
    assert columns.entries[0] == "+"


def test_old_subclass_without_key_is_not_registered():
    class Plain(Enum):
        x = entry(rgb=3)

    assert repr(Plain.x) == "entry(rgb=3)"


@pytest.mark.parametrize(
    "decorate",
    [
        py_class,
        lambda _: py_class,
        lambda _: c_class("testing.TestCxxIntEnum", init=False),
        lambda _: tvm_ffi.register_object("testing.TestCxxIntEnum"),
    ],
    ids=["py_class(key)", "py_class", "c_class", "register_object"],
)
@pytest.mark.parametrize(
    ("base", "variant", "keywords", "message"),
    [
        (Enum, auto(), [], r"got Bad with red; remove the decorator .* class Bad\(Enum, type_key"),
        (IntEnum, 1, [], r"got Bad with red; remove the decorator .* class Bad\(IntEnum, type_key"),
        (Enum, auto(), ["type_key"], "Bad is the enumeration '.*' already; remove the decorator"),
    ],
    ids=["Enum", "IntEnum", "keyword"],
)
def test_decorators_of_enumerations_are_refused(decorate, base, variant, keywords, message):
    """Regression: `py_class` registered the class and lost its variants."""
    members = {"__module__": __name__, "red": variant}
    bad = type(base)("Bad", (base,), members, **{keyword: key() for keyword in keywords})
    name = key()
    with pytest.raises(TypeError, match=message):
        decorate(name)(bad)
    assert core._object_type_key_to_index(name) is None
    if keywords:
        assert list(bad) == [bad.red]


def body(base, **members):
    """Define an enumeration that has these members."""
    return type(base)("Bad", (base,), members, type_key=key())


@pytest.mark.parametrize(
    ("define", "kind", "message"),
    [
        (lambda: body(IntEnum, x="q"), TypeError, "Bad.x: expected a value of type int, got str"),
        (lambda: body(IntEnum, x=True), TypeError, "Bad.x: expected .* type int, got bool"),
        (lambda: body(IntEnum, x=2**70), OverflowError, "Bad.x: .* is outside int64"),
        (lambda: body(StrEnum, x=1), TypeError, "Bad.x: expected a value of type str, got int"),
        (
            lambda: body(IntEnum, __annotations__={"value": int}),
            TypeError,
            "no field named `value`, which IntEnum",
        ),
        (lambda: body(Enum, x=entry(3)), TypeError, "Bad.x: invalid enum entry"),
        (lambda: body(Enum, x=entry(b=3)), TypeError, "unexpected keyword argument 'b'"),
        (
            lambda: type(Enum)("Bad", (Enum,), {"x": auto()}, type_key="test.enum.Color"),
            ValueError,
            "'test.enum.Color' is already registered",
        ),
    ],
)
def test_bad_definitions(define, kind, message):
    with pytest.raises(kind, match=message):
        define()
    assert len(Color) == 2
