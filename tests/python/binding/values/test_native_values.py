# SPDX-License-Identifier: Apache-2.0
"""Python values that own a native object: String, Bytes, Shape, subclasses of PyNativeObject."""

from __future__ import annotations

import copy
import pickle

import pytest

import tvm_ffi
from tvm_ffi import core

LONG = "a text that does not fit the value"
STR, BYTES = 65, 66


@pytest.mark.parametrize("text", ["", "short", LONG, "a\0b\0 and more text", "caf\u00e9 " * 4])
def test_string_is_a_str(echo, text):
    value = core.String(text)
    assert isinstance(value, str)
    assert (value, hash(value), len(value)) == (text, hash(text), len(text))
    assert (type(value + "x"), type(value[:1]), type(value.upper())) == (str, str, str)
    assert repr(value) == repr(text)
    assert echo(value) == text
    assert type(echo(value)) is str


@pytest.mark.parametrize("content", [b"", b"short", LONG.encode(), b"a\0b\xff and more bytes"])
def test_bytes_are_bytes(echo, content):
    value = core.Bytes(content)
    assert isinstance(value, bytes)
    assert (value, hash(value)) == (content, hash(content))
    assert type(value + b"x") is bytes
    assert echo(value) == content
    assert type(echo(value)) is bytes


def test_string_and_bytes_accept_the_arguments_of_str_and_bytes():
    assert core.String(5) == "5"
    assert core.Bytes(bytearray(b"ab")) == b"ab"
    with pytest.raises(TypeError, match="without an encoding"):
        core.Bytes("text")
    with pytest.raises(TypeError, match="argument"):
        core.String()


@pytest.mark.parametrize(
    ("value", "plain"),
    [(core.String(LONG), LONG), (core.Bytes(b"some bytes"), b"some bytes")],
    ids=["str", "bytes"],
)
def test_copies_and_pickles_are_plain(value, plain):
    for copied in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
        assert (copied, type(copied)) == (plain, type(plain))


def test_string_takes_no_attributes():
    with pytest.raises(AttributeError):
        core.String("text").other = 1


def held_object(kernels, value):
    """Return a wrapper of the native object that is made from a value."""
    holder = core.PyNativeObject.__new__(type("Holder", (core.PyNativeObject,), {}))
    holder.__init_cached_object_by_constructor__(kernels.copy_text, value)
    return holder._tvm_ffi_cached_object


@pytest.mark.parametrize(
    ("cls", "value", "index"),
    [(core.String, LONG, STR), (core.Bytes, LONG.encode(), BYTES)],
    ids=["str", "bytes"],
)
def test_value_made_from_an_object_passes_the_object(kernels, cls, value, index):
    obj = held_object(kernels, value)
    made = cls.__from_tvm_ffi_object__(cls, obj)
    assert (made, type(made)) == (value, cls)
    assert made._tvm_ffi_cached_object is obj
    assert kernels.type_index(made) == index
    assert kernels.payload(made) == obj.__chandle__()


def test_a_new_string_has_no_native_object(kernels):
    assert core.String(LONG)._tvm_ffi_cached_object is None
    assert core.Bytes(b"some bytes")._tvm_ffi_cached_object is None


def test_shape_is_made_from_an_object():
    class Holder(core.PyNativeObject):
        pass

    holder = Holder()
    holder.__init_cached_object_by_constructor__(tvm_ffi.get_global_func("ffi.Shape"), 2, 3)
    shape = tvm_ffi.Shape.__from_tvm_ffi_object__(tvm_ffi.Shape, holder._tvm_ffi_cached_object)
    assert (shape, type(shape)) == ((2, 3), tvm_ffi.Shape)
    assert isinstance(shape, core.PyNativeObject)


@pytest.mark.parametrize(
    "cls", [core.String, core.Bytes, tvm_ffi.Shape], ids=lambda cls: cls.__name__
)
def test_object_of_another_type_is_refused(cls):
    with pytest.raises(TypeError, match="expected an object of type"):
        cls.__from_tvm_ffi_object__(cls, tvm_ffi.Array([]))
    with pytest.raises(ValueError, match="is empty"):
        cls.__from_tvm_ffi_object__(cls, core.Object())


def test_a_user_class_passes_its_native_object(kernels, echo):
    class Row(core.PyNativeObject, tuple):
        pass

    row = Row((1, 2))
    with pytest.raises(ValueError, match="class Row holds no native object"):
        echo(row)
    row.__init_cached_object_by_constructor__(tvm_ffi.get_global_func("ffi.Array"), 1, 2)
    assert kernels.payload(row) == row._tvm_ffi_cached_object.__chandle__()
    assert echo(row) == [1, 2]
    row._tvm_ffi_cached_object = None
    with pytest.raises(ValueError, match="holds no native object"):
        echo(row)


def test_a_constructor_that_does_not_return_an_object_is_a_type_error():
    with pytest.raises(
        TypeError, match="a constructor function must return a native object, got int"
    ):
        core.String("x").__init_cached_object_by_constructor__(lambda: 5)


def test_registered_class_makes_the_results():
    make = tvm_ffi.get_global_func("ffi.MakeObjectFromPackedArgs")
    arguments = ("ffi.reflection.AccessStep", "kind", 1, "key", 7)
    earlier = type(make(*arguments))

    class Step(core.PyNativeObject, tuple):
        @staticmethod
        def __from_tvm_ffi_object__(cls, obj):  # noqa: PLW0211  (called with the class)
            step = tuple.__new__(cls, (repr(obj),))
            step._tvm_ffi_cached_object = obj
            return step

    index = core._object_type_key_to_index("ffi.reflection.AccessStep")
    core._register_object_by_index(index, Step)
    try:
        made = make(*arguments)
        assert (type(made), made) == (Step, ("[7]",))
        assert tvm_ffi.convert_func(lambda x: x)(made) == ("[7]",)
        Step.__from_tvm_ffi_object__ = staticmethod(lambda cls, obj: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make(*arguments)
    finally:
        restored = earlier if earlier is not tvm_ffi.Object else type("Step", (earlier,), {})
        core._register_object_by_index(index, restored)
    assert issubclass(type(make(*arguments)), tvm_ffi.Object)
    assert issubclass(earlier, tvm_ffi.Object)


@pytest.mark.parametrize(
    "cls",
    [tvm_ffi.Array, tvm_ffi.List, tvm_ffi.Map, tvm_ffi.Dict, tvm_ffi.Shape],
    ids=lambda cls: cls.__name__,
)
def test_classes_have_type_info(cls):
    info = cls.__tvm_ffi_type_info__
    assert (info.type_key, info.type_cls) == (f"ffi.{cls.__name__}", cls)
    assert cls.__tvm_ffi_type_info__ is info


# ---- object_repr -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (tvm_ffi.Array([1]), "(1,)"),
        (tvm_ffi.convert(len), "ffi.Function"),
        (core.Object(), "Object(chandle=None)"),
    ],
    ids=["array", "function", "empty"],
)
def test_object_repr(value, text):
    assert core.object_repr(value) == text
