# SPDX-License-Identifier: Apache-2.0
"""Text of the files of a new Python package (``--init-*``): ``__init__.py``, ``_ffi_api.py``."""

from __future__ import annotations

from ..blocks import CodeBlock
from ..markers import MarkerSyntax
from ..object_info import ObjectInfo
from ..options import InitConfig
from .imports import is_name, quoted

__all__ = ["class_name", "generate_python_ffi_api", "generate_python_init"]

_REGISTER, _LOAD = "_FFI_REG_OBJ", "_FFI_LOAD_LIB"


def generate_python_init(
    code_blocks: list[CodeBlock], module_name: str, submodule: str, syntax: MarkerSyntax
) -> str:
    """Return the text to append to an ``__init__.py``: a block that re-exports the API file."""
    if any((block.kind, block.param) == ("export", submodule) for block in code_blocks):
        return ""
    header = "" if code_blocks else f'"""Package {module_name}."""\n'
    return f"{header}\n{_empty_block(syntax, f'export/{submodule}')}"


def generate_python_ffi_api(
    code_blocks: list[CodeBlock],
    ty_map: dict[str, str],
    module_name: str,
    object_infos: list[ObjectInfo],
    init_cfg: InitConfig,
    is_root: bool,
    syntax: MarkerSyntax,
) -> str:
    """Return the text to append to an ``_ffi_api.py``; see `Generator.generate_api_file`."""
    present = {(block.kind, block.param) for block in code_blocks}
    kinds = {block.kind for block in code_blocks}
    text = "" if code_blocks else f'"""FFI API bindings for {module_name}."""\n\n'
    if "import-section" not in kinds:
        text += _empty_block(syntax, "import-section")
    directives = [block for block in code_blocks if block.kind == "directive"]
    if is_root and not any("load_lib_module" in block.param[-1] for block in directives):
        arguments = f"{quoted(init_cfg.pkg)}, {quoted(init_cfg.shared_target)}"
        text += _import_object(syntax, "tvm_ffi.libinfo.load_lib_module", _LOAD)
        text += f"LIB = {_LOAD}({arguments})\n"
    if not any(kind == "global" and param[0] == module_name for kind, param in present):
        text += _empty_block(syntax, f"global/{module_name}")
    missing = [info for info in object_infos if ("object", info.type_key) not in present]
    if missing:
        text += _import_object(syntax, "tvm_ffi.register_object", _REGISTER)
    local = {str(info.type_key) for info in object_infos}
    text += "".join(_class_text(info, local, ty_map, syntax) for info in missing)
    if "__all__" not in kinds:
        text += "\n\n" if missing else "\n"
        text += f"__all__ = [\n{_empty_block(syntax, '__all__', ' ' * 4)}]\n"
    return text


def _class_text(
    info: ObjectInfo, local: set[str], ty_map: dict[str, str], syntax: MarkerSyntax
) -> str:
    """Return the text of a class for a type, with an empty ``object`` block."""
    key = str(info.type_key)
    parent = info.parent_type_key or "ffi.Object"
    text = "\n\n"
    if parent in local:
        base = class_name(parent)
    else:
        full_name = ty_map.get(parent, parent)
        if "." not in full_name or not all(map(is_name, full_name.split("."))):
            full_name = "ffi.Object"  # the parent's type key is not a valid import name
        base = f"_{full_name.replace('.', '_')}"
        text += _import_object(syntax, full_name, base)
    text += f"@{_REGISTER}({quoted(key)})\nclass {class_name(key)}({base}):\n"
    text += f'    """FFI binding for `{_in_docstring(key)}`."""\n\n'
    return text + _empty_block(syntax, f"object/{key}", " " * 4)


def class_name(type_key: str) -> str:
    """Return the class name of a type: the key's last component, changed to be an identifier."""
    leaf = type_key.rpartition(".")[2]
    if is_name(leaf):
        return leaf
    name = "".join(c if c.isalnum() else "_" for c in leaf)
    return name if is_name(name) else f"_{name}"


def _import_object(syntax: MarkerSyntax, full_name: str, alias: str) -> str:
    return f"{syntax.import_object} {full_name};False;{alias}\n"


def _empty_block(syntax: MarkerSyntax, kind: str, margin: str = "") -> str:
    return "".join(f"{line}\n" for line in syntax.empty_block(kind, margin))


def _in_docstring(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
