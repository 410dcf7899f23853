# SPDX-License-Identifier: Apache-2.0
"""Native types whose fields a Python class declares."""

import copy
import ctypes
import gc
import inspect
import itertools
import json
import pickle
import weakref
from collections.abc import Callable
from typing import Any, ClassVar, Optional, Union

import pytest

import tvm_ffi
from tvm_ffi import Object, core
from tvm_ffi._binding.types.registration import register_metadata
from tvm_ffi.core import FFIProperty
from tvm_ffi.dataclasses import KW_ONLY, MISSING, field, init_property, py_class

from .types_in_text import load_types

_numbers = itertools.count()


def key(name="Type"):
    """Return a type key that no other test has."""
    return f"test.py_class.{name}{next(_numbers)}"


@py_class("test.py_class.Leaf")
class Leaf(Object):
    """A type with one field."""

    v: int


@py_class("test.py_class.Everything")
class Everything(Object):
    """A field of each kind."""

    a: int
    b: float
    c: bool
    d: str
    e: bytes
    f: Any
    g: Optional[int]
    h: Union[int, str]
    i: list[int]
    j: dict[str, int]
    k: tvm_ffi.dtype
    m: tvm_ffi.Device
    n: Leaf
    o: Optional[Leaf]
    p: Callable[[int], int]
    q: tvm_ffi.Tensor
    r: tvm_ffi.Array[int]
    s: tuple[int, str]
    t: Object
    u: None
    w: ctypes.c_void_p


# Name, size, alignment, offset, the type index that stands for the memory: of the contract.
LAYOUT = [
    ("a", 8, 8, 24, 1),
    ("b", 8, 8, 32, 3),
    ("c", 1, 1, 40, 2),
    ("d", 16, 8, 48, -1),
    ("e", 16, 8, 64, -1),
    ("f", 16, 8, 80, -1),
    ("g", 16, 8, 96, -1),
    ("h", 16, 8, 112, -1),
    ("i", 8, 8, 128, 64),
    ("j", 8, 8, 136, 64),
    ("k", 4, 2, 144, 5),
    ("m", 8, 4, 148, 6),
    ("n", 8, 8, 160, 64),
    ("o", 16, 8, 168, -1),
    ("p", 8, 8, 184, 64),
    ("q", 8, 8, 192, 64),
    ("r", 8, 8, 200, 64),
    ("s", 8, 8, 208, 64),
    ("t", 8, 8, 216, 64),
    ("u", 8, 8, 224, 64),
    ("w", 8, 8, 232, 4),
]


def test_fields_lie_where_the_contract_says():
    info = Everything.__tvm_ffi_type_info__
    rows = [(x.name, x.size, x.alignment, x.offset, x.field_static_type_index) for x in info.fields]
    assert rows == LAYOUT
    assert info.total_size == 240
    assert info.type_key == "test.py_class.Everything"
    assert str(info.fields[9].ty) == "Dict[str, int]"


def everything():
    """Return an object with a value in each field."""
    tensor = tvm_ffi.from_dlpack(ctypes_tensor())
    return Everything(
        *(1, 2, True, "text", b"bytes", [1], None, "x", [1, 2], {"k": 3}),
        *("float32", "cpu", Leaf(4), None, lambda x: x + 1, tensor, (5, 6), [7, "y"]),
        *([8], None, ctypes.c_void_p(4096)),
    )


def ctypes_tensor():
    """Return something that exports a tensor."""
    return pytest.importorskip("numpy").zeros(2, dtype="float32")


def test_every_field_holds_what_it_was_given():
    obj = everything()
    assert (obj.a, obj.b, obj.c, obj.d, obj.e) == (1, 2.0, True, "text", b"bytes")
    assert isinstance(obj.b, float)
    assert (list(obj.f), obj.g, obj.h, list(obj.i), obj.j["k"]) == ([1], None, "x", [1, 2], 3)
    assert [type(obj.i), type(obj.j), type(obj.r)] == [tvm_ffi.List, tvm_ffi.Dict, tvm_ffi.Array]
    assert (obj.k, obj.m, obj.n.v, obj.o) == ("float32", tvm_ffi.device("cpu", 0), 4, None)
    assert (obj.p(1), obj.q.shape, list(obj.r), list(obj.s)) == (2, (2,), [5, 6], [7, "y"])
    assert (list(obj.t), obj.u, obj.w.value) == ([8], None, 4096)


# ---- Native code sees the same -------------------------------------------------------------------

