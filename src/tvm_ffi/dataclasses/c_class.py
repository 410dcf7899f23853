# SPDX-License-Identifier: Apache-2.0
"""`c_class`: a Python class for a native type, with the methods of a dataclass."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from .._types.type_info import TypeInfo, freeze_fields, refuse_construction
from ..registry import register_object
from ._annotations import own_annotations
from ._special_methods import add_special_methods

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_: Any) -> Callable[[Any], Any]:
        """Stand for the decorator of Python 3.11, which tells type checkers about another one."""
        return lambda function: function


__all__ = ["c_class"]

_T = TypeVar("_T", bound=type)


@dataclass_transform(eq_default=False)
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
    """Let a class stand for a native type, as `register_object` does, with a dataclass's methods.

    The class annotates the fields that the type has registered; names that its body defines are
    left alone.  Copies (``copy.copy``, ``copy.deepcopy``, ``copy.replace``) are always supported,
    as far as the native type can be copied.

    Parameters
    ----------
    type_key : str
        Key of the type.
    frozen : bool
        Whether assignment to fields, inherited ones included, is refused.  Native code may still
        write them, and so do ``copy.replace`` and `FFIProperty.set`.
    init : bool
        Whether the class can be called; its ``__init__`` takes the fields in order, those without
        a default first: also those of derived classes come before defaulted ones of their bases.
    repr : bool
        Whether ``repr`` shows the fields.
    eq : bool
        Whether ``==`` compares the fields of two objects of one native type; otherwise objects
        are equal when they are the same.  The hash is that of the identity, so unequal for equal
        objects, unless `unsafe_hash` is true.
    order : bool
        Whether ``<``, ``<=``, ``>``, ``>=`` compare the fields in order.
    unsafe_hash : bool
        Whether the hash is that of the fields; it changes with them.
    match_args : bool
        Whether ``case Class(a, b)`` matches the fields that `init` takes by position.

    Returns
    -------
    callable
        A decorator, which returns the class.

    Raises
    ------
    ValueError
        If no native type has this key.
    TypeError
        If the class does not derive from `Object`, or `type_key` is no text.

    Warns
    -----
    UserWarning
        If the type has fields of its own that the class does not annotate.

    Examples
    --------
    >>> from tvm_ffi.dataclasses import Object, c_class
    >>> import tvm_ffi.testing  # which registers the type
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
        register_object(type_key, init=init)(cls)
        info: TypeInfo | None = vars(cls).get("__tvm_ffi_type_info__")
        if info is None:  # there is no such type, and unknown ones are skipped on request
            return cls
        _warn_of_missing_annotations(cls, info)
        if not init and "__init__" not in vars(cls):
            setattr(cls, "__init__", refuse_construction)  # noqa: B010  (mypy: "unsound")
        if frozen:
            freeze_fields(info)
        add_special_methods(
            info, repr=repr, eq=eq, order=order, unsafe_hash=unsafe_hash, match_args=match_args
        )
        return cls

    return decorate


def _warn_of_missing_annotations(cls: type, info: TypeInfo) -> None:
    annotated = own_annotations(cls)
    missing = sorted(entry.name for entry in info.fields if entry.name not in annotated)
    if missing:
        warnings.warn(
            f"@c_class({info.type_key!r}): class `{cls.__name__}` does not annotate the following "
            f"reflected field(s): {', '.join(missing)}. Add type annotations (e.g. "
            "`field_name: type`) to the class body for IDE support and documentation.",
            UserWarning,
            stacklevel=3,
        )
