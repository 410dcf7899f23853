# SPDX-License-Identifier: Apache-2.0
"""Declared types as values: what fields, parameters and results of native functions are.

A schema is a name, its origin, with arguments.  Origins that Python has a word for use that word
(``str``, ``Callable``, ``Array``); all others are type keys.  Conversion of values is the business
of `_type_conversion`, Python annotations are read in `_type_annotation`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Callable

from ._binding.types.attribute import lookup_type_attr
from ._type_origin import (
    ANY,
    NO_TYPE,
    ORIGIN_OF_JSON_NAME,
    ORIGIN_OF_KEY,
    index_of_origin,
    is_known,
    key_of_index,
)

if TYPE_CHECKING:
    from ._binding.values.any import CAny

__all__ = ["TypeSchema"]

# How many arguments the containers take; they may also be left out, and are Any then.
_NUM_ARGS = {"Array": 1, "List": 1, "list": 1, "Dict": 2, "Map": 2, "dict": 2}


@dataclass(repr=False)
class TypeSchema:
    """A declared type.

    Parameters
    ----------
    origin : str
        ``None``, ``int``, ``float``, ``bool``, ``str``, ``bytes``, ``Any``, ``dtype``, ``Device``,
        ``ctypes.c_void_p``, ``Tensor``, ``Object``, ``Callable``, ``Array``, ``List``, ``Map``,
        ``Dict``, ``tuple``, ``Optional``, ``Union``, or a type key.
    args : tuple of TypeSchema, optional
        What stands in brackets.  ``Optional`` takes one, ``Union`` two or more, ``Array`` and
        ``List`` one, ``Map`` and ``Dict`` two; left out, those of containers are ``Any``, and a
        ``tuple`` has any length.  Of a ``Callable``: the result and then the parameters.
    origin_type_index : int
        Type index of the origin; found by the name when it is not given.  -1 for ``Any``, -2 for
        ``Optional`` and ``Union``, -3 when there is none.
    fallback : TypeSchema, optional
        What to print where the origin is not known.
    named_args : dict from str to tuple of TypeSchema, optional
        Of a ``Callable``: ``return``, exactly one, and ``params``, which is missing when there may
        be any.
    type_key : str, optional
        The native name when the origin does not say it; not compared.

    Raises
    ------
    ValueError
        If the number of arguments is wrong.
    TypeError
        If an argument is not a schema.

    Examples
    --------
    >>> from tvm_ffi.core import TypeSchema
    >>> schema = TypeSchema.from_annotation(dict[str, list[int]])
    >>> schema
    Dict[str, List[int]]
    >>> schema.check_value({"a": [1, "2"]})
    Traceback (most recent call last):
      ...
    TypeError: type check failed for Dict[str, List[int]]: value for key 'a': element [1]: \