SOURCE = r"""
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/reflection/registry.h>

using namespace tvm::ffi;

// The memory of the Python class below.
struct PointObj : public Object {
  int64_t x;
  double weight;
  bool is_set;
  String name;
  List<int64_t> tags;
};
static_assert(sizeof(PointObj) == 72, "as Python says");

TVM_FFI_STATIC_INIT_BLOCK() {
  reflection::GlobalDef()
      .def("test.py_class.read", [](const ObjectRef& obj) {
        const auto* point = static_cast<const PointObj*>(obj.get());
        return std::to_string(point->x) + " " + std::to_string(point->weight) + " " +
               (point->is_set ? "set " : "unset ") + std::string(point->name) + " " +
               std::to_string(point->tags.size());
      })
      .def("test.py_class.move", [](const ObjectRef& obj) {
        const_cast<PointObj*>(static_cast<const PointObj*>(obj.get()))->x += 10;
      });
}
"""


def test_cpp_reads_and_writes_fields_at_their_offsets(tmp_path):
    load_types(tmp_path, SOURCE)

    @py_class(key("Point"))
    class Point(Object):
        x: int
        weight: float
        is_set: bool
        name: str
        tags: list[int]

    point = Point(3, 1.5, True, "a name that is too long to be small", [1, 2])
    read = tvm_ffi.get_global_func("test.py_class.read")
    assert read(point) == "3 1.500000 set a name that is too long to be small 2"
    tvm_ffi.get_global_func("test.py_class.move")(point)
    assert point.x == 13
    assert Point.__tvm_ffi_type_info__.total_size == 72


def test_the_runtime_prints_compares_copies_and_serializes():
    obj = Everything.__new__(Everything)
    assert obj.__chandle__() == 0
    leaf = Leaf(3)
    assert repr(leaf) == "test.py_class.Leaf(v=3)"
    text = tvm_ffi.serialization.to_json_graph_str(leaf)
    assert json.loads(text)["nodes"] == [{"type": "test.py_class.Leaf", "data": {"v": 3}}]
    back = tvm_ffi.serialization.from_json_graph_str(text)
    assert (type(back), back.v) == (Leaf, 3)
    equal = tvm_ffi.get_global_func("ffi.StructuralEqual")
    hashed = tvm_ffi.get_global_func("ffi.StructuralHash")
    assert equal(Leaf(3), Leaf(3), False, False)
    assert not equal(Leaf(3), Leaf(4), False, False)
    assert hashed(Leaf(3), False, False) == hashed(Leaf(3), False, False)
    assert pickle.loads(pickle.dumps(leaf)).v == 3


def test_copies():
    @py_class(key())
    class Node(Object):
        items: list[int]
        leaf: Leaf

    node = Node([1], Leaf(2))
    shallow, deep = copy.copy(node), copy.deepcopy(node)
    assert shallow.items.same_as(node.items)
    assert shallow.leaf.same_as(node.leaf)
    assert not shallow.same_as(node)
    assert not deep.items.same_as(node.items)
    assert (list(deep.items), deep.leaf.v) == ([1], 2)


# ---- Construction --------------------------------------------------------------------------------


@py_class("test.py_class.Three")
class Three(Object):
    """Fields with and without defaults."""

    a: int
    b: int = 2
    c: int = field(default_factory=lambda: 3, kw_only=True)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Three(1), "(a=1, b=2, c=3)"),
        (lambda: Three(1, 5, c=6), "(a=1, b=5, c=6)"),
        (lambda: Three(b=5, a=1), "(a=1, b=5, c=3)"),
        (lambda: Three(1, b=MISSING), "(a=1, b=2, c=3)"),
        (lambda: Three(True), "(a=1, b=2, c=3)"),
    ],
)
def test_construction(make, text):
    assert repr(make()) == "test.py_class.Three" + text
    assert str(inspect.signature(Three)) == "(a, b=<MISSING>, *, c=<MISSING>)"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Three, "missing required argument: 'a'"),
        (lambda: Three(1, 2, 3), "takes at most 2 positional argument(s), but 3 were given"),
        (lambda: Three(1, d=1), "got an unexpected keyword argument 'd'"),
        (lambda: Three(1, a=1), "got multiple values for argument 'a'"),
        (lambda: Three("x"), "field 'a':\n  expected int, got str"),
        (lambda: Three(1.5), "field 'a':\n  expected int, got float"),
        (lambda: Three(None), "field 'a':\n  expected int, got None"),
        (lambda: Three([1]), "field 'a':\n  expected int, got ffi.Array"),
        (lambda: Three(Leaf(1)), "field 'a':\n  expected int, got test.py_class.Leaf"),
        (
            lambda: Three(2**70),
            f"field 'a':\n  integer {2**70} out of int64 range [{-(2**63)}, {2**63 - 1}]",
        ),
    ],
)
def test_refused_construction(make, message):
    with pytest.raises(TypeError) as raised:
        make()
    assert str(raised.value) == f"test.py_class.Three.__ffi_init__() {message}"
    assert Three(1).a == 1


