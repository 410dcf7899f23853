# SPDX-License-Identifier: Apache-2.0
"""Enumerations whose variants are native objects: `Enum`, `IntEnum`, `StrEnum`.

Each variant is one Python object: if a native function returns a variant, the caller gets the
variant object of the class.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any, ClassVar

from .._binding.object import _ObjectMeta, share_wrapper, type_key_to_index
from .._types.type_info import MISSING
from ..core import Object
from ..registry import get_global_func, register_object
from ._annotations import own_annotations
from ._enum_entry import EnumEntry, auto, declared_entries, entries_in_body, entry
from ._enum_state import ENUM_STATE_ATTR, EnumAttrMap, EnumState, find_state, state_of
from ._forward_references import Scope, complete_now, is_defined_in_python, register_class, scope_of
from ._special_methods import add_special_methods
from ._type_registration import Options
from .c_class import c_class

__all__ = [
    "ENUM_STATE_ATTR",
    "Enum",
    "EnumAttrMap",
    "EnumState",
    "IntEnum",
    "StrEnum",
    "auto",
    "entry",
]

# Limits of an integer index, which is an int64.  A `range` is not used, because `in` is slow for
# instances of subclasses of `int`.
_INT64_MIN, _INT64_MAX = -(2**63), 2**63 - 1


class _EnumMeta(_ObjectMeta):
    """Metaclass of enumerations, which makes a class a collection of its variants."""

    __tvm_ffi_type_info__: Any
    _payload: type | None

    def __init__(
        self,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        type_key: str | None = None,
        frozen: bool = True,
        init: bool = True,
        repr: bool = True,  # noqa: A002  (the contract's name)
        **kwargs: Any,
    ) -> None:
        super().__init__(name, bases, namespace, **kwargs)
        if type_key is not None:
            options = Options(
                frozen=frozen,
                init=init,
                repr=False,
                eq=False,
                order=False,
                unsafe_hash=False,
                match_args=True,
                kw_only=False,
                structural_eq="singleton",
            )
            _define_enum(self, type_key, options, scope_of(sys._getframe(1)))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs:
            return self._variant_of(args[0])
        return super().__call__(*args, **kwargs)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variants())

    def __len__(self) -> int:
        return len(self._variants())

    def __bool__(self) -> bool:
        return True

    def __setattr__(self, name: str, value: Any) -> None:
        self._refuse_change("reassign", name)
        super().__setattr__(name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse_change("delete", name)
        super().__delattr__(name)

    def _refuse_change(self, change: str, name: str) -> None:
        if name in vars(self).get("_variant_names", ()):
            raise AttributeError(f"{self.__name__}: cannot {change} the variant {name!r}")

    def __contains__(self, value: object) -> bool:
        if self._payload is None or isinstance(value, bool) or not isinstance(value, self._payload):
            return isinstance(value, self)
        state = find_state(self.__tvm_ffi_type_info__.type_index)
        return state is not None and value in state.indexes

    def _variants(self) -> list[Any]:
        state = find_state(self.__tvm_ffi_type_info__.type_index)
        return [] if state is None else list(state.entries)

    def _find(self, value: Any) -> Any:
        """Return `value` if it is a variant, else the variant with the index `value`, or None."""
        if isinstance(value, self):
            return value
        if not isinstance(value, (int, str)):
            raise TypeError(
                f"{self.__name__}: expected an int or str as index, got {type(value).__name__}"
            )
        if isinstance(value, int) and not _INT64_MIN <= value <= _INT64_MAX:
            raise OverflowError(f"{self.__name__}: integer index {value} is outside int64")
        state = find_state(self.__tvm_ffi_type_info__.type_index)
        return None if state is None else state.indexes.get(value)

    def _variant_of(self, value: Any) -> Any:
        try:
            found = self._find(value)
        except (TypeError, OverflowError):
            found = None
        if found is None:
            raise ValueError(f"{value!r} is not a valid {self.__name__}")
        return found

    def _refuse_decorator(self, decorator: str) -> None:
        """Raise TypeError if the class has variants, which `decorator` would lose."""
        if "_known" in vars(self):
            key = self.__tvm_ffi_type_info__.type_key
            raise TypeError(
                f"{decorator}: {self.__name__} is the enumeration {key!r} already; remove the "
                "decorator"
            )
        names = ", ".join(entries_in_body(self, self._payload))
        if names:
            raise TypeError(
                f"{decorator}: expected a class without variants, got {self.__name__} with "
                f"{names}; remove the decorator and pass the key to the class: "
                f"class {self.__name__}({self.__mro__[1].__name__}, type_key=...)"
            )

    @property
    def attr_dict(self) -> Any:
        """Columns of the enumeration by name; each is a `Dict` of values by variant."""
        return state_of(self.__tvm_ffi_type_info__.type_index).attrs


@c_class("ffi.Enum", init=False, repr=False)
class Enum(Object, metaclass=_EnumMeta):
    """Base class of enumerations; a subclass with a `type_key` is an enumeration.

    Parameters
    ----------
    type_key : str
        Class keyword: key of the enumeration's type.  If C++ has registered the type, the class
        annotates the variants by name.  For a new type, the class declares the variants with
        `entry` and `auto`.
    frozen, init, repr : bool
        Class keywords: same as the options of `py_class`.

    Examples
    --------
    >>> from tvm_ffi.dataclasses import Enum, entry
    >>> class Color(Enum, type_key="doc.Enum.Color"):
    ...     wavelength_nm: int
    ...     red = entry(wavelength_nm=700)
    ...     blue = entry(wavelength_nm=450)
    >>> Color("red"), Color(1).wavelength_nm, len(Color)
    (doc.Enum.Color.red, 450, 2)
    """

    _int_index: int
    _str_index: str

    _payload: ClassVar[type | None] = None

    def __init_subclass__(
        cls,
        *,
        type_key: str | None = None,
        frozen: bool = True,
        init: bool = True,
        repr: bool = True,  # noqa: A002  (the contract's name)
        **kwargs: Any,
    ) -> None:
        # `_EnumMeta.__init__` uses the options, because the class is not complete here.
        super().__init_subclass__(**kwargs)

    @classmethod
    def get(cls, index: int | str) -> Any:
        """Return the variant with an integer or string index.

        Parameters
        ----------
        index : int or str
            Integer or string index of the variant.

        Returns
        -------
        Enum
            The variant of this class.

        Raises
        ------
        KeyError
            If no variant has this index.
        TypeError
            If `index` is neither an int nor a str.
        OverflowError
            If `index` does not fit 64 bits.
        """
        found = cls._find(index)
        if found is None:
            raise KeyError(index)
        return found

    @classmethod
    def all_entries(cls) -> Iterator[Any]:
        """Return an iterator over the variants, in order of definition."""
        return iter(cls)

    @classmethod
    def def_attr(cls, name: str, *, default: Any = MISSING) -> EnumAttrMap:
        """Return the column with a name, which is a mapping from variants to values.

        Parameters
        ----------
        name : str
            Name of the column.
        default : object
            Value for variants without a value; by default reading them raises KeyError.

        Returns
        -------
        EnumAttrMap
            The column.
        """
        return EnumAttrMap(cls, name, default=default)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any = None) -> Any:
        return self

    def __reduce__(self) -> Any:
        return type(self), (self._str_index,)

    @staticmethod
    def __from_tvm_ffi_object__(cls: Any, obj: Any) -> Any:  # noqa: PLW0211  (the protocol)
        """Return the known variant for a native object; if it is not known, a new Python object."""
        known = cls.__dict__.get("_known")
        variant = None if known is None else known.get(obj.id_)
        if variant is None:
            variant = cls.__new__(cls)
            variant.__move_handle_from__(obj)
        return variant


class _WithValue:
    """Methods that `IntEnum` and `StrEnum` share; `self` is the variant."""

    __slots__ = ()

    @property
    def name(self: Any) -> str:
        """Name of the variant; in a `StrEnum` its value, because native code stores no names."""
        return self._str_index  # type: ignore[no-any-return]

    def __repr__(self: Any) -> str:
        return f"{type(self).__name__}.{self._str_index}"

    def __str__(self: Any) -> str:
        return str(self.value)

    def __eq__(self: Any, other: object) -> bool:
        if type(other) is self._payload:
            return self.value == other  # type: ignore[no-any-return]
        return Object.__eq__(self, other)

    def __hash__(self: Any) -> int:
        return hash(self.value)


@c_class("ffi.IntEnum", init=False, repr=False)
class IntEnum(_WithValue, Enum):
    """Base class of enumerations with integer values; ``name = 1`` declares a variant.

    Examples
    --------
    >>> from tvm_ffi.dataclasses import IntEnum
    >>> class Priority(IntEnum, type_key="doc.IntEnum.Priority"):
    ...     low = 10
    ...     high = 20
    >>> Priority.low == 10, Priority(20), Priority.high.name
    (True, Priority.high, 'high')
    """

    value: int

    _payload: ClassVar[type | None] = int


@c_class("ffi.StrEnum", init=False, repr=False)
class StrEnum(_WithValue, Enum):
    """Base class of enumerations with string values; ``name = "text"`` declares a variant.

    Examples
    --------
    >>> from tvm_ffi.dataclasses import StrEnum
    >>> class Sign(StrEnum, type_key="doc.StrEnum.Sign"):
    ...     plus = "+"
    >>> Sign.plus == "+", Sign("+")
    (True, Sign.+)
    """

    value: str

    _payload: ClassVar[type | None] = str


# ---- Definition of an enumeration ----------------------------------------------------------------


def _define_enum(cls: Any, type_key: str, options: Options, scope: Scope) -> None:
    if cls._payload is not None and "value" in own_annotations(cls):
        raise TypeError(
            f"{cls.__name__}: expected no field named `value`, which {cls.__mro__[1].__name__} "
            "defines as the value of a variant"
        )
    named, entries = declared_entries(cls, cls._payload)
    is_new = type_key_to_index(type_key) is None or is_defined_in_python(type_key)
    for ordinal, (name, declared) in enumerate(entries.items()):
        # Check the indices of the variant before the type is registered.
        _indices(cls, ordinal, name, declared)
    if is_new:
        register_class(cls, type_key, options, scope)
        complete_now(cls)
    else:
        register_object(type_key, init=False)(cls)
        add_special_methods(
            cls.__tvm_ffi_type_info__,
            repr=False,
            eq=False,
            order=False,
            unsafe_hash=False,
            match_args=True,
        )
    info = cls.__tvm_ffi_type_info__
    state = state_of(info.type_index)
    cls._known = {}
    for variant in state.entries:
        _keep(cls, variant)
    for name in named:
        variant = state.indexes.get(name)
        if variant is None and not is_new:
            raise RuntimeError(f"{type_key!r} has no enum at string index {name!r}")
        setattr(
            cls, name, _add(cls, state, name, EnumEntry((), {})) if variant is None else variant
        )
    for name, declared in entries.items():
        setattr(cls, name, _add(cls, state, name, declared))
    cls._variant_names = frozenset([*named, *entries])


def _add(cls: Any, state: Any, name: str, declared: EnumEntry) -> Any:
    """Return a new variant, or the existing variant that has the same value."""
    int_index, str_index, values = _indices(cls, len(state.entries), name, declared)
    payload = int_index if cls._payload is int else str_index
    existing = state.indexes.get(payload) if cls._payload is not None else None
    if existing is not None:
        return existing
    if int_index in state.indexes or str_index in state.indexes:
        raise ValueError(f"{cls.__name__}.{name}: a variant with this index already exists")
    variant = _make(cls, name, int_index, str_index, declared.args, values)
    state.entries.append(variant)
    state.indexes[int_index] = variant
    state.indexes[str_index] = variant
    _keep(cls, variant)
    return variant


def _keep(cls: Any, variant: Any) -> None:
    """Let a Python object represent the variant until the process ends, also if it is moved."""
    share_wrapper(variant)
    cls._known[variant.id_] = variant


def _indices(
    cls: Any, ordinal: int, name: str, declared: EnumEntry
) -> tuple[int, str, dict[str, Any]]:
    if cls._payload is None:
        return ordinal, name, declared.kwargs
    values = dict(declared.kwargs)
    value = values.pop("value", None)
    if type(value) is not cls._payload:
        raise TypeError(
            f"{cls.__name__}.{name}: expected a value of type {cls._payload.__name__}, got "
            f"{type(value).__name__}"
        )
    if cls._payload is str:
        return ordinal, value, values
    if not _INT64_MIN <= value <= _INT64_MAX:
        raise OverflowError(f"{cls.__name__}.{name}: {value} is outside int64")
    return value, name, values


def _make(
    cls: Any, name: str, int_index: int, str_index: str, args: tuple[Any, ...], values: Any
) -> Any:
    variant = cls.__new__(cls)
    try:
        if args:
            raise TypeError(
                f"expected only keyword arguments as field values, got {len(args)} positional"
            )
        construct = getattr(cls, "__ffi_init__", None)
        if construct is None:
            make = get_global_func("ffi.MakeObjectFromPackedArgs")
            pairs = {"_int_index": int_index, "_str_index": str_index, **values}
            if cls._payload is not None:
                # The field of the base class, in the memory of an index, must get a value, too.
                pairs["value"] = int_index if cls._payload is int else str_index
            flat = [item for pair in pairs.items() for item in pair]
            variant.__move_handle_from__(make(cls.__tvm_ffi_type_info__.type_index, *flat))
        else:
            construct(variant, _int_index=int_index, _str_index=str_index, **values)
    except TypeError as error:
        raise TypeError(f"{cls.__name__}.{name}: invalid enum entry: {error}") from error
    return variant
