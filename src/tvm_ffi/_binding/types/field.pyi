# SPDX-License-Identifier: Apache-2.0
from typing import Any, Callable

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