def test_a_default_of_another_type_is_reported_when_an_object_is_made():
    @py_class("test.py_class.BadDefault")
    class Bad(Object):
        x: int = "s"

    @py_class("test.py_class.BadFactory")
    class Worse(Object):
        x: int = field(default_factory=str)

    for cls in (Bad, Worse):
        with pytest.raises(TypeError, match="default for field 'x':\n  expected int, got str"):
            cls()
        assert cls(3).x == 3


def test_what_a_factory_raises_is_its_own():
    @py_class(key())
    class Failing(Object):
        x: int = field(default_factory=lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        Failing()
    assert Failing(1).x == 1


def test_defaults_that_make_each_other_end_in_recursion_error():
    @py_class(key())
    class Chicken(Object):
        egg: Object = field(default_factory=lambda: Egg())  # noqa: PLW0108  (it comes later)

    @py_class(key())
    class Egg(Object):
        chicken: Object = field(default_factory=Chicken)

    with pytest.raises(RecursionError):
        Chicken()
    assert Chicken(Leaf(1)).egg.v == 1


_shared = tvm_ffi.List([1])  # by the type, which is for ever


def test_a_python_list_as_default_is_copied_and_a_native_one_shared():
    @py_class(key())
    class Holder(Object):
        own: list[int] = [1]  # noqa: RUF012  (what is tested)
        common: list[int] = _shared

    first, second = Holder(), Holder()
    first.own.append(2)
    first.common.append(2)
    assert (list(second.own), list(second.common)) == ([1], [1, 2])


def test_assignment_converts_and_checks():
    @py_class(key())
    class Node(Object):
        items: list[int]
        table: dict[str, int]
        pair: tuple[int, str]
        leaf: Leaf
        maybe: Optional[Leaf]
        either: Union[int, str]

    node = Node([], {}, (1, "x"), Leaf(1), None, 1)
    node.items = (True, 2)
    assert list(node.items) == [1, 2]
    node.maybe = Leaf(3)
    node.either = "text"
    assert (node.maybe.v, node.either) == (3, "text")
    refused = [
        ("items", ["x"], "element [0]: expected int, got str"),
        ("items", 5, "expected List, got int"),
        ("table", {"a": "x"}, "value for key 'a': expected int, got str"),
        ("table", {1: 1}, "key 1: expected str, got int"),
        ("pair", (1,), "expected tuple of length 2, got Array of length 1"),
        ("leaf", None, "expected test.py_class.Leaf, got None"),
        ("leaf", node, f"expected test.py_class.Leaf, got {node.__tvm_ffi_type_info__.type_key}"),
        ("maybe", 5, "expected test.py_class.Leaf, got int"),
        ("either", 1.5, "expected int | str, got float"),
    ]
    for name, value, message in refused:
        with pytest.raises(TypeError) as raised:
            setattr(node, name, value)
        assert str(raised.value) == message
    assert (list(node.items), node.leaf.v, node.either) == ([1, 2], 1, "text")
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        node.other = 1
    with pytest.raises(AttributeError, match="no deleter"):
        del node.leaf


def test_a_list_that_fits_is_kept_and_shared():
    @py_class(key())
    class Node(Object):
        items: list[int]

    items = tvm_ffi.List([1])
    node = Node(items)
    assert node.items.same_as(items)


def test_keyword_only_fields():
    @py_class(key())
    class Some(Object):
        a: int
        _: KW_ONLY
        b: int
        c: int = field(kw_only=False)

    @py_class(key(), kw_only=True)
    class All(Some):
        d: "int"

    assert str(inspect.signature(Some)) == "(a, c, *, b)"
    assert Some.__match_args__ == ("a", "c")
    assert str(inspect.signature(All)) == "(a, c, *, b, d)"
    with pytest.raises(TypeError, match="missing required keyword-only argument: 'b'"):
        Some(1, 2)


def test_a_converter_runs_before_the_check():
    @py_class(key())
    class Read(Object):
        number: int = field(converter=int)
        name: str = field(converter=str.strip, default=" x ")

    read = Read("12")
    assert (read.number, read.name) == (12, "x")
    read.number = "7"
    assert read.number == 7
    with pytest.raises(ValueError, match="invalid literal"):
        read.number = "seven"
    with pytest.raises(TypeError, match="converter must be a callable"):
        field(converter=3)


def test_computed_fields_and_post_init():
    seen = []

    @py_class(key())
    class Rect(Object):
        w: int
        h: int

        @init_property
        def area(self) -> int:
            return self.w * self.h

        def __post_init__(self):
            seen.append(self.area)

    rect = Rect(2, 3)
    assert (rect.area, seen) == (6, [6])
    rect.w = 5
    assert rect.area == 6
    rect.area = 10
    assert rect.area == 10
    assert str(inspect.signature(Rect)) == "(w, h)"
    assert "area" not in repr(rect)
    copy.copy(rect)
    assert seen == [6]


def test_an_exception_half_way_through_construction_leaves_nothing_behind():
    @py_class(key())
    class Picky(Object):
        x: int
        held: Any = None

        def __post_init__(self):
            if self.x < 0:
                raise ValueError("x must not be negative")

    before = core._convert_to_opaque_object(object())  # a wrapper like any other
    with pytest.raises(ValueError, match="must not be negative"):
        Picky(-1, before)
    assert Picky(1).x == 1


# ---- Classes with their own __init__ -------------------------------------------------------------


def test_an_own_init_finds_empty_fields():
    @py_class(key())
    class Own(Object):
        number: int = 7
        text: str
        leaf: Optional[Leaf]

        def __init__(self, number):
            assert (self.number, self.text, self.leaf) == (0, None, None)
            self.number = number

    assert Own(3).number == 3
    assert Own(3).text is None


def test_init_of_a_base_leaves_an_object_as_it_is():
    @py_class(key("Base"))
    class Base(Object):
        x: int

    @py_class(key("Derived"))
    class Derived(Base):
        y: int

        def __init__(self, y):
            super().__init__(5)
            self.y = y

    obj = Derived(3)
    assert (obj.x, obj.y) == (0, 3)


def test_an_undecorated_subclass_shares_the_type():
    class Sub(Leaf):
        def __init__(self):
            super().__init__(9)

    obj = Sub()
    assert (type(obj), obj.v) == (Sub, 9)
    assert type(tvm_ffi.Array([obj])[0]) is Leaf


def test_without_init_a_class_cannot_be_called():
    @py_class(key(), init=False)
    class Made(Object):
        x: int

    with pytest.raises(TypeError, match="`Made` cannot be constructed directly"):
        Made(1)


def _class_whose_values_raise(exceptions):
    """Return a class whose converter, which it keeps for ever, raises what it takes from a list."""

    def fail(value):
        raise exceptions.pop()

    @py_class(key())
    class Made(Object):
        x: int = field(default=1, converter=fail)

    return Made


@pytest.mark.parametrize("make", [KeyboardInterrupt, lambda: SystemExit(3), GeneratorExit])
@pytest.mark.parametrize("way", ["constructor", "default", "graph"])
def test_interruptions_of_a_conversion_arrive_as_themselves(make, way):
    """They became errors that name the field or node, which `except Exception` handles."""
    exception = make()
    cls = _class_whose_values_raise([exception])
    node = {"type": cls.__tvm_ffi_type_info__.type_key, "data": {"x": 1}}
    text = json.dumps({"root_index": 0, "nodes": [node]})
    ways = {
        "constructor": lambda: cls(2),
        "default": cls,
        "graph": lambda: tvm_ffi.serialization.from_json_graph_str(text),
    }
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        ways[way]()
    assert caught.value is exception
    assert caught.value.__cause__ is None
    assert [entry.name for entry in caught.traceback][-1] == "fail"


def test_what_a_conversion_raised_is_the_cause_of_the_error_about_the_field():
    """It was made anew from its text, and lost."""
    exception = ZeroDivisionError("by nothing")
    exceptions = [exception]
    cls = _class_whose_values_raise(exceptions)
    with pytest.raises(RuntimeError, match=r"__ffi_init__\(\) field 'x':\n  by nothing") as caught:
        cls(2)
    assert caught.value.__cause__ is exception
    exceptions.append(exception)
    echo = tvm_ffi.convert_func(lambda: cls(2))
    with pytest.raises(RuntimeError) as again:
        echo()
    assert again.value.__cause__ is exception


def test_what_a_conversion_raised_goes_with_the_error_about_the_field():
    """Native errors that exceptions lead back to would keep them where no collector looks."""
    raised = []

    class Raised(ValueError):
        pass

    def fail(value):
        error = Raised("no")
        raised.append(weakref.ref(error))
        raise error

    @py_class(key())
    class Made(Object):
        x: int = field(default=1, converter=fail)

    for _ in range(3):
        with pytest.raises(ValueError, match="no"):
            Made(2)
    gc.collect()
    assert [one() for one in raised] == [None] * 3


# ---- Bases ---------------------------------------------------------------------------------------


def test_fields_of_mixins_come_first():
    class Base:
        m: int = 3

    class Other(Object):
        q: str

    @py_class(key())
    class Mixed(Other, Base):
        z: int
        _hidden: ClassVar[int] = 1

    assert [x.name for x in Mixed.__tvm_ffi_type_info__.fields] == ["m", "q", "z"]
    assert str(inspect.signature(Mixed)) == "(q, z, m=<MISSING>)"


def test_fields_of_a_second_type_are_those_of_a_mixin():
    """The properties that this type has for its fields were taken for their defaults."""

    @py_class(key())
    class OneType(Object):
        a: int

    @py_class(key())
    class OtherType(Object):
        b: Any
        c: Any = 7
        d: Any = field(default_factory=list, kw_only=True)

    @py_class(key())
    class OfTwoTypes(OneType, OtherType):
        e: Any = None

    assert str(inspect.signature(OfTwoTypes)) == "(a, b, c=<MISSING>, e=<MISSING>, *, d=<MISSING>)"
    with pytest.raises(TypeError, match="missing required argument: 'b'"):
        OfTwoTypes(1)
    both = OfTwoTypes(1, 2)
    assert [both.a, both.b, both.c, list(both.d), both.e] == [1, 2, 7, [], None]


def test_derived_fields_follow_those_of_the_base():
    @py_class(key("Base"))
    class Base(Object):
        a: int
        b: bool

    @py_class(key("Derived"))
    class Derived(Base):
        c: bool
        d: int

    fields = {x.name: x.offset for x in Derived.__tvm_ffi_type_info__.fields}
    assert fields == {"c": 33, "d": 40}
    assert Derived.__tvm_ffi_type_info__.total_size == 48
    assert repr(Derived(1, False, True, 2)).endswith("(a=1, b=False, c=True, d=2)")
    with pytest.raises(TypeError, match="field `c` belongs to"):
        Derived.c.__get__(Base(1, True), Base)


def test_a_frozen_class_freezes_all_fields():
    @py_class(key("Base"))
    class Base(Object):
        a: int

    @py_class(key("Frozen"), frozen=True)
    class Frozen(Base):
        b: int = field(default=2, frozen=False)

    obj = Frozen(1)
    for name in ("a", "b"):
        with pytest.raises(AttributeError, match="has no setter"):
            setattr(obj, name, 3)
    Frozen.b.set(obj, 5)
    assert obj.b == 5
    assert isinstance(Frozen.a, FFIProperty)
    base = Base(1)
    base.a = 2
    assert base.a == 2


def test_equality_order_and_hash():
    @py_class(key(), eq=True, order=True, unsafe_hash=True)
    class Item(Object):
        a: int
        note: str = field(compare=False, default="")

    assert Item(1, "x") == Item(1, "y")
    assert Item(1) != Item(2)
    assert Item(1) != 1
    assert Item(1) < Item(2) <= Item(2)
    assert hash(Item(1, "x")) == hash(Item(1, "y"))
    with pytest.raises(TypeError, match="not supported between"):
        Item(1) < 3  # noqa: B015
    assert Leaf(1) != Leaf(1)


# ---- Forward references --------------------------------------------------------------------------


def test_a_class_waits_for_the_classes_that_it_names():
    first, second = key("First"), key("Second")

    @py_class(first)
    class First(Object):
        other: "Optional[Second]"
        self_: "Optional[First]"

    assert core._object_type_key_to_index(first) is not None
    assert First.__tvm_ffi_type_info__.fields is None

    @py_class(second)
    class Second(First):
        third: "list[Third]"

    assert First.__tvm_ffi_type_info__.fields is not None
    assert First(None, First(None, None)).self_.other is None

    @py_class(key("Third"))
    class Third(Object):
        v: int

    obj = First(Second(None, None, [Third(3)]), None)
    assert obj.other.third[0].v == 3
    assert Second.__mro__[1] is First


def test_names_that_stay_unknown_are_reported_and_the_key_is_free_again():
    name = key()

    @py_class(name)
    class Waiting(Object):
        a: "list[Nowhere]"  # noqa: F821
        b: int

    with pytest.raises(TypeError) as raised:
        Waiting([], 1)
    assert str(raised.value) == (
        "Cannot instantiate Waiting: unresolved forward references: "
        "[\"a: list[Nowhere] (name 'Nowhere' is not defined)\"]"
    )
    with pytest.raises(TypeError, match="Waiting is not registered"):
        Waiting([], 1)
    assert "__tvm_ffi_type_info__" not in vars(Waiting)

    @py_class(name)
    class Again(Object):
        a: int

    assert Again(3).a == 3


def test_what_is_wrong_with_a_waiting_class_is_said_when_it_is_called():
    @py_class(key())
    class Waiting(Object):
        a: "dict[Later, set]"

    @py_class(key())
    class Later(Object):
        v: int

    assert Later(1).v == 1
    with pytest.raises(TypeError, match=r"Cannot convert <class 'set'> to TypeSchema \(field 'a'"):
        Waiting({})


# ---- Bad input -----------------------------------------------------------------------------------


def class_of(body, bases=(Object,), name="Bad", **annotations):
    """Return a class with this body."""
    return type(Object)(name, bases, {"__annotations__": annotations, **body})


@pytest.mark.parametrize(
    ("define", "kind", "message"),
    [
        (lambda k: py_class(k)(type("Bad", (), {})), TypeError, "must inherit from a registered"),
        (lambda k: py_class("ffi.Array")(class_of({})), ValueError, "'ffi.Array' is already reg"),
        (lambda k: py_class("test.py_class.Leaf")(class_of({})), ValueError, "Leaf' is already"),
        (lambda k: py_class(k, order=True), ValueError, "order=True requires eq=True"),
        (lambda k: py_class(k, structural_eq="x"), ValueError, "structural_eq must be one of"),
        (lambda k: py_class(3), TypeError, "expected str or type, got <class 'int'>"),
        (lambda k: py_class(k)(class_of({}, x=set)), TypeError, "Cannot convert <class 'set'>"),
        (
            lambda k: py_class(k)(class_of({"x": field(foo=1)}, x=int)),
            TypeError,
            "Bad.x: unrecognized field options: foo",
        ),
        (
            lambda k: py_class(k)(class_of({"__slots__": ("x",)}, x=int)),
            TypeError,
            "Bad.x: a field cannot also be in __slots__",
        ),
        (
            lambda k: py_class(k)(class_of({}, (tvm_ffi.Array,), x=int)),
            TypeError,
            "whose registered fields cover its objects, got `ffi.Array`",
        ),
        (
            lambda k: py_class(k)(class_of({"__ffi_repr__": classmethod(print)})),
            TypeError,
            "'__ffi_repr__' is a @classmethod",
        ),
        (lambda k: field(default=1, default_factory=int), ValueError, "both default and"),
        (lambda k: field(default_factory=1), TypeError, "must be a callable, got int"),
        (lambda k: field(structural_eq="u"), ValueError, "structural_eq must be one of"),
        (lambda k: tvm_ffi.method(classmethod(print)), TypeError, "@classmethod is not supported"),
        (lambda k: tvm_ffi.method(3), TypeError, "expected a callable, got int"),
    ],
)
def test_bad_definitions_are_refused_and_undone(define, kind, message):
    name = key()
    with pytest.raises(kind) as raised:
        define(name)
    assert message in str(raised.value)
    good = py_class(name)(class_of({}, x=int))
    assert good(1).x == 1


def native_type(name, child_slots):
    """Return a class for a native type that has room for so many derived types and no more."""

    class ByteArray(ctypes.Structure):
        _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t))

    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    parent = Object.__tvm_ffi_type_info__.type_index
    text = ByteArray(name.encode(), len(name))
    index = library.TVMFFITypeGetOrAllocIndex(ctypes.byref(text), -1, 1, child_slots, 0, parent)
    register_metadata(index, "", 24, None)
    return tvm_ffi.register_object(name)(type("Native", (Object,), {}))


