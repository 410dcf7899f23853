# SPDX-License-Identifier: Apache-2.0
"""Classes whose annotations name classes that come later.

A type gets its index at once, and its fields when all annotations can be looked up: in the
decorator, or when a later class makes the rest known, or when the class is first called.  A class
that cannot be completed is undone, so that another one may take its key.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .._binding.object import type_key_to_index
from .._binding.types import lookup_type_attr, type_metadata
from .._types.type_info import register_class_before_fields, unregister_class
from ..registry import get_global_func
from ._declared import UnresolvedError, declared_fields, registered_base
from ._definition import Options, define
from ._layout import end_of_fields

if TYPE_CHECKING:
    from types import FrameType

    from .._types.type_info import TypeInfo
    from .field import Field

_allocate_type = get_global_func("pytvmffi.TypeAllocate")

# Guards the tables below, and the type table while a class is on its way.
_lock = threading.RLock()
_class_of_name: dict[str, dict[str, type]] = {}  # by module
_waiting: dict[type, _Waiting] = {}  # in the order of their definition
_defined_keys: set[str] = set()
_free_keys: dict[str, int] = {}  # type keys without a class and without fields


# Local and global names, for classes in functions and in code that no module has.
Scope = tuple[Mapping[str, Any], Mapping[str, Any]]


def scope_of(frame: FrameType | None) -> Scope:
    """Return the names that a class at this place sees."""
    return ({}, {}) if frame is None else (frame.f_locals, frame.f_globals)


@dataclass(frozen=True)
class _Waiting:
    info: TypeInfo
    options: Options
    body_init: Any  # __init__ of the class body, or None
    scope: Scope  # where the class stands

    def find(self, module: str, name: str) -> Any:
        """Return what a name means that its module does not have, or None."""
        for names in self.scope:
            if name in names:
                return names[name]
        return find_class(module, name)


def find_class(module: str, name: str) -> type | None:
    """Return a class by its name: one of the same module, or else of any other."""
    own = _class_of_name.get(module, {}).get(name)
    if own is not None:
        return own
    found = (classes[name] for classes in _class_of_name.values() if name in classes)
    return next(found, None)


def is_defined_in_python(type_key: str) -> bool:
    """Whether a class of this process has, or had, the key."""
    return type_key in _defined_keys


def introduce(cls: type, type_key: str, options: Options, scope: Scope) -> None:
    """Make a class stand for a new type, which is completed now or later.

    Parameters
    ----------
    cls : type
        The class.
    type_key : str
        Key of the type.
    options : Options
        What the class asks for.
    scope : pair of mappings
        Names that its annotations may use.

    Raises
    ------
    TypeError
        If the class does not derive from a registered one, or its fields cannot be.
    ValueError
        If the type key is taken.
    """
    base = registered_base(cls)
    if base is None:
        raise TypeError(
            f"{cls.__name__} must inherit from a registered FFI Object type (e.g. tvm_ffi.Object)"
        )
    with _lock:
        base_info: TypeInfo = base.__tvm_ffi_type_info__  # type: ignore[attr-defined]
        if base_info.fields is not None:
            _check_base(base_info)
        info = register_class_before_fields(_allocate(type_key, base_info.type_index), cls)
        _defined_keys.add(type_key)
        waiting = _Waiting(info, options, vars(cls).get("__init__"), scope)
        cls.__ffi_is_dataclass__ = True  # type: ignore[attr-defined]
        _class_of_name.setdefault(cls.__module__, {})[cls.__name__] = cls
        _waiting[cls] = waiting
        try:
            if not _is_completed(cls):
                _defer_init(cls)
        except BaseException:
            _undo(cls)
            raise
        _complete_others()


def _check_base(info: TypeInfo) -> None:
    if lookup_type_attr(info.type_index, "__ffi_type_final__"):
        raise TypeError(f"no type can derive from `{info.type_key}`: it is final")
    end_of_fields(info)


def _allocate(type_key: str, base_index: int) -> int:
    index = type_key_to_index(type_key)
    if index is None:
        allocated: int = _allocate_type(type_key, base_index)
        return allocated
    if type_key in _free_keys and type_metadata(index)["type_ancestors"][-1] == base_index:
        return _free_keys.pop(type_key)
    raise ValueError(f"Type key {type_key!r} is already registered")


def _is_completed(cls: type) -> bool:
    """Complete a class if its annotations can be looked up; its base comes first."""
    waiting = _waiting.get(cls)
    if waiting is None:
        return True
    base = registered_base(cls)
    assert base is not None
    if not _is_completed(base):
        return False
    options = waiting.options
    try:
        fields, computed = declared_fields(cls, options.kw_only, waiting.find)
    except UnresolvedError:
        return False
    _restore_init(cls, waiting)
    define(waiting.info, options, fields, computed, waiting.find)
    del _waiting[cls]
    return True


def _complete_others() -> None:
    """Complete what has waited for this class; what is wrong with others is said at their call."""
    for cls in list(_waiting):
        try:
            _is_completed(cls)
        except Exception:
            _defer_init(cls)


def complete_now(cls: type) -> None:
    """Complete a class, its bases first.

    Raises
    ------
    TypeError
        If annotations cannot be looked up; the class is undone.
    """
    with _lock:
        if cls not in _waiting:
            return
        try:
            if not _is_completed(cls):
                raise TypeError(_reason(cls))
        except BaseException as error:
            _undo(cls)
            _refuse_calls(cls, f"{type(error).__name__}: {error}")
            raise


def complete_with(info: TypeInfo, fields: list[Field]) -> None:
    """Complete a class that waits with these fields."""
    with _lock:
        waiting = _waiting.get(info.type_cls) if info.type_cls is not None else None
        if waiting is None or waiting.info is not info:
            raise ValueError(f"`{info.type_key}` does not wait for its fields")
        cls: Any = info.type_cls
        _restore_init(cls, waiting)
        define(info, waiting.options, fields, {}, waiting.find)
        del _waiting[cls]
        _complete_others()


def _reason(cls: type) -> str:
    base = registered_base(cls)
    if base in _waiting:
        return f"Cannot instantiate {cls.__name__}: its base {base.__name__} is not complete"
    try:
        declared_fields(cls, False, _waiting[cls].find)
    except UnresolvedError as error:
        text = f"unresolved forward references: [{error}]"
    return f"Cannot instantiate {cls.__name__}: {text}"


def _defer_init(cls: Any) -> None:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        complete_now(cls)
        cls.__init__(self, *args, **kwargs)

    cls.__init__ = init


def _refuse_calls(cls: Any, reason: str) -> None:
    def init(self: Any, *args: Any, **kwargs: Any) -> None:
        raise TypeError(f"{cls.__name__} is not registered, as it could not be completed: {reason}")

    cls.__init__ = init


def _restore_init(cls: Any, waiting: _Waiting) -> None:
    if waiting.body_init is not None:
        cls.__init__ = waiting.body_init
    elif "__init__" in vars(cls):
        del cls.__init__


def _undo(cls: type) -> None:
    waiting = _waiting.pop(cls, None)
    if waiting is None:
        return
    _restore_init(cls, waiting)
    named = _class_of_name[cls.__module__]
    if named.get(cls.__name__) is cls:
        del named[cls.__name__]
    if "__ffi_is_dataclass__" in vars(cls):
        del cls.__ffi_is_dataclass__  # type: ignore[attr-defined]
    info = waiting.info
    unregister_class(info)
    if type_metadata(info.type_index)["total_size"] == 0:  # nothing of it is in the table
        _free_keys[info.type_key] = info.type_index
