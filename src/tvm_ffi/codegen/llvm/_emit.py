# SPDX-License-Identifier: Apache-2.0
"""Emission of a wrapper with its callees, metadata and export rows into a module."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from ...inspection._read import version_of_runtime
from .._string_constants import embedded_strings
from .._wrapper import Wrapper
from . import _target as target
from ._call import CallPrinter, type_of_callee
from ._checks import CheckPrinter
from ._code import PTR, RUNTIME, SAFE_CALL, Code, string_in

__all__ = ["emit", "rows_of"]

_ROW = ir.LiteralStructType([PTR, PTR, PTR])
_SECTION = "tvm_ffi_exports"


def emit(module: Any, wrapper: Wrapper) -> Any:
    """Add a wrapper to a module; return the LLVM function of the wrapper."""
    if not isinstance(module, ir.Module):
        raise TypeError(f"expected a module of llvmlite.ir, got {type(module).__name__}")
    triple = target.triple_of("", module.triple)
    target.check_machine(triple)
    _check_names(module, wrapper)
    for callee in dict.fromkeys(wrapper.callees.values()):
        _check_callee(module, wrapper, callee)
    for name, type_ in RUNTIME.items():
        _check_type(module, name, type_, "the runtime's function")
    _declare_callees(module, wrapper)
    function = ir.Function(module, SAFE_CALL, f"__tvm_ffi_{wrapper.name}")
    code = Code(function)
    checks = CheckPrinter(wrapper.signature, code)
    checks.print()
    CallPrinter(wrapper, checks, code).print()
    _write_metadata(module, wrapper, target.has_sections(triple))
    return function


# ---- existing definitions in the module ----------------------------------------------------------


def _check_names(module: Any, wrapper: Wrapper) -> None:
    kinds = ("", "_metadata_", "_doc_")
    for symbol in (f"__tvm_ffi_{kind}{wrapper.name}" for kind in kinds):
        if symbol in module.globals:
            raise ValueError(f"the LLVM module already contains the symbol '{symbol}'")


def _check_callee(module: Any, wrapper: Wrapper, callee: str) -> None:
    type_, _ = type_of_callee(wrapper, callee)
    _check_type(module, callee, type_, f"{wrapper.name}: the callee")


def _check_type(module: Any, name: str, expected: Any, role: str) -> None:
    """Raise ValueError if the module has a global with this name and another type."""
    found = module.globals.get(name)
    if found is None:
        return
    if not isinstance(found, ir.Function):
        raise ValueError(f"{role} is '{name}', which is not a function in the LLVM module")
    if _type_text(found.function_type) != _type_text(expected):
        raise ValueError(
            f"{role} '{name}' has the type `{_type_text(found.function_type)}` in the LLVM module, "
            f"but the wrapper calls a function of the type `{_type_text(expected)}`"
        )


def _type_text(type_: Any) -> str:
    """Return the text of a function type; the text contains ``ptr`` for all pointer types."""
    parts = ["ptr" if isinstance(t, ir.PointerType) else str(t) for t in type_.args]
    parts += ["..."] if type_.var_arg else []
    result = type_.return_type
    returned = "ptr" if isinstance(result, ir.PointerType) else str(result)
    return f"{returned} ({', '.join(parts)})"


def _declare_callees(module: Any, wrapper: Wrapper) -> None:
    for callee in dict.fromkeys(wrapper.callees.values()):
        if callee in module.globals:
            continue
        type_, extensions = type_of_callee(wrapper, callee)
        function = ir.Function(module, type_, callee)
        for value, extension in zip([*function.args, function.return_value], extensions):
            if extension is not None:
                value.add_attribute(extension)


# ---- metadata and export rows --------------------------------------------------------------------


def _write_metadata(module: Any, wrapper: Wrapper, has_sections: bool) -> None:
    """Emit the functions that return metadata and documentation, and the export rows."""
    rows = []
    for kind, text in embedded_strings(wrapper.signature).items():
        if kind in ("metadata", "doc"):
            function = ir.Function(module, SAFE_CALL, f"__tvm_ffi__{kind}_{wrapper.name}")
            code = Code(function)
            content = code.byte_array(text)
            code.ret(code.runtime("TVMFFIStringFromByteArray", content, function.args[3]))
        rows.append((wrapper.name, kind, text))
    if has_sections:
        _write_rows(module, rows_of(wrapper.name), rows)
        if "tvm_ffi.rows" not in module.globals:
            _write_rows(module, "tvm_ffi.rows", [("", "abi", version_of_runtime())], "weak_odr ")


def rows_of(name: str) -> str:
    """Return the name of the global variable with the export rows of a wrapper."""
    return f"tvm_ffi.rows.{name}"


def _write_rows(
    module: Any, name: str, rows: list[tuple[str, str, str]], linkage: str = ""
) -> None:
    """Emit export rows, see docs/design/export-rows.md."""
    constants = [ir.Constant(_ROW, [string_in(module, text) for text in row]) for row in rows]
    type_ = ir.ArrayType(_ROW, len(rows))
    found = ir.GlobalVariable(module, type_, name)
    found.initializer = ir.Constant(type_, constants)
    # A hidden variable is not exported, but LLVM keeps the variable although no code uses it.
    found.linkage, found.section, found.align = f"{linkage}hidden", _SECTION, 8