def test_a_base_without_room_for_derived_types_is_refused():
    """It used to end the process, which is all that the C function can do."""
    with pytest.raises(TypeError, match=r"cannot derive from `\S+`, .* 1 wanted, 0 of 0 left"):
        py_class(key())(class_of({}, (native_type(key(), 0),), x=int))
    base = native_type(key(), 2)
    for _ in range(2):
        assert py_class(key())(class_of({}, (base,), x=int))(1).x == 1
    name = key()
    with pytest.raises(TypeError, match=rf"`{name}` cannot derive from .* 1 wanted, 0 of 2 left"):
        py_class(name)(class_of({}, (base,), x=int))
    assert py_class(name)(class_of({}, x=int))(1).x == 1


def test_a_field_cannot_hide_that_of_a_base():
    message = "Bad.v: base type `test.py_class.Leaf` already has a field with this name"
    with pytest.raises(TypeError, match=message):
        py_class(key())(class_of({}, (Leaf,), v=int))


def test_a_hook_that_raises_undoes_the_definition():
    def hook(info, fields):
        raise KeyError("hook")

    hook.__ffi_on_fields_resolved__ = True
    name = key()
    with pytest.raises(KeyError, match="hook"):
        py_class(name)(class_of({"hook": hook}, x=int))
    assert py_class(name)(class_of({}, x=str))("text").x == "text"


