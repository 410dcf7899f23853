# SPDX-License-Identifier: Apache-2.0
"""Constructors, methods and functions whose parameters C++ names with `refl::arg`."""

from __future__ import annotations

import inspect
import pickle

import pytest

import tvm_ffi
import tvm_ffi.cpp
from tvm_ffi.dataclasses import c_class
from tvm_ffi.stub._stubgen.python.class_stubs import (
    render_object_fields,
    render_object_init,
    render_object_methods,
    render_object_properties,
)
from tvm_ffi.stub._stubgen.registered import object_info_from_type_key

SOURCE = r"""
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/overload.h>
#include <tvm/ffi/reflection/registry.h>

namespace ffi = tvm::ffi;
namespace refl = tvm::ffi::reflection;

class CounterObj : public ffi::Object {
 public:
  int32_t count;
  ffi::String name;
  double step;
  uint64_t bits = 0;
  CounterObj(int32_t count, ffi::String name, double step)
      : count(count), name(name), step(step) {}
  int64_t Add(ffi::Array<int64_t> more, int64_t n) const { return count + n + more.size(); }
  static ffi::String Label(ffi::String text, bool loud) { return loud ? text + "!" : text; }
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("named.Counter", CounterObj, ffi::Object);
};

class PlainObj : public ffi::Object {
 public:
  int64_t a, b;
  PlainObj(int64_t first, int64_t second) : a(first), b(second) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("named.Plain", PlainObj, ffi::Object);
};

class OverloadedObj : public ffi::Object {
 public:
  int64_t Get(int64_t x) const { return x; }
  ffi::String Get(ffi::String x) const { return x; }
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("named.Overloaded", OverloadedObj, ffi::Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<CounterObj>("A counter.")
      .def(refl::init<int32_t, ffi::String, double>(), refl::arg("count"),
           refl::arg("name", "a \"b\" (c)\n"), refl::arg("step", 0.1), "Make a counter.")
      .def_ro("count", &CounterObj::count, "The count.")
      .def_rw("name", &CounterObj::name, "The name.")
      .def_rw("step", &CounterObj::step)
      .def_rw("bits", &CounterObj::bits)
      .def("add", &CounterObj::Add, "Return a sum.", refl::arg("more"), refl::arg("n", 1))
      .def_static("label", &CounterObj::Label, refl::arg("text"), refl::arg("loud", true));
  refl::ObjectDef<PlainObj>()
      .def(refl::init<int64_t, int64_t>())
      .def_ro("a", &PlainObj::a)
      .def_ro("b", &PlainObj::b);
  refl::OverloadObjectDef<OverloadedObj>()
      .def(refl::init<>())
      .def("get", refl::overload_cast<int64_t>(&OverloadedObj::Get, refl::const_), refl::arg("x"))
      .def("get", refl::overload_cast<ffi::String>(&OverloadedObj::Get, refl::const_),
           refl::arg("x"));
  refl::GlobalDef()
      .def("named.scale", [](double x, ffi::Optional<int64_t> by) { return x * by.value_or(2); },
           refl::arg("x"), refl::arg("by", nullptr))
      .def("named.set_bits", [](const CounterObj* counter, int64_t value) {
        const_cast<CounterObj*>(counter)->bits = static_cast<uint64_t>(value);
      });
}
"""


@pytest.fixture(scope="module")
def classes():
    tvm_ffi.cpp.load_inline("named_parameters", cpp_sources=SOURCE)

    @tvm_ffi.register_object("named.Counter")
    class Counter(tvm_ffi.Object):
        pass

    @c_class("named.Plain")
    class Plain(tvm_ffi.Object):
        pass

    @tvm_ffi.register_object("named.Overloaded")
    class Overloaded(tvm_ffi.Object):
        pass

    Counter.__qualname__ = "Counter"
    globals()["Counter"] = Counter
    return Counter, Plain, Overloaded


@pytest.fixture
def counter_class(classes):
    return classes[0]


def values(counter):
    return counter.count, counter.name, counter.step


# ---- calls -------------------------------------------------------------------------------------


def test_a_constructor_accepts_keywords_and_defaults(counter_class):
    """Regression: `Counter(count=3)` failed with "Expected 1 but got 3 arguments"."""
    assert values(counter_class(3)) == (3, 'a "b" (c)\n', 0.1)
    assert values(counter_class(count=3, step=2)) == (3, 'a "b" (c)\n', 2.0)
    assert values(counter_class(3, name="x", step=4.5)) == (3, "x", 4.5)


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, r"Counter\(\) missing .*'count'"),
        ((1,), {"count": 2}, r"Counter\(\) .*multiple values .*'count'"),
        ((1,), {"colour": 2}, r"Counter\(\) got an unexpected keyword argument 'colour'"),
        ((1, "x", 2.0, 3), {}, r"Counter\(\) takes .* but 4 were given"),
        (("one",), {}, r"Mismatched type on argument #0 .*`named\.Counter\.__ffi_init__\("),
    ],
)
def test_errors_of_a_constructor_with_names(counter_class, args, kwargs, message):
    with pytest.raises(TypeError, match=message):
        counter_class(*args, **kwargs)
    assert counter_class(5).count == 5


