# SPDX-License-Identifier: Apache-2.0
"""`gen_abi_cpp`: a C++ header with structs of registered types, and asserts of their layout."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from .._binding.object import type_key_to_index
from .._schema.names import key_of_origin
from .._types.type_info import type_info_of
from ..registry import get_registered_type_keys
from ._forward_references import is_defined_in_python
from ._layout import HEADER_SIZE, aligned

if TYPE_CHECKING:
    from .._types.schema import TypeSchema
    from .._types.type_info import TypeField, TypeInfo

__all__ = ["gen_abi_cpp"]

_TENSOR_POINTER, _FIRST_OBJECT, _FIRST_DYNAMIC = 7, 64, 128  # type indices
_NUMBERS = {
    ("int", 8): "int64_t",
    ("int", 4): "int32_t",
    ("int", 2): "int16_t",
    ("int", 1): "int8_t",
    ("float", 8): "double",
    ("float", 4): "float",
    ("bool", 1): "bool",
    ("ctypes.c_void_p", 8): "void*",
    ("dtype", 4): "DLDataType",
    ("Device", 8): "DLDevice",
}
_CLASSES = {
    "Any": "Any",
    "Array": "Array",
    "Callable": "Function",
    "Dict": "Dict",
    "List": "List",
    "Map": "Map",
    "Object": "ObjectRef",
    "Optional": "Any",
    "Tensor": "Tensor",
    "Union": "Any",
    "bytes": "Bytes",
    "ffi.Module": "Module",
    "ffi.Shape": "Shape",
    "str": "String",
    "tuple": "Tuple",
}
_SIZE_OF_CLASS = {"Any": 16, "Bytes": 16, "String": 16}
_KEYWORDS = frozenset(
    "alignas alignof and asm auto bool break case catch char class const "  # noqa: SIM905
    "constexpr continue "
    "default delete do double else enum explicit export extern false float for friend goto if "
    "inline int long mutable namespace new noexcept not nullptr operator or private protected "
    "public register return short signed sizeof static struct switch template this throw true "
    "try typedef typename union unsigned using virtual void volatile while xor".split()
)


def gen_abi_cpp(type_keys: str | Sequence[str]) -> str:
    """Return a C++ header with a struct for each of the given types and their ancestors.

    The struct of the type key ``a.b.Name`` is ``a::b::NameObj``.  Static asserts compare size,
    alignment and offsets, so a header that does not match the registered layout does not compile.

    Parameters
    ----------
    type_keys : str or sequence of str
        Type keys, or shell patterns such as ``"my_library.*"``.

    Returns
    -------
    str
        Text of the header, with the structs sorted by depth and type key.

    Raises
    ------
    ValueError
        If a pattern matches no object type, or a struct cannot have the layout of a type.

    Examples
    --------
    >>> from tvm_ffi.dataclasses import gen_abi_cpp, py_class
    >>> @py_class("doc.abi.Point")
    ... class Point(tvm_ffi.Object):
    ...     x: int
    >>> print(gen_abi_cpp("doc.abi.Point"))  # doctest: +ELLIPSIS
    // Written by tvm_ffi.dataclasses.gen_abi_cpp.
    #pragma once
    ...
    struct alignas(8) PointObj : public ::tvm::ffi::Object {
      TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP("doc.abi.Point", 1);
      int64_t x;  // offset 24
    };
    ...
    """
    patterns = [type_keys] if isinstance(type_keys, str) else list(type_keys)
    selected = _with_ancestors(key for pattern in patterns for key in _matching(pattern))
    infos = sorted(selected.values(), key=lambda info: (len(info.type_ancestors), info.type_key))
    return _Header(infos).text()


def _matching(pattern: str) -> list[str]:
    keys = [key for key in get_registered_type_keys() if fnmatchcase(key, pattern)]
    if not keys:
        raise ValueError(f"Type-key selector {pattern!r} did not match any registered type")
    objects = [key for key in keys if _index(key) >= _FIRST_OBJECT]
    if not objects:
        raise ValueError(f"Type-key selector {pattern!r} did not match any registered object type")
    return objects


def _index(key: str) -> int:
    index = type_key_to_index(key)
    assert index is not None
    return index


def _with_ancestors(keys: Iterable[str]) -> dict[str, TypeInfo]:
    """Return the types and their ancestors, without types that the package's headers declare."""
    found: dict[str, TypeInfo] = {}
    for key in keys:
        info: TypeInfo | None = type_info_of(_index(key))
        while info is not None and info.type_index >= _FIRST_DYNAMIC:
            found[info.type_key] = info
            info = info.parent_type_info
    return found


