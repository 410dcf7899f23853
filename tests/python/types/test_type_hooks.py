# SPDX-License-Identifier: Apache-2.0
"""Conversion hooks of native types (`__ffi_convert__`), enumerations, and fields of such types."""

from __future__ import annotations

import json
import types

import pytest
from types_in_text import load_types

import tvm_ffi
from tvm_ffi import core
from tvm_ffi.core import TypeSchema, _register_type_attr, _to_py_class_value

SOURCE = r"""
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/reflection/enum_def.h>
#include <tvm/ffi/reflection/registry.h>

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class LevelObj : public IntEnumObj {
 public:
  using IntEnumObj::IntEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.hooks.Level", LevelObj, IntEnumObj);
};
class Level : public IntEnum {
 public:
  TVM_FFI_DEFINE_OBJECT_REF_METHODS_NOTNULLABLE(Level, IntEnum, LevelObj);
};

class SignObj : public StrEnumObj {
 public:
  using StrEnumObj::StrEnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.hooks.Sign", SignObj, StrEnumObj);
};

class BoxObj : public Object {
 public:
  int64_t content = 0;
  Level level{UnsafeInit{}};
  Array<int64_t> numbers;
  explicit BoxObj(int64_t content) : content(content) {}
  static constexpr bool _type_mutable = true;
  TVM_FFI_DECLARE_OBJECT_INFO("test.hooks.Box", BoxObj, Object);
};

class CrateObj : public BoxObj {
 public:
  explicit CrateObj(int64_t content) : BoxObj(content) {}
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.hooks.Crate", CrateObj, BoxObj);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::EnumDef<LevelObj>("LOW", 1);
  refl::EnumDef<LevelObj>("HIGH", 7);
  refl::EnumDef<SignObj>("+");
  refl::ObjectDef<BoxObj>(refl::init(false))
      .def_rw("content", &BoxObj::content)
      .def_rw("level", &BoxObj::level)
      .def_rw("numbers", &BoxObj::numbers);
  refl::ObjectDef<CrateObj>(refl::init(false));
  refl::GlobalDef()
      .def("test.hooks.make_box",
           [](int64_t n) { return ObjectRef(ObjectPtr<Object>(make_object<BoxObj>(n))); })
      .def("test.hooks.make_crate",
           [](int64_t n) { return ObjectRef(ObjectPtr<Object>(make_object<CrateObj>(n))); });
}
"""

BOX = "test.hooks.Box"


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory):
    """Load the types above."""
    load_types(tmp_path_factory.mktemp("hooks"), SOURCE)
    index = core._object_type_key_to_index(BOX)
    # Type attributes are permanent; only these tests use this type.
    _register_type_attr(index, "__ffi_convert__", BOX_FROM)
    wider = {"type": "Variant", "args": [{"type": BOX}, {"type": "int"}, {"type": "ffi.String"}]}
    _register_type_attr(index, "__ffi_convert_type_schema__", json.dumps(wider))


def box_from(value):
    """Convert integers to boxes, and some strings to other values."""
    make_box = tvm_ffi.get_global_func("test.hooks.make_box")
    if isinstance(value, int):
        return make_box(value)
    if value == "fail":
        raise ValueError("no way\nat all")
    return {"number": 5, "none": None, "array": tvm_ffi.Array([])}[value]


BOX_FROM = tvm_ffi.convert(box_from)  # created here, as it stays alive and is not a leak


@pytest.fixture(scope="module")
def box(library):
    @tvm_ffi.register_object(BOX)
    class Box(tvm_ffi.Object):
        pass

    return Box


def converted(schema, value):
    return _to_py_class_value(schema.convert(value))


def test_objects_of_the_type_and_of_subtypes_are_not_converted(box):
    schema = TypeSchema(BOX)
    for name in ("make_box", "make_crate"):
        obj = tvm_ffi.get_global_func(f"test.hooks.{name}")(3)
        assert converted(schema, obj).same_as(obj)
    with pytest.raises(TypeError, match=r"expected test\.hooks\.Crate, got test\.hooks\.Box$"):
        TypeSchema("test.hooks.Crate").convert(tvm_ffi.get_global_func("test.hooks.make_box")(1))


def test_the_hook_converts_other_values(box):
    assert converted(TypeSchema(BOX), 7).content == 7
    boxes = converted(TypeSchema("Array", (TypeSchema(BOX),)), [1, True])
    assert [x.content for x in boxes] == [1, 1]
    union = TypeSchema("Union", (TypeSchema("str"), TypeSchema(BOX)))
    assert converted(union, "fail") == "fail"
    assert converted(union, 4).content == 4


