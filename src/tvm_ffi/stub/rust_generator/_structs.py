# SPDX-License-Identifier: Apache-2.0
"""One native type in Rust: a struct, a reference type, and what the two can do.

A complete type has all fields and constructors; an opaque one has its parent's part only, and
functions that ask the runtime for the fields.  A type that others may derive from can also be
copied and torn down while half made, which is how derived types are made from it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..layout import Verdict
from ..utils import ObjectInfo
from ._field_types import FieldType, TypeTexts
from ._layout_of_text import call_lines, indented, signature_lines, struct_lines
from .consts import RUST_ROOT_TYPE_KEY
from .directives import EnumSpec
from .utils import builtin_chain, is_crate_type_key, rust_ident, type_names

__all__ = ["Struct"]


class Struct:
    """The text for one type.

    Parameters
    ----------
    info : ObjectInfo
        The type.
    infos : mapping from str to ObjectInfo
        The type and all its ancestors, the root first.
    verdict : Verdict
        What is known about its layout.
    texts : TypeTexts
        Writes types; knows the imports.
    """

    def __init__(
        self,
        info: ObjectInfo,
        infos: Mapping[str, ObjectInfo],
        verdict: Verdict,
        texts: TypeTexts,
    ) -> None:
        self.info, self.infos, self.verdict, self.texts = info, infos, verdict, texts
        self.key = str(info.type_key)
        self.name, self.struct = type_names(self.key)
        self.record = texts.imports.record
        parent = info.parent_type_key
        self.has_generated_parent = parent is not None and not is_crate_type_key(parent)
        self.base = self._base(parent)
        self.fields = self._typed_fields(self.key) if verdict.is_complete else []

    def _base(self, parent: str | None) -> str:
        if parent is not None and self.has_generated_parent:
            return self.texts.struct_name(parent)
        return self.texts.imports.record_builtin_base(builtin_chain(self.info.ancestors))

    def _typed_fields(self, type_key: str) -> list[tuple[str, FieldType]]:
        """Return the fields of a complete type by offset, each with a name of its own."""
        used: set[str] = set()
        fields = []
        entries = sorted(self.infos[type_key].fields, key=lambda entry: entry.offset or 0)
        for entry in entries:
            field_type = self.texts.of_field(type_key, entry)
            assert field_type is not None  # the type is complete
            fields.append((_unused(rust_ident(entry.name), used), field_type))
        return fields

    def lines(self) -> list[str]:
        """Return the whole text."""
        parts = [*self._enums(), self._definition(), self._layout(), self._reference()]
        parts += [self._deref(self.name, self.struct)]
        if self.has_generated_parent:
            parts.append(self._deref(self.struct, self.base))
        if self.verdict.is_complete:
            parts += [self._struct_new(), self._reference_new()]
            if not self.info.is_final:
                parts += [self._shallow_copy(), self._unsafe_init()]
        else:
            parts.append(self._accessors())
        parts.append(self._upcasts())
        filled = [part for part in parts if part]
        return [line for part in filled for line in ["", *part]][1:]

    # ---- Definitions ---------------------------------------------------------------------------

    def _enums(self) -> list[list[str]]:
        specs = self.texts.imports.directives.enums
        names = {f"{self.key}.{entry.name}" for entry in self.info.fields}
        return [
            part for subject in specs if subject in names for part in self._enum(specs[subject])
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
                *indented(members),
                *indented([f"pub const fn from_raw(value: {integer}) -> Self {{"]),
                *indented(["    Self(value)", "}"]),
                *indented([f"pub const fn as_raw(self) -> {integer} {{", "    self.0", "}"]),
                "}",
            ],
            [
                f"impl {self.texts.prelude('TryFrom')}<i64> for {name} {{",
                f"    type Error = {error};",
                f"    fn try_from(value: i64) -> {result}<Self> {{",
                f"        {integer}::try_from(value).map(Self).map_err(|_| {{",
                f"            {error}::new({value_error}, {failure})",
                "        })",
                "    }",
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
            *indented([f"base: {self.base},"]),
            *indented(f"pub {name}: {field.text}," for name, field in self.fields),
            "}",
        ]

    def _layout(self) -> list[str]:
        if not self.verdict.is_complete:
            return []
        size, alignment = self.verdict.total_size, self.verdict.alignment
        return [
            "const _: () = {",
            f"    assert!(::core::mem::size_of::<{self.struct}>() == {size});",
            f"    assert!(::core::mem::align_of::<{self.struct}>() == {alignment});",
            "};",
        ]

    def _reference(self) -> list[str]:
        pointer = self.record("tvm_ffi::ObjectArc")
        return [
            "#[repr(C)]",
            "#[derive(tvm_ffi::derive::ObjectRef, Clone)]",
            f"pub struct {self.name} {{",
            f"    base: {pointer}<{self.struct}>,",
            "}",
        ]

    def _deref(self, name: str, target: str) -> list[str]:
        return [
            f"impl {self.record('std::ops::Deref')} for {name} {{",
            f"    type Target = {target};",
            f"    fn deref(&self) -> &{target} {{",
            "        &self.base",
            "    }",
            "}",
        ]

    # ---- Functions of complete types -----------------------------------------------------------

    def _parameters(self) -> list[tuple[str, FieldType]]:
        """Return all fields of the object, those of the ancestors first."""
        used: set[str] = set()
        return [
            (_unused(name, used), field)
            for key in self.infos
            if not is_crate_type_key(key)
            for name, field in self._typed_fields(key)
        ]

    def _struct_new(self) -> list[str]:
        parameters = self._parameters()
        own = [name for name, _ in parameters[len(parameters) - len(self.fields) :]]
        inherited = [name for name, _ in parameters[: len(parameters) - len(self.fields)]]
        base = call_lines("base", f"{self.base}::new", inherited, 2)
        members = [
            name if name == value else f"{name}: {value}"
            for (name, _), value in zip(self.fields, own)
        ]
        visible = "pub(crate)" if self.info.is_final else "pub"
        typed = [f"{name}: {field.text}" for name, field in parameters]
        return [
            f"impl {self.struct} {{",
            *indented(signature_lines(f"{visible} fn new", typed, "-> Self {", 1)),
            *indented([*base, *struct_lines("Self", ["base", *members], 2)], 2),
            "    }",
            "}",
        ]

    def _reference_new(self) -> list[str]:
        parameters = self._parameters()
        into = self.texts.prelude("Into")
        typed = [
            f"{name}: {field.text}" if field.is_exact else f"{name}: impl {into}<{field.text}>"
            for name, field in parameters
        ]
        passed = [name if field.is_exact else f"{name}.into()" for name, field in parameters]
        is_custom = self.key in self.texts.imports.directives.custom_new
        function = "from_fields" if is_custom else "new"
        pointer = self.record("tvm_ffi::ObjectArc")
        return [
            f"impl {self.name} {{",
            "    /// Lossless complete-field allocation.",
            *indented(signature_lines(f"pub fn {function}", typed, "-> Self {", 1)),
            *indented(call_lines("obj", f"{self.struct}::new", passed, 2), 2),
            f"        Self {{ base: {pointer}::new(obj) }}",
            "    }",
            "}",
        ]

    def _shallow_copy(self) -> list[str]:
        trait, clone = self.record("tvm_ffi::ShallowCopy"), self.texts.prelude("Clone")
        members = [f"{name}: {clone}::clone(&self.{name})" for name, _ in self.fields]
        members.insert(0, f"base: {trait}::shallow_copy(&self.base)")
        return [
            f"impl {trait} for {self.struct} {{",
            "    fn shallow_copy(&self) -> Self {",
            *indented(struct_lines("Self", members, 2), 2),
            "    }",
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
            "    unsafe fn drop_defined_fields(this: *mut Self) {",
            "        unsafe {",
            *indented(drops, 3),
            "        }",
            "    }",
            "}",
        ]

    # ---- Functions of opaque types -------------------------------------------------------------

    def _accessors(self) -> list[str]:
        if not self.info.fields:
            return []
        used: set[str] = set()
        lines = [f"impl {self.struct} {{"]
        for entry in self.info.fields:
            text, spec = self.texts.of_accessor(self.key, entry)
            name = _unused(rust_ident(entry.name), used)
            lines += ["", *indented(self._accessor(name, entry.name, text, spec))]
        del lines[1]  # the empty line before the first
        return [*lines, "}"]

    def _accessor(
        self, name: str, field: str, text: str | None, spec: EnumSpec | None
    ) -> list[str]:
        self.record("tvm_ffi::ObjectCore")  # the trait of type_index
        getter = self.record("tvm_ffi::FieldGetter")
        found = f"{getter}::new(Self::type_index(), {json.dumps(field, ensure_ascii=False)})?"
        body = [f"{found}.get(self)"]
        if spec is not None:
            body = [f"let raw: i64 = {found}.get(self)?;", f"{text}::try_from(raw)"]
        elif text is None:
            text, body = self.record("tvm_ffi::Any"), [f"{found}.get_any(self)"]
        result = self.record("tvm_ffi::Result")
        return [f"pub fn {name}(&self) -> {result}<{text}> {{", *indented(body), "}"]

    def _upcasts(self) -> list[str]:
        targets = [
            self.texts.reference_name(key)
            for key in self.info.ancestors
            if key != RUST_ROOT_TYPE_KEY and not is_crate_type_key(key)
        ]
        extra = self.texts.imports.directives.upcasts.get(self.key, [])
        targets += [self.record(path) for path in extra]
        if not targets:
            return []
        pairs = ", ".join(f"{self.name} => {target}" for target in targets)
        return [f"tvm_ffi::impl_object_upcast!({pairs});"]


def _unused(name: str, used: set[str]) -> str:
    """Return a name that is not used yet, and use it."""
    while name in used:
        name = f"{name}_"
    used.add(name)
    return name
