# SPDX-License-Identifier: Apache-2.0
"""Content of Rust blocks: ``object`` and ``import-section``."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..blocks import CodeBlock
from ..layout_proof import Verdict, classify
from ..object_info import NamedTypeSchema, ObjectInfo
from ..options import Options
from ..registered import object_info_from_type_key
from .field_types import FieldTypes
from .imports import RustImports
from .names import RUST_ROOT_TYPE_KEY, builtin_mirror_name, is_crate_type_key
from .rustfmt import indented
from .struct_text import StructText

__all__ = ["generate_rust_import_section", "generate_rust_object"]


def generate_rust_object(
    code: CodeBlock,
    ty_map: dict[str, str],
    imports: RustImports,
    opt: Options,
    obj_info: ObjectInfo,
    declared: Mapping[str, tuple[str, ...]],
    *,
    own: set[str] | None = None,
) -> None:
    """Fill an ``object`` block: a struct with the layout of the type, and its reference type.

    Parameters
    ----------
    code : CodeBlock
        The block to fill.
    ty_map : dict from str to str
        Rust paths of types, by origin.
    imports : RustImports
        Paths that the file uses; this function adds paths.
    opt : Options
        The parsed command line.
    obj_info : ObjectInfo
        The type to generate.
    declared : mapping from str to tuple of str
        Module path of every type that a file of this run defines, by type key.
    own : set of str, optional
        Keys of the types that this file defines; default: the type itself.

    Raises
    ------
    ValueError
        If no file defines a type that this type needs, or a directive names a missing field.
    """
    key = str(obj_info.type_key)
    types = FieldTypes(imports, ty_map, declared, own if own is not None else {key})
    missing = types.missing(obj_info)
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        raise ValueError(
            f"`{key}` (line {code.lineno_start}) depends on {names}, which no file of this run "
            "defines; add an `object/<key>` block or a `ty-map` directive"
        )
    infos = _with_ancestors(obj_info)
    fields = {type_key: {entry.name for entry in info.fields} for type_key, info in infos.items()}
    for subject in imports.directives.unknown_subjects({key: fields[key]}):
        raise ValueError(f"a directive names `{subject}`, but the type has no such field")
    verdict = _verdict(infos, key, types)
    code.fill(indented(StructText(obj_info, infos, verdict, types).lines()))


def _with_ancestors(info: ObjectInfo) -> dict[str, ObjectInfo]:
    infos = {key: object_info_from_type_key(key) for key in info.ancestors}
    return {**infos, str(info.type_key): info}


def _verdict(infos: Mapping[str, ObjectInfo], key: str, types: FieldTypes) -> Verdict:
    owners = {id(entry): owner for owner, info in infos.items() for entry in info.fields}

    def is_renderable(entry: NamedTypeSchema) -> bool:
        return types.of_field(owners[id(entry)], entry) is not None

    crate_types = {name for name in infos if is_crate_type_key(name)} - {RUST_ROOT_TYPE_KEY}
    return classify(
        infos,
        forced_opaque=types.imports.directives.opaque,
        unmirrored=crate_types,
        field_renderable=is_renderable,
    )[key]


def generate_rust_import_section(
    code: CodeBlock, imports: RustImports, opt: Options, defined_types: set[str]
) -> None:
    """Fill the ``import-section``: ``use`` lines, then structs for base types from the crate."""
    lines = sorted({use.as_use_line() for use in imports.items} - {""})
    for type_key, base in imports.builtin_mirrors.items():
        lines += [
            "",
            f"/// Header-only struct for the built-in `{type_key}`, which sets the ancestor depth.",
            "#[allow(dead_code)]",
            "#[repr(C)]",
            "#[derive(tvm_ffi::derive::Object)]",
            f"#[type_key = {json.dumps(type_key)}]",
            f"struct {builtin_mirror_name(type_key)} {{",
            f"base: {base},",
            "}",
        ]
    code.fill(indented(lines))
