# SPDX-License-Identifier: Apache-2.0
"""Python classes registered for native types with `register_object`."""

from __future__ import annotations

import gc
import inspect
import pickle
import weakref

import numpy as np
import pytest
from types_in_text import load_types

import tvm_ffi
import tvm_ffi.testing
from tvm_ffi import core, registry
from tvm_ffi._binding.object import live_object_count, register_class, type_key_to_index
from tvm_ffi._types.type_info import registered_info
from tvm_ffi.core import KWARGS, MISSING, FFIProperty
from tvm_ffi.dataclasses import py_class

SOURCE = r"""
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class PairObj : public Object {
 public:
  int64_t first;
  double second = 0.5;
  String label;
  Any extra;

  PairObj(int64_t first, double second) : first(first), second(second) {}
  double Sum() const { return static_cast<double>(first) + second; }
  void Scale(int64_t by) { first *= by; }

  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.python.Pair", PairObj, Object);
};

class TripleObj : public PairObj {
 public:
  int64_t third = 3;
  explicit TripleObj(UnsafeInit) : PairObj(1, 2) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.python.Triple", TripleObj, PairObj);
};

class RecordObj : public Object {
 public:
  int64_t a = 0;
  String b;
  int32_t c = 0;
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.python.Record", RecordObj, Object);
};

class SealedObj : public Object {
 public:
  explicit SealedObj(int) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.python.Sealed", SealedObj, Object);
};

class EarlyObj : public Object {
 public:
  int64_t number;
  explicit EarlyObj(int64_t number) : number(number) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.python.Early", EarlyObj, Object);
};

class OddNamesObj : public Object {
 public:
  int64_t def = 0;
  int64_t a_b = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.python.OddNames", OddNamesObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<OddNamesObj>().def_ro("def", &OddNamesObj::def).def_ro("a-b", &OddNamesObj::a_b);
  refl::ObjectDef<PairObj>("Two numbers.")
      .def(refl::init<int64_t, double>(), "Make a pair.")
      .def_rw("first", &PairObj::first, "The integer.")
      .def_ro("second", &PairObj::second)
      .def_rw("label", &PairObj::label)
      .def_rw("extra", &PairObj::extra)
      .def("sum", &PairObj::Sum, "Add both.")
      .def("scale", &PairObj::Scale)
      .def_static("zero", [] { return 0; });
  refl::ObjectDef<TripleObj>(refl::init(false)).def_ro("third", &TripleObj::third);
  refl::ObjectDef<RecordObj>()
      .def_rw("a", &RecordObj::a, refl::DefaultValue(7))
      .def_rw("b", &RecordObj::b)
      .def_rw("c", &RecordObj::c, refl::kw_only(true), refl::DefaultValue(1));
  refl::ObjectDef<SealedObj>();
  // The constructor is a method, not a type attribute.
  refl::ObjectDef<EarlyObj>(refl::init(false))
      .def_ro("number", &EarlyObj::number)
      .def_static("__ffi_init__", [](int64_t number) {
        return ObjectRef(ObjectPtr<Object>(make_object<EarlyObj>(number)));
      });
  refl::GlobalDef()
      .def("test.python.make_triple", [] {
        return ObjectRef(ObjectPtr<Object>(make_object<TripleObj>(UnsafeInit{})));
      })
      .def("test.python.make_sealed", [] {
        return ObjectRef(ObjectPtr<Object>(make_object<SealedObj>(1)));
      });
}
"""


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory):
    """Load the types above."""
    return load_types(tmp_path_factory.mktemp("types"), SOURCE)


@pytest.fixture(scope="module")
def pair(library):
    @tvm_ffi.register_object("test.python.Pair")
    class Pair(tvm_ffi.Object):
        def own(self):
            return "own"

    return Pair


@pytest.fixture(scope="module")
def record(library):
    @tvm_ffi.register_object("test.python.Record")
    class Record(tvm_ffi.Object):
        pass

    return Record


def test_fields_are_attributes(pair):
    obj = pair(3, 1.5)
    assert (obj.first, obj.second) == (3, 1.5)
    obj.first = 8
    obj.label = "a label that is longer than seven bytes"
    obj.extra = None
    assert obj.first == 8
    assert obj.label == "a label that is longer than seven bytes"
    assert obj.extra is None
    assert obj.own() == "own"


