# SPDX-License-Identifier: Apache-2.0
"""Content of Python blocks: ``global``, ``object``, ``import-section``, ``export``, ``__all__``."""

from __future__ import annotations

from collections.abc import Iterable

from ....signature import Signature
from ..blocks import CodeBlock
from ..object_info import FuncInfo, ObjectInfo
from ..options import Options
from .class_stubs import (
    render_object_ffi_init,
    render_object_fields,
    render_object_init,
    render_object_methods,
    render_object_properties,
)
from .function_stubs import render_signature
from .imports import FileNames, ImportItem, import_statements, is_name, quoted
from .type_names import TypeNames

__all__ = [
    "generate_python_all",
    "generate_python_export",
    "generate_python_global_funcs",
    "generate_python_import_section",
    "generate_python_object",
]

_NO_NAMES = FileNames()
_INIT_FUNC = "_FFI_INIT_FUNC"


def _unformatted(body: Iterable[str], *, sorts_imports: bool = False) -> list[str]:
    """Return lines between comments that disable formatters, which would break long lines."""
    if sorts_imports:
        body = ["# isort: off", *body, "# isort: on"]
    return ["# fmt: off", *body, "# fmt: on"]


# ---- Function blocks ---------------------------------------------------------------------------


def generate_python_global_funcs(
    code: CodeBlock,
    global_funcs: list[FuncInfo],
    ty_map: dict[str, str],
    imports: list[ImportItem],
    opt: Options,
    *,
    names: FileNames = _NO_NAMES,
) -> None:
    """Fill a ``global`` block: a call that sets module attributes, then the function stubs."""
    if not global_funcs:
        code.fill([])
        return
    prefix, module = tuple(code.param)
    init_func = _init_func(module or "tvm_ffi", imports)
    _add_once(imports, ImportItem("typing.TYPE_CHECKING"))
    short_names = frozenset(func.schema.name.rpartition(".")[2] for func in global_funcs)
    type_names = TypeNames(ty_map, imports, names, short_names)
    body = [f"{init_func}({quoted(prefix)}, __name__)", "if TYPE_CHECKING:"]
    own_classes = set(names.classes.values())
    stubs = [_global_stub(func, type_names, opt.indent, own_classes) for func in global_funcs]
    if all(stub.lstrip().startswith("#") for stub in stubs):
        stubs.append(" " * opt.indent + "pass")
    lines = [line for stub in stubs for line in stub.split("\n")]
    code.fill(_unformatted(body + lines))


def _add_once(imports: list[ImportItem], item: ImportItem) -> None:
    if item not in imports:
        imports.append(item)


def _init_func(module: str, imports: list[ImportItem]) -> str:
    """Return a file's alias of a module's `init_ffi_api`; from the second module, with a number."""
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


# ---- Class blocks ------------------------------------------------------------------------------


def generate_python_object(
    code: CodeBlock,
    ty_map: dict[str, str],
    imports: list[ImportItem],
    opt: Options,
    obj_info: ObjectInfo,
    *,
    names: FileNames = _NO_NAMES,
) -> None:
    """Fill an ``object`` block in a class body with fields, constructors and methods."""
    members = {field.name for field in obj_info.fields}
    members |= {method.schema.name for method in obj_info.methods}
    type_names = TypeNames(ty_map, imports, names, members)
    implement = not names.is_interface
    inputs = type_names.for_parameters
    stubs = [
        *render_object_properties(obj_info, type_names, opt.indent),
        *render_object_init(obj_info, type_names, opt.indent, inputs, implement=implement),
        *render_object_ffi_init(obj_info, type_names, opt.indent, inputs),
        *render_object_methods(obj_info, type_names, opt.indent, inputs, implement=implement),
    ]
    body = render_object_fields(obj_info, type_names, 0)
    if stubs:
        _add_once(imports, ImportItem("typing.TYPE_CHECKING"))
        body += ["if TYPE_CHECKING:", *_compatible(stubs, obj_info)]
    if any(stub.strip() == "@overload" for stub in stubs):
        _add_once(imports, ImportItem("typing.overload", type_checking_only=True))
    if all(stub.lstrip().startswith("#") for stub in stubs) and stubs:
        body.append(" " * opt.indent + "pass")
    code.fill(_unformatted(body))


def _compatible(stubs: list[str], info: ObjectInfo) -> list[str]:
    """Return stubs with comments that let type checkers accept each ``__ffi_init__``.

    An ``__ffi_init__`` may have other parameters than the parent's, which type checkers report.
    They do not compare an ``__init__`` with the parent's.  The comment does not cause an error if
    there is nothing to report.
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
    """Fill the ``import-section`` with the import statements of a file."""
    at_run_time = {item.statement_key for item in imports if not item.type_checking_only}
    late = {item.statement_key for item in imports if item.type_checking_only} - at_run_time
    if late:
        at_run_time.add(("typing", "TYPE_CHECKING"))
    if not at_run_time:
        code.fill([])
        return
    body = ["from __future__ import annotations", *import_statements(at_run_time)]
    if late:
        space = " " * opt.indent
        body += ["if TYPE_CHECKING:", *(space + line for line in import_statements(late))]
    code.fill(_unformatted(body, sorts_imports=True))


def generate_python_export(code: CodeBlock) -> None:
    """Fill an ``export`` block, which re-exports the names of a submodule.

    Raises
    ------
    ValueError
        If the parameter of the block is not a module name.
    """
    module = str(code.param)
    if not all(map(is_name, module.split("."))):
        raise ValueError(f"`{module}` (line {code.lineno_start}) is not a module name")
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
    """Fill the ``__all__`` block: constants, then classes, then functions, each group sorted."""
    code.fill(f'"{name}",' for name in sorted(filter(is_name, names), key=_order_in_all))


def _order_in_all(name: str) -> tuple[int, str]:
    if name.isupper():
        return 0, name
    return (1 if name[0].isupper() else 2), name
