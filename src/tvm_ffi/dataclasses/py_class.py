# SPDX-License-Identifier: Apache-2.0
"""`py_class`: registration of a native type whose fields a Python class declares."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any, Callable, TypeVar, overload

from .._types.type_info import MISSING
from ..registry import refuse_variants
from ._dataclass_transform import dataclass_transform
from ._forward_references import complete_with, register_class, scope_of
from ._method import method
from ._type_registration import Options
from .field import Field, field

if TYPE_CHECKING:
    from .._types.type_info import TypeInfo


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
    """Register a native type whose fields are the annotations of the class.

    C and C++ code can read the fields at their offsets.  The class derives from `Object` or from
    another class of a native type, whose fields come first.  The decorator is written as
    ``@py_class``, ``@py_class()`` or ``@py_class("key", ...)``.

    Parameters
    ----------
    cls_or_type_key : type or str, optional
        The class, or the key of the new type.
    type_key : str, optional
        Key of the new type; default: module and qualified name of the class.
    frozen : bool
        True to refuse assignment to fields, including inherited fields.  Native code,
        ``copy.replace`` and `FFIProperty.set` still write them.
    init : bool
        True if the class can be called.  ``__init__`` takes the fields as parameters, inherited
        fields first; fields without a default precede all fields with a default.  If the class body
        defines ``__init__``, all fields are 0 or None when it is called.
    repr : bool
        True for a ``repr`` that shows the fields.
    eq : bool
        True if ``==`` compares the fields of two objects of the same type; by default only
        identical objects are equal.
    order : bool
        True if ``<``, ``<=``, ``>`` and ``>=`` compare the fields in order of definition; requires
        `eq`.
    unsafe_hash : bool
        True if the hash is computed from the fields; by default it depends on the identity.
    match_args : bool
        True if the pattern ``case Class(a, b)`` matches the positional parameters of ``__init__``.
    kw_only : bool
        True if ``__init__`` takes fields by keyword only, unless `field` sets another value.
    structural_eq : str, optional
        Kind of the type in structural equality and hash: ``"tree"``, ``"var"``, ``"dag"``,
        ``"const-tree"``, ``"singleton"``; None if structural comparison is not supported.
    slots : bool
        Accepted for compatibility; False has no effect and emits a warning.  Instances have no
        attributes other than fields unless the class body has ``__slots__ = ("__dict__",)``.

    Returns
    -------
    type or callable
        The class, or a decorator that returns it.

    Raises
    ------
    TypeError
        If the class has no registered base class, or a field is invalid.
    ValueError
        If the type key is already registered, or an option has an invalid value.

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
    TypeError: Point.y: expected int, got str
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
        refuse_variants(cls, "py_class")
        register_class(cls, type_key or f"{cls.__module__}.{cls.__qualname__}", options, scope)
        return cls

    if cls_or_type_key is None:
        return decorate
    if isinstance(cls_or_type_key, type):
        return decorate(cls_or_type_key)
    raise TypeError(f"py_class: expected str or type, got {type(cls_or_type_key)}")


def on_fields_resolved(type_info: TypeInfo, resolved_fields: list[Field]) -> None:
    """Add fields that the caller has resolved to a class with unresolved annotations.

    Parameters
    ----------
    type_info : TypeInfo
        The ``__tvm_ffi_type_info__`` of the class.
    resolved_fields : list of Field
        All fields of the class, with names and types, without inherited fields.

    Raises
    ------
    ValueError
        If the class has no unresolved annotations.
    """
    complete_with(type_info, resolved_fields)
