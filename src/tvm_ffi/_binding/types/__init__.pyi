# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable
from typing import Any, Callable

from tvm_ffi._binding.call import Function
from tvm_ffi._binding.object import CObject

class _Field:
    name: str

class FieldGetter(_Field):
    def __call__(self, obj: Any) -> Any: ...

class FieldSetter(_Field):
    def __call__(self, obj: Any, value: Any) -> None: ...

class FFIProperty:
    fget: Callable[[Any], Any]
    fset: Callable[[Any, Any], None] | None
    fdel: Callable[[Any], None] | None
    frozen: bool
    def __init__(
        self,
        fget: Callable[[Any], Any],
        fset: Callable[[Any, Any], None] | None,
        frozen: bool,
        fdel: Callable[[Any], None] | None = None,
        doc: str | None = None,
    ) -> None: ...
    def __set_name__(self, owner: type, name: str) -> None: ...
    def __get__(self, obj: Any, owner: type | None) -> Any: ...
    def __set__(self, obj: Any, value: Any) -> None: ...
    def __delete__(self, obj: Any) -> None: ...
    def set(self, obj: Any, value: Any) -> None: ...

def type_index_of(obj: CObject) -> int: ...
def type_metadata(index: int) -> dict[str, Any]: ...
def lookup_type_attr(type_index: int, attr_key: str, ancestor: bool = False) -> Any: ...
def register_type_attr(type_index: int, attr_key: str, value: Any) -> None: ...
def relink(owner: CObject) -> None: ...

class Constructor:
    def __new__(
        cls,
        construct: Any,
        cls_: type,
        info: Any,
        kwargs_marker: Any,
        missing: Any,
        post_construct: Callable[[Any], None] | None = None,
        keeps_constructed: bool = False,
        reference_fields: tuple[Any, ...] | None = None,
        keywords: str = "marker",
    ) -> Constructor: ...
    def __call__(self, *args: Any, **kwargs: Any) -> None: ...
    def __get__(self, obj: Any, owner: type | None = None, /) -> Any: ...

def register_field(
    type_index: int,
    name: str,
    doc: str,
    metadata: str,
    flags: Iterable[str],
    layout: tuple[int, int, int],
    offset: int,
    getter: int,
    setter: int | Function,
    default: Any,
) -> None: ...
def register_method(
    type_index: int, name: str, doc: str, metadata: str, is_static: bool, function: Function
) -> None: ...
def register_metadata(
    type_index: int, doc: str, total_size: int, structural_eq: str | None
) -> None: ...

class Refusal:
    def __init__(self, text: str) -> None: ...

def plain_setter(origin: str, convert: Callable[[Any], Any]) -> int: ...
def rule_setter(
    origin: str,
    convert: Callable[[Any], Any],
    accepted: str,
    index: int,
    depth: int,
    accepts_none: bool,
) -> Function: ...
