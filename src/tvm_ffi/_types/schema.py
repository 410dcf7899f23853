# SPDX-License-Identifier: Apache-2.0
"""Declared types as values that know native types: their index, what they take, how they convert.

Names, text and JSON are the business of `_schema`.  Conversion and annotations are loaded when they
are asked for.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import Any, Callable

from .._binding.object import type_key_to_index
from .._binding.types import lookup_type_attr
from .._binding.values import CAny, to_py_class_value
from .._schema.json_form import schema_from_json, schema_to_json
from .._schema.names import ANY, NO_TYPE, ORIGIN_OF_KEY
from .._schema.printing import TypePrinter
from .._schema.schema import Schema
from .type_index import index_of_origin, key_of_index

__all__ = ["TypeSchema", "container_converter"]


@dataclass(repr=False)
class TypeSchema(Schema):
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

    args: tuple[TypeSchema, ...] | None = None
    fallback: TypeSchema | None = None
    # A dict may not have narrower values than that of the base, for type checkers.
    named_args: dict[str, tuple[TypeSchema, ...]] | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.origin_type_index == NO_TYPE:
            self.origin_type_index = index_of_origin(self.origin)

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
        return schema_from_json(obj, TypeSchema)

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
        from .annotation import schema_of_annotation

        return schema_of_annotation(annotation, TypeSchema)

    def to_json(self) -> dict[str, Any]:
        """Return what `from_json_obj` reads."""
        return schema_to_json(self)

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
        return (_PRINTER if ty_map is None else TypePrinter(type_key_to_index, ty_map)).text(self)

    def input_repr(self, ty_map: Callable[[str], str] | None = None) -> str:
        """Return the type as an annotation: what may be given, where types convert other values."""
        return TypePrinter(type_key_to_index, ty_map or str, _input_schema).text(self)

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
        return CAny(self._converted(value, "type conversion"))

    def _converted(self, value: object, step: str) -> Any:
        engine = _engine()
        engine.require_known_origins(self)
        try:
            return engine.convert_value(self, value)
        except engine.MismatchError as mismatch:
            raise TypeError(f"{step} failed for {self!r}: {mismatch}") from mismatch.__cause__

    def is_subtype_of(self, target_cls: type) -> bool:
        """Whether every object of the type is one of the class's type."""
        from .annotation import index_of_class

        target = index_of_class(target_cls)
        return target is not None and bool(_engine().is_subtype(self.origin_type_index, target))


_PRINTER = TypePrinter(type_key_to_index)


@functools.cache
def _engine() -> Any:
    """Return the module that converts values; many programs convert none to declared types."""
    from . import conversion

    return conversion


def _input_schema(origin: str) -> TypeSchema | None:
    """Return what a type says it converts from."""
    index = index_of_origin(origin)
    if index < 0:
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


def container_converter(schema: Schema) -> Callable[[Any], Any]:
    """Return what converts a list, tuple or dict to a declared container."""
    known = TypeSchema.from_json_obj(schema_to_json(schema))
    return lambda value: to_py_class_value(known.convert(value))