def test_read_only_fields_refuse_assignment(pair):
    obj = pair(3, 1.5)
    with pytest.raises(AttributeError, match="property 'second' of 'Pair' object has no setter"):
        obj.second = 2.0
    with pytest.raises(AttributeError, match="property 'first' of 'Pair' object has no deleter"):
        del obj.first
    assert isinstance(pair.second, FFIProperty)
    pair.second.set(obj, 2.5)
    assert obj.second == 2.5


def test_assigned_values_are_converted_or_refused(pair):
    obj = pair(3, 1.5)
    obj.first = True
    assert obj.first == 1
    with pytest.raises(TypeError, match="Cannot convert from type `str` to `int`"):
        obj.first = "text"
    with pytest.raises(TypeError, match="type `int of more than 64 bits` to `int`"):
        obj.first = 1 << 70
    assert obj.first == 1


def test_fields_check_the_object(pair, record):
    other = record(b="x")
    with pytest.raises(TypeError, match=r"of type `test\.python\.Pair`.*`test\.python\.Record`"):
        pair.first.fget(other)
    with pytest.raises(
        TypeError, match=r"type `test\.python\.Pair`, got an instance of the class int"
    ):
        pair.first.fget(1)
    with pytest.raises(ValueError, match="empty"):
        pair.first.fget(pair.__new__(pair))
    with pytest.raises(
        TypeError, match="expected an object of type `test.python.Pair`, got an object of type"
    ):
        pair.first.set(other, 1)


def test_fields_of_objects_of_alternating_classes(pair, record):
    class Derived(pair):
        pass

    first, second, other = pair(1, 0.5), Derived(2, 1.5), record(b="x")
    for _ in range(3):
        assert [first.first, second.first, first.second, second.second] == [1, 2, 0.5, 1.5]
        with pytest.raises(TypeError, match=r"got an object of type `test\.python\.Record`"):
            pair.first.__get__(other, type(other))
        with pytest.raises(
            TypeError,
            match="expected an object of type `test.python.Pair`, got an instance of the class int",
        ):
            pair.first.__get__(5, int)
        assert pair.first.__get__(None, pair) is pair.first


def test_fields_check_the_object_and_not_only_its_class(pair, record):
    obj = pair(1, 0.5)
    assert obj.first == 1
    other = record(b="x")
    other.__class__ = pair  # the class that the field was last read from
    with pytest.raises(TypeError, match=r"of type `test\.python\.Pair`.*`test\.python\.Record`"):
        _ = other.first
    obj.__move_handle_from__(pair.__new__(pair))
    with pytest.raises(ValueError, match="empty"):
        _ = obj.first
    obj.__move_handle_from__(pair(2, 0.5))
    assert obj.first == 2


def test_a_field_does_not_keep_its_last_class_alive(pair):
    class Derived(pair):
        pass

    assert Derived(1, 0.5).first == 1
    gone = weakref.ref(Derived)
    assert pair(1, 0.5).first == 1  # now `pair` is the last class that was read
    del Derived
    gc.collect()
    assert gone() is None


def test_methods(pair):
    obj = pair(3, 1.5)
    assert obj.sum() == 4.5
    obj.scale(2)
    assert obj.first == 6
    assert pair.sum(obj) == 7.5
    assert pair.zero() == 0 == obj.zero()
    assert pair.sum.__name__ == "sum"
    assert pair.sum.__qualname__.endswith("Pair.sum")
    assert pair.sum.__module__ == __name__
    assert pair.sum.__doc__ == "Add both."
    with pytest.raises(TypeError, match=r"test\.python\.Pair\.scale.*Expected `int` but got"):
        obj.scale("x")
    bound = obj.scale
    bound(10)
    assert obj.first == 60


