# SPDX-License-Identifier: Apache-2.0
"""Fields that a class declares by annotations in its body and in its mixins, in order."""

from __future__ import annotations

import copy
import re
import typing
from types import MemberDescriptorType
from typing import Any, Callable, ClassVar, NamedTuple

from .._binding.object import CObject
from .._binding.types import FFIProperty
from .._types.schema import TypeSchema
from .._types.type_info import MISSING
from ._annotations import Names, evaluate, own_annotations
from ._init_vars import InitParameter, init_parameter, is_init_var
from ._type_variables import arguments_of_bases, substitute, without_type_variables
from .field import (
    KW_ONLY,
    Field,
    field,
    field_of_init_property,
    field_of_reflected,
    init_property,
)

_CLASS_VARIABLE = re.compile(r"(\w+\.)*ClassVar\b")
_KEYWORDS_FOLLOW = re.compile(r"(\w+\.)*KW_ONLY")


class UnresolvedError(Exception):
    """Error: annotations of fields contain undefined names, which the message lists."""


def registered_base(cls: type) -> type | None:
    """Return the nearest base class that is registered for a native type."""
    for base in cls.__mro__[1:]:
        if issubclass(base, CObject) and "__tvm_ffi_type_info__" in vars(base):
            return base
    return None


def owners_of(cls: type) -> list[type]:
    """Return a class and its mixins: the bases that are not bases of its registered base."""
    base = registered_base(cls)
    inherited = () if base is None else base.__mro__
    return [owner for owner in cls.__mro__ if owner is cls or owner not in inherited]


class Declarations(NamedTuple):
    """The declarations of a class, without inherited ones."""

    fields: list[Field]
    computed: dict[str, Callable[[Any], Any]]
    """`init_property` functions by the names of their fields."""
    init_vars: list[InitParameter]


def declared_fields(
    cls: type, kw_only: bool, find_class: Callable[[str, str], type | None]
) -> Declarations:
    """Return the fields and the parameters without fields that a class declares.

    Parameters
    ----------
    cls : type
        The class that declares the fields.
    kw_only : bool
        Default of the field option `kw_only`.
    find_class : callable
        Returns the registered class for a module and a name, or None if there is none.

    Raises
    ------
    UnresolvedError
        If an annotation contains a name that is not defined yet.
    TypeError
        If an annotation is not a type that fields can have, or the options of a field are invalid.
    """
    owners = owners_of(cls)
    reader = _Reader(cls, owners, kw_only, find_class)
    for owner in reversed(owners):
        reader.read(owner)
    if reader.unresolved:
        raise UnresolvedError(", ".join(map(repr, reader.unresolved)))
    return Declarations(list(reader.fields.values()), reader.computed, reader.init_vars)


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
        self.init_vars: list[InitParameter] = []
        self.unresolved: list[str] = []
        self._cls, self._owners = cls, owners
        self._arguments = arguments_of_bases(cls)
        self._kw_only, self._find_class = kw_only, find_class
        self._markers: tuple[Any, ...] = tuple(getattr(cls, "__ffi_field_markers__", ()))

    def read(self, owner: type) -> None:
        """Add the fields that the class or one of its mixins declares."""
        names = Names(owner, self._find_class)
        annotations = dict(own_annotations(owner))
        for name, value in vars(owner).items():
            if isinstance(value, init_property):
                annotations[name] = value.annotation()
        for name, annotation in annotations.items():
            if _is_string_of(_CLASS_VARIABLE.match, annotation):
                continue
            if _is_string_of(_KEYWORDS_FOLLOW.fullmatch, annotation) or annotation is KW_ONLY:
                self._kw_only = True  # also for the owners that follow
                continue
            if is_init_var(annotation):
                self._read_init_var(name)
                continue
            try:
                evaluated = evaluate(annotation, names)
                evaluated = evaluate(substitute(evaluated, self._arguments[owner]), names)
                admitted = evaluate(without_type_variables(evaluated), names)
            except (NameError, AttributeError) as error:
                text = annotation if isinstance(annotation, str) else repr(annotation)
                self.unresolved.append(f"{name}: {text} ({error})")
                continue
            except TypeError as error:
                raise TypeError(f"{error} (field {name!r} of {self._cls.__name__})") from error
            if not self._is_marker(evaluated):
                self.fields[name] = self._field(name, evaluated, admitted)

    def _read_init_var(self, name: str) -> None:
        base: Any = registered_base(self._cls)
        position = len(base.__tvm_ffi_type_info__.all_fields()) + len(self.fields)
        value = self._value_in_class(name)
        entry = init_parameter(self._cls, name, value, self._kw_only, position)
        self.init_vars = [other for other in self.init_vars if other.name != name] + [entry]

    def _value_in_class(self, name: str) -> Any:
        """Return a field's class attribute: a default value or a `Field`; MISSING without one."""
        owner = next((x for x in self._owners if name in vars(x)), None)
        if owner is None:
            return MISSING
        value = vars(owner)[name]
        if owner is self._cls or not isinstance(value, FFIProperty):
            return value
        # The class attributes of a mixin that is a native type are properties, not default values.
        info = getattr(owner, "__tvm_ffi_type_info__", None)
        reflected = [] if info is None else info.fields
        return next((field_of_reflected(x, owner) for x in reflected if x.name == name), value)

    def _is_marker(self, annotation: Any) -> bool:
        origin = typing.get_origin(annotation)
        if annotation is ClassVar or origin is ClassVar:
            return True
        return any(marker is annotation or marker is origin for marker in self._markers)

    def _field(self, name: str, annotation: Any, admitted: Any) -> Field:
        value = self._value_in_class(name)
        self.computed.pop(name, None)
        if isinstance(value, init_property):
            spec = field_of_init_property(value)
            self.computed[name] = value.func
        elif isinstance(value, Field):
            spec = copy.copy(value)
        elif isinstance(value, MemberDescriptorType):
            raise TypeError(f"{self._cls.__name__}.{name}: a field cannot also be in __slots__")
        else:
            spec = field(default=value)
        spec.name, spec.type = name, annotation
        try:
            spec._ty_schema = TypeSchema.from_annotation(admitted)
        except TypeError as error:
            raise TypeError(f"{error} (field {name!r} of {self._cls.__name__})") from error
        if spec.kw_only is None:
            spec.kw_only = self._kw_only
        if spec.hash is None:
            spec.hash = spec.compare
        return spec


def _is_string_of(match: Callable[[str], Any], annotation: Any) -> bool:
    """Return True for a string or forward reference whose text `match` accepts."""
    text = getattr(annotation, "__forward_arg__", annotation)
    return isinstance(text, str) and match(text.strip()) is not None
