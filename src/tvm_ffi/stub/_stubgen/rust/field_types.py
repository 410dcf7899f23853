# SPDX-License-Identifier: Apache-2.0
"""Rust types of native fields: the type that has the same memory layout, if there is one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...._types.schema import TypeSchema
from ..object_info import NamedTypeSchema, ObjectInfo
from .directives import RUST_SCALAR_WIDTHS, EnumSpec
from .imports import RustImports
from .names import is_crate_type_key, rust_ident, type_names

__all__ = ["FieldType", "FieldTypes", "render_rust_type"]

# ---- Tables (sizes in bytes) -------------------------------------------------------------------

RUST_POINTER_SIZE = 8
# An optional number or string is a 16-byte tagged value; an optional object is a nullable pointer.
RUST_OPTIONAL_FIELD_SIZE = 16
RUST_OBJECT_OPTIONAL_FIELD_SIZE = 8
RUST_OPTIONAL_PATH = "tvm_ffi::Optional"
RUST_ANY_BACKED_OPTIONAL_PAYLOADS = frozenset(
    {"DataType", "Device", "bool", "bytes", "dtype", "float", "int", "str"}
)
RUST_SCALAR_BY_SIZE = {
    ("int", 1): "i8",
    ("int", 2): "i16",
    ("int", 4): "i32",
    ("int", 8): "i64",
    ("float", 4): "f32",
    ("float", 8): "f64",
}

RUST_TY_MAP_DEFAULTS = {
    "int": "i64",
    "float": "f64",
    "bool": "bool",
    "None": "()",
    "str": "tvm_ffi::String",
    "bytes": "tvm_ffi::Bytes",
    "Any": "tvm_ffi::Any",
    "Callable": "tvm_ffi::Function",
    "Array": "tvm_ffi::Array",
    "List": "tvm_ffi::List",
    "Map": "tvm_ffi::Map",
    "Object": "tvm_ffi::object::ObjectRef",
    "Tensor": "tvm_ffi::Tensor",
    "Shape": "tvm_ffi::Shape",
    "Device": "tvm_ffi::DLDevice",
    "dtype": "tvm_ffi::DLDataType",
    "DataType": "tvm_ffi::DLDataType",
    "ffi.String": "tvm_ffi::String",
    "ffi.Bytes": "tvm_ffi::Bytes",
    "ffi.BigInt": "tvm_ffi::BigInt",
    "ffi.Module": "tvm_ffi::Module",
    "ffi.Error": "tvm_ffi::Error",
    "ffi.Object": "tvm_ffi::object::ObjectRef",
    "ffi.Tensor": "tvm_ffi::Tensor",
    "ffi.Shape": "tvm_ffi::Shape",
    "ffi.Function": "tvm_ffi::Function",
    "ffi.reflection.AccessPath": "tvm_ffi::reflection::AccessPath",
    "ffi.reflection.AccessStep": "tvm_ffi::reflection::AccessStep",
}
# Native types, by origin (the type without its arguments), without a Rust type of the same layout.
RUST_UNSUPPORTED_ORIGINS = frozenset({"Dict", "Union", "tuple"})
# Types that constructors take by value; parameters of other types are `impl Into<T>`.
RUST_EXACT_PARAMS = frozenset({*RUST_SCALAR_WIDTHS, "isize", "usize"})

_ANY_SIZE = 16  # size in bytes of a tagged value (TVMFFIAny)
# Sizes in bytes of field types that are not pointers.
_PLAIN_SIZES = {"Any": _ANY_SIZE, "str": 16, "bytes": 16, "Device": 8, "dtype": 4, "bool": 1}


@dataclass(frozen=True)
class FieldType:
    """Rust type of a native field.

    Parameters
    ----------
    text : str
        The type as Rust text.
    is_pointer : bool
        True if the field is a null pointer while the object is only partially initialized.
    needs_drop : bool
        True if the field has a destructor, so it must be dropped.
    """

    text: str
    is_pointer: bool
    needs_drop: bool = True

    @property
    def is_exact(self) -> bool:
        """True if constructors take the type by value."""
        return self.text in RUST_EXACT_PARAMS


class FieldTypes:
    """Rust types of the fields in one file.

    Parameters
    ----------
    imports : RustImports
        Paths that the file uses; this class adds paths.
    ty_map : dict from str to str
        Rust paths by origin: the defaults, changed by the ``ty-map`` directives of the file.
    declared : mapping from str to tuple of str
        Module path of every type that a file of this run defines, by type key.
    own : set of str
        Keys of the types that this file defines.
    """

    def __init__(
        self,
        imports: RustImports,
        ty_map: dict[str, str],
        declared: Mapping[str, tuple[str, ...]],
        own: set[str],
    ) -> None:
        self.imports, self._ty_map, self._modules, self._own = imports, ty_map, declared, own

    # ---- Names of types ------------------------------------------------------------------------

    def prelude(self, name: str) -> str:
        """Return a name of the Rust prelude; its full path if the file defines the same name."""
        return _PRELUDE[name] if name in self.imports.reserved else name

    def reference_name(self, type_key: str) -> str | None:
        """Return the name of a type's reference type (smart pointer); None if there is none."""
        if type_key in self._ty_map:
            return self.imports.record(self._ty_map[type_key])
        if is_crate_type_key(type_key):
            return None
        return self._in_module(type_key, type_names(type_key)[0])

    def struct_name(self, type_key: str) -> str:
        """Return the name of the struct that generated code defines for a type."""
        if type_key in self._ty_map:
            return self.imports.record(f"{self._ty_map[type_key]}Obj")
        return self._in_module(type_key, type_names(type_key)[1])

    def _in_module(self, type_key: str, name: str) -> str:
        if type_key in self._own:
            return name
        return self.imports.record("::".join([*self._modules[type_key], name]))

    def missing(self, info: ObjectInfo) -> list[str]:
        """Return the keys of types that `info` needs but no file defines."""
        needed = set(info.ancestors)
        for entry in info.fields:
            needed |= set(_origins(entry))
        return sorted(key for key in needed if self._is_missing(key))

    def _is_missing(self, key: str) -> bool:
        is_native = "." in key and key != "ctypes.c_void_p"
        known = {*self._ty_map, *self._modules, *self._own}
        return is_native and key not in known and not is_crate_type_key(key)

    # ---- Types of fields -----------------------------------------------------------------------

    def of_field(self, type_key: str, entry: NamedTypeSchema) -> FieldType | None:
        """Return the Rust type of a field, or None if Rust has no type of the same layout.

        Raises
        ------
        ValueError
            If a directive gives the field a Rust type of another size.
        """
        subject = f"{type_key}.{entry.name}"
        directives = self.imports.directives
        if subject in directives.enums:
            spec = directives.enums[subject]
            _check_width(subject, entry, spec.repr)
            name = self._in_module(type_key, rust_ident(spec.name))
            return FieldType(name, is_pointer=False, needs_drop=False)
        if subject in directives.field_types:
            text = directives.field_types[subject]
            _check_width(subject, entry, text)
            return FieldType(self.imports.record(text), is_pointer=True)
        return self._of_schema(subject, entry)

    def _of_schema(self, subject: str, entry: NamedTypeSchema) -> FieldType | None:
        is_nullable = subject in self.imports.directives.nullable
        if is_nullable and entry.size != RUST_POINTER_SIZE:
            raise ValueError(
                f"`nullable` directive on `{subject}`: expected a field of {RUST_POINTER_SIZE} "
                f"bytes, got {entry.size}"
            )
        if entry.origin == "Optional":
            return self._optional(entry)
        if entry.origin in {"int", "float"} and entry.type_key is None:
            text = RUST_SCALAR_BY_SIZE.get((entry.origin, entry.size or 0))
            return None if text is None else FieldType(text, is_pointer=True)
        if entry.size != _PLAIN_SIZES.get(entry.origin, RUST_POINTER_SIZE):
            return None
        name = self.of_value(entry)
        if name is None:
            return None
        if is_nullable:
            name = f"{self.prelude('Option')}<{name}>"
        return FieldType(name, is_pointer=entry.origin != "Any")

    def _optional(self, entry: NamedTypeSchema) -> FieldType | None:
        assert entry.args is not None
        payload = entry.args[0]
        name = self.of_value(payload)
        if name is None or payload.origin == "Any":
            return None
        if payload.origin in RUST_ANY_BACKED_OPTIONAL_PAYLOADS:
            if entry.size != RUST_OPTIONAL_FIELD_SIZE:
                return None
            optional = self.imports.record(RUST_OPTIONAL_PATH)
            return FieldType(f"{optional}<{name}>", is_pointer=False)
        if entry.size != RUST_OBJECT_OPTIONAL_FIELD_SIZE:
            return None
        return FieldType(f"{self.prelude('Option')}<{name}>", is_pointer=True)

    def of_value(self, schema: TypeSchema) -> str | None:
        """Return the Rust type of a field's value; its layout may differ from that of the field."""
        text = render_rust_type(schema, self._name_of_origin)
        if text is not None and "Option" in self.imports.reserved:
            text = text.replace("Option<", f"{_PRELUDE['Option']}<")
        return text

    def of_accessor(
        self, type_key: str, entry: NamedTypeSchema
    ) -> tuple[str | None, EnumSpec | None]:
        """Return the result type of a field's accessor method, and the field's Rust enum.

        The type is None for a field of type `Any`, or if Rust has no such type.  The enum is None
        unless an ``enum`` directive declares one for the field.
        """
        subject = f"{type_key}.{entry.name}"
        directives = self.imports.directives
        if subject in directives.enums:
            spec = directives.enums[subject]
            return rust_ident(spec.name), spec
        if subject in directives.field_types:
            return self.imports.record(directives.field_types[subject]), None
        if entry.origin == "Any":
            return None, None
        text = self.of_value(entry)
        if text is not None and subject in directives.nullable and entry.origin != "Optional":
            text = f"{self.prelude('Option')}<{text}>"
        return text, None

    def _name_of_origin(self, origin: str, type_key: str | None) -> str | None:
        if type_key is not None and type_key in self._ty_map:
            # The origin alone does not determine the Rust type of an integer of over 64 bits.
            return self.imports.record(self._ty_map[type_key])
        if origin in self._ty_map:
            return self.imports.record(self._ty_map[origin])
        if "." not in origin or origin == "ctypes.c_void_p":
            return None
        return self.reference_name(origin)


