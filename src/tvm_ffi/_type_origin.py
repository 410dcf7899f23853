# SPDX-License-Identifier: Apache-2.0
"""Names of declared types: what native types are called in Python and in JSON, and their indices.

Types that Python has a word for go by that word, all others by their key.
"""

from __future__ import annotations

from typing import Any

from ._binding.call.making import find_global_func
from ._binding.object.object import type_key_to_index

ANY, UNION_LIKE, NO_TYPE = -1, -2, -3  # indices of origins that are no single native type

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
_INDEX_OF_ORIGIN = {
    "Any": ANY,
    "Optional": UNION_LIKE,
    "Union": UNION_LIKE,
    "dict": NO_TYPE,
    "list": NO_TYPE,
    "tuple": NO_TYPE,
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


def index_of_origin(origin: str) -> int:
    """Return the type index that an origin stands for now, or -1, -2, -3."""
    if origin in _INDEX_OF_ORIGIN:
        return _INDEX_OF_ORIGIN[origin]
    index = type_key_to_index(_KEY_OF_ORIGIN.get(origin, origin))
    return NO_TYPE if index is None else index


def is_known(origin: str) -> bool:
    """Whether an origin is a word of the language of schemas, or a type that is registered."""
    return origin in _INDEX_OF_ORIGIN or index_of_origin(origin) != NO_TYPE


_key_by_index: dict[int, str] = {}


def key_of_index(index: int) -> str | None:
    """Return the key of a type, if it is registered; asking the C ABI would end the process."""
    if index not in _key_by_index:
        list_keys: Any = find_global_func("ffi.GetRegisteredTypeKeys")
        for key in list_keys():
            registered = type_key_to_index(key)
            if registered is not None:
                _key_by_index[registered] = key
    return _key_by_index.get(index)
