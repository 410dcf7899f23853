# SPDX-License-Identifier: Apache-2.0
"""Names of declared types: what native types are called in Python and in JSON.

Types that Python has a word for go by that word, all others by their key.
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

ANY, UNION_LIKE, NO_TYPE = -1, -2, -3  # what origins that are no single native type have for index

# Words of the language that stand for no single native type.
INDEX_OF_WORD = {
    "Any": ANY,
    "Optional": UNION_LIKE,
    "Union": UNION_LIKE,
    "dict": NO_TYPE,
    "list": NO_TYPE,
    "tuple": NO_TYPE,
}
# How many arguments the containers take; they may also be left out, and are Any then.
NUM_ARGS = {"Array": 1, "List": 1, "list": 1, "Dict": 2, "Map": 2, "dict": 2}

# Origins whose native type has another key.
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
# Native types that Python sees as something else.
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
# The same for the names in JSON, which are those of C++.
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
    """Return the key of the native type that an origin names."""
    return _KEY_OF_ORIGIN.get(origin, origin)


def json_name(origin: str) -> str:
    """Return the name of an origin in the metadata of libraries, which is that of C++."""
    return {"tuple": "Tuple", "Union": "Variant"}.get(origin) or key_of_origin(origin)


def is_known(origin: str, find_type: Callable[[str], object]) -> bool:
    """Whether an origin is a word of the language, or the name of a type that is registered.

    Parameters
    ----------
    origin : str
        The name.
    find_type : callable
        Gives None for keys of types that are not registered.
    """
    return origin in INDEX_OF_WORD or find_type(key_of_origin(origin)) is not None