def test_a_free_key_is_refused_to_a_class_with_another_base():
    name = key()
    with pytest.raises(TypeError):
        py_class(name)(class_of({}, x=set))
    with pytest.raises(ValueError, match="is already registered"):
        py_class(name)(class_of({}, (Leaf,), y=int))


def test_slots_false_is_warned_of():
    with pytest.warns(UserWarning, match="has no effect"):
        py_class(slots=False)


def test_dynamic_attributes_on_request():
    @py_class(key())
    class Open(Object):
        __slots__ = ("__dict__",)
        x: int

    obj = Open(1)
    obj.note = "y"
    assert (copy.copy(obj).note, obj.x) == ("y", 1)


def test_a_metaclass_of_another_kind_is_pythons_own_error():
    class Meta(type):
        pass

    with pytest.raises(TypeError, match="metaclass conflict"):
        type("Bad", (Object, Meta("Other", (), {})), {})


# ---- Hooks ---------------------------------------------------------------------------------------


def test_hooks_of_the_class_are_attributes_of_the_type():
    @py_class(key("Hooked"), eq=True)
    class Hooked(Object):
        a: int
        b: Any = None
        __ffi_type_attr_names__ = ("__color__", "__paint__")
        __color__ = 7

        def __paint__(self):
            return self.a

        def __ffi_repr__(self, fn):
            return f"H<{self.a},{fn(self.b)}>"

        def __ffi_eq__(self, other, fn):
            return fn(self.a % 10, other.a % 10)

        def __ffi_hash__(self, fn):
            return fn(self.a % 10)

        def __data_to_json__(self):
            return {"aa": self.a}

        @staticmethod
        def __data_from_json__(data):
            return Hooked(data["aa"])

        @staticmethod
        def __ffi_convert__(value):
            return Hooked(value)

    @py_class(key("Heir"))
    class Heir(Hooked):
        c: int = 1

    @py_class(key("User"))
    class User(Object):
        hooked: Hooked

    index, heir = Hooked.__tvm_ffi_type_info__.type_index, Heir.__tvm_ffi_type_info__.type_index
    assert repr(Hooked(1, Hooked(2))) == "H<1,H<2,None>>"
    assert Hooked(1) == Hooked(11)
    assert core._lookup_type_attr(index, "__color__") == 7
    assert core._lookup_type_attr(index, "__paint__")(Hooked(4)) == 4
    assert core._lookup_type_attr(heir, "__color__") is None
    assert core._lookup_type_attr(heir, "__ffi_repr__") is None
    text = tvm_ffi.serialization.to_json_graph_str(Heir(4))
    assert json.loads(text)["nodes"][0]["data"] == {"aa": 4}
    assert (
        tvm_ffi.serialization.from_json_graph_str(
            tvm_ffi.serialization.to_json_graph_str(Hooked(5))
        ).a
        == 5
    )
    assert User(6).hooked.a == 6
    with pytest.raises(TypeError, match="__ffi_convert__ failed"):
        User("six")


