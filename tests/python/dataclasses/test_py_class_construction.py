# SPDX-License-Identifier: Apache-2.0
"""Construction of `py_class` objects: arguments, defaults, converters, `__init__` of users."""

import copy
import gc
import inspect
import json
import weakref
from dataclasses import InitVar
from typing import Any, Optional, Union

import pytest

import tvm_ffi
from tvm_ffi import Object, core
from tvm_ffi.dataclasses import KW_ONLY, MISSING, field, fields, init_property, py_class

from .python_types import Leaf, Three, class_of, key


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
    assert str(inspect.signature(Three)) == "(a, b=2, *, c=<MISSING>)"


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


def test_a_default_of_another_type_is_an_error_at_construction():
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


def test_an_exception_of_a_default_factory_is_raised_unchanged():
    @py_class(key())
    class Failing(Object):
        x: int = field(default_factory=lambda: 1 // 0)

    with pytest.raises(ZeroDivisionError):
        Failing()
    assert Failing(1).x == 1


def test_mutually_recursive_default_factories_raise_recursion_error():
    @py_class(key())
    class Chicken(Object):
        egg: Object = field(default_factory=lambda: Egg())  # noqa: PLW0108  (Egg is defined below)

    @py_class(key())
    class Egg(Object):
        chicken: Object = field(default_factory=Chicken)

    with pytest.raises(RecursionError):
        Chicken()
    assert Chicken(Leaf(1)).egg.v == 1


_shared = tvm_ffi.List([1])  # the type refers to the class, and types are never released


def test_a_python_list_as_default_is_copied_and_a_native_one_shared():
    @py_class(key())
    class Holder(Object):
        own: list[int] = [1]  # noqa: RUF012  (under test)
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
        assert str(raised.value) == f"Node.{name}: {message}"
    assert (list(node.items), node.leaf.v, node.either) == ([1, 2], 1, "text")
    with pytest.raises(AttributeError, match="has no attribute 'other'"):
        node.other = 1
    with pytest.raises(AttributeError, match="no deleter"):
        del node.leaf


def test_a_native_list_is_shared():
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


def test_keyword_only_fields_of_bases_without_a_decorator():
    """`KW_ONLY` also holds for the classes that follow, down to the decorated class."""

    class First:
        a: int
        _: KW_ONLY
        b: int = 1

    class Second:
        c: int

    @py_class(key())
    class Decorated(Second, First, Object):
        d: int = field(kw_only=False)
        e: int = 2

    @py_class(key())
    class Derived(Decorated):
        f: int

    assert str(inspect.signature(Decorated)) == "(a, d, *, c, b=1, e=2)"
    assert str(inspect.signature(Derived)) == "(a, d, f, *, c, b=1, e=2)"


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


def test_init_vars_are_passed_to_post_init():
    """Regression: TypeError `Cannot convert InitVar`."""
    seen = []

    @py_class(key())
    class Scaled(Object):
        x: int
        factor: InitVar[int]
        y: int = 7
        note: "InitVar[str]" = "none"

        @init_property
        def half(self) -> int:
            return self.x // 2

        def __post_init__(self, factor, note):
            self.x *= factor
            seen.append((note, self.half))

    assert str(inspect.signature(Scaled)) == "(x, factor, y=7, note='none')"
    assert [spec.name for spec in fields(Scaled)] == ["x", "y", "half"]
    assert (Scaled(2, 3).x, Scaled(2, 3, 4).y, Scaled(y=1, factor=5, x=2).x) == (6, 4, 10)
    assert Scaled(2, 3, note="text").note == "none"  # the default, as in `dataclasses`
    assert not hasattr(Scaled(1, 1), "factor")
    assert seen[0] == ("none", 1)
    assert seen[3] == ("text", 1)
    assert "factor" not in repr(Scaled(1, 2))
    assert Scaled(2, 3, note=MISSING).x == 6
    copied = copy.copy(Scaled(2, 3))
    assert copied.x == 6
    for arguments, keywords, message in (
        ((1,), {}, r"Scaled.__init__\(\) missing required argument: 'factor'"),
        ((1, 2, 3, "x", 5), {}, "takes at most 4 positional argument"),
        ((1, 2), {"factor": 3}, "got multiple values for argument 'factor'"),
        ((1, 2), {"other": 3}, "other"),
        ((), {"factor": 3}, "missing required argument: 'x'"),
        (("text", 2), {}, "field 'x':\n  expected int, got str"),
    ):
        with pytest.raises(TypeError, match=message):
            Scaled(*arguments, **keywords)


def test_init_vars_are_inherited():
    seen = []

    @py_class(key())
    class Base(Object):
        a: int
        first: InitVar[int]
        _: KW_ONLY
        named: InitVar[int] = field(default=2)

        def __post_init__(self, *values):
            seen.append(values)

    @py_class(key())
    class Derived(Base):
        b: int
        last: InitVar[int] = field(kw_only=True)

    assert str(inspect.signature(Derived)) == "(a, first, b, *, last, named=2)"
    derived = Derived(1, 10, 3, last=30)
    assert (derived.a, derived.b, seen) == (1, 3, [(10, 2, 30)])
    assert Base(5, 6, named=7).a == 5
    assert seen[-1] == (6, 7)

    @py_class(key())
    class Custom(Base):
        c: int

        def __init__(self, c):
            super().__init__(1, 2, named=3)
            self.c = c

    assert (Custom(9).a, Custom(9).c, seen[-1]) == (1, 9, (2, 3))
    with pytest.raises(TypeError, match="cannot have a default factory"):
        py_class(key())(class_of({"x": field(default_factory=int)}, x=InitVar[int]))
    with pytest.raises(TypeError, match=r"Bad\.a: base type .* already has a field"):
        py_class(key())(class_of({}, (Base,), a=InitVar[int]))


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


def test_a_failed_construction_leaks_no_objects():
    @py_class(key())
    class Picky(Object):
        x: int
        held: Any = None

        def __post_init__(self):
            if self.x < 0:
                raise ValueError("x must not be negative")

    before = core._convert_to_opaque_object(object())  # a wrapper that the leak check would count
    with pytest.raises(ValueError, match="must not be negative"):
        Picky(-1, before)
    assert Picky(1).x == 1


# ---- Classes with their own __init__ -------------------------------------------------------------


def test_a_user_defined_init_finds_empty_fields():
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


def test_init_of_a_base_initializes_the_derived_object():
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
    assert (obj.x, obj.y) == (5, 3)


def test_init_of_a_base_with_arguments_sets_the_fields_of_the_base():
    """Regression: the arguments were ignored, and the fields stayed 0 or None."""
    seen = []

    @py_class(key("Base"))
    class Base(Object):
        x: int
        name: str = "default"
        items: list[int] = field(default_factory=lambda: [1])
        f: Any = None

        def __post_init__(self):
            seen.append((type(self).__name__, self.x))

    @py_class(key("Derived"), init=False)
    class Derived(Base):
        y: int

        def __init__(self, y, *args, **kwargs):
            self.y = y
            super().__init__(*args, **kwargs)

    obj = Derived(3, 5, name="given", f=len)
    assert (obj.x, obj.name, list(obj.items), obj.y) == (5, "given", [1], 3)
    assert obj.f("four") == 4
    assert seen == [("Derived", 5)]
    assert Derived(4, x=6).name == "default"
    assert Derived(4).y == 4  # without arguments, the fields keep their values
    with pytest.raises(TypeError, match="missing required argument: 'x'"):
        Derived(4, name="x")
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        Derived(4, 5, z=1)


def test_an_undecorated_subclass_shares_the_type():
    class Sub(Leaf):
        def __init__(self):
            super().__init__(9)

    obj = Sub()
    assert (type(obj), obj.v) == (Sub, 9)
    array = tvm_ffi.Array([obj])
    del obj
    assert type(array[0]) is Leaf


def test_without_init_a_class_cannot_be_called():
    @py_class(key(), init=False)
    class Made(Object):
        x: int

    with pytest.raises(TypeError, match="`Made` cannot be constructed directly"):
        Made(1)


def _class_whose_values_raise(exceptions):
    """Return a class whose converter takes the last exception from a list and raises it."""

    def fail(value):
        raise exceptions.pop()

    @py_class(key())
    class Made(Object):
        x: int = field(default=1, converter=fail)

    return Made


@pytest.mark.parametrize("make", [KeyboardInterrupt, lambda: SystemExit(3), GeneratorExit])
@pytest.mark.parametrize("trigger", ["constructor", "default", "graph"])
def test_interruptions_of_a_conversion_are_raised_unchanged(make, trigger):
    """Regression: they were wrapped in errors about the field, which `except Exception` caught."""
    exception = make()
    cls = _class_whose_values_raise([exception])
    node = {"type": cls.__tvm_ffi_type_info__.type_key, "data": {"x": 1}}
    text = json.dumps({"root_index": 0, "nodes": [node]})
    triggers = {
        "constructor": lambda: cls(2),
        "default": cls,
        "graph": lambda: tvm_ffi.serialization.from_json_graph_str(text),
    }
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        triggers[trigger]()
    assert caught.value is exception
    assert caught.value.__cause__ is None
    assert [entry.name for entry in caught.traceback][-1] == "fail"


def test_the_exception_of_a_conversion_is_the_cause_of_the_error_about_the_field():
    """Regression: the original exception was replaced by a new one with the same message.

    The class is local, because other tests register the built-in exception classes.
    """
    exception = type("UnregisteredError", (ArithmeticError,), {})("by nothing")
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


def test_the_exception_of_a_conversion_is_released_with_the_error_about_the_field():
    """The collector would not see the exception if the cycle contained a native error."""
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
    assert [reference() for reference in raised] == [None] * 3