class _Header:
    def __init__(self, infos: list[TypeInfo]) -> None:
        self._infos = infos
        # Object types that fields point to but `infos` does not contain, by type key.
        self._opaque: dict[str, TypeInfo] = {}

    def text(self) -> str:
        structs = [line for info in self._infos for line in self._struct(info)]
        known = {info.type_key: info for info in self._infos}
        opaque = [self._opaque[key] for key in sorted(self._opaque.keys() - known.keys())]
        named = [*self._infos, *opaque]
        lines = ["// Written by tvm_ffi.dataclasses.gen_abi_cpp.", "#pragma once", ""]
        lines += ["#include <tvm/ffi/tvm_ffi.h>", "#include <cstddef>", ""]
        for info in named:
            lines += _in_namespaces(info.type_key, [f"struct {_name(info.type_key)};"])
        for info in named:
            name = _qualified(info.type_key)
            lines.append("template <>")
            lines.append(f"inline constexpr bool tvm::ffi::is_object_subclass_v<{name}> = true;")
        lines += ["", "// Types that the fields below refer to."] if opaque else []
        for info in opaque:
            lines += _in_namespaces(info.type_key, _opaque_struct(info))
        lines += ["", "#if defined(__GNUC__)", "#pragma GCC diagnostic push"]
        lines += ['#pragma GCC diagnostic ignored "-Winvalid-offsetof"', "#endif", ""]
        lines += structs
        lines += ["#if defined(__GNUC__)", "#pragma GCC diagnostic pop", "#endif"]
        return "\n".join(lines) + "\n"

    def _struct(self, info: TypeInfo) -> Iterator[str]:
        parent = info.parent_type_info
        assert parent is not None
        if info.total_size == 0:
            raise ValueError(
                f"type `{info.type_key}`: expected a registered object size for the C++ struct, "
                "got none"
            )
        fields = sorted(info.fields or [], key=lambda entry: entry.offset)
        types = [self._field_type(info, entry) for entry in fields]
        _check_offsets(info, fields)
        name = _name(info.type_key)
        base = "::tvm::ffi::Object"
        if parent.type_index >= _FIRST_DYNAMIC:
            base = _qualified(parent.type_key)
        depth = len(info.type_ancestors)
        body = [f"struct alignas(8) {name} : public {base} {{"]
        body.append(f'  TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP("{info.type_key}", {depth});')
        asserts = [f"static_assert(sizeof({name}) == {info.total_size});"]
        asserts.append(f"static_assert(alignof({name}) == 8);")
        for entry, cpp_type in zip(fields, types):
            member = _identifier(entry.name)
            body.append(f"  {cpp_type} {member};  // offset {entry.offset}")
            asserts.append(f"static_assert(sizeof({name}::{member}) == {entry.size});")
            asserts.append(f"static_assert(alignof({cpp_type}) == {entry.alignment});")
            asserts.append(f"static_assert(offsetof({name}, {member}) == {entry.offset});")
        yield from _in_namespaces(info.type_key, [*body, "};", *asserts])
        yield ""

    def _field_type(self, info: TypeInfo, entry: TypeField) -> str:
        schema = entry.ty
        found: str | None
        if schema is not None and schema.origin == "Optional" and schema.args:
            found = self._optional(info, entry, schema.args[0])
        elif entry.field_static_type_index == _TENSOR_POINTER:
            found = "DLTensor*"
        else:
            found = None if schema is None else self._type(schema, entry.size)
        if found is not None:
            return found
        raise ValueError(
            f"field `{info.type_key}.{entry.name}`: expected a type for which C++ has a type of "
            f"the same size, got {schema!r} with {entry.size} bytes"
        )

    def _optional(self, info: TypeInfo, entry: TypeField, schema: TypeSchema) -> str | None:
        """Return the C++ type of an optional value of a type, or None if there is none."""
        if entry.size == _SIZE_OF_CLASS["Any"]:
            if is_defined_in_python(info.type_key) or schema.origin in ("Any", "Union"):
                return "::tvm::ffi::Any"
            if schema.origin not in ("str", "bytes"):
                raise ValueError(
                    f"field `{info.type_key}.{entry.name}`: expected a type that determines the "
                    f"C++ type, got the ambiguous {entry.ty!r} with {entry.size} bytes: a "
                    "std::optional and an Any of this size contain the value at different offsets"
                )
        found = self._type(schema, entry.size)
        if found is None or not found.startswith("::tvm::ffi::"):
            return None  # a number, whose absence needs more bytes
        if found == "::tvm::ffi::ObjectRef":
            return found
        if found.startswith("::tvm::ffi::Arc<"):
            return found.replace("Arc", "ObjectPtr", 1)
        return f"::tvm::ffi::Optional<{found}>"

    def _type(self, schema: TypeSchema, size: int) -> str | None:
        """Return the C++ type of a field, or None if no C++ type of this size exists."""
        number = _NUMBERS.get((schema.origin, size))
        if number is not None:
            return number
        if schema.origin == "None" and size == 8:
            return "::tvm::ffi::ObjectRef"
        cpp_class = _CLASSES.get(schema.origin)
        if size != _SIZE_OF_CLASS.get(cpp_class or "", 8):
            return None
        if cpp_class is not None:
            return f"::tvm::ffi::{cpp_class}{self._arguments(schema)}"
        index = type_key_to_index(key_of_origin(schema.origin))
        if index is None or index < _FIRST_OBJECT:
            return None
        if index < _FIRST_DYNAMIC:
            return "::tvm::ffi::ObjectRef"
        key = key_of_origin(schema.origin)
        self._opaque[key] = type_info_of(index)
        return f"::tvm::ffi::Arc<{_qualified(key)}>"

    def _arguments(self, schema: TypeSchema) -> str:
        if schema.origin not in ("Array", "Dict", "List", "Map", "tuple"):
            return ""
        if schema.origin == "tuple" and schema.args is None:
            return "<>"
        names = [self._argument(arg) for arg in schema.args or ()]
        return f"<{', '.join(names)}>"

    def _argument(self, schema: TypeSchema) -> str:
        for size in (8, 16, 1, 4):
            found = self._type(schema, size)
            if found is not None:
                return found
        return "::tvm::ffi::Any"


