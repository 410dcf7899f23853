# SPDX-License-Identifier: Apache-2.0
"""What the steps hand to each other: options, and descriptions of functions and types."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .._binding.types import lookup_type_attr
from .._schema.json_form import declared_function
from .._types.schema import TypeSchema
from .._types.type_index import key_of_index
from .._types.type_info import MISSING, TypeField, TypeInfo, TypeMethod
from ..signature import Signature

__all__ = [
    "MISSING",
    "FuncInfo",
    "InitConfig",
    "InitFieldInfo",
    "NamedTypeSchema",
    "ObjectInfo",
    "Options",
]


@dataclass
class InitConfig:
    """What ``--init-*`` asks for.

    Parameters
    ----------
    pkg : str
        Distribution that ships the library.
    shared_target : str
        The library, as its build calls it: ``tvm_ffi`` for ``libtvm_ffi.so``.
    prefix : str
        Prefix of the functions and types to write.
    """

    pkg: str
    shared_target: str
    prefix: str


@dataclass
class Options:
    """The command line."""

    imports: list[str] = field(default_factory=list)
    dlls: list[str] = field(default_factory=list)
    init: InitConfig | None = None
    indent: int = 4
    files: list[str] = field(default_factory=list)
    verbose: bool = False
    dry_run: bool = False
    check: bool = False
    target: str = "python"
    coverage_out: str | None = None
    library: str | None = None
    output: str | None = None
    class_name: str | None = None


@dataclass(init=False)
class NamedTypeSchema(TypeSchema):
    """The type of a function, or of a field with its place in memory.

    Parameters
    ----------
    name : str
        Full name of a function, or name of a field or method.
    schema : TypeSchema
        The type.
    size, alignment, offset : int, optional
        Of a field, in bytes; the offset counts from the start of the object.
    default : object
        Value of a field that is not given; `MISSING` when there is none.
    default_is_factory : bool
        Whether `default` is called to make the value.
    structural_eq : str, optional
        Part that the field takes in structural comparison.
    frozen : bool
        Whether the field is read-only.
    """

    name: str = ""
    size: int | None = None
    alignment: int | None = None
    offset: int | None = None
    default: Any = MISSING
    default_is_factory: bool = False
    structural_eq: str | None = None
    frozen: bool = False

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
        self.structural_eq, self.frozen = structural_eq, frozen

    @staticmethod
    def from_type_field(field: TypeField) -> NamedTypeSchema:
        """Return the description of a reflected field; Any when its type cannot be read."""
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
        )


@dataclass
class FuncInfo:
    """A function.

    Parameters
    ----------
    schema : NamedTypeSchema
        Its name and type.
    is_member : bool
        Whether its first parameter is the object it belongs to.
    signature : Signature, optional
        What it takes and returns, with names, where it was registered with a signature.
    """

    schema: NamedTypeSchema
    is_member: bool
    signature: Signature | None = None

    @staticmethod
    def from_schema(
        name: str,
        schema: TypeSchema,
        *,
        is_member: bool = False,
        signature: Signature | None = None,
    ) -> FuncInfo:
        """Return the description of a function of this name and type."""
        return FuncInfo(NamedTypeSchema(name, schema), is_member, signature)


@dataclass
class InitFieldInfo:
    """A field as a parameter of the automatic constructor."""

    name: str
    schema: NamedTypeSchema
    kw_only: bool
    has_default: bool


@dataclass
class ObjectInfo:
    """A native type: its own fields and methods, its constructor and its layout.

    Parameters
    ----------
    fields : list of NamedTypeSchema
        The type's own fields in order of registration.
    methods : list of FuncInfo
        The type's own methods; overloads are several of one name.
    type_key, parent_type_key : str, optional
        Names; the root has no parent.
    init_fields : list of InitFieldInfo
        Fields that the automatic constructor takes, inherited ones first.
    has_init : bool
        Whether there is a native constructor.
    ancestors : list of str
        Keys of all types above, the root first.
    total_size : int, optional
        Bytes of an object with its header; None when it is not registered.
    is_final : bool, optional
        Whether no type may derive from it; None when that is not registered.
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
        """Return the description of a registered type."""
        index = type_info.type_index
        ancestors = [str(key_of_index(above)) for above in type_info.type_ancestors]
        has_init = lookup_type_attr(index, "__ffi_init__") is not None
        has_init = has_init or any(method.name == "__ffi_init__" for method in type_info.methods)
        is_final = lookup_type_attr(index, "__ffi_type_final__")
        return ObjectInfo(
            fields=[NamedTypeSchema.from_type_field(entry) for entry in type_info.fields or ()],
            methods=[_func_from_method(method) for method in type_info.methods],
            type_key=type_info.type_key,
            parent_type_key=ancestors[-1] if ancestors else None,
            init_fields=_init_fields(type_info.all_fields()) if has_init else [],
            has_init=has_init,
            ancestors=ancestors,
            total_size=type_info.total_size or None,
            is_final=None if is_final is None else bool(is_final),
        )

    def has_overloaded_methods(self) -> bool:
        """Whether two methods have the same name."""
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


def _func_from_method(method: TypeMethod) -> FuncInfo:
    schema = callable_schema(method.metadata)
    # Constructors are static natively; what a type's own functions take first is the object.
    return FuncInfo.from_schema(method.name, schema, is_member=not method.is_static)


def callable_schema(metadata: dict[str, Any]) -> TypeSchema:
    """Return the type in the metadata of a function; one with any parameters if there is none."""
    return declared_function(metadata, TypeSchema) or TypeSchema("Callable")
