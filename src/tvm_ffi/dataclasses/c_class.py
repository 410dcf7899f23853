# SPDX-License-Identifier: Apache-2.0
"""`c_class`: a dataclass-like Python class for a native type that C++ registered."""

from __future__ import annotations

import warnings
from typing import Callable, TypeVar

from .._types.type_info import TypeInfo, freeze_fields, refuse_construction
from ..registry import register_object
from ._annotations import own_annotations
from ._dataclass_transform import dataclass_transform
from ._special_methods import add_special_methods
from .field import Field, field, field_of_reflected

__all__ = ["c_class"]

_T = TypeVar("_T", bound=type)


@dataclass_transform(eq_default=False, field_specifiers=(field, Field))
def c_class(
    type_key: str,
    *,
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,  # noqa: A002  (the contract's name)
    eq: bool = False,
    order: bool = False,
    unsafe_hash: bool = False,
    match_args: bool = True,
) -> Callable[[_T], _T]:
    """Register the Python class of a native type, like `register_object`, and add special methods.

    The class body annotates the registered fields.  Methods that it defines are not replaced.
    ``copy.copy``, ``copy.deepcopy`` and ``copy.replace`` work if the native type can be copied.

    Parameters
    ----------
    type_key : str
        Key of the native type.
    frozen : bool
        True to refuse assignment to fields, including inherited fields.  Native code,
        ``copy.replace`` and `FFIProperty.set` still write them.
    init : bool
        True if the class can be called.  ``__init__`` takes the fields as parameters, inherited
        fields first; fields without a default precede all fields with a default.
    repr : bool
        True for a ``repr`` that shows the fields.
    eq : bool
        True if ``==`` compares the fields of two objects of the same native type; by default only
        identical objects are equal.  The hash depends on the identity, and thus differs for equal
        objects, unless `unsafe_hash` is True.
    order : bool
        True if ``<``, ``<=``, ``>`` and ``>=`` compare the fields in order of definition.
    unsafe_hash : bool
        True if the hash is computed from the fields, so it changes when a field changes.
    match_args : bool
        True if the pattern ``case Class(a, b)`` matches the positional parameters of ``__init__``.

    Returns
    -------
    callable
        Decorator that registers the class and returns it.  For a class that does not derive from
        `Object`, the decorator registers and returns a copy of the class that does.

    Raises
    ------
    ValueError
        If `type_key` is not registered.
    TypeError
        If the class cannot derive from `Object`, or `type_key` is not a str.

    Warns
    -----
    UserWarning
        If the class does not annotate all fields of the type; inherited fields are exempt, and
        read-only fields, which generated stubs declare as properties.

    Examples
    --------
    >>> from tvm_ffi.dataclasses import Object, c_class
    >>> import tvm_ffi.testing  # importing the module registers the native type
    >>> @c_class("testing.TestIntPair", eq=True)
    ... class Pair(Object):
    ...     a: int
    ...     b: int
    >>> Pair(1, 2) == Pair(1, 2)
    True
    """
    if not isinstance(type_key, str):
        raise TypeError(f"type_key must be a str, got {type(type_key).__name__}")

    def decorate(cls: _T) -> _T:
        cls = register_object(type_key, init=init)(cls)
        info: TypeInfo | None = vars(cls).get("__tvm_ffi_type_info__")
        if info is None:  # `register_object` skips types that are not registered
            return cls
        _warn_missing_annotations(cls, info)
        if not init and "__init__" not in vars(cls):
            setattr(cls, "__init__", refuse_construction)  # noqa: B010  (mypy: "unsound")
        if frozen:
            freeze_fields(info)
        for entry in info.fields:
            field_of_reflected(entry, cls)
        add_special_methods(
            info, repr=repr, eq=eq, order=order, unsafe_hash=unsafe_hash, match_args=match_args
        )
        return cls

    return decorate


def _warn_missing_annotations(cls: type, info: TypeInfo) -> None:
    annotated = own_annotations(cls)
    missing = sorted(
        entry.name for entry in info.fields if not entry.frozen and entry.name not in annotated
    )
    if missing:
        warnings.warn(
            f"@c_class({info.type_key!r}): class `{cls.__name__}` does not annotate the following "
            f"reflected field(s): {', '.join(missing)}. Add type annotations (e.g. "
            "`field_name: type`) to the class body for IDE support and documentation.",
            UserWarning,
            stacklevel=3,
        )