expected int, got str
    """

    __module__ = "tvm_ffi.core"  # which shows it

    origin: str
    args: tuple[TypeSchema, ...] | None = None
    origin_type_index: int = NO_TYPE
    fallback: TypeSchema | None = None
    named_args: dict[str, tuple[TypeSchema, ...]] | None = None
    type_key: str | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.origin, str) and self.origin):
            raise ValueError("schema type must be a nonempty string")
        if self.fallback is not None and not isinstance(self.fallback, TypeSchema):
            raise TypeError("schema fallback must be a TypeSchema instance")
        if self.args is not None:
            self.args = _schemas(self.args, "schema arguments must be TypeSchema instances")
        if self.named_args is not None:
            self.named_args = _groups(self.named_args)
        if self.origin == "Callable":
            self._name_the_groups()
        else:
            self._complete_args()
        if self.origin_type_index == NO_TYPE:
            self.origin_type_index = index_of_origin(self.origin)

    def _complete_args(self) -> None:
        """Check the number of arguments; put Any where those of a container are missing."""
        count = len(self.args or ())
        if self.origin == "Optional" and count != 1:
            raise ValueError("Optional must have exactly one argument")
        if self.origin == "Union" and count < 2:
            raise ValueError("Union must have at least two arguments")
        wanted = _NUM_ARGS.get(self.origin, count)
        if count not in (0, wanted):
            plural = "s" if wanted > 1 else ""
            raise ValueError(f"{self.origin} must have 0 or {wanted} argument{plural}")
        if count < wanted:
            self.args = tuple(TypeSchema("Any") for _ in range(wanted))
        elif self.args is None and self.origin != "tuple":
            self.args = ()

    def _name_the_groups(self) -> None:
        """Bring both forms of a function into one."""
        if self.args and self.named_args is None:
            result, params = self.args[:1], self.args[1:]
            self.named_args = {"return": result, "params": params} if params else {"return": result}
        elif self.args or (self.named_args or {}).keys() - {"return", "params"}:
            raise ValueError("Callable uses only named return and params groups")
        elif self.named_args is not None and len(self.named_args.get("return", ())) != 1:
            raise ValueError("Callable return group must contain exactly one type")
        self.args = ()

    # ---- other forms ----------------------------------------------------------------------

    @staticmethod
    def from_json_obj(obj: dict[str, Any]) -> TypeSchema:
        """Return the schema that metadata of native functions and fields give.

        Parameters
        ----------
        obj : dict
            ``{"type": str, "args": list, "named_args": dict of lists, "fallback": dict}``; only the
            type is required.

        Raises
        ------
        TypeError
            If the parts have other types.
        ValueError
            If the number of arguments is wrong.
        """
        if not (isinstance(obj, dict) and "type" in obj):
            raise TypeError(f"expected schema dict with 'type' key, got {type(obj).__name__}")
        name, args = obj["type"], obj.get("args")
        if not isinstance(name, str):
            raise TypeError("schema type must be a string")
        return TypeSchema(
            ORIGIN_OF_JSON_NAME.get(name, name),
            # Numbers and text among the arguments belong to C++ alone.
            tuple(TypeSchema.from_json_obj(arg) for arg in args if isinstance(arg, dict))
            if isinstance(args, (list, tuple))
            else None,
            fallback=TypeSchema.from_json_obj(obj["fallback"]) if "fallback" in obj else None,
            named_args=_groups_from_json(obj["named_args"]) if "named_args" in obj else None,
            type_key=name if name == "ffi.BigInt" else None,
        )

    @staticmethod
    def from_json_str(s: str) -> TypeSchema:
        """Return the schema in a JSON text, see `from_json_obj`."""
        return TypeSchema.from_json_obj(json.loads(s))

    @staticmethod
    def from_type_index(type_index: int, args: tuple[TypeSchema, ...] = ()) -> TypeSchema:
        """Return the schema of a native type.

        Raises
        ------
        ValueError
            If no type has this index.
        """
        if type_index == ANY:
            return TypeSchema("Any", args)
        key = key_of_index(type_index)
        if key is None:
            raise ValueError(f"no type is registered with index {type_index}")
        return TypeSchema(
            ORIGIN_OF_KEY.get(key, key),
            args,
            origin_type_index=type_index,
            type_key=key if key == "ffi.BigInt" else None,
        )

    @staticmethod
    def from_annotation(annotation: object) -> TypeSchema:
        """Return the schema of a Python annotation.

        Parameters
        ----------
        annotation : object
            None, Any, bool, int, float, str, bytes, list, dict, tuple, Callable, each with
            parameters or without, unions, dtypes, devices, ``ctypes.c_void_p``, classes of native
            types, and classes with ``__dlpack__``, which stand for a tensor.

        Raises
        ------
        TypeError
            For anything else, names in quotes included.
        """
        from ._type_annotation import schema_of_annotation

        return schema_of_annotation(annotation)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json_obj` reads."""
        obj: dict[str, Any] = {"type": self.type_key or self.origin}
        if self.args or (self.origin == "tuple" and self.args is not None):
            obj["args"] = [arg.to_json() for arg in self.args]
        if self.named_args is not None:
            obj["named_args"] = {
                name: [arg.to_json() for arg in group] for name, group in self.named_args.items()
            }
        if self.fallback is not None:
            obj["fallback"] = self.fallback.to_json()
        return obj

    # ---- text -----------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self.output_repr()

    def repr(self, ty_map: Callable[[str], str] | None = None) -> str:
        """Return the same as `output_repr`."""
        return self.output_repr(ty_map)

    def output_repr(self, ty_map: Callable[[str], str] | None = None) -> str:
        """Return the type as an annotation: what one gets.

        Parameters
        ----------
        ty_map : callable, optional
            Gives the name to print for an origin.  ``Optional`` and ``Union`` are written with
            ``|`` unless they get another name.
        """
        return self._text(ty_map or str, None)

    def input_repr(self, ty_map: Callable[[str], str] | None = None) -> str:
        """Return the type as an annotation: what may be given, where types convert other values."""
        return self._text(ty_map or str, frozenset())

    def _text(self, name_of: Callable[[str], str], seen: frozenset[str] | None) -> str:
        """Return the text; `seen` are the origins that this one widens, or None to widen none."""
        if self.fallback is not None and not is_known(self.origin):
            return self.fallback._text(name_of, seen)
        wider = None if seen is None else _input_schema(self.origin, seen)
        if seen is not None and wider is not None:
            return wider._text(name_of, seen | {self.origin})
        name = name_of(self.origin)
        if self.origin == "Callable":
            return name + self._text_of_groups(name_of, seen)
        args = [arg._text(name_of, seen) for arg in self.args or ()]
        if name == "Union":
            return " | ".join(args)
        if name == "Optional":
            return f"{args[0]} | None"
        if self.args == () and self.origin == "tuple":
            return f"{name}[()]"
        return f"{name}[{', '.join(args)}]" if args else name

    def _text_of_groups(self, name_of: Callable[[str], str], seen: frozenset[str] | None) -> str:
        if self.named_args is None:
            return "[..., Any]"
        texts = {
            name: ", ".join(arg._text(name_of, seen) for arg in group)
            for name, group in self.named_args.items()
        }
        params = f"[{texts['params']}]" if "params" in texts else "..."
        return f"[{params}, {texts['return']}]"

    # ---- values ---------------------------------------------------------------------------

    def check_value(self, value: object) -> None:
        """Raise TypeError, which says where, unless the value can be converted to the type."""
        self._converted(value, "type check")

    def convert(self, value: object) -> CAny:
        """Return the value as the type holds it.

        Raises
        ------
        TypeError
            If the type does not take the value; the message says which part of it.
        """
        return _engine().as_native(self._converted(value, "type conversion"))  # type: ignore[no-any-return]

    def _converted(self, value: object, step: str) -> Any:
        engine = _engine()
        engine.require_known_origins(self)
        try:
            return engine.convert_value(self, value)
        except engine.MismatchError as mismatch:
            raise TypeError(f"{step} failed for {self!r}: {mismatch}") from mismatch.__cause__

    def is_subtype_of(self, target_cls: type) -> bool:
        """Whether every object of the type is one of the class's type."""
        from ._type_annotation import index_of_class

        target = index_of_class(target_cls)
        return target is not None and bool(_engine().is_subtype(self.origin_type_index, target))


