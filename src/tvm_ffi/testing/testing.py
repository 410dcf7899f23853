# SPDX-License-Identifier: Apache-2.0
"""Python classes of the ``testing.*`` types, and functions that create their objects.

`requires_py310`, `requires_py312` and `requires_py313` are pytest markers; pytest is imported on
first access to one of them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from .._internal.lazy import late_attributes
from ..core import Object
from ..dataclasses import c_class
from ..registry import get_global_func
from ._ffi_api import add_one as _add_one
from ._ffi_api import make_unregistered_object as _make_unregistered_object

if TYPE_CHECKING:
    from .._dtype import dtype
    from ..core import Device

__all__ = [
    "TestCompare",
    "TestCustomCompare",
    "TestCustomHash",
    "TestEqWithoutHash",
    "TestFrozenCxx",
    "TestHash",
    "TestIntPair",
    "TestNonCopyable",
    "TestObjectBase",
    "TestObjectDerived",
    "TestObjectPtrHolder",
    "add_one",
    "create_object",
    "make_unregistered_object",
]

# `__test__` keeps pytest from collecting the classes as tests.


# ---- Functions -----------------------------------------------------------------------------------


def add_one(x: int) -> int:
    """Return `x` + 1."""
    result: int = _add_one(x)
    return result


def create_object(type_key: str, **kwargs: Any) -> Object:
    """Create an object of a native type with the given field values.

    Parameters
    ----------
    type_key : str
        Key of the type, such as ``"testing.TestIntPair"``.
    **kwargs
        Field values by name; all other fields must have defaults.

    Raises
    ------
    TypeError
        If a field does not exist, has no value, or has a value of the wrong type.
    """
    names_and_values = [part for entry in kwargs.items() for part in entry]
    result: Object = get_global_func("ffi.MakeObjectFromPackedArgs")(type_key, *names_and_values)
    return result


def make_unregistered_object() -> Object:
    """Return an object of a type without a Python class."""
    result: Object = _make_unregistered_object()
    return result


def _requires(minor: int) -> Any:
    """Return a marker that skips a test before Python 3.`minor`."""
    import pytest

    return pytest.mark.skipif(sys.version_info < (3, minor), reason=f"requires Python 3.{minor}+")


__getattr__ = late_attributes(
    globals(),
    {
        "requires_py310": lambda: _requires(10),
        "requires_py312": lambda: _requires(12),
        "requires_py313": lambda: _requires(13),
    },
)


# ---- Types with declared constructors, inheritance, references -----------------------------------


@c_class("testing.TestIntPair")
class TestIntPair(Object):
    """A native type with two integer fields."""

    __test__: ClassVar[bool] = False
    a: int
    b: int
    if TYPE_CHECKING:

        def sum(self) -> int: ...  # noqa: D102  (documented in native code)


@c_class("testing.TestObjectBase")
class TestObjectBase(Object):
    """A type with default values and a read-only field."""

    __test__: ClassVar[bool] = False
    v_i64: int
    v_f64: float
    v_str: str
    if TYPE_CHECKING:

        def __init__(self, v_i64: int = ..., v_f64: float = ..., v_str: str = ...) -> None: ...
        def add_i64(self, other: int, /) -> int: ...  # noqa: D102  (documented in native code)


@c_class("testing.TestObjectDerived")
class TestObjectDerived(TestObjectBase):
    """A derived type with required fields; the fields of its base class have defaults."""

    v_map: Mapping[Any, Any]
    v_array: Sequence[Any]
    if TYPE_CHECKING:

        def __init__(
            self,
            v_map: Mapping[Any, Any],
            v_array: Sequence[Any],
            v_i64: int = ...,
            v_f64: float = ...,
            v_str: str = ...,
        ) -> None: ...


@c_class("testing.TestObjectPtrHolder")
class TestObjectPtrHolder(Object):
    """A type with a required and an optional reference to an object."""

    __test__: ClassVar[bool] = False
    value: TestObjectBase
    optional_value: TestObjectBase | None
    if TYPE_CHECKING:

        def __init__(
            self, value: TestObjectBase, optional_value: TestObjectBase | None = ...
        ) -> None: ...


@c_class("testing.TestNonCopyable")
class TestNonCopyable(Object):
    """A native type whose objects cannot be copied."""

    __test__: ClassVar[bool] = False
    value: int


@c_class("testing.TestFrozenCxx", frozen=True)
class TestFrozenCxx(Object):
    """A type whose writable fields the Python class makes read-only."""

    __test__: ClassVar[bool] = False
    value: int
    tag: str
    if TYPE_CHECKING:

        def __init__(self, value: int, tag: str = ...) -> None: ...


# ---- Types with rules for comparison and hash ----------------------------------------------------


@c_class("testing.TestCompare")
class TestCompare(Object):
    """A native type with a field that comparison ignores."""

    __test__: ClassVar[bool] = False
    key: int
    name: str
    ignored_field: int


@c_class("testing.TestHash")
class TestHash(Object):
    """A native type with a field that the hash ignores."""

    __test__: ClassVar[bool] = False
    key: int
    name: str
    hash_ignored: int


@c_class("testing.TestCustomHash")
class TestCustomHash(Object):
    """A type whose native hash hook uses only the key."""

    __test__: ClassVar[bool] = False
    key: int
    label: str


@c_class("testing.TestCustomCompare")
class TestCustomCompare(Object):
    """A type whose native comparison and hash hooks use only the key."""

    __test__: ClassVar[bool] = False
    key: int
    label: str


@c_class("testing.TestEqWithoutHash")
class TestEqWithoutHash(Object):
    """A type with a native equality hook but without a hash hook.  Its objects cannot be hashed."""

    __test__: ClassVar[bool] = False
    key: int
    label: str


# ---- Types with automatic constructors -----------------------------------------------------------


@c_class("testing.TestCxxAutoInit")
class _TestCxxAutoInit(Object):
    a: int
    b: int
    c: int
    d: int


@c_class("testing.TestCxxAutoInitSimple")
class _TestCxxAutoInitSimple(Object):
    x: int
    y: int


@c_class("testing.TestCxxAutoInitAllInitOff")
class _TestCxxAutoInitAllInitOff(Object):
    x: int
    y: int
    z: int


@c_class("testing.TestCxxAutoInitKwOnlyDefaults")
class _TestCxxAutoInitKwOnlyDefaults(Object):
    p_required: int
    p_default: int
    k_required: int
    k_default: int
    hidden: int


@c_class("testing.TestCxxNoAutoInit")
class _TestCxxNoAutoInit(Object):
    x: int
    y: int


@c_class("testing.TestCxxAutoInitParent")
class _TestCxxAutoInitParent(Object):
    parent_required: int
    parent_default: int


@c_class("testing.TestCxxAutoInitChild")
class _TestCxxAutoInitChild(_TestCxxAutoInitParent):
    child_required: int
    child_kw_only: int


@c_class("testing.TestCxxKwOnly")
class _TestCxxKwOnly(Object):
    x: int
    y: int
    z: int
    w: int


@c_class("testing.TestCxxInitSubset")
class _TestCxxInitSubset(Object):
    required_field: int
    optional_field: int
    note: str


# ---- Types for tests of fields, methods and class attributes -------------------------------------


@c_class("testing.TestCxxClassBase")
class _TestCxxClassBase(Object):
    v_i64: int
    v_i32: int
    not_field_1 = 1
    not_field_2: ClassVar[int] = 2

    def __init__(self, v_i64: int, v_i32: int) -> None:
        self.__ffi_init__(v_i64 + 1, v_i32 + 2)  # type: ignore[attr-defined]


@c_class("testing.TestCxxClassDerived", eq=True, order=True, unsafe_hash=True)
class _TestCxxClassDerived(_TestCxxClassBase):
    v_f64: float
    v_f32: float


@c_class("testing.TestCxxClassDerivedDerived")
class _TestCxxClassDerivedDerived(_TestCxxClassDerived):
    v_str: str
    v_bool: bool


@c_class("testing.TestCxxEnumHolder")
class _TestCxxEnumHolder(Object):
    priority: Object
    opcode: Object


@c_class("testing.SchemaAllTypes")
class _SchemaAllTypes(Object):
    v_bool: bool
    v_int: int
    v_float: float
    v_device: Device
    v_dtype: dtype
    v_string: str
    v_bytes: bytes
    v_opt_int: int | None
    v_opt_str: str | None
    v_arr_int: Sequence[int]
    v_arr_str: Sequence[str]
    v_map_str_int: Mapping[str, int]
    v_map_str_arr_int: Mapping[str, Sequence[int]]
    v_variant: str | Sequence[int] | Mapping[str, int]
    v_opt_arr_variant: Sequence[int | str] | None
    if TYPE_CHECKING:

        def add_int(self, other: int, /) -> int: ...
        def append_int(self, array: Sequence[int], value: int, /) -> Sequence[int]: ...
        def maybe_concat(self, first: str | None, second: str | None, /) -> str | None: ...
        def merge_map(
            self,
            first: Mapping[str, Sequence[int]],
            second: Mapping[str, Sequence[int]],
            /,
        ) -> Mapping[str, Sequence[int]]: ...
        @staticmethod
        def make_with(v_int: int, v_float: float, v_string: str, /) -> _SchemaAllTypes: ...
