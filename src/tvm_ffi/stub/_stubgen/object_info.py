# SPDX-License-Identifier: Apache-2.0
"""Descriptions of reflected functions, fields and object types, from which stubs are generated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ..._binding.types import lookup_type_attr
from ..._schema.json_form import declared_function
from ..._types.schema import TypeSchema
from ..._types.type_index import key_of_index
from ..._types.type_info import MISSING, TypeField, TypeInfo, TypeMethod
from ...signature import Signature
from ...signature._metadata import named_signature

__all__ = [
    "MISSING",
    "FuncInfo",
    "InitFieldInfo",
    "NamedTypeSchema",
    "ObjectInfo",
    "callable_schema",
]


@dataclass(init=False)
class NamedTypeSchema(TypeSchema):
    """The name and type of a function or field, and the memory layout of a field.

    Parameters
    ----------
    name : str
        Full name of a function; short name of a field or method.
    schema : TypeSchema
        Type of the function or field.
    size, alignment, offset : int, optional
        Layout of a field in bytes.  The offset is relative to the start of the object.
    default : object
        Default value of a field; `MISSING` if it has none.
    default_is_factory : bool
        True if `default` is a function that returns the default value.
    structural_eq : str, optional
        Role of the field in structural equality and hash, such as ``"ignore"``.
    frozen : bool
        True if the field is read-only.
    doc : str, optional
        Documentation of a field.
    """

    name: str = ""
    size: int | None = None
    alignment: int | None = None
    offset: int | None = None
    default: Any = MISSING
    default_is_factory: bool = False
    structural_eq: str | None = None
    frozen: bool = False
    doc: str | None = None

    def __init__(
        self,
        name: str,
        schema: TypeSchema,
        *,
        size: int | None = None,
        alignment: int | None = None,
        offset: int | None = None,
        default: Any = MISSING,
        default_is_factory: bool = False,
        structural_eq: str | None = None,
        frozen: bool = False,
        doc: str | None = None,
    ) -> None:
        super().__init__(
            schema.origin,
            schema.args,
            schema.origin_type_index,
            schema.fallback,
            schema.named_args,
            schema.type_key,
        )
        self.name = name
        self.size, self.alignment, self.offset = size, alignment, offset
        self.default, self.default_is_factory = default, default_is_factory
        self.structural_eq, self.frozen, self.doc = structural_eq, frozen, doc

    @staticmethod
    def from_type_field(field: TypeField) -> NamedTypeSchema:
        """Return the description of a reflected field; the type is Any if it is unknown."""
        is_factory = field.c_default_factory is not MISSING
        return NamedTypeSchema(
            field.name,
            field.ty if field.ty is not None else TypeSchema("Any"),
            size=field.size,
            alignment=field.alignment,
            offset=field.offset,
            default=field.c_default_factory if is_factory else field.c_default,
            default_is_factory=is_factory,
            structural_eq=field.c_structural_eq,
            frozen=field.frozen,
            doc=field.doc,
        )


@dataclass
class FuncInfo:
    """A reflected function or method.

    Parameters
    ----------
    schema : NamedTypeSchema
        Name and type of the function.
    is_member : bool
        True if the function is a method whose first parameter is the object.
    signature : Signature, optional
        Signature with parameter names; None if the function was registered without one.
    doc : str, optional
        Documentation of a method.
    """

    schema: NamedTypeSchema
    is_member: bool
    signature: Signature | None = None
    doc: str | None = None

    @staticmethod
    def from_schema(
        name: str,
        schema: TypeSchema,
        *,
        is_member: bool = False,
        signature: Signature | None = None,
        doc: str | None = None,
    ) -> FuncInfo:
        """Return the description of a function with the given name and type."""
        return FuncInfo(NamedTypeSchema(name, schema), is_member, signature, doc)


@dataclass
class InitFieldInfo:
    """A field that is a parameter of the automatic constructor.

    Parameters
    ----------
    name : str
        Name of the field.
    schema : NamedTypeSchema
        Type of the field.
    kw_only : bool
        True if the constructor takes the field by keyword only.
    has_default : bool
        True if a call of the constructor may omit the field.
    """

    name: str
    schema: NamedTypeSchema
    kw_only: bool
    has_default: bool


@dataclass
class ObjectInfo:
    """A native object type: the fields and methods that it adds, its constructor and its layout.

    Parameters
    ----------
    fields : list of NamedTypeSchema
        Fields in order of registration, without inherited fields.
    methods : list of FuncInfo
        Methods in order of registration, without inherited methods; overloads share a name.
    type_key, parent_type_key : str, optional
        Keys of the type and of its parent; the root type has no parent.
    init_fields : list of InitFieldInfo
        Fields that are parameters of the automatic constructor, inherited fields first.
    has_init : bool
        True if the type has a native constructor.
    ancestors : list of str
        Type keys of all ancestors, the root first.
    total_size : int, optional
        Size of an object in bytes, including the header; None if the size is not registered.
    is_final : bool, optional
        True if no type may derive from the type; None if that is not registered.
    """

    fields: list[NamedTypeSchema]
    methods: list[FuncInfo]
    type_key: str | None = None
    parent_type_key: str | None = None
    init_fields: list[InitFieldInfo] = field(default_factory=list)
    has_init: bool = False
    ancestors: list[str] = field(default_factory=list)
    total_size: int | None = None
    is_final: bool | None = None

    @staticmethod
    def from_type_info(type_info: TypeInfo) -> ObjectInfo:
        """Return the description of a registered object type."""
        index = type_info.type_index
        ancestors = [str(key_of_index(ancestor)) for ancestor in type_info.type_ancestors]
        has_init = lookup_type_attr(index, "__ffi_init__") is not None
        has_init = has_init or any(method.name == "__ffi_init__" for method in type_info.methods)
        is_final = lookup_type_attr(index, "__ffi_type_final__")
        return ObjectInfo(
            fields=[NamedTypeSchema.from_type_field(entry) for entry in type_info.fields or ()],
            methods=[_func_from_method(method, type_info.type_key) for method in type_info.methods],
            type_key=type_info.type_key,
            parent_type_key=ancestors[-1] if ancestors else None,
            init_fields=_init_fields(type_info.all_fields()) if has_init else [],
            has_init=has_init,
            ancestors=ancestors,
            total_size=type_info.total_size or None,
            is_final=None if is_final is None else bool(is_final),
        )

    def has_overloaded_methods(self) -> bool:
        """Return True if two methods have the same name."""
        return len({method.schema.name for method in self.methods}) < len(self.methods)


def _init_fields(fields: list[TypeField]) -> list[InitFieldInfo]:
    return [
        InitFieldInfo(
            entry.name,
            NamedTypeSchema.from_type_field(entry),
            entry.c_kw_only,
            entry.c_has_default,
        )
        for entry in fields
        if entry.c_init
    ]


def _func_from_method(method: TypeMethod, type_key: str) -> FuncInfo:
    return FuncInfo.from_schema(
        method.name,
        callable_schema(method.metadata),
        is_member=not method.is_static,
        signature=named_signature(method.metadata, method.name, f"type {type_key}"),
        doc=method.doc,
    )


def callable_schema(metadata: dict[str, Any]) -> TypeSchema:
    """Return the function type in the metadata; without one, a type with any parameters."""
    return declared_function(metadata, TypeSchema) or TypeSchema("Callable")
