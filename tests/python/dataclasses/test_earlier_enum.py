# SPDX-License-Identifier: Apache-2.0
"""Enumerations registered in the format of the 0.1.11 and 0.1.12 headers."""

from typing import ClassVar

import pytest
from types_in_text import load_types

from tvm_ffi import core
from tvm_ffi.dataclasses import Enum, EnumState

SOURCE = r"""
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/enum.h>
#include <tvm/ffi/reflection/registry.h>

namespace earlier {

using namespace tvm::ffi;

class FruitObj : public EnumObj {
 public:
  using EnumObj::EnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.earlier.Fruit", FruitObj, EnumObj);
};
class BrokenObj : public EnumObj {
 public:
  using EnumObj::EnumObj;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.earlier.Broken", BrokenObj, EnumObj);
};

template <typename T>
void Register(const char* name, Any value) {
  std::string_view text = name;
  TVMFFIByteArray bytes{text.data(), text.size()};
  TVMFFIAny raw = AnyView(value).CopyToTVMFFIAny();
  int32_t index = T::_GetOrAllocRuntimeTypeIndex();
  TVM_FFI_CHECK_SAFE_CALL(TVMFFITypeRegisterAttr(index, &bytes, &raw));
}

TVM_FFI_STATIC_INIT_BLOCK() {
  Any pear = ObjectRef(make_object<FruitObj>(1, "pear"));
  Any apple = ObjectRef(make_object<FruitObj>(0, "apple"));
  Register<FruitObj>("__ffi_enum_entries__", Dict<String, Any>{{"pear", pear}, {"apple", apple}});
  Register<FruitObj>("__ffi_enum_attrs__",
                     Dict<String, Any>{{"grams", List<Any>{nullptr, 170}}});
  Register<BrokenObj>("__ffi_enum_entries__", String("no entries at all"));
}

}  // namespace earlier
"""


@pytest.fixture(scope="module", autouse=True)
def library(tmp_path_factory):
    load_types(tmp_path_factory.mktemp("earlier"), SOURCE)


@pytest.fixture(scope="module")
def fruit(library):
    class Fruit(Enum, type_key="test.earlier.Fruit"):
        pear: ClassVar[Enum]
        apple: ClassVar[Enum]

    return Fruit


def test_variants_are_in_the_order_of_their_ordinals(fruit):
    assert [(x._int_index, x._str_index) for x in fruit] == [(0, "apple"), (1, "pear")]
    assert fruit("apple") is fruit.apple
    assert fruit(1) is fruit.pear


def test_columns_have_their_values(fruit):
    grams = fruit.def_attr("grams", default=0)
    assert (grams[fruit.pear], grams[fruit.apple]) == (170, 0)
    assert fruit.apple not in grams


def test_the_enum_state_is_converted_to_the_current_format(fruit):
    index = fruit.__tvm_ffi_type_info__.type_index
    assert isinstance(core._lookup_type_attr(index, "__ffi_enum__"), EnumState)


def test_a_missing_variant_is_named_in_the_error(library):
    with pytest.raises(RuntimeError, match="no enum at string index 'plum'"):

        class Wrong(Enum, type_key="test.earlier.Fruit"):
            plum: ClassVar[Enum]


def test_entries_of_a_wrong_type_are_refused(library):
    with pytest.raises(
        TypeError, match=r"type attribute __ffi_enum_entries__: expected an `ffi.Dict`, got str"
    ):

        class Broken(Enum, type_key="test.earlier.Broken"):
            pass