def test_methods_accept_keywords_and_defaults(counter_class):
    counter = counter_class(10)
    assert counter.add([7, 7], 2) == 14
    assert counter.add(more=[]) == 11
    assert counter_class.add(counter, n=3, more=[]) == 13
    assert counter_class.label("a") == "a!"
    assert counter_class.label(loud=False, text="a") == "a"
    with pytest.raises(TypeError, match=r"Counter\.add\(\) got an unexpected keyword argument 'm'"):
        counter.add(m=3)
    with pytest.raises(TypeError, match=r"Counter\.add\(\) missing .*'more'"):
        counter.add(n=3)


def test_global_functions_accept_keywords_and_defaults(classes):
    scale = tvm_ffi.get_global_func("named.scale")
    assert scale(1.5) == 3.0
    assert scale(by=4, x=1) == 4.0
    assert str(inspect.signature(scale)).startswith("(x: ")


def test_parameters_without_names_are_positional(classes):
    _, plain, overloaded = classes
    assert plain(1, 2).b == 2
    with pytest.raises(
        TypeError, match=r"Plain\(\) got an unexpected keyword argument 'a': .*refl"
    ):
        plain(1, a=2)
    assert overloaded().get(1) == 1
    assert overloaded().get("text") == "text"
    with pytest.raises(TypeError, match="unexpected keyword argument 'x'"):
        overloaded().get(x=1)


# ---- descriptions ------------------------------------------------------------------------------


def shown(function):
    return [
        (p.name, p.default, p.kind.name) for p in inspect.signature(function).parameters.values()
    ]


EMPTY = inspect.Parameter.empty


def test_signatures_agree_with_calls(classes):
    counter, plain, _ = classes
    by_name = "POSITIONAL_OR_KEYWORD"
    assert shown(counter) == [
        ("count", EMPTY, by_name),
        ("name", 'a "b" (c)\n', by_name),
        ("step", 0.1, by_name),
    ]
    assert shown(counter(1).add) == [("more", EMPTY, by_name), ("n", 1, by_name)]
    assert shown(counter.label) == [("text", EMPTY, by_name), ("loud", True, by_name)]
    assert shown(plain) == [(name, EMPTY, "POSITIONAL_ONLY") for name in "ab"]
    assert counter.add.__doc__ == "Return a sum."
    assert counter.__init__.__doc__ == "Make a counter."


def test_methods_can_be_pickled(counter_class):
    assert pickle.loads(pickle.dumps(counter_class.label))("a") == "a!"


def test_stubs_agree_with_calls(classes):
    info = object_info_from_type_key("named.Counter")
    assert render_object_init(info, str, 0) == [
        "def __init__(self, count: int, name: str = 'a \"b\" (c)\\n', step: float = 0.1) -> None:",
        '    """Make a counter."""',
    ]
    assert render_object_fields(info, str, 0)[:2] == ["name: str", '"""The name."""']
    assert render_object_properties(info, str, 0) == [
        "@property",
        "def count(self) -> int:",
        '    """The count."""',
    ]
    assert render_object_methods(info, str, 0)[1:] == [
        "def add(self, more: Array[int], n: int = 1) -> int:",
        '    """Return a sum."""',
        "@staticmethod",
        "def label(text: str, loud: bool = True) -> str: ...",
    ]
    plain = object_info_from_type_key("named.Plain")
    assert render_object_init(plain, str, 0) == [
        "def __init__(self, a: int, b: int, /) -> None: ..."
    ]
    overloaded = object_info_from_type_key("named.Overloaded")
    assert "def get(self, _1: int, /) -> int: ..." in render_object_methods(overloaded, str, 0)


# ---- fields ------------------------------------------------------------------------------------


def test_errors_of_fields_name_class_and_field(counter_class):
    counter = counter_class(1)
    with pytest.raises(TypeError, match=r"^Counter\.step: Cannot convert from type `str`"):
        counter.step = "x"
    with pytest.raises(OverflowError, match=r"^Counter\.bits: .*-1 does not fit uint64_t$"):
        counter.bits = -1
    with pytest.raises(AttributeError, match="'count' of 'Counter'"):
        counter.count = 3
    assert (counter.step, counter.bits) == (0.1, 0)


def test_a_field_above_the_int64_range_is_an_error(counter_class):
    """Regression: Python read the bytes of a `uint64_t` as a negative int."""
    counter = counter_class(1)
    tvm_ffi.get_global_func("named.set_bits")(counter, -1)
    with pytest.raises(OverflowError, match="18446744073709551615 is too large"):
        counter.bits  # noqa: B018