@functools.cache
def _engine() -> Any:
    """Return the module that converts values, which is built on this one."""
    from . import _type_conversion

    return _type_conversion


def _schemas(args: Any, complaint: str) -> tuple[TypeSchema, ...]:
    schemas = tuple(args) if isinstance(args, Iterable) else (args,)
    if not all(isinstance(arg, TypeSchema) for arg in schemas):
        raise TypeError(complaint)
    return schemas


def _groups(named_args: Any) -> dict[str, tuple[TypeSchema, ...]]:
    if not (isinstance(named_args, dict) and all(isinstance(name, str) for name in named_args)):
        raise TypeError("named_args must be a map of names to type lists")
    complaint = "named_args values must be lists of type schemas"
    if not all(isinstance(group, (list, tuple)) for group in named_args.values()):
        raise TypeError(complaint)
    return {name: _schemas(group, complaint) for name, group in named_args.items()}


def _groups_from_json(named_args: Any) -> dict[str, tuple[TypeSchema, ...]]:
    if not isinstance(named_args, dict):
        raise TypeError("named_args must be a map of names to type lists")
    if not all(isinstance(group, (list, tuple)) for group in named_args.values()):
        raise TypeError("named_args must map names to type lists")
    return {
        name: tuple(TypeSchema.from_json_obj(arg) for arg in group)
        for name, group in named_args.items()
    }


def _input_schema(origin: str, seen: frozenset[str]) -> TypeSchema | None:
    """Return what a type says it converts from, unless that is being written out already."""
    index = index_of_origin(origin)
    if index < 0 or origin in seen:
        return None
    declared = lookup_type_attr(index, "__ffi_convert_type_schema__")
    if declared is None or isinstance(declared, TypeSchema):
        return declared
    if isinstance(declared, str):
        return TypeSchema.from_json_str(declared)
    if hasattr(declared, "items"):
        return TypeSchema.from_json_obj(_plain(declared))
    raise TypeError(
        f"expected TypeSchema, JSON string, or JSON dict, got {type(declared).__name__}"
    )


def _plain(value: Any) -> Any:
    """Return what a dict became on its way through a native attribute."""
    if hasattr(value, "items"):
        return {key: _plain(part) for key, part in value.items()}
    return value if isinstance(value, str) else [_plain(part) for part in value]
