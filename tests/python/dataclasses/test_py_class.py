# SPDX-License-Identifier: Apache-2.0
"""Fields of `py_class` types: memory layout, native access, inheritance and comparison."""

import copy
import ctypes
import inspect
import json
import pickle
from collections.abc import Callable
from typing import Any, ClassVar, Optional, Union

import pytest
from types_in_text import load_types

import tvm_ffi
from tvm_ffi import Object
from tvm_ffi.core import FFIProperty
from tvm_ffi.dataclasses import field, py_class

from .python_types import Leaf, key


@py_class("test.py_class.Everything")
class Everything(Object):
    """A type with a field of each kind."""

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


# Name, size, alignment, offset and static type index of each field, from the ABI specification.
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


def test_fields_have_the_specified_offsets():
    info = Everything.__tvm_ffi_type_info__
    rows = [(x.name, x.size, x.alignment, x.offset, x.field_static_type_index) for x in info.fields]
    assert rows == LAYOUT
    assert info.total_size == 240
    assert info.type_key == "test.py_class.Everything"
    assert str(info.fields[9].ty) == "Dict[str, int]"


def everything():
    """Return an object that has a value in each field."""
    tensor = tvm_ffi.from_dlpack(ctypes_tensor())
    return Everything(
        *(1, 2, True, "text", b"bytes", [1], None, "x", [1, 2], {"k": 3}),
        *("float32", "cpu", Leaf(4), None, lambda x: x + 1, tensor, (5, 6), [7, "y"]),
        *([8], None, ctypes.c_void_p(4096)),
    )


def ctypes_tensor():
    """Return a NumPy array as the value of a tensor field."""
    return pytest.importorskip("numpy").zeros(2, dtype="float32")


def test_every_field_returns_its_value():
    obj = everything()
    assert (obj.a, obj.b, obj.c, obj.d, obj.e) == (1, 2.0, True, "text", b"bytes")
    assert isinstance(obj.b, float)
    assert (list(obj.f), obj.g, obj.h, list(obj.i), obj.j["k"]) == ([1], None, "x", [1, 2], 3)
    assert [type(obj.i), type(obj.j), type(obj.r)] == [tvm_ffi.List, tvm_ffi.Dict, tvm_ffi.Array]
    assert (obj.k, obj.m, obj.n.v, obj.o) == ("float32", tvm_ffi.device("cpu", 0), 4, None)
    assert (obj.p(1), obj.q.shape, list(obj.r), list(obj.s)) == (2, (2,), [5, 6], [7, "y"])
    assert (list(obj.t), obj.u, obj.w.value) == ([8], None, 4096)


# ---- Native access -------------------------------------------------------------------------------

SOURCE = r"""
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/reflection/registry.h>

using namespace tvm::ffi;

// The memory layout of the Python class below.
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
    assert str(inspect.signature(Mixed)) == "(q, z, m=3)"


def test_fields_of_a_second_base_type_are_inherited_as_of_a_mixin():
    """The field properties of the second type were mistaken for default values."""

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

    assert str(inspect.signature(OfTwoTypes)) == "(a, b, c=7, e=None, *, d=<MISSING>)"
    with pytest.raises(TypeError, match="missing required argument: 'b'"):
        OfTwoTypes(1)
    both = OfTwoTypes(1, 2)
    assert [both.a, both.b, both.c, list(both.d), both.e] == [1, 2, 7, [], None]


def test_derived_fields_follow_the_fields_of_the_base():
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
    with pytest.raises(
        TypeError,
        match=r"field `c`: expected an object of type `test\.py_class\.Derived\d+`, got an ",
    ):
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
