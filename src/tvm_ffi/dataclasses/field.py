# SPDX-License-Identifier: Apache-2.0
"""Field declarations of `py_class`: `field`, `Field`, `init_property` and ``KW_ONLY``."""

from __future__ import annotations

import copy
import sys
from typing import TYPE_CHECKING, Any, Callable, Generic, TypeVar, overload

from .._types.type_info import MISSING

if sys.version_info >= (3, 10):
    from dataclasses import KW_ONLY
else:

    class _KW_ONLY_TYPE:  # noqa: N801  (the name in dataclasses since Python 3.10)
        pass

    KW_ONLY = _KW_ONLY_TYPE()

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .._types.schema import TypeSchema
    from .._types.type_info import TypeField

__all__ = ["KW_ONLY", "MISSING", "Field", "field", "init_property"]

_T = TypeVar("_T")
# Roles of a field in structural equality.  The role "def" is an older name of "def-pattern".
_STRUCTURAL_EQ = (None, "def", "def-pattern", "def-simple", "ignore")


def _field_converter(value: Any) -> Any:
    """Return the value unchanged; this is the default converter."""
    return value


class Field:
    """Declaration of a field of a `py_class`.

    Parameters
    ----------
    name : str, optional
        Name of the field; set when the class is registered.
    _ty_schema : TypeSchema, optional
        Declared type of the field; set when the class is registered.
    default, default_factory, frozen, init, repr, hash, compare, kw_only, metadata, structural_eq, \
doc, converter, **extra_kwargs
        Same as the parameters of `field`, with other defaults.

    Attributes
    ----------
    type : object
        The evaluated annotation of the field.
    extra_kwargs : dict
        Options for hooks of the class; each hook removes the options that it handles.
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
        hash: bool | None = True,  # noqa: A002  (the contract's name)
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


def has_default(spec: Field) -> bool:
    """Return True if a field has a default value or a default factory."""
    return spec.default is not MISSING or has_factory(spec)


def has_factory(spec: Field) -> bool:
    """Return True if a field has a default factory."""
    factory: Any = spec.default_factory
    return factory is not None and factory is not MISSING


def has_converter(spec: Field) -> bool:
    """Return True if a converter function was set for the field."""
    return spec.converter is not _field_converter


def field(
    *,
    default: object = MISSING,
    default_factory: Callable[[], object] | None = MISSING,  # type: ignore[assignment]
    frozen: bool = False,
    init: bool = True,
    repr: bool = True,  # noqa: A002  (the contract's name)
    hash: bool | None = None,  # noqa: A002  (the contract's name)
    compare: bool = True,
    kw_only: bool | None = None,
    metadata: Mapping[str, Any] | None = None,
    structural_eq: str | None = None,
    doc: str | None = None,
    converter: Callable[[Any], Any] = _field_converter,
    **extra_kwargs: Any,
) -> Any:
    """Set options of a field of a `py_class`, as in ``x: int = field(default=0)``.

    Parameters
    ----------
    default : object
        Default value.  A Python list or dict is copied for each object.  A `List` or `Dict` is
        shared by all objects.
    default_factory : callable
        Function that returns the default value; called without arguments for each object.
    frozen : bool
        True to refuse assignment to the field.
    init : bool
        True if ``__init__`` has a parameter for the field.
    repr : bool
        True if ``repr`` includes the field.
    hash : bool, optional
        True if the hash includes the field; default: the value of `compare`.
    compare : bool
        True if ``==`` and order comparisons include the field.
    kw_only : bool, optional
        True if ``__init__`` takes the field by keyword only; default: the option of the class.
    metadata : mapping, optional
        Data for third-party code, available as `Field.metadata`.
    structural_eq : str, optional
        Role of the field in structural equality and hash.  ``"ignore"`` omits the field.  A field
        that binds variables has the role ``"def-pattern"`` if variables at any depth are bound, or
        ``"def-simple"`` if only its value itself is a bound variable.
    doc : str, optional
        Documentation of the attribute.
    converter : callable
        Function that is called with the value in ``__init__`` and in assignments; its result is
        checked and stored.  The value has passed through native code: a list arrives as an `Array`.
        If it raises an exception, ``__init__`` raises an error with the name of the field, whose
        ``__cause__`` is the exception.
    **extra_kwargs
        Options for hooks of the class; an option that no hook handles is an error.

    Returns
    -------
    Any
        A `Field`.  The declared type is Any, so type checkers accept it for every annotation.

    Raises
    ------
    ValueError
        If both `default` and `default_factory` are given, or `structural_eq` is unknown.
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
    """Decorator for a field that is computed after all other fields, before ``__post_init__``.

    The type of the field is the return annotation of the function.  ``__init__`` has no parameter
    for the field, and ``repr``, comparison and hash omit it.  Later assignments are allowed.

    Parameters
    ----------
    func : callable
        ``func(self)`` returns the value of the field.
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
        """Return the value; only type checkers use this, because a property replaces the object."""
        return self if obj is None else self.func(obj)

    def annotation(self) -> Any:
        """Return the return annotation of the function, or Any if it has none."""
        from ._annotations import own_annotations

        try:
            return own_annotations(self.func)["return"]
        except KeyError:
            return Any


def field_of_init_property(declared: init_property[Any]) -> Field:
    """Return the declaration of the field whose value is computed."""
    return field(  # type: ignore[no-any-return]
        init=False,
        repr=False,
        hash=False,
        compare=False,
        structural_eq="ignore",
        doc=declared.__doc__,
    )


def field_of_reflected(entry: TypeField, owner: type | None) -> Field:
    """Return the `Field` that the class body declares, else a `Field` of the reflected field.

    The type of the latter is that of the annotation in the class `owner`, and None as long as the
    annotation contains undefined names.
    """
    spec: Field | None = entry.dataclass_field
    if spec is None:
        spec = Field(
            entry.name,
            entry.ty,
            default=entry.c_default,
            default_factory=entry.c_default_factory,
            frozen=entry.frozen,
            init=entry.c_init,
            repr=entry.c_repr,
            hash=entry.c_hash,
            compare=entry.c_compare,
            kw_only=entry.c_kw_only,
            structural_eq=entry.c_structural_eq,
            doc=entry.doc,
        )
        entry.dataclass_field = spec
    if spec.type is None and owner is not None:
        spec.type = _annotated_type(owner, entry.name)
    return spec


def _annotated_type(owner: type, name: str) -> Any:
    from ._annotations import Names, evaluate, own_annotations

    try:
        return evaluate(own_annotations(owner).get(name), Names(owner, lambda module, name: None))
    except Exception:  # the annotation need not be valid at run time: stubs may only name a type
        return None