def test_methods_check_the_object_and_not_only_its_class(pair, record):
    obj = pair(3, 1.5)
    for _ in range(3):
        assert obj.sum() == 4.5
    with pytest.raises(TypeError, match="Expected `test.python.Pair` but got `test.python.Record`"):
        pair.sum(record(b="x"))
    with pytest.raises(TypeError, match="Expected `test.python.Pair` but got `int`"):
        pair.sum(1)
    with pytest.raises(TypeError, match="Expected 1 but got 0 arguments"):
        pair.sum()
    with pytest.raises(TypeError, match="Expected 1 but got 2 arguments"):
        obj.sum(1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'by'"):
        obj.sum(by=1)
    with pytest.raises(ValueError, match=r"argument #0 when calling.*Pair is empty"):
        pair.__new__(pair).sum()
    assert obj.sum() == 4.5


def test_methods_on_objects_of_derived_classes(pair):
    class Derived(pair):
        pass

    for _ in range(3):
        assert (pair(3, 1.5).sum(), Derived(1, 1.5).sum()) == (4.5, 2.5)


def test_methods_have_signatures(pair):
    assert str(inspect.signature(pair.sum)) == "(_0: 'test.python.Pair', /) -> 'float'"
    assert str(inspect.signature(pair(1, 2.0).scale)) == "(_1: 'int', /) -> 'None'"
    assert str(inspect.signature(pair.zero)) == "() -> 'int'"


def test_documentation_comes_with_the_type(pair):
    assert pair.__doc__ == "Two numbers."
    assert pair.first.__doc__ == "The integer."
    assert pair.__init__.__doc__ == "Make a pair."


def test_automatic_constructor(record):
    assert str(inspect.signature(record)) == "(b, a=7, *, c=1)"
    obj = record("text", c=5)
    assert (obj.a, obj.b, obj.c) == (7, "text", 5)
    obj = record(b="x", a=MISSING)
    assert obj.a == 7
    with pytest.raises(TypeError, match="missing required argument: 'b'"):
        record()
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        record("b", z=1)
    with pytest.raises(TypeError, match="field 'a'"):
        record("b", "not an int")


def test_fields_whose_names_are_not_python_identifiers(library):
    @tvm_ffi.register_object("test.python.OddNames")
    class OddNames(tvm_ffi.Object):
        pass

    for made in (OddNames(1, 2), OddNames(1, **{"a-b": 2}), OddNames(**{"def": 1, "a-b": 2})):
        assert (getattr(made, "def"), getattr(made, "a-b")) == (1, 2)
    assert str(inspect.signature(OddNames)) == "(*args, **kwargs)"


def test_a_declared_constructor_takes_positional_arguments_only(pair):
    with pytest.raises(TypeError, match=r"Pair\(\) got an unexpected keyword argument 'first'"):
        pair(first=1, second=2.0)


def test_types_without_constructor(library):
    @tvm_ffi.register_object("test.python.Sealed")
    class Sealed(tvm_ffi.Object):
        pass

    with pytest.raises(TypeError, match="`Sealed` cannot be constructed directly"):
        Sealed()
    made = tvm_ffi.get_global_func("test.python.make_sealed")()
    assert type(made) is Sealed


def test_descendants_arrive_as_the_nearest_registered_class(pair):
    make = tvm_ffi.get_global_func("test.python.make_triple")
    assert type(make()) is pair
    assert make().first == 1

    @tvm_ffi.register_object("test.python.Triple")
    class Triple(pair):
        pass

    made = make()
    assert type(made) is Triple
    assert (made.first, made.third) == (1, 3)
    assert made.sum() == 3.0
    with pytest.raises(
        TypeError, match="the constructor of `.*` cannot initialize an object of type"
    ):
        made.__ffi_init__(1, 2.0)


def test_a_second_class_replaces_the_first(library):
    @tvm_ffi.register_object("test.python.Sealed")
    class First(tvm_ffi.Object):
        pass

    @tvm_ffi.register_object("test.python.Sealed", init=False)
    class Second(tvm_ffi.Object):
        pass

    assert type(tvm_ffi.get_global_func("test.python.make_sealed")()) is Second
    assert "__init__" not in vars(Second)


def test_constructor_of_a_library_built_with_early_headers(library):
    """Libraries built with 0.1.9 register the constructor as a method, not as a type attribute."""

    @tvm_ffi.register_object("test.python.Early")
    class Early(tvm_ffi.Object):
        pass

    assert Early(5).number == 5


def test_attributes_that_are_not_fields_are_refused(record):
    obj = record("b")
    with pytest.raises(AttributeError, match="'Record' object has no attribute 'd'"):
        obj.d = 1

    class Open(record):
        __slots__ = ("__dict__",)

    opened = Open("b")
    opened.d = 1
    assert (opened.d, opened.b) == (1, "b")
    assert record.__slots__ == ()


def test_constructors_check_the_type_of_self(record, pair):
    with pytest.raises(
        TypeError,
        match="constructor of `test.python.Record` cannot initialize an object of type `int`",
    ):
        record.__init__(1)
    with pytest.raises(TypeError, match=r"cannot initialize an object of type `test.python.Pair`"):
        record.__init__(pair(1, 2.0), "b")
    with pytest.raises(TypeError, match="cannot initialize an object of type `NoneType`"):
        record.__init__()


def test_classes_derived_in_python_call_the_constructor_of_their_base(record):
    class Derived(record):
        def __init__(self, text):
            super().__init__(text * 2, c=1)

    obj = Derived("ab")
    assert (obj.b, obj.c, type(obj)) == ("abab", 1, Derived)


def test_not_equal_uses_the_overridden_equality(record):
    """Regression: ``!=`` always compared the handles, even if the class defined `__eq__`."""

    class Compared(record):
        def __eq__(self, other):
            return self.b == other.b

        __hash__ = None

    assert Compared("b") == Compared("b")
    assert not Compared("b") != Compared("b")  # noqa: SIM202
    assert Compared("b") != Compared("c")
    assert record("b") != record("b")
    assert record("b") != "b"


def test_constructing_again_releases_the_first_object(record):
    obj = record("b")
    first = obj.__chandle__()
    before = live_object_count()
    obj.__init__("c")
    assert (obj.b, obj.__chandle__() != first) == ("c", True)
    assert live_object_count() == before


def test_constructors_that_fail_leave_the_object_empty(record):
    obj = record.__new__(record)
    with pytest.raises(TypeError, match="missing required argument: 'b'"):
        obj.__init__()
    assert obj.__chandle__() == 0


def test_names_in_the_class_body_take_precedence(library):
    @tvm_ffi.register_object("test.python.Record")
    class Record(tvm_ffi.Object):
        a = "mine"

        def __init__(self, value):
            self.__ffi_init__(value)

    assert Record("b").a == "mine"
    assert Record("b").b == "b"


def test_invalid_registrations_are_refused():
    with pytest.raises(ValueError, match=r"no native type has the type key 'no\.such\.type'; load"):
        tvm_ffi.register_object("no.such.type")(tvm_ffi.Object)
    with pytest.raises(TypeError, match="must be a str"):
        tvm_ffi.register_object(3)
    with pytest.raises(TypeError, match="derives from Object"):
        tvm_ffi.register_object("test.python.Pair")(int)


def test_unknown_types_can_be_skipped(monkeypatch):
    monkeypatch.setattr(registry, "_SKIP_UNKNOWN_OBJECTS", True)

    class Unknown:
        pass

    assert tvm_ffi.register_object("no.such.type")(Unknown) is Unknown


def test_object_repr_ignores_an_overridden_repr(record):
    obj = record("x", 1)
    assert core.object_repr(obj) == 'test.python.Record(a=1, b="x", c=1)'
    record.__repr__ = lambda self: "another text"
    assert repr(obj) == "another text"
    assert core.object_repr(obj) == 'test.python.Record(a=1, b="x", c=1)'
    assert core.object_repr(tvm_ffi.Object()) == "Object(chandle=None)"
    with pytest.raises(TypeError):
        core.object_repr(5)


def test_sentinels_print_their_names():
    assert repr(MISSING) == "<MISSING>"
    assert repr(KWARGS) == "<KWARGS>"


def test_weak_references(pair):
    obj = pair(1, 2.0)
    reference = weakref.ref(obj)
    del obj
    gc.collect()
    assert reference() is None


def test_objects_can_be_pickled(record, pair):
    """Pickle stores the class by reference and finds it by its module and name."""
    record.__module__, record.__qualname__ = __name__, "_record_of_the_test"
    globals()["_record_of_the_test"] = record
    try:
        made = pickle.loads(pickle.dumps(record("text", 3, c=5)))
    finally:
        del globals()["_record_of_the_test"]
    assert type(made) is record
    assert (made.a, made.b, made.c) == (3, "text", 5)


def test_pickling_an_object_without_a_default_constructor_raises(pair):
    with pytest.raises(TypeError, match=r"Type `test\.python\.Pair` does not support ToJSONGraph"):
        pickle.dumps(pair(1, 2.0))


def test_type_info(pair):
    info = pair.__tvm_ffi_type_info__
    assert info.type_key == "test.python.Pair"
    assert info.type_cls is pair
    assert info.total_size == 72
    assert [field.name for field in info.fields] == ["first", "second", "label", "extra"]
    assert [field.offset for field in info.fields] == [24, 32, 40, 56]
    assert info.fields[0].metadata == {"type_schema": '{"type":"int"}'}
    assert info.parent_type_info.type_key == "ffi.Object"
    assert [method.name for method in info.methods] == ["__ffi_init__", "sum", "scale", "zero"]
    assert info.methods[3].is_static


def test_type_attributes(pair):
    index = pair.__tvm_ffi_type_info__.type_index
    core._register_type_attr(index, "test.python.attribute", 5)
    assert core._lookup_type_attr(index, "test.python.attribute") == 5
    child = core._object_type_key_to_index("test.python.Triple")
    assert core._lookup_type_attr(child, "test.python.attribute") is None
    assert core._lookup_type_attr(child, "test.python.attribute", ancestor=True) == 5
    assert core._lookup_type_attr(index, "test.python.no_such_column") is None
    with pytest.raises(RuntimeError, match="already registered"):
        core._register_type_attr(index, "test.python.attribute", 6)


# ---- classes with a layout -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("key", "base"),
    [
        ("testing.TestIntPair", tvm_ffi.Array),
        ("testing.TestIntPair", tvm_ffi.Tensor),
        ("ffi.Map", tvm_ffi.Array),
        ("ffi.Tensor", tvm_ffi.Function),
        ("ffi.Object", tvm_ffi.Map),
    ],
)
def test_a_class_with_an_incompatible_layout_cannot_be_registered(key, base):
    """Regression: objects of the type were then read with the memory layout of the base class."""
    pair = tvm_ffi.testing.TestIntPair(3, 4)
    before = type(tvm_ffi.Array([pair])[0])
    info = before.__tvm_ffi_type_info__
    with pytest.raises(
        TypeError, match=f"cannot be registered for `{key}`: it derives from the class"
    ):
        tvm_ffi.register_object(key)(type("Wrong", (base,), {}))
    assert type(tvm_ffi.Array([pair])[0]) is before
    assert registered_info(info.type_index) is info