# Full paths of names in the Rust prelude.
_PRELUDE = {
    "Clone": "::core::clone::Clone",
    "Into": "::core::convert::Into",
    "Option": "::core::option::Option",
    "TryFrom": "::core::convert::TryFrom",
}


def _origins(schema: TypeSchema) -> list[str]:
    """Return the origins in a type and its arguments, except in the types of callables."""
    return [schema.origin, *(name for arg in schema.args or () for name in _origins(arg))]


def _check_width(subject: str, entry: NamedTypeSchema, text: str) -> None:
    width = RUST_SCALAR_WIDTHS.get(text)
    if width is not None and width != entry.size:
        raise ValueError(
            f"directive on `{subject}`: expected a type of {entry.size} bytes, got `{text}` "
            f"({width} bytes)"
        )


def render_rust_type(
    schema: TypeSchema, ty_render: Callable[[str, str | None], str | None]
) -> str | None:
    """Return the text of a type in Rust, or None if Rust has no such type.

    Parameters
    ----------
    schema : TypeSchema
        The type to write.
    ty_render : callable
        Returns the Rust name for an origin and an optional type key, or None without a name.
    """
    if schema.origin in RUST_UNSUPPORTED_ORIGINS:
        return None
    args = [render_rust_type(arg, ty_render) for arg in schema.args or ()]
    if any(arg is None for arg in args):
        return None
    if schema.origin == "Optional":
        return f"Option<{args[0]}>"
    name = ty_render(schema.origin, schema.type_key)
    if name is None or not args:
        return name
    return f"{name}<{', '.join(map(str, args))}>"
