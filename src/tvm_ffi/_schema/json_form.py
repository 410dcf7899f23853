# SPDX-License-Identifier: Apache-2.0
"""JSON form of type schemas, as native code and library metadata contain it.

    {"type": NAME, "args": [...], "named_args": {NAME: [...]}, "fallback": {...}}

Only ``type`` is required. A function type has the groups ``return`` and ``params`` in
``named_args``; in metadata of early ABI levels, ``args`` has both, the result first.
"""

from __future__ import annotations

import json
from typing import Any, Callable, TypeVar

from .names import ORIGIN_OF_JSON_NAME
from .schema import Schema

__all__ = ["declared_function", "declared_type", "schema_from_json", "schema_to_json"]

SchemaT = TypeVar("SchemaT", bound=Schema)


def schema_from_json(obj: Any, make: type[SchemaT]) -> SchemaT:
    """Return the type that a JSON object describes, as an instance of the class `make`.

    Raises
    ------
    TypeError
        If a member of the JSON object has the wrong type.
    ValueError
        If a type has the wrong number of type arguments.
    """
    if not (isinstance(obj, dict) and "type" in obj):
        raise TypeError(f"expected schema dict with 'type' key, got {type(obj).__name__}")
    name, args = obj["type"], obj.get("args")
    if not isinstance(name, str):
        raise TypeError(
            f"member 'type' of a type schema must be a string, got {type(name).__name__}"
        )
    return make(
        ORIGIN_OF_JSON_NAME.get(name, name),
        # Skip numbers and strings: C++ template arguments that are not types.
        tuple(schema_from_json(arg, make) for arg in args if isinstance(arg, dict))
        if isinstance(args, (list, tuple))
        else None,
        fallback=schema_from_json(obj["fallback"], make) if "fallback" in obj else None,
        named_args=_groups(obj["named_args"], make) if "named_args" in obj else None,
        type_key=name if name == "ffi.BigInt" else None,
    )


def _groups(named_args: Any, make: type[SchemaT]) -> dict[str, tuple[Schema, ...]]:
    if not isinstance(named_args, dict):
        raise TypeError(
            f"named_args must be a map of names to type lists, got {type(named_args).__name__}"
        )
    if not all(isinstance(group, (list, tuple)) for group in named_args.values()):
        raise TypeError(f"named_args must map names to type lists, got {named_args!r}")
    return {
        name: tuple(schema_from_json(arg, make) for arg in group)
        for name, group in named_args.items()
    }


def schema_to_json(schema: Schema, name_of: Callable[[str], str] = str) -> dict[str, Any]:
    """Return the JSON object of a schema; `schema_from_json` converts the object back.

    Parameters
    ----------
    schema : Schema
        The type.
    name_of : callable, optional
        Maps an origin to its name in JSON; `json_name` gives the C++ names.
    """
    obj: dict[str, Any] = {"type": schema.type_key or name_of(schema.origin)}
    if schema.args or (schema.origin == "tuple" and schema.args is not None):
        obj["args"] = [schema_to_json(arg, name_of) for arg in schema.args]
    if schema.named_args is not None:
        obj["named_args"] = {
            name: [schema_to_json(arg, name_of) for arg in group]
            for name, group in schema.named_args.items()
        }
    if schema.fallback is not None:
        obj["fallback"] = schema_to_json(schema.fallback, name_of)
    return obj


# ---- Types in metadata ---------------------------------------------------------------------------


def declared_type(metadata: Any, make: type[SchemaT]) -> SchemaT | None:
    """Return the declared type in the metadata of a field or function; None if it is absent.

    The result is None for an unreadable type, too, because the field or function remains usable.
    ``type_schema`` is JSON text if native code registered it, and a dict if Python did.
    """
    try:
        schema = metadata["type_schema"]
        return schema_from_json(json.loads(schema) if isinstance(schema, str) else schema, make)
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def declared_function(metadata: Any, make: type[SchemaT]) -> SchemaT | None:
    """Return the type in a function's metadata; None unless it is a function type with a result."""
    schema = declared_type(metadata, make)
    if schema is None or schema.origin != "Callable" or schema.named_args is None:
        return None
    return schema
