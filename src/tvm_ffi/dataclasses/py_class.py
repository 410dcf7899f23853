# SPDX-License-Identifier: Apache-2.0
"""`py_class`: a native type whose fields a Python class declares."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from .._types.type_info import MISSING
from ._completion import complete_with, introduce, scope_of
from ._definition import Options
from ._method import method
from .field import Field, field

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    from .._types.type_info import TypeInfo
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """Stand for the decorator of Python 3.11, which tells type checkers about another one."""
        return lambda function: function


__all__ = ["MISSING", "method", "py_class"]

_T = TypeVar("_T", bound=type)
_STRUCTURAL_EQ = ("const-tree", "dag", "singleton", "tree", "var")


@overload
def py_class(cls_or_type_key: _T, /) -> _T: ...
@overload
def py_class(
    cls_or_type_key: str | None = None,
    /,
    *,
    type_key: str | None = None,
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,
    eq: bool = False,
    order: bool = False,
    unsafe_hash: bool = False,
    match_args: bool = True,
    kw_only: bool = False,
    structural_eq: str | None = "tree",
    slots: bool = True,
) -> Callable[[_T], _T]: ...
@dataclass_transform(eq_default=False, field_specifiers=(field, Field))
def py_class(
    cls_or_type_key: Any = None,
    /,
    *,
    type_key: str | None = None,
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,  # noqa: A002  (the contract's name)
    eq: bool = False,
    order: bool = False,
    unsafe_hash: bool = False,
    match_args: bool = True,
    kw_only: bool = False,
    structural_eq: str | None = "tree",
    slots: bool = True,
) -> Any:
    """Make a class a native type: its annotations are fields that C and C++ read, too.

    The class derives from `Object`, or from another class of a native type, whose fields come
    first.  Used as ``@py_class``, ``@py_class()`` or ``@py_class("key", ...)``.

    Parameters
    ----------
    cls_or_type_key : type or str, optional
        The class, or the type key.
    type_key : str, optional
        Key of the type; default: module and qualified name of the class.
    frozen : bool
        Whether assignment to fields, inherited ones included, is refused.  Native code may still
        write them, and so do ``copy.replace`` and `FFIProperty.set`.
    init : bool
        Whether the class can be called; its ``__init__`` takes the fields in order, those without
        a default first: also those of derived classes come before defaulted ones of their bases.
        A class with an ``__init__`` of its own finds all fields 0 or None.
    repr : bool
        Whether ``repr`` shows the fields.
    eq : bool
        Whether ``==`` compares the fields of two objects of one type.
    order : bool
        Whether ``<``, ``<=``, ``>``, ``>=`` compare the fields in order; needs `eq`.
    unsafe_hash : bool
        Whether the hash is that of the fields; otherwise it is that of the identity.
    match_args : bool
        Whether ``case Class(a, b)`` matches the fields that `init` takes by position.
    kw_only : bool
        Whether `init` takes fields by name only that do not say otherwise.
    structural_eq : str, optional
        How structural equality and hash see objects: ``"tree"``, ``"var"``, ``"dag"``,
        ``"const-tree"``, ``"singleton"``, or None to refuse.
    slots : bool
        For compatibility: instances take no attributes beside fields unless the class body has
        ``__slots__ = ("__dict__",)``.  False has no effect and is warned of.

    Returns
    -------
    type or callable
        The class itself, or a decorator that returns it.

    Raises
    ------
    TypeError
        If the class does not derive from a registered one, or a field cannot be.
    ValueError
        If the key is taken, or an option has a value that it cannot have.

    Examples
    --------
    >>> from tvm_ffi.dataclasses import py_class
    >>> @py_class("doc.py_class.Point")
    ... class Point(tvm_ffi.Object):
    ...     x: int
    ...     y: int = 0
    >>> point = Point(3)
    >>> point
    doc.py_class.Point(x=3, y=0)
    >>> point.y = "1"
    Traceback (most recent call last):
      ...
    TypeError: expected int, got str
    """
    if order and not eq:
        raise ValueError("order=True requires eq=True")
    if structural_eq is not None and structural_eq not in _STRUCTURAL_EQ:
        raise ValueError(
            f"structural_eq must be one of {list(_STRUCTURAL_EQ)} or None, got {structural_eq!r}"
        )
    if not slots:
        warnings.warn(
            'py_class(slots=False) has no effect; write __slots__ = ("__dict__",) in the class',
            UserWarning,
            stacklevel=2,
        )
    options = Options(
        frozen, init, repr, eq, order, unsafe_hash, match_args, kw_only, structural_eq
    )
    if isinstance(cls_or_type_key, str):
        type_key, cls_or_type_key = cls_or_type_key, None

    scope = scope_of(sys._getframe(1))

    def decorate(cls: type) -> type:
        introduce(cls, type_key or f"{cls.__module__}.{cls.__qualname__}", options, scope)
        return cls

    if cls_or_type_key is None:
        return decorate
    if isinstance(cls_or_type_key, type):
        return decorate(cls_or_type_key)
    raise TypeError(f"py_class: expected str or type, got {type(cls_or_type_key)}")


def on_fields_resolved(type_info: TypeInfo, resolved_fields: list[Field]) -> None:
    """Complete a class that waits for its annotations with fields that the caller has looked up.

    Parameters
    ----------
    type_info : TypeInfo
        The type, as ``__tvm_ffi_type_info__`` of the class has it.
    resolved_fields : list of Field
        All of its own fields, with names and types.

    Raises
    ------
    ValueError
        If the class does not wait.
    """
    complete_with(type_info, resolved_fields)