def test_the_message_of_a_hook_that_fails(box):
    for schema, where in (
        (TypeSchema(BOX), ""),
        (TypeSchema("Optional", (TypeSchema(BOX),)), ""),
    ):
        with pytest.raises(TypeError) as caught:
            schema.check_value("fail")
        assert str(caught.value) == (
            f"type check failed for {schema!r}: {where}expected {BOX}, got str\n"
            "  __ffi_convert__ failed:\n    no way\n    at all"
        )
    with pytest.raises(TypeError, match=r"element \[1\]: expected test\.hooks\.Box, got str\n"):
        TypeSchema("List", (TypeSchema(BOX),)).convert([1, "fail"])


@pytest.mark.parametrize("value", ["number", "none", "array"])
def test_the_hook_must_return_an_object_of_the_type(box, value):
    with pytest.raises(TypeError, match=r"expected test\.hooks\.Box, got str$"):
        TypeSchema(BOX).convert(value)


def test_input_repr_shows_convertible_types():
    schema = TypeSchema("Callable", (TypeSchema(BOX), TypeSchema("Array", (TypeSchema(BOX),))))
    assert repr(schema) == f"Callable[[Array[{BOX}]], {BOX}]"
    wider = f"{BOX} | int | str"
    assert schema.input_repr() == f"Callable[[Array[{wider}]], {wider}]"


@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (TypeSchema("int"), "int"),
        ({"type": "Optional", "args": [{"type": "float"}]}, "float | None"),
    ],
)
def test_other_forms_of_the_schema_of_convertible_types(declared, text):
    index = core._object_type_key_to_index("test.hooks.Crate" if text == "int" else "ffi.EnumState")
    _register_type_attr(index, "__ffi_convert_type_schema__", declared)
    assert TypeSchema.from_type_index(index).input_repr() == text


def test_an_invalid_schema_of_convertible_types_is_refused():
    index = core._object_type_key_to_index("test.hooks.Sign")
    _register_type_attr(index, "__ffi_convert_type_schema__", 3)
    with pytest.raises(TypeError, match="expected TypeSchema, JSON string, or JSON dict, got int"):
        TypeSchema("test.hooks.Sign").input_repr()


# ---- enumerations ----------------------------------------------------------------------------


def test_variants_are_found_by_their_payload():
    level = TypeSchema("test.hooks.Level")
    high = converted(level, 7)
    assert converted(level, high).same_as(high)
    assert converted(level, True).same_as(converted(level, 1))
    assert not converted(level, 1).same_as(high)
    assert level.convert(7).type_index == core._object_type_key_to_index("test.hooks.Level")
    sign = converted(TypeSchema("test.hooks.Sign"), "+")
    with pytest.raises(TypeError, match=r"expected test\.hooks\.Level, got test\.hooks\.Sign$"):
        level.check_value(sign)


@pytest.mark.parametrize(
    ("key", "value", "kind"),
    [
        ("Level", 3, "int"),
        ("Level", "HIGH", "str"),
        ("Level", 7.0, "float"),
        ("Level", None, "None"),
        ("Level", 2**70, "int"),
        ("Sign", "-", "str"),
        ("Sign", 0, "int"),
    ],
)
def test_other_payloads_are_refused(key, value, kind):
    schema = TypeSchema(f"test.hooks.{key}")
    with pytest.raises(TypeError, match=rf"expected test\.hooks\.{key}, got {kind}$"):
        schema.check_value(value)


# ---- fields ----------------------------------------------------------------------------------


def test_fields_have_their_declared_types(box):
    fields = {field.name: field for field in box.__tvm_ffi_type_info__.fields}
    assert {name: repr(field.ty) for name, field in fields.items()} == {
        "content": "int",
        "level": "test.hooks.Level",
        "numbers": "Array[int]",
    }


def test_values_of_fields_are_normalized(box):
    fields = {field.name: field for field in box.__tvm_ffi_type_info__.fields}
    high = converted(TypeSchema("test.hooks.Level"), 7)
    assert fields["level"].normalize_value(7).same_as(high)
    assert fields["level"].normalize_value(high).same_as(high)
    with pytest.raises(TypeError, match=r"expected test\.hooks\.Level, got str"):
        fields["level"].normalize_value("x")
    for name, value in (("content", "x"), ("numbers", [1])):  # their setters convert or refuse
        assert fields[name].normalize_value(value) is value


def test_annotations_with_classes(box):
    assert TypeSchema.from_annotation(box) == TypeSchema(BOX)
    generic = types.GenericAlias(box, (int,))
    assert TypeSchema.from_annotation(generic) == TypeSchema(BOX, (TypeSchema("int"),))
    assert TypeSchema("test.hooks.Crate").is_subtype_of(box)
    assert not TypeSchema("Object").is_subtype_of(box)
