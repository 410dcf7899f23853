# SPDX-License-Identifier: Apache-2.0
"""What a class says about its fields: `field`, `Field`, `init_property`, and ``KW_ONLY``."""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar, overload

from .._types.type_info import MISSING

if sys.version_info >= (3, 10):
    from dataclasses import KW_ONLY
else:

    class _KW_ONLY_TYPE:  # noqa: N801  (the name that later Pythons give it)
        pass

    KW_ONLY = _KW_ONLY_TYPE()

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._types.schema import TypeSchema

__all__ = ["KW_ONLY", "MISSING", "Field", "field", "init_property"]

_T = TypeVar("_T")
# "def" is an older name of "def-pattern".
_STRUCTURAL_EQ = (None, "def", "def-pattern", "def-simple", "ignore")


def _field_converter(value: Any) -> Any:
    """Return the value: what stands for no converter."""
    return value


class Field:
    """What is known about one field of a class.

    Parameters
    ----------
    name : str, optional
        Name; set when the class is made.
    _ty_schema : TypeSchema, optional
        Declared type; the same.
    default, default_factory, frozen, init, repr, hash, compare, kw_only, metadata, structural_eq, \
doc, converter, **extra_kwargs
        As in `field`, with other defaults.

    Attributes
    ----------
    type : object
        The annotation, once it has been looked up.
    extra_kwargs : dict
        Options that are not known here; hooks of the class take theirs out.
    """

    __slots__ = (
        "_ty_schema",
        "compare",
        "converter",
        "default",
        "default_factory",
        "doc",
        "extra_kwargs",
        "frozen",
        "hash",
        "init",
        "kw_only",
        "metadata",
        "name",
        "repr",
        "structural_eq",
        "type",
    )

    def __init__(
        self,
        name: str | None = None,
        _ty_schema: TypeSchema | None = None,
        *,
        default: object = MISSING,
        default_factory: Callable[[], object] | None = MISSING,  # type: ignore[assignment]
        frozen: bool = False,
        init: bool = True,
        repr: bool = True,  # noqa: A002  (the contract's name)
        hash: bool | None = True,  # noqa: A002  (the same)
        compare: bool = False,
        kw_only: bool | None = False,
        metadata: Mapping[str, Any] | None = None,
        structural_eq: str | None = None,
        doc: str | None = None,
        converter: Callable[[Any], Any] = _field_converter,
        **extra_kwargs: Any,
    ) -> None:
        _check_defaults(default, default_factory)
        if structural_eq not in _STRUCTURAL_EQ:
            raise ValueError(
                f"structural_eq must be one of {list(_STRUCTURAL_EQ)}, got {structural_eq!r}"
            )
        if not callable(converter):
            raise TypeError(f"converter must be a callable, got {type(converter).__name__}")
        self.name = name
        self._ty_schema = _ty_schema
        self.type: Any = None
        self.default = default
        self.default_factory = default_factory
        self.frozen = frozen
        self.init = init
        self.repr = repr
        self.hash = hash
        self.compare = compare
        self.kw_only = kw_only
        self.metadata: dict[str, Any] = dict(metadata) if metadata is not None else {}
        self.structural_eq = structural_eq
        self.doc = doc
        self.converter = converter
        self.extra_kwargs = extra_kwargs

    def __copy__(self) -> Field:
        copied = Field.__new__(type(self))
        for name in Field.__slots__:
            setattr(copied, name, getattr(self, name))
        copied.metadata = copy.copy(self.metadata)
        copied.extra_kwargs = copy.copy(self.extra_kwargs)
        return copied

    def __repr__(self) -> str:
        return f"Field(name={self.name!r}, type={self.type!r})"


def _check_defaults(default: object, default_factory: Any) -> None:
    if default_factory is None or default_factory is MISSING:
        return
    if default is not MISSING:
        raise ValueError("cannot specify both default and default_factory")
    if not callable(default_factory):
        raise TypeError(f"default_factory must be a callable, got {type(default_factory).__name__}")


def has_default(described: Field) -> bool:
    """Whether a field has a default, or something that makes one."""
    return described.default is not MISSING or has_factory(described)


