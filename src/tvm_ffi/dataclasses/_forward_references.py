# SPDX-License-Identifier: Apache-2.0
"""Forward references: classes whose annotations name classes that are defined later.

A type gets its index immediately, and its fields as soon as all annotations can be evaluated: in
the decorator, after the definition of a later class, or in the first call of the class.  If an
annotation cannot be evaluated in that call, the class is unregistered, and another class can use
its type key.
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
from ._field_declarations import Declarations, UnresolvedError, declared_fields, registered_base
from ._layout import end_of_fields
from ._type_registration import Options, register_type

if TYPE_CHECKING:
    from types import FrameType

    from .._types.type_info import TypeInfo
    from .field import Field

_allocate_type = get_global_func("pytvmffi.TypeAllocate")

# Lock of the dicts and the set below, and of the runtime's type table during a registration.
_lock = threading.RLock()
_classes: dict[str, dict[str, type]] = {}  # registered classes by module, then name
# Waiting classes: their types are registered, but their fields are not.
_pending: dict[type, _Pending] = {}
_python_keys: set[str] = set()  # type keys that `register_class` has registered
# Type indices of unregistered types, by type key; the next type with the key reuses the index.
_free_indices: dict[str, int] = {}


# The local and the global variables of the code that defines a class.
Scope = tuple[Mapping[str, Any], Mapping[str, Any]]


def scope_of(frame: FrameType | None) -> Scope:
    """Return the local and global names that code in a frame can use."""
    return ({}, {}) if frame is None else (frame.f_locals, frame.f_globals)


@dataclass(frozen=True)
class _Pending:
    info: TypeInfo
    options: Options
    body_init: Any  # the `__init__` of the class body; None if the body defines none
    scope: Scope  # the variables that the annotations of the class can use

    def find(self, module: str, name: str) -> Any:
        """Return the value of a name that is not in the module of the class; None if unknown."""
        for names in self.scope:
            if name in names:
                return names[name]
        return find_class(module, name)


def find_class(module: str, name: str) -> type | None:
    """Return the class registered under a name, preferably in the given module, or None."""
    same_module = _classes.get(module, {}).get(name)
    if same_module is not None:
        return same_module
    return next((classes[name] for classes in _classes.values() if name in classes), None)


def is_defined_in_python(type_key: str) -> bool:
    """Return True if `register_class` has registered a class with the type key."""
    return type_key in _python_keys


def register_class(cls: type, type_key: str, options: Options, scope: Scope) -> None:
    """Register a class as a new type; add its fields if its annotations can be evaluated.

    Parameters
    ----------
    cls : type
        The class to register.
    type_key : str
        Key of the new type.
    options : Options
        Options of `py_class`.
    scope : pair of mappings
        Local and global names that the annotations may use.

    Raises
    ------
    TypeError
        If the class has no registered base class, or a field is invalid.
    ValueError
        If the type key is already registered.
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
        _python_keys.add(type_key)
        pending = _Pending(info, options, vars(cls).get("__init__"), scope)
        cls.__ffi_is_dataclass__ = True  # type: ignore[attr-defined]
        _classes.setdefault(cls.__module__, {})[cls.__name__] = cls
        _pending[cls] = pending
        try:
            if not _try_complete(cls):
                _defer_init(cls)
        except BaseException:
            _unregister(cls)
            raise
        _complete_others()


def _check_base(info: TypeInfo) -> None:
    if lookup_type_attr(info.type_index, "__ffi_type_final__"):
        raise TypeError(f"expected a base type that is not final, got `{info.type_key}`")
    end_of_fields(info)


def _allocate(type_key: str, base_index: int) -> int:
    index = type_key_to_index(type_key)
    if index is None:
        allocated: int = _allocate_type(type_key, base_index)
        return allocated
    if type_key in _free_indices and type_metadata(index)["type_ancestors"][-1] == base_index:
        return _free_indices.pop(type_key)
    raise ValueError(f"Type key {type_key!r} is already registered")


def _try_complete(cls: type) -> bool:
    """Add the fields of a class and of its base; return False if an annotation is undefined."""
    pending = _pending.get(cls)
    if pending is None:
        return True
    base = registered_base(cls)
    assert base is not None
    if not _try_complete(base):
        return False
    options = pending.options
    try:
        declared = declared_fields(cls, options.kw_only, pending.find)
    except UnresolvedError:
        return False
    _restore_init(cls, pending)
    register_type(pending.info, options, declared, pending.find)
    del _pending[cls]
    return True


def _complete_others() -> None:
    """Try to add the fields of all waiting classes; the first call of a class raises its error."""
    for cls in list(_pending):
        try:
            _try_complete(cls)
        except Exception:
            _defer_init(cls)


def complete_now(cls: type) -> None:
    """Add the fields of a class, after the fields of its bases.

    If an annotation cannot be evaluated, the class is unregistered and TypeError is raised.
    """
    with _lock:
        if cls not in _pending:
            return
        try:
            if not _try_complete(cls):
                raise TypeError(_reason(cls))
        except BaseException as error:
            _unregister(cls)
            _refuse_calls(cls, f"{type(error).__name__}: {error}")
            raise


def complete_with(info: TypeInfo, fields: list[Field]) -> None:
    """Add the given fields to a class whose annotations could not be evaluated."""
    with _lock:
        pending = _pending.get(info.type_cls) if info.type_cls is not None else None
        if pending is None or pending.info is not info:
            raise ValueError(
                f"the class of type `{info.type_key}` has no unresolved annotations, so its fields "
                "cannot be set"
            )
        cls: Any = info.type_cls
        _restore_init(cls, pending)
        register_type(info, pending.options, Declarations(fields, {}, []), pending.find)
        del _pending[cls]
        _complete_others()


def _reason(cls: type) -> str:
    base = registered_base(cls)
    if base in _pending:
        return f"Cannot instantiate {cls.__name__}: its base {base.__name__} is not complete"
    try:
        declared_fields(cls, False, _pending[cls].find)
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
        raise TypeError(f"{cls.__name__} is not registered: {reason}")

    cls.__init__ = init


def _restore_init(cls: Any, pending: _Pending) -> None:
    if pending.body_init is not None:
        cls.__init__ = pending.body_init
    elif "__init__" in vars(cls):
        del cls.__init__


def _unregister(cls: type) -> None:
    pending = _pending.pop(cls, None)
    if pending is None:
        return
    _restore_init(cls, pending)
    named = _classes[cls.__module__]
    if named.get(cls.__name__) is cls:
        del named[cls.__name__]
    if "__ffi_is_dataclass__" in vars(cls):
        del cls.__ffi_is_dataclass__  # type: ignore[attr-defined]
    info = pending.info
    unregister_class(info)
    # The size is 0 if no field was registered, so another class can use the type index.
    if type_metadata(info.type_index)["total_size"] == 0:
        _free_indices[info.type_key] = info.type_index