def test_a_hook_sees_the_fields_before_they_are_registered():
    seen = []

    def hook(info, fields):
        seen.append((info.type_key, info.fields, [(x.name, x.type) for x in fields]))
        fields[1].extra_kwargs.clear()

    hook.__ffi_on_fields_resolved__ = True
    name = key()
    cls = py_class(name)(class_of({"hook": hook, "b": field(foo=1)}, a=int, b=str))
    assert seen == [(name, None, [("a", int), ("b", str)])]
    assert cls(1, "x").b == "x"


def test_methods_are_seen_by_native_code():
    @py_class(key())
    class Counter(Object):
        a: int

        @tvm_ffi.method
        def plus(self, x: int) -> int:
            """Add."""
            return self.a + x

        @tvm_ffi.method
        @staticmethod
        def twice(x):
            return 2 * x

        def plain(self):
            return 1

    methods = {x.name: x for x in Counter.__tvm_ffi_type_info__.methods}
    assert list(methods) == ["plus", "twice"]
    assert methods["plus"].func(Counter(3), 4) == 7
    assert (methods["twice"].func(4), methods["twice"].is_static) == (8, True)
    assert methods["plus"].doc == "Add."
    schema = methods["plus"].metadata["type_schema"]["named_args"]
    assert schema["return"] == [{"type": "int"}]
    assert [x["type"] for x in schema["params"]][1:] == ["int"]
    assert Counter(1).plus(1) == 2


