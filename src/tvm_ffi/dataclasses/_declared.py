# SPDX-License-Identifier: Apache-2.0
"""The fields that a class declares: annotations of its body and of its mixins, in order."""

from __future__ import annotations

import copy
import re
import typing
from types import MemberDescriptorType
from typing import Any, Callable, ClassVar

from .._binding.object import CObject
from .._binding.types import FFIProperty
from .._types.schema import TypeSchema
from .._types.type_info import MISSING
from ._annotations import Names, evaluate, own_annotations
from ._generics import arguments_of_bases, substitute, without_type_variables
from .common import field_of_row
from .field import KW_ONLY, Field, field, field_of_init_property, init_property

_CLASS_VARIABLE = re.compile(r"(\w+\.)*ClassVar\b")
_KEYWORDS_FOLLOW = re.compile(r"(\w+\.)*KW_ONLY")


class UnresolvedError(Exception):
    """Names in annotations that are not known yet; the text lists them."""


def registered_base(cls: type) -> type | None:
    """Return the nearest base that stands for a native type."""
    for base in cls.__mro__[1:]:
        if issubclass(base, CObject) and "__tvm_ffi_type_info__" in vars(base):
            return base
    return None


def owners_of(cls: type) -> list[type]:
    """Return the class and its mixins, which its registered base has not, the class first."""
    base = registered_base(cls)
    inherited = () if base is None else base.__mro__
    return [owner for owner in cls.__mro__ if owner is cls or owner not in inherited]


def declared_fields(
    cls: type, kw_only: bool, find_class: Callable[[str, str], type | None]
) -> tuple[list[Field], dict[str, Callable[[Any], Any]]]:
    """Return the fields of a class that its registered base has not, and what computes some.

    Parameters
    ----------
    cls : type
        The class.
    kw_only : bool
        Whether ``__init__`` takes fields by name only that do not say otherwise.
    find_class : callable
        Gives a registered class by module and name, or None.

    Raises
    ------
    UnresolvedError
        If annotations name what is not there yet.
    TypeError
        If an annotation is none of the types that fields have, or a field cannot be.
    """
    owners = owners_of(cls)
    reader = _Reader(cls, owners, kw_only, find_class)
    for owner in reversed(owners):
        reader.read(owner)
    if reader.unresolved:
        raise UnresolvedError(", ".join(map(repr, reader.unresolved)))
    return list(reader.fields.values()), reader.computed


class _Reader:
    def __init__(
        self,
        cls: type,
        owners: list[type],
        kw_only: bool,
        find_class: Callable[[str, str], type | None],
    ) -> None:
        self.fields: dict[str, Field] = {}
        self.computed: dict[str, Callable[[Any], Any]] = {}
        self.unresolved: list[str] = []
        self._cls, self._owners = cls, owners
        self._arguments = arguments_of_bases(cls)
        self._kw_only, self._find_class = kw_only, find_class
        self._markers: tuple[Any, ...] = tuple(getattr(cls, "__ffi_field_markers__", ()))

    def read(self, owner: type) -> None:
        """Add the fields of one class."""
        names = Names(owner, self._find_class)
        kw_only = self._kw_only
        annotations = dict(own_annotations(owner))
        for name, value in vars(owner).items():
            if isinstance(value, init_property):
                annotations[name] = value.annotation()
        for name, annotation in annotations.items():
            if _is_text_of(_CLASS_VARIABLE.match, annotation):
                continue
            if _is_text_of(_KEYWORDS_FOLLOW.fullmatch, annotation) or annotation is KW_ONLY:
                kw_only = True
                continue
            try:
                meaning = evaluate(annotation, names)
                meaning = evaluate(substitute(meaning, self._arguments[owner]), names)
                admitted = evaluate(without_type_variables(meaning), names)
            except (NameError, AttributeError) as error:
                text = annotation if isinstance(annotation, str) else repr(annotation)
                self.unresolved.append(f"{name}: {text} ({error})")
                continue
            except TypeError as error:
                raise TypeError(f"{error} (field {name!r} of {self._cls.__name__})") from error
            if not self._is_marker(meaning):
                self.fields[name] = self._field(name, meaning, admitted, kw_only)

    def _value_in_class(self, name: str) -> Any:
        """Return what stands for a field in the class: its default, or what says more."""
        owner = next((x for x in self._owners if name in vars(x)), None)
        if owner is None:
            return MISSING
        value = vars(owner)[name]
        if owner is self._cls or not isinstance(value, FFIProperty):
            return value
        # A type beside the one that objects of this class derive from is a mixin with properties.
        info = getattr(owner, "__tvm_ffi_type_info__", None)
        rows = [] if info is None else info.fields
        return next((field_of_row(row, owner) for row in rows if row.name == name), value)

    def _is_marker(self, annotation: Any) -> bool:
        origin = typing.get_origin(annotation)
        if annotation is ClassVar or origin is ClassVar:
            return True
        return any(marker is annotation or marker is origin for marker in self._markers)

    def _field(self, name: str, annotation: Any, admitted: Any, kw_only: bool) -> Field:
        value = self._value_in_class(name)
        self.computed.pop(name, None)
        if isinstance(value, init_property):
            described = field_of_init_property(value)
            self.computed[name] = value.func
        elif isinstance(value, Field):
            described = copy.copy(value)
        elif isinstance(value, MemberDescriptorType):
            raise TypeError(f"{self._cls.__name__}.{name}: a field cannot be in __slots__, too")
        else:
            described = field(default=value)
        described.name, described.type = name, annotation
        try:
            described._ty_schema = TypeSchema.from_annotation(admitted)
        except TypeError as error:
            raise TypeError(f"{error} (field {name!r} of {self._cls.__name__})") from error
        if described.kw_only is None:
            described.kw_only = kw_only
        if described.hash is None:
            described.hash = described.compare
        return described


def _is_text_of(match: Callable[[str], Any], annotation: Any) -> bool:
    """Whether an annotation is text, or stands for text, of a certain form."""
    text = getattr(annotation, "__forward_arg__", annotation)
    return isinstance(text, str) and match(text.strip()) is not None
