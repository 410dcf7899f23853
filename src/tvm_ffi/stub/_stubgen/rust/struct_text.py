# SPDX-License-Identifier: Apache-2.0
"""Rust items for one native type: a struct, its reference type, and their implementations.

The struct of a complete type (see `layout_proof`) has all fields, and constructors.  The struct of
an opaque type has only its base, and accessors that read fields through the runtime.  A type that
is not final also implements `ShallowCopy` and `UnsafeInit`, because constructors of derived types
use them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..layout_proof import Verdict
from ..object_info import ObjectInfo
from .directives import EnumSpec
from .field_types import FieldType, FieldTypes
from .names import (
    RUST_ROOT_TYPE_KEY,
    builtin_chain,
    is_crate_type_key,
    rust_ident,
    type_names,
)

__all__ = ["StructText"]


class StructText:
    """Writer of the Rust items for one type; the lines are not indented.

    `infos` contains the type and all its ancestors by key, the root first.
    """

    def __init__(
        self,
        info: ObjectInfo,
        infos: Mapping[str, ObjectInfo],
        verdict: Verdict,
        types: FieldTypes,
    ) -> None:
        self.info, self.infos, self.verdict, self.types = info, infos, verdict, types
        self.key = str(info.type_key)
        self.name, self.struct = type_names(self.key)
        self.record = types.imports.record
        parent = info.parent_type_key
        self.has_generated_parent = parent is not None and not is_crate_type_key(parent)
        self.base = self._base(parent)
        self.fields = self._typed_fields(self.key) if verdict.is_complete else []

    def _base(self, parent: str | None) -> str:
        if parent is not None and self.has_generated_parent:
            return self.types.struct_name(parent)
        return self.types.imports.record_builtin_base(builtin_chain(self.info.ancestors))

    def _typed_fields(self, type_key: str) -> list[tuple[str, FieldType]]:
        """Return the fields of a complete type in order of offset, with distinct Rust names."""
        used: set[str] = set()
        fields = []
        entries = sorted(self.infos[type_key].fields, key=lambda entry: entry.offset or 0)
        for entry in entries:
            field_type = self.types.of_field(type_key, entry)
            # A type is complete only if every field has a Rust type.
            assert field_type is not None
            fields.append((_unused(rust_ident(entry.name), used), field_type))
        return fields

    def lines(self) -> list[str]:
        """Return the lines of all items, with an empty line between items."""
        items = [*self._enums(), self._definition(), self._layout(), self._reference()]
        items += [self._deref(self.name, self.struct)]
        if self.has_generated_parent:
            items.append(self._deref(self.struct, self.base))
        if self.verdict.is_complete:
            items += [self._struct_new(), self._reference_new()]
            if not self.info.is_final:
                items += [self._shallow_copy(), self._unsafe_init()]
        else:
            items.append(self._accessors())
        items.append(self._upcasts())
        return [line for item in filter(None, items) for line in ["", *item]][1:]

    # ---- Structs, reference types and enums ----------------------------------------------------

    def _enums(self) -> list[list[str]]:
        specs = self.types.imports.directives.enums
        names = {f"{self.key}.{entry.name}" for entry in self.info.fields}
        return [
            item for subject in specs if subject in names for item in self._enum(specs[subject])
        ]

    def _enum(self, spec: EnumSpec) -> list[list[str]]:
        error, result = self.record("tvm_ffi::Error"), self.record("tvm_ffi::Result")
        value_error = self.record("tvm_ffi::VALUE_ERROR")
        name, integer = rust_ident(spec.name), spec.repr
        members = [
            f"pub const {rust_ident(member)}: Self = Self({value});"
            for member, value in spec.members
        ]
        failure = f'&format!("{spec.name} value {{value}} does not fit {integer}"), ""'
        return [
            [
                "#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]",
                "#[repr(transparent)]",
                f"pub struct {name}({integer});",
            ],
            [
                "#[allow(non_upper_case_globals)]",
                f"impl {name} {{",
                *members,
                f"pub const fn from_raw(value: {integer}) -> Self {{ Self(value) }}",
                f"pub const fn as_raw(self) -> {integer} {{ self.0 }}",
                "}",
            ],
            [
                f"impl {self.types.prelude('TryFrom')}<i64> for {name} {{",
                f"type Error = {error};",
                f"fn try_from(value: i64) -> {result}<Self> {{",
                f"{integer}::try_from(value).map(Self)",
                f".map_err(|_| {error}::new({value_error}, {failure}))",
                "}",
                "}",
            ],
        ]

    def _definition(self) -> list[str]:
        if self.verdict.is_complete:
            doc = f"/// Complete: {self.verdict.detail}."
        else:
            doc = f"/// Opaque: {self.verdict.detail}. Fields are read through the C ABI getters."
        return [
            doc.replace("\n", " "),
            "#[repr(C)]",
            "#[derive(tvm_ffi::derive::Object)]",
            f"#[type_key = {json.dumps(self.key, ensure_ascii=False)}]",
            *(["#[type_final]"] if self.info.is_final else []),
            f"pub struct {self.struct} {{",
            f"base: {self.base},",
            *(f"pub {name}: {field.text}," for name, field in self.fields),
            "}",
        ]

    def _layout(self) -> list[str]:
        if not self.verdict.is_complete:
            return []
        size, alignment = self.verdict.total_size, self.verdict.alignment
        return [
            "const _: () = {",
            f"assert!(::core::mem::size_of::<{self.struct}>() == {size});",
            f"assert!(::core::mem::align_of::<{self.struct}>() == {alignment});",
            "};",
        ]

    def _reference(self) -> list[str]:
        pointer = self.record("tvm_ffi::ObjectArc")
        return [
            "#[repr(C)]",
            "#[derive(tvm_ffi::derive::ObjectRef, Clone)]",
            f"pub struct {self.name} {{ base: {pointer}<{self.struct}> }}",
        ]

    def _deref(self, name: str, target: str) -> list[str]:
        return [
            f"impl {self.record('std::ops::Deref')} for {name} {{",
            f"type Target = {target};",
            f"fn deref(&self) -> &{target} {{ &self.base }}",
            "}",
        ]

    # ---- Functions of complete types -----------------------------------------------------------

    def _parameters(self) -> list[tuple[str, FieldType]]:
        """Return constructor parameters for all fields of the object, inherited fields first."""
        used: set[str] = set()
        return [
            (_unused(name, used), field)
            for key in self.infos
            if not is_crate_type_key(key)
            for name, field in self._typed_fields(key)
        ]

    def _struct_new(self) -> list[str]:
        parameters = self._parameters()
        num_inherited = len(parameters) - len(self.fields)
        inherited = ", ".join(name for name, _ in parameters[:num_inherited])
        own = [name for name, _ in parameters[num_inherited:]]
        members = [
            name if name == value else f"{name}: {value}"
            for (name, _), value in zip(self.fields, own)
        ]
        visible = "pub(crate)" if self.info.is_final else "pub"
        typed = ", ".join(f"{name}: {field.text}" for name, field in parameters)
        return [
            f"impl {self.struct} {{",
            f"{visible} fn new({typed}) -> Self {{",
            f"let base = {self.base}::new({inherited});",
            f"Self {{ {', '.join(['base', *members])} }}",
            "}",
            "}",
        ]

    def _reference_new(self) -> list[str]:
        parameters = self._parameters()
        into = self.types.prelude("Into")
        typed = [
            f"{name}: {field.text}" if field.is_exact else f"{name}: impl {into}<{field.text}>"
            for name, field in parameters
        ]
        passed = [name if field.is_exact else f"{name}.into()" for name, field in parameters]
        is_custom = self.key in self.types.imports.directives.custom_new
        function = "from_fields" if is_custom else "new"
        pointer = self.record("tvm_ffi::ObjectArc")
        return [
            f"impl {self.name} {{",
            "/// Allocates an object with all fields.",
            f"pub fn {function}({', '.join(typed)}) -> Self {{",
            f"let obj = {self.struct}::new({', '.join(passed)});",
            f"Self {{ base: {pointer}::new(obj) }}",
            "}",
            "}",
        ]

    def _shallow_copy(self) -> list[str]:
        trait, clone = self.record("tvm_ffi::ShallowCopy"), self.types.prelude("Clone")
        members = [f"{name}: {clone}::clone(&self.{name})" for name, _ in self.fields]
        members.insert(0, f"base: {trait}::shallow_copy(&self.base)")
        return [
            f"impl {trait} for {self.struct} {{",
            f"fn shallow_copy(&self) -> Self {{ Self {{ {', '.join(members)} }} }}",
            "}",
        ]

    def _unsafe_init(self) -> list[str]:
        trait, address = self.record("tvm_ffi::UnsafeInit"), self.record("std::ptr::addr_of_mut")
        drops = [f"{trait}::drop_defined_fields({address}!((*this).base));"]
        for name, field in self.fields:
            if field.needs_drop:
                path = "tvm_ffi::reflection::drop_if_defined"
                drop = self.record(path if field.is_pointer else "std::ptr::drop_in_place")
                drops.append(f"{drop}({address}!((*this).{name}));")
        return [
            f"unsafe impl {trait} for {self.struct} {{",
            "unsafe fn drop_defined_fields(this: *mut Self) {",
            "unsafe {",
            *drops,
            "}",
            "}",
            "}",
        ]

    # ---- Functions of opaque types -------------------------------------------------------------

    def _accessors(self) -> list[str]:
        if not self.info.fields:
            return []
        used: set[str] = set()
        lines = [f"impl {self.struct} {{"]
        for entry in self.info.fields:
            text, spec = self.types.of_accessor(self.key, entry)
            name = _unused(rust_ident(entry.name), used)
            lines += [*self._accessor(name, entry.name, text, spec), ""]
        return [*lines[:-1], "}"]

    def _accessor(
        self, name: str, field: str, text: str | None, spec: EnumSpec | None
    ) -> list[str]:
        self.record("tvm_ffi::ObjectCore")  # import the trait that declares type_index()
        getter = self.record("tvm_ffi::FieldGetter")
        found = f"{getter}::new(Self::type_index(), {json.dumps(field, ensure_ascii=False)})?"
        body = [f"{found}.get(self)"]
        if spec is not None:
            body = [f"let raw: i64 = {found}.get(self)?;", f"{text}::try_from(raw)"]
        elif text is None:
            text, body = self.record("tvm_ffi::Any"), [f"{found}.get_any(self)"]
        result = self.record("tvm_ffi::Result")
        return [f"pub fn {name}(&self) -> {result}<{text}> {{", *body, "}"]

    def _upcasts(self) -> list[str]:
        targets = [
            self.types.reference_name(key)
            for key in self.info.ancestors
            if key != RUST_ROOT_TYPE_KEY and not is_crate_type_key(key)
        ]
        extra = self.types.imports.directives.upcasts.get(self.key, [])
        targets += [self.record(path) for path in extra]
        if not targets:
            return []
        pairs = ", ".join(f"{self.name} => {target}" for target in targets)
        return [f"tvm_ffi::impl_object_upcast!({pairs});"]


def _unused(name: str, used: set[str]) -> str:
    """Return `name`, with underscores appended until it is not in `used`; add it to `used`."""
    while name in used:
        name = f"{name}_"
    used.add(name)
    return name