def test_structural_flags_and_kinds():
    equal = tvm_ffi.get_global_func("ffi.StructuralEqual")

    @py_class(key())
    class Spanned(Object):
        a: int
        span: str = field(structural_eq="ignore")

    @py_class(key(), structural_eq="singleton")
    class Alone(Object):
        a: int

    @py_class(key(), structural_eq=None)
    class Refusing(Object):
        a: int

    assert equal(Spanned(1, "x"), Spanned(1, "y"), False, False)
    alone = Alone(1)
    assert equal(alone, alone, False, False)
    assert not equal(alone, Alone(1), False, False)
    with pytest.raises(TypeError, match="Refusing|test.py_class"):
        equal(Refusing(1), Refusing(1), False, False)


# ---- Garbage -------------------------------------------------------------------------------------


class Token:
    """Something whose end can be seen."""


@py_class("test.py_class.Listener")
class Listener(Object):
    """Fields that may hold Python values."""

    callback: Optional[Callable[[], Any]]
    note: Any = None


def circle_by_assignment(token):
    listener = Listener(None)
    listener.callback = lambda: (listener, token)


def circle_by_construction(token):
    def call():
        return listener, token

    listener = Listener(call)


def circle_by_opaque_value(token):
    listener = Listener(None)
    listener.note = token
    token.listener = listener


