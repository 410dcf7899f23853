# SPDX-License-Identifier: Apache-2.0
"""`gen_abi_cpp`: the generated C++ header of registered types, and its compilation."""

import ctypes
from collections.abc import Callable
from typing import Any, Optional, Union

import pytest
from types_in_text import load_types

import tvm_ffi
from tvm_ffi import Object, testing  # noqa: F401  (the latter registers types from C++)
from tvm_ffi.dataclasses import gen_abi_cpp, py_class


@py_class("abi.sub.Leaf")
class Leaf(Object):
    """A type with padding at its end; a derived type places fields there."""

    v: int
    ok: bool


@py_class("abi.sub.Everything")
class Everything(Leaf):
    """A type with a field of each kind."""

    also: bool
    b: float
    d: str
    f: Any
    g: Optional[int]
    i: list[int]
    j: dict[str, Leaf]
    k: tvm_ffi.dtype
    m: tvm_ffi.Device
    n: Leaf
    o: Callable[[int], int]
    p: tvm_ffi.Tensor
    u: ctypes.c_void_p
    w: Union[int, str]
    c: tvm_ffi.Array
    e: bytes
    ob: Object
    t: tuple[int, str]


@py_class("abi.odd-name")
class Odd(Object):
    """A type whose key and field name are not C++ identifiers."""

    x: int
    register: int


@py_class("abi.other.User")
class User(Object):
    """A type whose fields have types that are not selected."""

    leaf: Leaf
    odd: Odd


def test_a_struct_has_the_fields_in_order():
    text = gen_abi_cpp("abi.sub.Leaf")
    struct = text[text.index("struct alignas(8) LeafObj") :]
    assert struct.splitlines()[:5] == [
        "struct alignas(8) LeafObj : public ::tvm::ffi::Object {",
        '  TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP("abi.sub.Leaf", 1);',
        "  int64_t v;  // offset 24",
        "  bool ok;  // offset 32",
        "};",
    ]
    assert "static_assert(sizeof(LeafObj) == 40);" in text
    assert "static_assert(offsetof(LeafObj, ok) == 32);" in text


def test_ancestors_come_first_and_other_types_are_opaque():
    text = gen_abi_cpp(["abi.sub.Every*"])
    assert text.index("alignas(8) LeafObj") < text.index("alignas(8) EverythingObj")
    user = gen_abi_cpp("abi.other.*")
    assert "alignas(8) LeafObj" not in user
    assert "::tvm::ffi::Arc<::abi::sub::LeafObj> leaf;" in user
    assert f"__ffi_escape_{b'odd-name'.hex()}Obj" in user


@pytest.mark.parametrize(
    ("selector", "message"),
    [
        ("abi.none*", "selector 'abi.none*' did not match any registered type"),
        ("int", "selector 'int' did not match any registered object type"),
        ("ABI.SUB.*", "did not match"),
    ],
)
def test_selectors_that_match_nothing_are_refused(selector, message):
    with pytest.raises(ValueError, match=message.replace("*", r"\*")):
        gen_abi_cpp(selector)


def test_the_header_compiles_and_matches_the_layout(tmp_path):
    keys = ["abi.sub.*", "abi.other.*", "abi.odd*", "ffi.Enum", "testing.TestIntPair"]
    header = gen_abi_cpp(keys)
    (tmp_path / "types.h").write_text(header, encoding="utf-8")
    source = f"""
#include "{tmp_path / "types.h"}"
#include <tvm/ffi/reflection/registry.h>
TVM_FFI_STATIC_INIT_BLOCK() {{
  tvm::ffi::reflection::GlobalDef().def("test.gen_abi_cpp.sum", [](const tvm::ffi::Any& value) {{
    const auto* user = value.as<abi::other::UserObj>();
    return user->leaf->v + user->odd->x;
  }});
}}
"""
    load_types(tmp_path, source)
    user = User(Leaf(3, True), Odd(4, 5))
    assert tvm_ffi.get_global_func("test.gen_abi_cpp.sum")(user) == 7


NATIVE = r"""
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/optional.h>
#include <tvm/ffi/reflection/registry.h>

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

class LinkObj : public Object {
 public:
  DLTensor* raw = nullptr;
  ObjectPtr<LinkObj> next;
  Optional<Array<int64_t>> numbers;
  Optional<String> name;
  ObjectRef any_object;
  int64_t last = 0;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("abi.native.Link", LinkObj, Object);
};
class AmbiguousObj : public Object {
 public:
  Optional<int64_t> count;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("abi.native.Ambiguous", AmbiguousObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  refl::ObjectDef<LinkObj>(refl::init(false))
      .def_ro("raw", &LinkObj::raw)
      .def_ro("next", &LinkObj::next)
      .def_ro("numbers", &LinkObj::numbers)
      .def_ro("name", &LinkObj::name)
      .def_ro("any_object", &LinkObj::any_object)
      .def_ro("last", &LinkObj::last);
  refl::ObjectDef<AmbiguousObj>(refl::init(false)).def_ro("count", &AmbiguousObj::count);
}
"""


def test_optional_values_and_tensor_pointers_of_types_from_cpp(tmp_path):
    """Regression: a pointer became a `Tensor`, a `std::optional` an `Any`; others were refused."""
    load_types(tmp_path, NATIVE)
    header = gen_abi_cpp("abi.native.Link")
    assert [
        line.split("//")[0].strip() for line in header.splitlines() if "  // offset" in line
    ] == [
        "DLTensor* raw;",
        "::tvm::ffi::ObjectPtr<::abi::native::LinkObj> next;",
        "::tvm::ffi::Optional<::tvm::ffi::Array<int64_t>> numbers;",
        "::tvm::ffi::Optional<::tvm::ffi::String> name;",
        "::tvm::ffi::ObjectRef any_object;",
        "int64_t last;",
    ]
    (tmp_path / "compiled").mkdir()
    load_types(tmp_path / "compiled", header)
    with pytest.raises(
        ValueError, match=r"`abi\.native\.Ambiguous\.count`: .* ambiguous int \| None"
    ):
        gen_abi_cpp("abi.native.Ambiguous")
