# SPDX-License-Identifier: Apache-2.0
"""Definition of `py_class` types: forward references, refused definitions and type hooks."""

import copy
import ctypes
import inspect
import json
from typing import Any, Optional

import pytest

import tvm_ffi
from tvm_ffi import Object, core
from tvm_ffi._binding.types import register_metadata
from tvm_ffi.dataclasses import field, py_class

from .python_types import Leaf, class_of, key

# ---- Forward references --------------------------------------------------------------------------


def test_a_class_with_forward_references_is_completed_later():
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


def test_unresolved_names_are_reported_and_release_the_type_key():
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


def test_errors_of_a_deferred_definition_are_raised_by_the_first_call():
    @py_class(key())
    class Waiting(Object):
        a: "dict[Later, set]"

    @py_class(key())
    class Later(Object):
        v: int

    assert Later(1).v == 1
    with pytest.raises(TypeError, match=r"Cannot convert <class 'set'> to TypeSchema \(field 'a'"):
        Waiting({})


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
            "`ffi.Array` cannot be a base type: expected registered fields that cover",
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
        (
            lambda k: py_class(k)(class_of({"m": classmethod(tvm_ffi.method(lambda cls: 1))})),
            TypeError,
            "'m' is a @classmethod, but native code has no class to pass",
        ),
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
    """Return a class of a native type that reserves `child_slots` slots for derived types."""

    class ByteArray(ctypes.Structure):
        _fields_ = (("data", ctypes.c_char_p), ("size", ctypes.c_size_t))

    library = ctypes.CDLL(tvm_ffi.libinfo.find_libtvm_ffi())
    parent = Object.__tvm_ffi_type_info__.type_index
    text = ByteArray(name.encode(), len(name))
    index = library.TVMFFITypeGetOrAllocIndex(ctypes.byref(text), -1, 1, child_slots, 0, parent)
    register_metadata(index, "", 24, None)
    return tvm_ffi.register_object(name)(type("Native", (Object,), {}))


def test_a_base_without_child_slots_is_refused():
    """The C function would abort the process, so Python refuses the definition before."""
    with pytest.raises(TypeError, match=r"cannot derive from `\S+`, .* 1 wanted, 0 of 0 left"):
        py_class(key())(class_of({}, (native_type(key(), 0),), x=int))
    base = native_type(key(), 2)
    for _ in range(2):
        assert py_class(key())(class_of({}, (base,), x=int))(1).x == 1
    name = key()
    with pytest.raises(TypeError, match=rf"`{name}` cannot derive from .* 1 wanted, 0 of 2 left"):
        py_class(name)(class_of({}, (base,), x=int))
    assert py_class(name)(class_of({}, x=int))(1).x == 1


def test_a_field_cannot_hide_a_field_of_the_base():
    with pytest.raises(
        TypeError, match="Bad.v: base type `test.py_class.Leaf` already has a field with this name"
    ):
        py_class(key())(class_of({}, (Leaf,), v=int))


def test_a_hook_that_raises_undoes_the_definition():
    def hook(info, fields):
        raise KeyError("hook")

    hook.__ffi_on_fields_resolved__ = True
    name = key()
    with pytest.raises(KeyError, match="hook"):
        py_class(name)(class_of({"hook": hook}, x=int))
    assert py_class(name)(class_of({}, x=str))("text").x == "text"


def test_a_released_key_cannot_be_reused_with_another_base():
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


def test_a_metaclass_conflict_is_a_type_error():
    class Meta(type):
        pass

    with pytest.raises(TypeError, match="metaclass conflict"):
        type("Bad", (Object, Meta("Other", (), {})), {})


# ---- Hooks ---------------------------------------------------------------------------------------


def test_hooks_of_the_class_become_type_attributes():
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


def test_inherited_hooks_handle_field_options():
    """Regression: only hooks in the body of the class were called, so extensions had no base."""
    seen = []

    class Mixin:
        @staticmethod
        def take(info, fields):
            seen.append(("mixin", [dict(x.extra_kwargs) for x in fields]))
            for x in fields:
                x.extra_kwargs.pop("color", None)

        take.__ffi_on_fields_resolved__ = True

    @py_class(key())
    class Base(Mixin, Object):
        a: int = field(color="red")

        @classmethod
        def paint(cls, info, fields):
            seen.append((cls.__name__, [x.name for x in fields]))

        paint.__func__.__ffi_on_fields_resolved__ = True

    @py_class(key())
    class Derived(Base):
        b: int = field(color="blue")

    assert Derived(1, 2).b == 2
    assert seen == [
        ("mixin", [{"color": "red"}]),
        ("Base", ["a"]),
        ("mixin", [{"color": "blue"}]),
        ("Derived", ["b"]),
    ]
    with pytest.raises(TypeError, match=r"Bad\.c: unrecognized field options: size"):
        py_class(key())(class_of({"c": field(size=1)}, (Derived,), c=int))
    silent = class_of({"take": None, "c": field(color=1)}, (Base,), c=int)
    with pytest.raises(TypeError, match=r"Bad\.c: unrecognized field options: color"):
        py_class(key())(silent)


def test_a_field_can_be_called_self():
    """Regression: ValueError `duplicate parameter name: 'self'`."""
    cls = py_class(key())(class_of({"y": 3}, self=int, y=int))
    assert (cls(1).self, cls(1, 2).y, cls(self=4).self) == (1, 2, 4)
    assert str(inspect.signature(cls)) == "(self, y=3)"
    assert tvm_ffi.dataclasses.replace(cls(1), self=5).self == 5


def test_methods_can_be_called_by_native_code():
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


def test_string_annotations_are_resolved_in_the_enclosing_function():
    number = int

    @py_class(key())
    class Local(Object):
        x: "number"
        y: "list[number]"

    assert Local(1, [2]).y[0] == 2