def circle_in_a_copy(token):
    cell = []
    listener = copy.copy(Listener(lambda: (cell, token)))
    cell.append(listener)


def no_circle_any_more(token):
    listener = Listener(lambda: token)
    listener.callback = None


@pytest.mark.parametrize(
    "make",
    [
        circle_by_assignment,
        circle_by_construction,
        circle_by_opaque_value,
        circle_in_a_copy,
        no_circle_any_more,
    ],
)
def test_the_collector_sees_python_values_in_fields(make):
    token = Token()
    end = weakref.ref(token)
    make(token)
    del token
    gc.collect()
    assert end() is None


def kept_natively(token):
    listener = Listener(None)
    listener.callback = lambda: (listener, token)
    return tvm_ffi.Array([listener]), listener.callback


def test_what_native_code_still_holds_is_not_garbage():
    token = Token()
    end = weakref.ref(token)
    array, function = kept_natively(token)
    del token
    gc.collect()
    assert array[0].callback()[1] is end()
    del array
    gc.collect()
    assert function()[1] is end()
    assert function()[0].callback()[1] is end()
    function()[0].callback = None  # by another Python object for the same native one
    del function
    gc.collect()
    assert end() is None


def test_refused_values_leave_no_circle():
    """The exception behind the native error kept frames that keep the error."""
    token = Token()
    end = weakref.ref(token)

    def refused(token):
        with pytest.raises(TypeError) as raised:
            Three("x")
        return raised

    refused(token)
    del token
    gc.collect()
    assert end() is None


def test_annotations_as_text_see_the_names_of_their_function():
    number = int

    @py_class(key())
    class Local(Object):
        x: "number"
        y: "list[number]"

    assert Local(1, [2]).y[0] == 2


def test_what_the_collector_is_told_may_outlive_the_object():
    @py_class(key())
    class Holder(tvm_ffi.Object):
        call: Callable

    holder = Holder(lambda: 3)
    kept = gc.get_referents(holder)
    assert kept
    del holder
    other = [Holder(lambda: 4) for _ in range(100)]  # where the object was
    gc.collect()
    assert all(item.call() == 4 for item in other)
