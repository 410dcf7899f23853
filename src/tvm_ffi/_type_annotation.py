# SPDX-License-Identifier: Apache-2.0
"""Python annotations read as declared types, and the native types that classes stand for."""

from __future__ import annotations

import collections.abc
import types
import typing
from typing import Any

from ._binding.call.function import Function
from ._binding.containers.shape import Shape
from ._binding.object.error import Error
from ._binding.object.object import CObject, Object, type_key_to_index
from ._binding.tensor.tensor import Tensor
from ._binding.values.device import Device
from ._binding.values.dtype import DataType
from ._binding.values.native_value import Bytes, String
from ._dtype import dtype
from ._type_origin import ORIGIN_OF_KEY
from ._type_schema import TypeSchema
from .container import Array, Dict, List, Map
from .module import Module

# Classes of the package that are not registered by their users.
_KEY_OF_CLASS: dict[Any, str] = {
    Array: "ffi.Array",
    Dict: "ffi.Dict",
    Error: "ffi.Error",
    Function: "ffi.Function",
    List: "ffi.List",
    Map: "ffi.Map",
    Module: "ffi.Module",
    Object: "ffi.Object",
    Shape: "ffi.Shape",
    Tensor: "ffi.Tensor",
}
_ORIGIN_OF_ANNOTATION: dict[Any, str] = {
    None: "None",
    type(None): "None",
    Any: "Any",
    bool: "bool",
    int: "int",
    float: "float",
    str: "str",
    String: "str",
    bytes: "bytes",
    Bytes: "bytes",
    dtype: "dtype",
    DataType: "dtype",
    Device: "Device",
    list: "List",
    dict: "Dict",
    collections.abc.Callable: "Callable",
    **{cls: ORIGIN_OF_KEY.get(key, key) for cls, key in _KEY_OF_CLASS.items()},
}
# Unions that are written with "|", from Python 3.10 on.
_UNIONS: tuple[Any, ...] = (typing.Union, getattr(types, "UnionType", typing.Union))


def schema_of_annotation(annotation: Any) -> TypeSchema:
    """Return the schema of an annotation, or raise TypeError."""
    origin = typing.get_origin(annotation)
    if origin in _UNIONS:
        return _union(typing.get_args(annotation))
    if annotation is tuple or annotation is typing.Tuple:  # noqa: UP006  (the old name is asked for)
        return TypeSchema("tuple")
    if origin is tuple:
        return _tuple(typing.get_args(annotation))
    if origin is collections.abc.Callable:
        return _callable(typing.get_args(annotation))
    if origin is not None:
        return _generic(annotation, origin, typing.get_args(annotation))
    return TypeSchema(_origin_of(annotation))


def _union(members: tuple[Any, ...]) -> TypeSchema:
    """Return Optional when None is among the members, which are flat and different."""
    schemas = tuple(schema_of_annotation(x) for x in members if x is not type(None))
    schema = TypeSchema("Union", schemas) if len(schemas) > 1 else schemas[0]
    return TypeSchema("Optional", (schema,)) if type(None) in members else schema


def _tuple(members: tuple[Any, ...]) -> TypeSchema:
    if len(members) == 2 and members[1] is Ellipsis:
        return TypeSchema("Array", (schema_of_annotation(members[0]),))
    if members == ((),):  # how early Pythons give the empty tuple
        members = ()
    return TypeSchema("tuple", tuple(schema_of_annotation(x) for x in members))


def _callable(members: tuple[Any, ...]) -> TypeSchema:
    if not members:
        return TypeSchema("Callable")
    params, result = members
    groups: dict[str, tuple[TypeSchema, ...]] = {"return": (schema_of_annotation(result),)}
    if isinstance(params, list):
        groups["params"] = tuple(schema_of_annotation(x) for x in params)
    elif params is not Ellipsis:
        raise _refusal(params)
    return TypeSchema("Callable", named_args=groups)


def _generic(annotation: Any, origin: Any, members: tuple[Any, ...]) -> TypeSchema:
    if origin in (list, dict) or (isinstance(origin, type) and issubclass(origin, CObject)):
        name = _origin_of(origin)
        _check_number(origin, name, len(members))
        return TypeSchema(name, tuple(schema_of_annotation(x) for x in members))
    raise _refusal(annotation)


def _check_number(cls: Any, origin: str, count: int) -> None:
    wanted = {"Array": 1, "List": 1, "Map": 2, "Dict": 2}.get(origin, count)
    if count in (0, wanted):
        return
    if cls is list:
        raise TypeError(f"list takes at most 1 type argument, got {count}")
    if cls is dict:
        raise TypeError(f"dict requires 0 or 2 type arguments, got {count}")
    plural = "s" if wanted > 1 else ""
    raise TypeError(f"{cls.__name__} requires {wanted} type argument{plural}, got {count}")


def _origin_of(annotation: Any) -> str:
    """Return the origin of an annotation without parameters."""
    if isinstance(annotation, typing.Hashable) and annotation in _ORIGIN_OF_ANNOTATION:
        return _ORIGIN_OF_ANNOTATION[annotation]
    if not isinstance(annotation, type):
        raise _refusal(annotation)
    if (annotation.__module__, annotation.__name__) == ("ctypes", "c_void_p"):
        return "ctypes.c_void_p"  # by its name: the module takes long to import
    if issubclass(annotation, CObject):
        if "__tvm_ffi_type_info__" not in vars(annotation):
            raise TypeError(
                f"CObject subclass {annotation!r} is not registered; "
                "use @register_object to register it"
            )
        key: str = annotation.__tvm_ffi_type_info__.type_key  # type: ignore[attr-defined]
        return ORIGIN_OF_KEY.get(key, key)
    if hasattr(annotation, "__dlpack__"):
        return "Tensor"
    raise _refusal(annotation)


def _refusal(annotation: Any) -> TypeError:
    return TypeError(f"Cannot convert {annotation!r} to TypeSchema")


def index_of_class(cls: Any) -> int | None:
    """Return the index of the native type that a class stands for, if any."""
    if not isinstance(cls, type):
        return None
    if cls in _KEY_OF_CLASS:
        return type_key_to_index(_KEY_OF_CLASS[cls])
    registered = getattr(cls, "__tvm_ffi_type_info__", None)
    index: int | None = getattr(registered, "type_index", None)
    return index
