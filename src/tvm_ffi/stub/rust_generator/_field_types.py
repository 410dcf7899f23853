# SPDX-License-Identifier: Apache-2.0
"""Which Rust type a native field has, if there is one of the same layout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..._types.schema import TypeSchema
from ..utils import NamedTypeSchema, ObjectInfo
from .consts import (
    RUST_ANY_BACKED_OPTIONAL_PAYLOADS,
    RUST_EXACT_PARAMS,
    RUST_OBJECT_OPTIONAL_FIELD_SIZE,
    RUST_OPTIONAL_FIELD_SIZE,
    RUST_OPTIONAL_PATH,
    RUST_POINTER_SIZE,
    RUST_SCALAR_BY_SIZE,
    RUST_SCALAR_WIDTHS,
)
from .directives import EnumSpec
from .utils import RustImports, is_crate_type_key, render_rust_type, rust_ident, type_names

__all__ = ["FieldType", "TypeTexts"]

_ANY_SIZE = 16  # bytes of a tagged value
# Sizes of values that are no pointers.
_PLAIN_SIZES = {"Any": _ANY_SIZE, "str": 16, "bytes": 16, "Device": 8, "dtype": 4, "bool": 1}


@dataclass(frozen=True)
class FieldType:
    """How a struct and its functions write a field.

    Parameters
    ----------
    text : str
        The type of the field.
    is_pointer : bool
        Whether the field may be a null pointer in a half-made object.
    needs_drop : bool
        Whether the field has to be dropped at all.
    """

    text: str
    is_pointer: bool
    needs_drop: bool = True

    @property
    def is_exact(self) -> bool:
        """Whether a constructor takes the type itself."""
        return self.text in RUST_EXACT_PARAMS


class TypeTexts:
    """Writes the types of one file.

    Parameters
    ----------
    imports : RustImports
        What the file uses; extended.
    ty_map : dict from str to str
        Rust paths by origin: the defaults, changed by the file's directives.
    declared : mapping from str to tuple of str
        Module of every type that a file of this run defines.
    own : set of str
        Types that this file defines.
    """

    def __init__(
        self,
        imports: RustImports,
        ty_map: dict[str, str],
        declared: Mapping[str, tuple[str, ...]],
        own: set[str],
    ) -> None:
        self.imports, self._ty_map, self._declared, self._own = imports, ty_map, declared, own

    # ---- Names ---------------------------------------------------------------------------------

    def prelude(self, name: str) -> str:
        """Return a name of Rust's prelude, with its path where the file defines another one."""
        return _PRELUDE[name] if name in self.imports.reserved else name

    def reference_name(self, type_key: str) -> str | None:
        """Return the reference type of a native type; None for those of the crate without one."""
        if type_key in self._ty_map:
            return self.imports.record(self._ty_map[type_key])
        if is_crate_type_key(type_key):
            return None
        return self._in_module(type_key, type_names(type_key)[0])

    def struct_name(self, type_key: str) -> str:
        """Return the struct of a native type that is not of the crate."""
        if type_key in self._ty_map:
            return self.imports.record(f"{self._ty_map[type_key]}Obj")
        return self._in_module(type_key, type_names(type_key)[1])

    def _in_module(self, type_key: str, name: str) -> str:
        if type_key in self._own:
            return name
        return self.imports.record("::".join([*self._declared[type_key], name]))

    def missing(self, info: ObjectInfo) -> list[str]:
        """Return the types that a type needs and no file defines."""
        needed = set(info.ancestors)
        for entry in info.fields:
            needed |= set(_origins(entry))
        return sorted(key for key in needed if self._is_missing(key))

    def _is_missing(self, key: str) -> bool:
        is_native = "." in key and key != "ctypes.c_void_p"
        known = {*self._ty_map, *self._declared, *self._own}
        return is_native and key not in known and not is_crate_type_key(key)

    # ---- Fields --------------------------------------------------------------------------------

    def of_field(self, type_key: str, entry: NamedTypeSchema) -> FieldType | None:
        """Return how a struct writes a field; None when Rust has no type of that layout.

        Raises
        ------
        ValueError
            If a directive gives the field a type of another size.
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
            what = f"the field is {entry.size} bytes, not a pointer-sized object reference"
            raise ValueError(f"`nullable` directive on `{subject}`: {what}")
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
        """Return how functions write a value that is not looked at in memory."""
        text = render_rust_type(schema, self._name_of_origin)
        if text is not None and "Option" in self.imports.reserved:
            text = text.replace("Option<", f"{_PRELUDE['Option']}<")
        return text

    def of_accessor(
        self, type_key: str, entry: NamedTypeSchema
    ) -> tuple[str | None, EnumSpec | None]:
        """Return what an accessor of a field returns; no text stands for any value."""
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
            return self.imports.record(self._ty_map[type_key])  # an integer beyond 64 bits
        if origin in self._ty_map:
            return self.imports.record(self._ty_map[origin])
        if "." not in origin or origin == "ctypes.c_void_p":
            return None
        return self.reference_name(origin)


# Where names of the prelude are defined.
_PRELUDE = {
    "Clone": "::core::clone::Clone",
    "Into": "::core::convert::Into",
    "Option": "::core::option::Option",
    "TryFrom": "::core::convert::TryFrom",
}


def _origins(schema: TypeSchema) -> list[str]:
    """Return the origins of a type and of its arguments; functions hide theirs."""
    return [schema.origin, *(name for arg in schema.args or () for name in _origins(arg))]


def _check_width(subject: str, entry: NamedTypeSchema, text: str) -> None:
    width = RUST_SCALAR_WIDTHS.get(text)
    if width is not None and width != entry.size:
        what = f"maps a {entry.size}-byte field to `{text}` ({width} bytes)"
        raise ValueError(f"Directive on `{subject}` {what}")