def _opaque_struct(info: TypeInfo) -> list[str]:
    depth = len(info.type_ancestors)
    return [
        f"struct {_name(info.type_key)} : public ::tvm::ffi::Object {{",
        f'  TVM_FFI_DECLARE_OBJECT_INFO_LOOKUP("{info.type_key}", {depth});',
        "};",
    ]


def _check_offsets(info: TypeInfo, fields: list[TypeField]) -> None:
    """Raise ValueError if a C++ compiler would choose other offsets for the fields."""
    assert info.parent_type_info is not None
    inherited = info.parent_type_info.all_fields()
    end = max((entry.offset + entry.size for entry in inherited), default=HEADER_SIZE)
    for entry in fields:
        expected = aligned(end, entry.alignment)
        if entry.offset != expected:
            raise ValueError(
                f"field `{info.type_key}.{entry.name}`: expected byte offset {expected}, as in a "
                f"C++ struct, got {entry.offset}"
            )
        end = entry.offset + entry.size
    if info.total_size != aligned(end, 8):
        raise ValueError(
            f"type `{info.type_key}`: expected objects of {aligned(end, 8)} bytes, as in a C++ "
            f"struct, got {info.total_size}"
        )


# ---- C++ names of types and fields ---------------------------------------------------------------


def _identifier(name: str) -> str:
    if name.isascii() and name.isidentifier() and name not in _KEYWORDS:
        return name
    return f"__ffi_escape_{name.encode().hex()}"


def _name(key: str) -> str:
    return _identifier(key.rpartition(".")[2]) + "Obj"


def _namespaces(key: str) -> list[str]:
    return [_identifier(part) for part in key.split(".")[:-1]]


def _qualified(key: str) -> str:
    return "::" + "::".join([*_namespaces(key), _name(key)])


def _in_namespaces(key: str, lines: list[str]) -> list[str]:
    namespaces = "::".join(_namespaces(key))
    if not namespaces:
        return lines
    return [f"namespace {namespaces} {{", *lines, f"}}  // namespace {namespaces}"]
