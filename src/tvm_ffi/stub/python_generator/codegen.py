# SPDX-License-Identifier: Apache-2.0
"""The text of every kind of block in Python, and of the files that ``--init-*`` makes."""

from __future__ import annotations

import json
from collections.abc import Iterable

from ...signature import Signature
from .. import consts as C  # noqa: N812
from ..file_utils import CodeBlock
from ..utils import FuncInfo, InitConfig, ObjectInfo, Options
from ._signatures import render_signature
from ._type_names import TypeNames
from .utils import (
    FileNames,
    ImportItem,
    is_name,
    render_object_ffi_init,
    render_object_fields,
    render_object_init,
    render_object_methods,
)

__all__ = [
    "generate_python_all",
    "generate_python_export",
    "generate_python_ffi_api",
    "generate_python_global_funcs",
    "generate_python_import_section",
    "generate_python_init",
    "generate_python_object",
    "import_statements",
]

_NO_NAMES = FileNames()
_INIT_FUNC, _REGISTER, _LOAD = "_FFI_INIT_FUNC", "_FFI_REG_OBJ", "_FFI_LOAD_LIB"


def _unformatted(body: Iterable[str], *, sorts_imports: bool = False) -> list[str]:
    """Put lines between comments that keep formatters away; their lines are long."""
    if sorts_imports:
        body = ["# isort: off", *body, "# isort: on"]
    return ["# fmt: off", *body, "# fmt: on"]


# ---- Functions ---------------------------------------------------------------------------------


def generate_python_global_funcs(
    code: CodeBlock,
    global_funcs: list[FuncInfo],
    ty_map: dict[str, str],
    imports: list[ImportItem],
    opt: Options,
    *,
    names: FileNames = _NO_NAMES,
) -> None:
    """Fill a ``global`` block: the functions become attributes of the module, and have stubs."""
    if not global_funcs:
        code.fill([])
        return
    prefix, module = tuple(code.param)
    init_func = _init_func(module or "tvm_ffi", imports)
    imports.append(ImportItem("typing.TYPE_CHECKING"))
    short_names = frozenset(func.schema.name.rpartition(".")[2] for func in global_funcs)
    type_names = TypeNames(ty_map, imports, names, short_names)
    body = [f"{init_func}({_quoted(prefix)}, __name__)", "if TYPE_CHECKING:"]
    own_classes = set(names.classes.values())
    stubs = [_global_stub(func, type_names, opt.indent, own_classes) for func in global_funcs]
    if all(stub.lstrip().startswith("#") for stub in stubs):
        stubs.append(" " * opt.indent + "pass")
    lines = [line for stub in stubs for line in stub.split("\n")]
    code.fill(_unformatted(body + lines))


def _init_func(module: str, imports: list[ImportItem]) -> str:
    """Import `init_ffi_api` from a module; its usual name belongs to the first of them."""
    item = ImportItem(f"{module}.init_ffi_api", alias=_INIT_FUNC)
    others = [entry for entry in imports if (entry.alias or "").startswith(_INIT_FUNC)]
    same = next((entry for entry in others if entry.full_name == item.full_name), None)
    if same is not None:
        return same.bound_name
    if others:
        item.alias = f"{_INIT_FUNC}_{len(others) + 1}"
    imports.append(item)
    return item.bound_name


def _global_stub(func: FuncInfo, type_names: TypeNames, indent: int, own_classes: set[str]) -> str:
    name = func.schema.name.rpartition(".")[2]
    if not is_name(name):
        return f"{' ' * indent}# function {name!r} has no Python name: use getattr"
    if name in own_classes:
        return f"{' ' * indent}# function {name!r} is hidden by the class: use get_global_func"
    signature = func.signature or Signature.from_type_schema(func.schema)
    return "\n".join(render_signature(signature, name, type_names, indent))


# ---- Classes -----------------------------------------------------------------------------------


def generate_python_object(
    code: CodeBlock,
    ty_map: dict[str, str],
    imports: list[ImportItem],
    opt: Options,
    obj_info: ObjectInfo,
    *,
    names: FileNames = _NO_NAMES,
) -> None:
    """Fill an ``object`` block, which stands in the body of a class."""
    members = {field.name for field in obj_info.fields}
    members |= {method.schema.name for method in obj_info.methods}
    type_names = TypeNames(ty_map, imports, names, members)
    implement = not names.is_interface
    inputs = type_names.for_parameters
    stubs = [
        *render_object_init(obj_info, type_names, opt.indent, inputs, implement=implement),
        *render_object_ffi_init(obj_info, type_names, opt.indent, inputs),
        *render_object_methods(obj_info, type_names, opt.indent, inputs, implement=implement),
    ]
    body = render_object_fields(obj_info, type_names, 0)
    if stubs:
        imports.append(ImportItem("typing.TYPE_CHECKING"))
        body += ["if TYPE_CHECKING:", *_compatible(stubs, obj_info)]
    if any(stub.strip() == "@overload" for stub in stubs):
        imports.append(ImportItem("typing.overload", type_checking_only=True))
    if all(stub.lstrip().startswith("#") for stub in stubs) and stubs:
        body.append(" " * opt.indent + "pass")
    code.fill(_unformatted(body))


def _compatible(stubs: list[str], info: ObjectInfo) -> list[str]:
    """Let the constructor of a derived class differ from that of its parent.

    Type checkers know that of ``__init__``; whether they object depends on the class around it.
    """
    if info.parent_type_key in {None, "ffi.Object"}:
        return stubs
    allowed = "  # type: ignore[override, unused-ignore]"
    return [
        stub + allowed if stub.lstrip().startswith("def __ffi_init__(") else stub for stub in stubs
    ]


