# SPDX-License-Identifier: Apache-2.0
"""Type names: Python names such as ``str``, type keys such as ``ffi.String``, C++ names in JSON.

The *origin* of a `Schema` is the Python name of its type, or the type key if there is none.
"""

from __future__ import annotations

from typing import Callable

__all__ = [
    "ANY",
    "INDEX_OF_WORD",
    "NO_TYPE",
    "NUM_ARGS",
    "ORIGIN_OF_JSON_NAME",
    "ORIGIN_OF_KEY",
    "UNION_LIKE",
    "is_known",
    "json_name",
    "key_of_origin",
]

ANY, UNION_LIKE, NO_TYPE = -1, -2, -3  # pseudo type indices, used in INDEX_OF_WORD

# Pseudo type index of each type name (origin) that does not denote exactly one native type.
INDEX_OF_WORD = {
    "Any": ANY,
    "Optional": UNION_LIKE,
    "Union": UNION_LIKE,
    "dict": NO_TYPE,
    "list": NO_TYPE,
    "tuple": NO_TYPE,
}
# Number of type arguments of each container type; omitted type arguments are Any.
NUM_ARGS = {"Array": 1, "List": 1, "list": 1, "Dict": 2, "Map": 2, "dict": 2}

# Type key of each Python type name (origin); any other origin is itself a type key.
_KEY_OF_ORIGIN = {
    "Array": "ffi.Array",
    "Callable": "ffi.Function",
    "Dict": "ffi.Dict",
    "List": "ffi.List",
    "Map": "ffi.Map",
    "Object": "ffi.Object",
    "Tensor": "ffi.Tensor",
    "bytes": "ffi.Bytes",
    "ctypes.c_void_p": "void*",
    "dtype": "DataType",
    "str": "ffi.String",
}
# Python names by type key; several native types may share one Python name.
ORIGIN_OF_KEY = {
    **{key: origin for origin, key in _KEY_OF_ORIGIN.items()},
    "DLTensor*": "Tensor",
    "ObjectRValueRef": "Object",
    "TVMFFIByteArray*": "bytes",
    "const char*": "str",
    "ffi.BigInt": "int",
    "ffi.SmallBytes": "bytes",
    "ffi.SmallStr": "str",
}
# Python name of each type name in JSON; JSON contains the C++ names of types.
ORIGIN_OF_JSON_NAME = {
    **ORIGIN_OF_KEY,
    "Tuple": "tuple",
    "Variant": "Union",
    "ffi.OpaquePyObject": "Any",
    "std::function": "Callable",
    "std::map": "Map",
    "std::optional": "Optional",
    "std::string": "str",
    "std::tuple": "tuple",
    "std::unordered_map": "Map",
    "std::variant": "Union",
    "std::vector": "Array",
}


def key_of_origin(origin: str) -> str:
    """Return the type key of the native type that an origin (a type name) denotes."""
    return _KEY_OF_ORIGIN.get(origin, origin)


def json_name(origin: str) -> str:
    """Return the C++ name of an origin (a type name), as library metadata contains it."""
    return {"tuple": "Tuple", "Union": "Variant"}.get(origin) or key_of_origin(origin)


def is_known(origin: str, find_type: Callable[[str], object]) -> bool:
    """Return True if an origin (a type name) is built in or is that of a registered type.

    Parameters
    ----------
    origin : str
        The origin of a schema.
    find_type : callable
        Returns None for type keys that are not registered.
    """
    return origin in INDEX_OF_WORD or find_type(key_of_origin(origin)) is not None