def test_a_replaced_class_still_checks_the_type_of_its_objects():
    """Regression: a replaced class counted as unregistered; its wrappers accepted any object."""
    array_info, replaced = type_key_to_index("ffi.Array"), tvm_ffi.Array
    try:
        tvm_ffi.register_object("ffi.Array")(type("Other", (tvm_ffi.Array,), {}))
        array = replaced([1, 2])
        with pytest.raises(TypeError, match="expected an object of type `ffi.Array`, got"):
            array.__move_handle_from__(tvm_ffi.Map({1: 2}))
        assert list(array) == [1, 2]
    finally:
        register_class(array_info, replaced)


@py_class("test.register.Replaced")
class Replaced(tvm_ffi.Object):
    number: int


HELD = tvm_ffi.Array([Replaced(5)])
GIVEN = [None]


@tvm_ffi.register_object("test.register.Replaced")
class Gives(tvm_ffi.Object):
    def __new__(cls, *_):
        return GIVEN[0]


def test_a_wrapper_of_another_class_returned_by_new_is_checked():
    """Regression: the wrapper that `__new__` returned was filled, whatever its layout."""
    array = tvm_ffi.Array([1, 2, 3])
    for other in (array, tvm_ffi.Tensor.__new__(tvm_ffi.Tensor), core.Error.__new__(core.Error)):
        GIVEN[0] = other
        with pytest.raises(
            TypeError,
            match=r"expected an object of type `ffi.\w+`, got type `test.register.Replaced`",
        ):
            HELD[0]
    assert list(array) == [1, 2, 3]
    GIVEN[0] = 5
    with pytest.raises(TypeError):
        HELD[0]
    GIVEN[0] = tvm_ffi.Object()  # a class that reads no fields
    assert HELD[0] is GIVEN[0]
    GIVEN[0] = None


