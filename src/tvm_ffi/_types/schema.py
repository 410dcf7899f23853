# SPDX-License-Identifier: Apache-2.0
"""The class `TypeSchema`: a declared type with its type index, conversion and type check.

The base class `Schema`, printing and the JSON form are in `_schema`.  The modules for conversion
and annotations are imported on first use.
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
    """A declared type: an origin and type arguments, such as ``Dict[str, int]``.

    Parameters
    ----------
    origin : str
        ``None``, ``int``, ``float``, ``bool``, ``str``, ``bytes``, ``Any``, ``dtype``, ``Device``,
        ``ctypes.c_void_p``, ``Tensor``, ``Object``, ``Callable``, ``Array``, ``List``, ``Map``,
        ``Dict``, ``tuple``, ``Optional``, ``Union``, or a type key.
    args : tuple of TypeSchema, optional
        Type arguments.  ``Optional``, ``Array`` and ``List`` have one, ``Map`` and ``Dict`` two,
        ``Union`` two or more, and ``Callable`` the result followed by the parameters.  If omitted,
        arguments of containers are ``Any``, and a ``tuple`` has any length.
    origin_type_index : int
        Type index of the origin; by default the index that is registered for it.  -1 for ``Any``,
        -2 for ``Optional`` and ``Union``, -3 if no such type is registered.
    fallback : TypeSchema, optional
        Schema that is printed instead of this one if the origin is not a registered type.
    named_args : dict from str to tuple of TypeSchema, optional
        For ``Callable``: ``return`` has the schema of the result, ``params`` those of the
        parameters.  Without ``params``, any parameters are allowed.
    type_key : str, optional
        Type key, if it does not follow from the origin.  Comparison of schemas ignores it.

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

    __module__ = "tvm_ffi.core"  # the public path of the class

    args: tuple[TypeSchema, ...] | None = None
    fallback: TypeSchema | None = None
    # The error is ignored because type checkers do not allow a narrower value type than the base
    # class has.
    named_args: dict[str, tuple[TypeSchema, ...]] | None = None  # type: ignore[assignment]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.origin_type_index == NO_TYPE:
            self.origin_type_index = index_of_origin(self.origin)

    # ---- construction from JSON, type indices and annotations -----------------------------

    @staticmethod
    def from_json_obj(obj: dict[str, Any]) -> TypeSchema:
        """Return the schema for the JSON object in the metadata of a function or field.

        Parameters
        ----------
        obj : dict
            ``{"type": str, "args": list, "named_args": dict of lists, "fallback": dict}``; only
            ``"type"`` is required.

        Raises
        ------
        TypeError
            If an entry of the JSON object has another type.
        ValueError
            If the number of arguments is wrong.
        """
        return schema_from_json(obj, TypeSchema)

    @staticmethod
    def from_json_str(s: str) -> TypeSchema:
        """Return the schema for a JSON string, see `from_json_obj`."""
        return TypeSchema.from_json_obj(json.loads(s))

    @staticmethod
    def from_type_index(type_index: int, args: tuple[TypeSchema, ...] = ()) -> TypeSchema:
        """Return the schema of a native type.

        Raises
        ------
        ValueError
            If no type is registered with this index.
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
            None, Any, bool, int, float, str, bytes; list, dict, tuple and Callable with or without
            type arguments; unions; `dtype`, `Device`, ``ctypes.c_void_p``; registered classes; and
            classes with ``__dlpack__``, which become ``Tensor``.

        Raises
        ------
        TypeError
            For other annotations, including quoted names.
        """
        from .annotation import schema_of_annotation

        return schema_of_annotation(annotation, TypeSchema)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object that `from_json_obj` reads."""
        return schema_to_json(self)

    # ---- printing -------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self.output_repr()

    def repr(self, ty_map: Callable[[str], str] | None = None) -> str:
        """Alias of `output_repr`."""
        return self.output_repr(ty_map)

    def output_repr(self, ty_map: Callable[[str], str] | None = None) -> str:
        """Return the schema as a Python annotation for results.

        Parameters
        ----------
        ty_map : callable, optional
            Returns the name to print for an origin.  ``Optional`` and ``Union`` are printed with
            ``|`` unless it returns another name for them.
        """
        return (_PRINTER if ty_map is None else TypePrinter(type_key_to_index, ty_map)).text(self)

    def input_repr(self, ty_map: Callable[[str], str] | None = None) -> str:
        """Return the schema as a Python annotation for arguments, including convertible types."""
        return TypePrinter(type_key_to_index, ty_map or str, _input_schema).text(self)

    # ---- conversion of values -------------------------------------------------------------

    def check_value(self, value: object) -> None:
        """Raise TypeError unless a value can be converted to the type of this schema.

        The message has the path to the child that cannot be converted.
        """
        self._converted(value, "type check")

    def convert(self, value: object) -> CAny:
        """Convert a value to the type of this schema.

        Raises
        ------
        TypeError
            If the value cannot be converted; the message has the path to the failing child.
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
        """Return True if the type is, or derives from, the native type of `target_cls`."""
        from .annotation import index_of_class

        target = index_of_class(target_cls)
        return target is not None and bool(_engine().is_subtype(self.origin_type_index, target))


_PRINTER = TypePrinter(type_key_to_index)


@functools.cache
def _engine() -> Any:
    """Import and return the conversion module, which most programs do not need."""
    from . import conversion

    return conversion


def _input_schema(origin: str) -> TypeSchema | None:
    """Return the schema of the values that the hook ``__ffi_convert__`` of a type accepts.

    Return None if the type declares no such schema.
    """
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
    """Convert native containers of a type attribute back to dicts and lists."""
    if hasattr(value, "items"):
        return {key: _plain(part) for key, part in value.items()}
    return value if isinstance(value, str) else [_plain(part) for part in value]


def container_converter(schema: Schema) -> Callable[[Any], Any]:
    """Return a function that converts a list, tuple or dict to a container schema."""
    known = TypeSchema.from_json_obj(schema_to_json(schema))
    return lambda value: to_py_class_value(known.convert(value))
