# SPDX-License-Identifier: Apache-2.0
"""Special methods of classes with fields: comparison, hash, ``repr`` and copying.

All classes share the same functions, which call the runtime with the type of the object.  Methods
that a class body defines are not replaced.
"""

from __future__ import annotations

import copy
from types import FunctionType
from typing import TYPE_CHECKING, Any

from .._binding.types import FFIProperty, lookup_type_attr, relink, type_index_of
from ..core import CObject
from ..registry import get_global_func

if TYPE_CHECKING:
    from .._types.type_info import TypeInfo

_deep_copy = get_global_func("ffi.DeepCopy")
_recursive_hash = get_global_func("ffi.RecursiveHash")
_recursive_eq = get_global_func("ffi.RecursiveEq")
_recursive_lt = get_global_func("ffi.RecursiveLt")
_recursive_le = get_global_func("ffi.RecursiveLe")
_recursive_gt = get_global_func("ffi.RecursiveGt")
_recursive_ge = get_global_func("ffi.RecursiveGe")


def add_special_methods(
    info: TypeInfo,
    *,
    repr: bool,  # noqa: A002  (the contract's name)
    eq: bool,
    order: bool,
    unsafe_hash: bool,
    match_args: bool,
) -> None:
    """Add special methods to the Python class of a type, and mark it as a class with fields.

    Parameters
    ----------
    info : TypeInfo
        The type, whose Python class is modified.
    repr, eq, order, unsafe_hash, match_args : bool
        Same as the options of `c_class` and `py_class`.
    """
    cls: Any = info.type_cls
    cls.__ffi_is_dataclass__ = True
    if repr and "__repr__" not in vars(cls):
        cls.__repr__ = CObject.__repr__
    if match_args and "__match_args__" not in vars(cls):
        parameters = (entry for entry in info.all_fields() if entry.c_init)
        positional = tuple(entry.name for entry in parameters if not entry.c_kw_only)
        setattr(cls, "__match_args__", positional)  # noqa: B010  (type checkers refuse to assign it)
    for name, function in _methods(_Copying):
        # Do not replace a copy method that the class or one of its Python bases defines.
        if not hasattr(cls, name):
            setattr(cls, name, function)
    requested = {_Equality: eq, _Order: order, _Hash: unsafe_hash}
    for methods, is_requested in requested.items():
        if is_requested:
            _add_missing(cls, methods)


def _add_missing(cls: type, methods: type) -> None:
    for name, function in _methods(methods):
        # None counts as missing: Python sets `__hash__ = None` if a class body defines only __eq__.
        if vars(cls).get(name) is None:
            setattr(cls, name, function)


def _methods(methods: type) -> list[tuple[str, FunctionType]]:
    return [(name, x) for name, x in vars(methods).items() if isinstance(x, FunctionType)]


# ---- Copy methods --------------------------------------------------------------------------------


class _Copying:
    def __copy__(self: Any) -> Any:
        # Look up the object's native type, which may be derived from the native type of the class.
        shallow_copy = lookup_type_attr(type_index_of(self), "__ffi_shallow_copy__")
        if shallow_copy is None:
            raise TypeError(
                f"Type `{type(self).__name__}` does not support copy. "
                "The underlying C++ type is not copy-constructible."
            )
        copied = _as_class(type(self), shallow_copy(self))
        if hasattr(copied, "__dict__"):
            vars(copied).update(getattr(self, "__dict__", {}))
        relink(copied)
        return copied

    def __deepcopy__(self: Any, memo: Any = None) -> Any:
        copied = _as_class(type(self), _deep_copy(self))
        if hasattr(copied, "__dict__"):
            memo = {} if memo is None else memo
            # An attribute of the object may refer to the object itself.
            memo[id(self)] = copied
            vars(copied).update(copy.deepcopy(getattr(self, "__dict__", {}), memo))
        relink(copied)
        return copied

    def __replace__(self: Any, /, **changes: Any) -> Any:
        cls = type(self)
        properties = {name: _field_of(cls, name) for name in changes}
        copied = _Copying.__copy__(self)
        for name, value in changes.items():
            properties[name].set(copied, value)
        return copied


def _as_class(cls: Any, copied: Any) -> Any:
    """Return a native copy as an instance of the Python class of the original.

    A Python subclass that is not registered shares the native type of its base class, so the
    runtime returns an instance of the base class.
    """
    if cls is type(copied) or not issubclass(cls, type(copied)):
        return copied
    result = cls.__new__(cls)
    result.__move_handle_from__(copied)
    return result


def _field_of(cls: type, name: str) -> FFIProperty:
    found = getattr(cls, name, None)
    if isinstance(found, FFIProperty):
        return found
    kind = "field" if hasattr(cls, name) else "attribute"
    raise AttributeError(f"type object {cls.__name__!r} has no {kind} {name!r}")


# ---- Comparison and hash methods -----------------------------------------------------------------


def _are_related(lhs: Any, rhs: Any) -> bool:
    return isinstance(rhs, type(lhs)) or isinstance(lhs, type(rhs))


class _Equality:  # noqa: PLW1641  (`_Hash` is a separate option)
    def __eq__(self, other: Any) -> Any:
        return _recursive_eq(self, other) if _are_related(self, other) else NotImplemented

    def __ne__(self, other: Any) -> Any:
        # Negate __eq__, because the class body may define its own __eq__.
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal


class _Order:
    def __lt__(self, other: Any) -> Any:
        return _recursive_lt(self, other) if _are_related(self, other) else NotImplemented

    def __le__(self, other: Any) -> Any:
        return _recursive_le(self, other) if _are_related(self, other) else NotImplemented

    def __gt__(self, other: Any) -> Any:
        return _recursive_gt(self, other) if _are_related(self, other) else NotImplemented

    def __ge__(self, other: Any) -> Any:
        return _recursive_ge(self, other) if _are_related(self, other) else NotImplemented


class _Hash:
    def __hash__(self) -> int:
        return hash(_recursive_hash(self))
