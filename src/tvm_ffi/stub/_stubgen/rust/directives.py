# SPDX-License-Identifier: Apache-2.0
"""Directives of Rust files: properties of types and fields that reflection does not provide."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["RUST_DIRECTIVE_KINDS", "RUST_SCALAR_WIDTHS", "Directives", "EnumSpec"]

_EXPECTED = {
    "field": "<type_key>.<field> -> <RustType>",
    "nullable": "<type_key>.<field>",
    "enum": "<type_key>.<field> -> Name(i32) { A=0, B=1 }",
    "opaque": "<type_key>",
    "upcast": "<type_key> -> <RustType>",
    "custom-new": "<type_key>",
}
RUST_DIRECTIVE_KINDS = frozenset({*_EXPECTED, "import-object"})
RUST_SCALAR_WIDTHS = {
    "i8": 1,
    "u8": 1,
    "bool": 1,
    "i16": 2,
    "u16": 2,
    "i32": 4,
    "u32": 4,
    "f32": 4,
    "i64": 8,
    "u64": 8,
    "f64": 8,
}
_ENUM = re.compile(r"(?P<name>\w+)\s*\(\s*(?P<repr>[iu]\d+)\s*\)\s*\{(?P<members>[^{}]*)\}")
_MEMBER = re.compile(r"(?P<name>\w+)\s*=\s*(?P<value>-?\d+)")


@dataclass(frozen=True)
class EnumSpec:
    """A Rust enum for an integer field: name, integer type, and pairs of member and value."""

    name: str
    repr: str
    members: tuple[tuple[str, int], ...]


@dataclass
class Directives:
    """The directives of Rust files, by type key or by ``type_key.field``."""

    field_types: dict[str, str] = field(default_factory=dict)
    nullable: set[str] = field(default_factory=set)
    enums: dict[str, EnumSpec] = field(default_factory=dict)
    opaque: set[str] = field(default_factory=set)
    upcasts: dict[str, list[str]] = field(default_factory=dict)
    custom_new: set[str] = field(default_factory=set)

    def add(self, name: str, payload: str, lineno: int) -> None:
        """Add the directive of one line.

        Raises
        ------
        ValueError
            If the directive is unknown or its payload is invalid; the message contains the line
            number.
        """
        if name not in _EXPECTED:
            raise ValueError(f"Unknown directive `{name}` at line {lineno}")
        key, arrow, target = (part.strip() for part in payload.partition("->"))
        is_about_field = name in {"field", "nullable", "enum"}
        needs_target = "->" in _EXPECTED[name]
        is_valid = bool(key) and bool(target) == needs_target == bool(arrow)
        if not is_valid or (is_about_field and not all(key.rpartition("."))):
            raise _invalid(name, lineno)
        self._add(name, key, target, lineno)

    def _add(self, name: str, key: str, target: str, lineno: int) -> None:
        if name == "field":
            self.field_types[key] = target
        elif name == "nullable":
            self.nullable.add(key)
        elif name == "enum":
            self.enums[key] = _enum_spec(target, lineno)
        elif name == "opaque":
            self.opaque.add(key)
        elif name == "upcast":
            self.upcasts.setdefault(key, []).append(target)
        else:
            self.custom_new.add(key)

    def merge(self, other: Directives) -> None:
        """Add the directives of another file, which may concern parents of this file's types."""
        self.field_types.update(other.field_types)
        self.nullable |= other.nullable
        self.enums.update(other.enums)
        self.opaque |= other.opaque
        for key, paths in other.upcasts.items():
            self.upcasts.setdefault(key, []).extend(paths)
        self.custom_new |= other.custom_new

    def unknown_subjects(self, fields_by_type: dict[str, set[str]]) -> list[str]:
        """Return the subjects of directives whose type is in the mapping but whose field is not."""
        subjects = [*self.field_types, *self.nullable, *self.enums]
        return sorted(
            subject
            for subject in subjects
            for key, _, name in [subject.rpartition(".")]
            if key in fields_by_type and name not in fields_by_type[key]
        )


def _enum_spec(text: str, lineno: int) -> EnumSpec:
    match = _ENUM.fullmatch(text)
    if match is None or match["repr"] not in RUST_SCALAR_WIDTHS:
        raise _invalid("enum", lineno)
    members = []
    for text_of_member in filter(None, map(str.strip, match["members"].split(","))):
        member = _MEMBER.fullmatch(text_of_member)
        if member is None:
            raise _invalid("enum", lineno)
        members.append((member["name"], int(member["value"])))
    _check_members(match["repr"], members, lineno)
    return EnumSpec(match["name"], match["repr"], tuple(members))


def _check_members(integer: str, members: list[tuple[str, int]], lineno: int) -> None:
    bits = int(integer[1:])
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if integer[0] == "i" else (0, 1 << bits)
    names = [name for name, _ in members]
    for name, value in members:
        if not low <= value < high:
            raise ValueError(
                f"`enum` directive at line {lineno}: {name}={value} does not fit {integer}"
            )
        if names.count(name) > 1:
            raise ValueError(f"`enum` directive at line {lineno}: member {name} is repeated")


def _invalid(name: str, lineno: int) -> ValueError:
    return ValueError(f"Invalid `{name}` directive at line {lineno}. Expected `{_EXPECTED[name]}`")
