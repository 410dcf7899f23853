# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the structural tests: an expression language with every structural kind."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from types_in_text import load_types

import tvm_ffi

SOURCE = r"""
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/reflection/registry.h>

// A separate namespace: the linker merges classes of the same name in several libraries.
namespace walk {

using namespace tvm::ffi;
namespace refl = tvm::ffi::reflection;

// A variable; its name is ignored in comparisons.
class VarObj : public Object {
 public:
  String name;
  Any type;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindFreeVar;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.walk.Var", VarObj, Object);
};

class PairObj : public Object {
 public:
  Any lhs;
  Any rhs;
  int64_t span = 0;  // ignored in comparisons
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO("test.walk.Pair", PairObj, Object);
};

class TripleObj : public PairObj {
 public:
  Any third;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.walk.Triple", TripleObj, PairObj);
};

// A function, which defines its parameters as patterns.
class FnObj : public Object {
 public:
  Any params;
  Any body;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.walk.Fn", FnObj, Object);
};

// A loop, which defines its variables in a simple region.
class LoopObj : public Object {
 public:
  Any vars;
  Any body;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.walk.Loop", LoopObj, Object);
};

// A shared subexpression.
class LetObj : public Object {
 public:
  Any value;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindDAGNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.walk.Let", LetObj, Object);
};

class OpObj : public Object {
 public:
  String name;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindUniqueInstance;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.walk.Op", OpObj, Object);
};

class NamesObj : public Object {
 public:
  Array<String> names;
  static constexpr TVMFFISEqHashKind _type_s_eq_hash_kind = kTVMFFISEqHashKindTreeNode;
  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.walk.Names", NamesObj, Object);
};

TVM_FFI_STATIC_INIT_BLOCK() {
  using Flag = refl::AttachFieldFlag;
  refl::ObjectDef<VarObj>()
      .def_ro("name", &VarObj::name, Flag::SEqHashIgnore())
      .def_ro("type", &VarObj::type, refl::DefaultValue(nullptr));
  refl::ObjectDef<PairObj>()
      .def_ro("lhs", &PairObj::lhs)
      .def_ro("rhs", &PairObj::rhs)
      .def_ro("span", &PairObj::span, Flag::SEqHashIgnore(), refl::DefaultValue(0));
  refl::ObjectDef<TripleObj>().def_ro("third", &TripleObj::third);
  refl::ObjectDef<FnObj>()
      .def_ro("params", &FnObj::params, Flag::SEqHashDefPattern())
      .def_ro("body", &FnObj::body);
  refl::ObjectDef<LoopObj>()
      .def_ro("vars", &LoopObj::vars, Flag::SEqHashDefSimple())
      .def_ro("body", &LoopObj::body);
  refl::ObjectDef<LetObj>().def_ro("value", &LetObj::value);
  refl::ObjectDef<OpObj>().def_ro("name", &OpObj::name);
  refl::ObjectDef<NamesObj>().def_ro("names", &NamesObj::names);
}

}  // namespace walk
"""


@pytest.fixture(scope="session")
def language(tmp_path_factory) -> SimpleNamespace:
    """Return the classes of the types above, by name."""
    load_types(tmp_path_factory.mktemp("walk"), SOURCE)
    classes: dict[str, type] = {}
    for name in ("Var", "Pair", "Fn", "Loop", "Let", "Op", "Names"):
        classes[name] = _class_for(name, tvm_ffi.Object)
    classes["Triple"] = _class_for("Triple", classes["Pair"])
    return SimpleNamespace(**classes)


def _class_for(name: str, base: type) -> type:
    return tvm_ffi.register_object(f"test.walk.{name}")(type(base)(name, (base,), {}))


def nested(depth: int) -> tvm_ffi.List:
    """Return ``depth`` nested lists."""
    value = tvm_ffi.List([])
    for _ in range(depth - 1):
        value = tvm_ffi.List([value])
    return value


def shared(language: SimpleNamespace, depth: int) -> Any:
    """Return `depth` pairs, each of which has the next pair in both fields."""
    value = language.Pair(1, 2)
    for _ in range(depth - 1):
        value = language.Pair(value, value)
    return value


@pytest.fixture
def cyclic():
    """Return a list that contains itself; the list is emptied after the test."""
    value = tvm_ffi.List([1])
    value.append(value)
    yield value
    value.clear()