def has_factory(described: Field) -> bool:
    """Whether something makes the default of a field."""
    factory: Any = described.default_factory
    return factory is not None and factory is not MISSING


def has_converter(described: Field) -> bool:
    """Whether values of a field are passed through a function first."""
    return described.converter is not _field_converter


def field(
    *,
    default: object = MISSING,
    default_factory: Callable[[], object] | None = MISSING,  # type: ignore[assignment]
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,  # noqa: A002  (the contract's name)
    hash: bool | None = None,  # noqa: A002  (the same)
    compare: bool = True,
    kw_only: bool | None = None,
    metadata: Mapping[str, Any] | None = None,
    structural_eq: str | None = None,
    doc: str | None = None,
    converter: Callable[[Any], Any] = _field_converter,
    **extra_kwargs: Any,
) -> Any:
    """Say more about a field of a `py_class` than its annotation does.

    Parameters
    ----------
    default : object
        Value for objects that get none.  A Python list or dict is copied for each object; a `List`
        or `Dict` is shared by all.
    default_factory : callable
        Called without arguments for each object that gets no value.
    frozen : bool
        Whether assignment is refused.
    init : bool
        Whether ``__init__`` takes it.
    repr : bool
        Whether ``repr`` shows it.
    hash : bool, optional
        Whether the hash depends on it; default: whether it is compared.
    compare : bool
        Whether ``==`` and the order look at it.
    kw_only : bool, optional
        Whether ``__init__`` takes it by name only; default: what holds for the class.
    metadata : mapping, optional
        Anything; kept in `Field.metadata`.
    structural_eq : str, optional
        What it is in structural equality and hash: ``"ignore"``, or a place that defines variables,
        ``"def-pattern"`` (everything inside) or ``"def-simple"``.
    doc : str, optional
        Documentation of the attribute.
    converter : callable
        Makes of what is given, in ``__init__`` and in assignments, what is checked and stored.  It
        gets values as native code hands them over: an `Array` for a list.
    **extra_kwargs
        Options for hooks of the class.

    Returns
    -------
    Any
        A `Field`; declared so that type checkers accept it as the value of any annotation.

    Raises
    ------
    ValueError
        If there are two defaults, or `structural_eq` is none of the above.
    TypeError
        If `default_factory` or `converter` is not callable.
    """
    return Field(
        default=default,
        default_factory=default_factory,
        frozen=frozen,
        init=init,
        repr=repr,
        hash=hash,
        compare=compare,
        kw_only=kw_only,
        metadata=metadata,
        structural_eq=structural_eq,
        doc=doc,
        converter=converter,
        **extra_kwargs,
    )


class init_property(Generic[_T]):  # noqa: N801  (a decorator)
    """A field that is computed when an object has got all others, before ``__post_init__``.

    Its type is the return annotation.  ``__init__`` does not take it; it is neither printed nor
    compared.  Afterwards it is a field as others are, which may be assigned.

    Parameters
    ----------
    func : callable
        ``func(self)`` returns the value.
    """

    def __init__(self, func: Callable[[Any], _T]) -> None:
        if not callable(func):
            raise TypeError(f"init_property: expected a callable, got {type(func).__name__}")
        self.func = func
        self.name: str | None = getattr(func, "__name__", None)
        self.__doc__ = getattr(func, "__doc__", None)

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, obj: None, objtype: type) -> init_property[_T]: ...
    @overload
    def __get__(self, obj: object, objtype: type) -> _T: ...
    def __get__(self, obj: object | None, objtype: type) -> _T | init_property[_T]:
        """Return the value; only for type checkers, as a field stands here at run time."""
        return self if obj is None else self.func(obj)

    def annotation(self) -> Any:
        """Return the annotation of what the function returns."""
        from ._annotations import own_annotations

        try:
            return own_annotations(self.func)["return"]
        except KeyError:
            return Any


def field_of_init_property(declared: init_property[Any]) -> Field:
    """Return the field that holds the computed value."""
    return field(  # type: ignore[no-any-return]
        init=False,
        repr=False,
        hash=False,
        compare=False,
        structural_eq="ignore",
        doc=declared.__doc__,
    )
