# SPDX-License-Identifier: Apache-2.0
"""Conversion of Python annotations to `TypeSchema`, and of classes to type indices."""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import Iterable
from typing import Any, Generic, TypeVar

from .._binding.call import Function
from .._binding.object import CObject, Error, Object, type_key_to_index
from .._binding.tensor import Tensor
from .._binding.values import Bytes, DataType, Device, String
from .._dtype import dtype
from .._schema.names import NUM_ARGS, ORIGIN_OF_KEY
from .._schema.schema import Schema
from .builtin_classes import CLASS_OF_KEY

SchemaT = TypeVar("SchemaT", bound=Schema)

# Type keys of the built-in native types that classes of this package represent.
KEY_OF_CLASS: dict[Any, str] = {
    Bytes: "ffi.Bytes",
    DataType: "DataType",
    Device: "Device",
    Error: "ffi.Error",
    Function: "ffi.Function",
    Object: "ffi.Object",
    String: "ffi.String",
    Tensor: "ffi.Tensor",
    **{cls: key for key, cls in CLASS_OF_KEY.items()},
}
_ORIGIN_OF_ANNOTATION: dict[Any, str] = {
    None: "None",
    type(None): "None",
    Any: "Any",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    bytes: "bytes",
    dtype: "dtype",
    list: "List",
    dict: "Dict",
    collections.abc.Callable: "Callable",
    **{cls: ORIGIN_OF_KEY.get(key, key) for cls, key in KEY_OF_CLASS.items()},
}
# Results of `typing.get_origin` for unions.  From Python 3.10 on, `X | Y` and `Union[X, Y]` have
# different origins.
_UNIONS: tuple[Any, ...] = (typing.Union, getattr(types, "UnionType", typing.Union))


def schema_of_annotation(annotation: Any, make: type[SchemaT]) -> SchemaT:
    """Return the schema of an annotation, an instance of the schema class `make`.

    Raise TypeError if the annotation has no schema.
    """
    return _Reader(make).read(annotation)


class _Reader(Generic[SchemaT]):
    def __init__(self, make: type[SchemaT]) -> None:
        self._make = make

    def read(self, annotation: Any) -> SchemaT:
        origin = typing.get_origin(annotation)
        members = typing.get_args(annotation) if origin is not None else ()
        if origin in _UNIONS:
            return self._union(members)
        if annotation is tuple or annotation is typing.Tuple:  # noqa: UP006  (users may write it)
            return self._make("tuple")
        if origin is tuple:
            return self._tuple(members)
        if origin is collections.abc.Callable:
            return self._callable(members)
        if origin is not None:
            return self._generic(annotation, origin, members)
        return self._make(_origin_of(annotation))

    def _all(self, annotations: Iterable[Any]) -> tuple[SchemaT, ...]:
        return tuple(map(self.read, annotations))

    def _union(self, members: tuple[Any, ...]) -> SchemaT:
        """Return the schema of a union: a ``Union``, or an ``Optional`` if None is a member.

        `typing` has flattened nested unions and removed duplicates.  Tensor classes of several
        frameworks have the same schema, ``Tensor``, so duplicates of it are removed here.
        """
        schemas: tuple[SchemaT, ...] = ()
        for schema in self._all(x for x in members if x is not type(None)):
            schemas += () if schema in schemas and schema.origin == "Tensor" else (schema,)
        schema = self._make("Union", schemas) if len(schemas) > 1 else schemas[0]
        return self._make("Optional", (schema,)) if type(None) in members else schema

    def _tuple(self, members: tuple[Any, ...]) -> SchemaT:
        if len(members) == 2 and members[1] is Ellipsis:
            return self._make("Array", self._all(members[:1]))
        if members == ((),):  # the arguments of ``tuple[()]`` before Python 3.11
            members = ()
        return self._make("tuple", self._all(members))

    def _callable(self, members: tuple[Any, ...]) -> SchemaT:
        if not members:
            return self._make("Callable")
        params, result = members
        groups: dict[str, tuple[Schema, ...]] = {"return": (self.read(result),)}
        if isinstance(params, list):
            groups["params"] = self._all(params)
        elif params is not Ellipsis:
            raise _unsupported(params)
        return self._make("Callable", named_args=groups)

    def _generic(self, annotation: Any, origin: Any, members: tuple[Any, ...]) -> SchemaT:
        if origin in (list, dict) or (isinstance(origin, type) and issubclass(origin, CObject)):
            name = _origin_of(origin)
            _check_number(origin, name, len(members))
            return self._make(name, self._all(members))
        raise _unsupported(annotation)


def _check_number(cls: Any, origin: str, count: int) -> None:
    wanted = NUM_ARGS.get(origin, count)
    if count in (0, wanted):
        return
    if cls is list:
        raise TypeError(f"list takes at most 1 type argument, got {count}")
    if cls is dict:
        raise TypeError(f"dict requires 0 or 2 type arguments, got {count}")
    plural = "s" if wanted > 1 else ""
    raise TypeError(f"{cls.__name__} requires {wanted} type argument{plural}, got {count}")


def _origin_of(annotation: Any) -> str:
    """Return the schema origin of an annotation without type arguments."""
    if isinstance(annotation, typing.Hashable) and annotation in _ORIGIN_OF_ANNOTATION:
        return _ORIGIN_OF_ANNOTATION[annotation]
    if not isinstance(annotation, type):
        raise _unsupported(annotation)
    if (annotation.__module__, annotation.__name__) == ("ctypes", "c_void_p"):
        return "ctypes.c_void_p"  # compared by name, because importing ctypes is slow
    if issubclass(annotation, CObject):
        if "__tvm_ffi_type_info__" not in vars(annotation):
            raise TypeError(
                f"CObject subclass {annotation!r} is not registered; "
                "use @register_object to register it"
            )
        key: str = annotation.__tvm_ffi_type_info__.type_key  # type: ignore[attr-defined]
        return ORIGIN_OF_KEY.get(key, key)
    if hasattr(annotation, "__dlpack__") or hasattr(annotation, "__dlpack_device__"):
        return "Tensor"
    raise _unsupported(annotation)


def _unsupported(annotation: Any) -> TypeError:
    return TypeError(f"Cannot convert {annotation!r} to TypeSchema")


def index_of_class(cls: Any) -> int | None:
    """Return the index of the native type that a class represents; None for other classes."""
    if not isinstance(cls, type):
        return None
    if cls in KEY_OF_CLASS:
        return type_key_to_index(KEY_OF_CLASS[cls])
    registered = getattr(cls, "__tvm_ffi_type_info__", None)
    index: int | None = getattr(registered, "type_index", None)
    return index