def gives_nothing(base):
    return type("Empty", (base,), {"__new__": lambda cls, *_: None})


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: HELD[0], id="object"),
        pytest.param(
            lambda: core._create_cdtype_from_tuple(gives_nothing(core.DataType), 0, 32, 1),
            id="dtype",
        ),
        pytest.param(lambda: of_class(core._set_class_tensor, tvm_ffi.Tensor), id="tensor"),
        pytest.param(lambda: of_class(core._set_class_device, tvm_ffi.Device), id="device"),
    ],
)
def test_a_class_whose_new_returns_none_is_refused(make):
    """Regression: None passed as an instance of any class, and the memory of None was written."""
    GIVEN[0] = None
    with pytest.raises(TypeError, match="Cannot convert NoneType to"):
        make()


def of_class(set_class, original):
    tensor = tvm_ffi.from_dlpack(np.zeros(2))
    set_class(gives_nothing(original))
    try:
        return tvm_ffi.from_dlpack(np.zeros(2)), tensor.device
    finally:
        set_class(original)


def test_a_dtype_subclass_without_a_native_dtype_is_refused(echo):
    """Regression: the memory of None was read as a dtype."""

    class Hollow(tvm_ffi.dtype):
        _tvm_ffi_dtype = None

    with pytest.raises(TypeError, match="Cannot convert NoneType to"):
        echo(str.__new__(Hollow, "int32"))