# ---- Imports and exports -----------------------------------------------------------------------


def generate_python_import_section(
    code: CodeBlock, imports: list[ImportItem], opt: Options
) -> None:
    """Fill the ``import-section``."""
    at_run_time = {_key(item) for item in imports if not item.type_checking_only}
    late = {_key(item) for item in imports if item.type_checking_only} - at_run_time
    if late:
        at_run_time.add(("typing", "TYPE_CHECKING"))
    if not at_run_time:
        code.fill([])
        return
    body = ["from __future__ import annotations", *_import_lines(at_run_time)]
    if late:
        space = " " * opt.indent
        body += ["if TYPE_CHECKING:", *(space + line for line in _import_lines(late))]
    code.fill(_unformatted(body, sorts_imports=True))


def _key(item: ImportItem) -> tuple[str, str]:
    return item.mod, item.name_with_alias


def import_statements(imports: Iterable[ImportItem]) -> list[str]:
    """Return sorted statements, one for each module."""
    return _import_lines(set(map(_key, imports)))


def _import_lines(keys: set[tuple[str, str]]) -> list[str]:
    """Return sorted statements, one for each module."""
    by_module: dict[str, list[str]] = {}
    for module, name in sorted(keys):
        by_module.setdefault(module, []).append(name)
    return [
        f"from {module} import {', '.join(names)}" if module else f"import {', '.join(names)}"
        for module, names in by_module.items()
    ]


def generate_python_export(code: CodeBlock) -> None:
    """Fill an ``export`` block: the names of a submodule become names of the package.

    Raises
    ------
    ValueError
        If no module can have this name.
    """
    module = str(code.param)
    if not all(map(is_name, module.split("."))):
        raise ValueError(f"`{module}` (line {code.lineno_start}) is no name of a module")
    names = f"{module.replace('.', '_')}__all__"
    body = [
        f"from .{module} import *  # noqa: F403",
        f"from .{module} import __all__ as {names}",
        'if "__all__" not in globals():',
        "    __all__ = []",
        f"__all__.extend({names})",
    ]
    code.fill(_unformatted(body, sorts_imports=True))


def generate_python_all(code: CodeBlock, names: set[str], opt: Options) -> None:
    """Fill the ``__all__`` block: constants, then classes, then all others, each sorted."""
    code.fill(f'"{name}",' for name in sorted(filter(is_name, names), key=_place_in_all))


def _place_in_all(name: str) -> tuple[int, str]:
    if name.isupper():
        return 0, name
    return (1 if name[0].isupper() else 2), name


# ---- Files that --init-* makes -----------------------------------------------------------------


def generate_python_init(
    code_blocks: list[CodeBlock], module_name: str, submodule: str, syntax: C.MarkerSyntax
) -> str:
    """Return what an ``__init__.py`` lacks: the export of the file with the functions."""
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
    syntax: C.MarkerSyntax,
) -> str:
    """Return what the file of a prefix lacks: blocks, and classes for types.

    Parameters
    ----------
    code_blocks : list of CodeBlock
        What the file has.
    ty_map : dict from str to str
        Full names by origin.
    module_name : str
        The prefix.
    object_infos : list of ObjectInfo
        Types under the prefix, parents first.
    init_cfg : InitConfig
        The library to load.
    is_root : bool
        Whether this file loads it.
    syntax : MarkerSyntax
        How markers look.
    """
    present = {(block.kind, block.param) for block in code_blocks}
    kinds = {block.kind for block in code_blocks}
    text = "" if code_blocks else f'"""FFI API bindings for {module_name}."""\n\n'
    if "import-section" not in kinds:
        text += _empty_block(syntax, "import-section")
    if is_root and not any(
        "load_lib_module" in block.param[-1] for block in _directives(code_blocks)
    ):
        arguments = f"{_quoted(init_cfg.pkg)}, {_quoted(init_cfg.shared_target)}"
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


def _directives(code_blocks: list[CodeBlock]) -> list[CodeBlock]:
    return [block for block in code_blocks if block.kind == "directive"]


def _class_text(
    info: ObjectInfo, local: set[str], ty_map: dict[str, str], syntax: C.MarkerSyntax
) -> str:
    """Return a class for a type, with an empty block."""
    key = str(info.type_key)
    parent = info.parent_type_key or "ffi.Object"
    text = "\n\n"
    if parent in local:
        base = class_name(parent)
    else:
        full_name = ty_map.get(parent, parent)
        if "." not in full_name or not all(map(is_name, full_name.split("."))):
            full_name = "ffi.Object"  # no Python name reaches the parent
        base = f"_{full_name.replace('.', '_')}"
        text += _import_object(syntax, full_name, base)
    text += f"@{_REGISTER}({_quoted(key)})\nclass {class_name(key)}({base}):\n"
    text += f'    """FFI binding for `{_in_docstring(key)}`."""\n\n'
    return text + _empty_block(syntax, f"object/{key}", " " * 4)


def class_name(type_key: str) -> str:
    """Return the name of the class for a type: the last part of its key, made a name."""
    leaf = type_key.rpartition(".")[2]
    if is_name(leaf):
        return leaf
    name = "".join(c if c.isalnum() else "_" for c in leaf)
    return name if is_name(name) else f"_{name}"


def _import_object(syntax: C.MarkerSyntax, full_name: str, alias: str) -> str:
    return f"{syntax.import_object} {full_name};False;{alias}\n"


def _empty_block(syntax: C.MarkerSyntax, what: str, margin: str = "") -> str:
    return f"{margin}{syntax.begin} {what}\n{margin}{syntax.end}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def _in_docstring(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
