# SPDX-License-Identifier: Apache-2.0
"""str and bytes as arguments: short ones are stored inline, long ones are borrowed, not copied."""

from __future__ import annotations

import ctypes
import enum
import gc
import operator
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tvm_ffi
from tvm_ffi.core import ByteArrayArg
from tvm_ffi.dataclasses import field, py_class

SMALL_STR, SMALL_BYTES, STR, BYTES = 11, 12, 65, 66


class StrSubclass(str):
    """A subclass of str."""

    __slots__ = ("__weakref__",)


class BytesSubclass(bytes):
    """A subclass of bytes."""


@pytest.mark.parametrize(
    ("text", "size", "index"),
    [
        ("", 0, SMALL_STR),
        ("a", 1, SMALL_STR),
        ("seven b", 7, SMALL_STR),
        ("eight by", 8, STR),
        ("\0", 1, SMALL_STR),
        ("a\0b", 3, SMALL_STR),
        ("a\0b\0c\0d\0", 8, STR),
        ("caf\u00e9", 5, SMALL_STR),
        ("\u00e9\u00e9\u00e9\u00e9", 8, STR),
        ("\U0001f600", 4, SMALL_STR),
        ("\uffff\U0010ffff", 7, SMALL_STR),
        ("x" * 10_000_000, 10_000_000, STR),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_str_is_passed_as_utf8(kernels, echo, text, size, index):
    assert kernels.type_index(text) == index
    assert kernels.text_size(text) == size
    assert echo(text) == text
    assert kernels.copy_text(text) == text  # the result is a native copy of the text


@pytest.mark.parametrize(
    ("content", "index"),
    [
        (b"", SMALL_BYTES),
        (b"seven b", SMALL_BYTES),
        (b"eight by", BYTES),
        (b"\0\0", SMALL_BYTES),
        (bytes(range(256)), BYTES),
        (b"\xff" * 10_000_000, BYTES),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_bytes_are_passed_unchanged(kernels, echo, content, index):
    assert kernels.type_index(content) == index
    assert kernels.text_size(content) == len(content)
    assert echo(content) == content
    assert type(echo(content)) is bytes
    assert kernels.copy_text(content) == content


@pytest.mark.parametrize("size", [0, 1, 6, 7])
def test_small_text_is_padded_with_zeros(kernels, size):
    content = b"abcdefg"[:size]
    assert kernels.payload(content) == int.from_bytes(content, "little")
    assert kernels.payload(content.decode()) == int.from_bytes(content, "little")
    assert kernels.padding(content) == size


@given(st.text())
def test_any_str_round_trips(kernels, echo, text):
    assert echo(text) == text
    assert kernels.copy_text(text) == text
    assert kernels.text_size(text) == len(text.encode())


@given(st.binary())
def test_any_bytes_round_trip(kernels, echo, content):
    assert echo(content) == content
    assert kernels.copy_text(content) == content


@pytest.mark.parametrize(
    "text", ["\ud800", "long enough \udfff for the heap", "a" * 100 + "\ud83d"]
)
def test_lone_surrogate_is_a_unicode_error(kernels, text):
    """Regression: function and argument were in a note, which `str` and Python 3.9 do not show."""
    message = r"surrogates not allowed \(while passing argument #1 when calling `count`\)$"
    for value in (text, [1, [text]], {text: 1}, {"key": (text,)}):
        with pytest.raises(UnicodeEncodeError, match=message):
            kernels.count(1, value)
    assert kernels.count(1, "fine") == 2


@py_class("test.text.Note")
class Note(tvm_ffi.Object):
    """A type with fields that contain text."""

    label: str
    lines: list[str] = field(default_factory=list)


def test_the_error_of_a_lone_surrogate_names_parameter_field_and_callable(kernels, kernel_library):
    """Regression: a signature, a keyword, a field or a callback added no name to the message."""
    function = tvm_ffi.convert_func(lambda first, text: text)
    for call in (lambda: function(1, text="\ud800"), lambda: function(text="\ud800", first=1)):
        with pytest.raises(UnicodeEncodeError, match=r"while passing argument 'text' when calling"):
            call()
    library = tvm_ffi.load_module(kernel_library, keep_module_alive=False)
    library.describe({"text_size": "(content: str)"})
    declared = library.text_size
    for call in (lambda: declared("\ud800"), lambda: declared(content="\ud800")):
        with pytest.raises(UnicodeEncodeError, match=r"'content' when calling `text_size`\)$"):
            call()
    note = Note("fine", ["fine"])
    for call in (
        lambda: Note("fine", label="\ud800"),
        lambda: Note(lines=["\ud800"], label="fine"),
    ):
        with pytest.raises(
            UnicodeEncodeError, match="argument '(label|lines)' when calling `Note`"
        ):
            call()
    for name, value in (("label", "\ud800"), ("lines", ["\ud800"])):
        with pytest.raises(UnicodeEncodeError, match=rf"\(while converting Note.{name}\)$"):
            setattr(note, name, value)
    assert (note.label, list(note.lines)) == ("fine", ["fine"])

    def broken():
        return "\ud800"

    with pytest.raises(UnicodeEncodeError, match=r"\(while converting result of `.*broken\(\)`\)$"):
        kernels.call(broken)


def test_the_error_of_a_lone_surrogate_names_the_place_in_a_container():
    """Regression: containers that Python code makes or changes added no name to the message."""
    array, mapping = tvm_ffi.List([1, 2, 3]), tvm_ffi.Dict({"a": 1})
    for convert, place in (
        (lambda: tvm_ffi.Array([1, "\ud800"]), "converting Array[1]"),
        (lambda: tvm_ffi.List(["fine", [1, "\ud800"]]), "converting List[1]"),
        (lambda: tvm_ffi.Array(["\ud800"] * 40), "converting Array[0]"),
        (lambda: tvm_ffi.Map({"a": 1, "b": ["\ud800"]}), "converting Map['b']"),
        (lambda: tvm_ffi.Dict({7: "\ud800"}), "converting Dict[7]"),
        (lambda: tvm_ffi.Dict({"\ud800": 1}), "converting key '\\ud800' of Dict"),
        (lambda: tvm_ffi.convert([1, "\ud800"]), "converting Array[1]"),
        (lambda: operator.add(array, ["\ud800"]), "converting List[3]"),
        (lambda: array.__setitem__(2, "\ud800"), "converting List[2]"),
        (lambda: array.insert(-1, "\ud800"), "converting List[-1]"),
        (lambda: array.append("\ud800"), "passing argument #1 when calling `ListAppend`"),
        (lambda: array.extend(iter([1, "\ud800"])), "converting item 1 of the values for a List"),
        (lambda: mapping["\ud800"], "converting key '\\ud800' of Dict"),
        (lambda: "\ud800" in mapping, "converting key '\\ud800' of Dict"),
        (
            lambda: mapping.__setitem__("a", "\ud800"),
            "passing argument #2 when calling `DictSetItem`",
        ),
    ):
        with pytest.raises(UnicodeEncodeError) as caught:
            convert()
        assert str(caught.value).endswith(f"surrogates not allowed (while {place})")
    assert (list(array), dict(mapping)) == ([1, 2, 3], {"a": 1})


class Failing:
    """A value whose conversion fails."""

    def __tvm_ffi_value__(self):
        raise ValueError("no value")

    def __repr__(self):
        return "Failing()"


def test_other_errors_of_a_conversion_name_the_place_in_a_container():
    """Regression: containers that Python code makes added no name to the message."""
    with pytest.raises(ValueError, match=r"^Array\[1\]: no value$"):
        tvm_ffi.Array([1, Failing()])
    with pytest.raises(ValueError, match=r"^Map\['a'\]: no value$"):
        tvm_ffi.Map({"a": Failing()})
    with pytest.raises(ValueError, match=r"^key Failing\(\) of Map: no value$"):
        tvm_ffi.Map({Failing(): 1})


def failing():
    yield 1
    raise ValueError("an error of the iterable")


def test_errors_of_an_iterable_are_unchanged():
    with pytest.raises(ValueError, match="^an error of the iterable$"):
        tvm_ffi.Array(failing())


@pytest.mark.parametrize(
    ("use", "label"),
    [
        (tvm_ffi.get_global_func, "name of a function"),
        (lambda name: tvm_ffi.register_global_func(name, len), "name of a function"),
        (
            lambda key: py_class(key)(type("C", (tvm_ffi.Object,), {"__annotations__": {}})),
            "type key",
        ),
    ],
)
def test_names_with_a_lone_surrogate_are_refused_by_name(use, label):
    """Regression: the message named neither the function nor the argument."""
    message = rf"surrogates not allowed: {label} must be text that UTF-8 can encode, got '.ud800'$"
    with pytest.raises(UnicodeEncodeError, match=message):
        use("\ud800")


def test_the_name_of_a_function_of_a_module_may_be_no_lone_surrogate(kernels):
    message = r"surrogates not allowed \(while converting the name of a function\)$"
    for find in (kernels.get_function, kernels.__getitem__):
        with pytest.raises(UnicodeEncodeError, match=message):
            find("\ud800")


def test_a_result_that_is_not_utf8_is_a_unicode_error(kernels):
    with pytest.raises(UnicodeDecodeError, match="invalid start byte"):
        kernels.return_bad_text(False)
    with pytest.raises(UnicodeDecodeError, match="invalid start byte"):
        kernels.return_bad_text(True)
    assert kernels.count() == 0


@pytest.mark.parametrize("text", ["short", "longer than seven bytes"])
def test_subclasses_of_str_are_text(kernels, echo, text):
    values = [StrSubclass(text)]
    if sys.version_info >= (3, 11):
        values.append(enum.StrEnum("E", {"A": text}).A)
    for value in values:
        assert kernels.text_size(value) == len(text)
        assert echo(value) == text
        assert isinstance(echo(value), str)


@pytest.mark.parametrize("content", [b"short", b"longer than seven bytes"])
def test_subclasses_of_bytes_and_bytearrays_are_bytes(echo, content):
    for value in (BytesSubclass(content), bytearray(content)):
        assert echo(value) == content
        assert isinstance(echo(value), bytes)


def test_bytearray_is_copied(kernels):
    content = bytearray(b"longer than seven bytes")
    kernels.keep(content)
    content[:6] = b"XXXXXX"
    del content[7:]
    assert kernels.kept() == b"longer than seven bytes"
    kernels.forget()


def test_str_and_bytes_do_not_mix(kernels, echo):
    assert echo("text") != b"text"
    assert echo(b"text") != "text"


# ---- borrowing and lifetime --------------------------------------------------------------------


def test_long_text_is_passed_without_a_copy(kernels):
    content = b"0123456789" * 100
    address = ctypes.cast(ctypes.c_char_p(content), ctypes.c_void_p).value
    assert kernels.text_address(content).value == address
    text = "0123456789" * 100
    assert id(text) < kernels.text_address(text).value < id(text) + sys.getsizeof(text)


@pytest.mark.parametrize(
    "make",
    [lambda: "long text " * 3, lambda: b"long bytes " * 3, lambda: "caf\u00e9 " * 9],
    ids=["str", "bytes", "non-ascii"],
)
def test_text_kept_by_native_code_outlives_its_owner(kernels, make):
    text = make()
    kernels.keep(text)
    del text
    gc.collect()
    assert kernels.kept() == make()
    kernels.forget()


def test_text_is_not_referenced_after_the_call(kernels):
    text = "".join(["long text ", "made here"])
    before = sys.getrefcount(text)
    kernels.count(text, text)
    assert kernels.copy_text(text) == text
    assert sys.getrefcount(text) == before


def test_kept_text_is_released(kernels):
    text = "".join(["long text ", "made here"])
    before = sys.getrefcount(text)
    kernels.keep(text)
    assert sys.getrefcount(text) == before + 1
    kernels.forget()
    assert sys.getrefcount(text) == before


def test_many_long_texts_in_one_call(kernels):
    texts = [f"text number {i} of many" for i in range(100)]
    assert kernels.call(lambda *args: list(args) == texts, *texts) is True
    assert kernels.last(*texts) == texts[-1]


@pytest.mark.parametrize("content", [b"", b"a\0b", bytes(range(256)) * 400])
def test_byte_array_arguments_are_read_as_bytes(echo, content):
    argument = ByteArrayArg(content)
    assert echo(argument) == content
    assert echo(argument) == content, "an argument can be passed again"
    assert repr(argument) == f"ByteArrayArg({content!r})"


@pytest.mark.parametrize("wrong", ["text", bytearray(b"abc"), 3, None])
def test_byte_array_arguments_require_bytes(wrong):
    with pytest.raises(TypeError, match="bytes"):
        ByteArrayArg(wrong)


class Name(str, enum.Enum):
    """An enum of a user whose members are strings."""

    ECHO = "echo"
    GLOBAL = "test.text.named"
    CPU = "cpu:1"


def test_names_may_be_members_of_an_enum(kernels):
    """Parameters that Cython declares as str refuse instances of subclasses."""
    assert kernels.get_function(Name.ECHO)(1) == 1
    assert kernels[Name.ECHO](1) == 1
    function = tvm_ffi.register_global_func(Name.GLOBAL, lambda: 3)
    assert tvm_ffi.get_global_func("test.text.named").same_as(function)
    assert tvm_ffi.get_global_func(Name.GLOBAL)() == 3
    tvm_ffi.registry.remove_global_func(Name.GLOBAL)
    assert tvm_ffi.get_global_func(Name.GLOBAL, allow_missing=True) is None
    assert tvm_ffi.device(Name.CPU) == tvm_ffi.device("cpu", 1)
    assert getattr(kernels.echo, StrSubclass("nothing"), "default") == "default"


@pytest.mark.parametrize("name", [5, None, b"echo"])
def test_a_function_name_that_is_not_a_str_is_a_type_error(kernels, name):
    with pytest.raises(TypeError, match=f"must be a str, got {type(name).__name__}"):
        kernels.get_function(name)
