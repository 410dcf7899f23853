# SPDX-License-Identifier: Apache-2.0
"""Compiler for elementwise expressions:  ``python toyc.py KERNELS.toy LIBRARY.so``.

A line of a source file is a signature, a colon, and an assignment to compute for each element:

    axpy(x: float32[n], y: inout float32[n], a: float32 = 1.0): y = a * x + y

This compiler parses expressions and generates instructions for them; `tvm_ffi.codegen.llvm`
generates the wrappers.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path
from typing import Any

from llvmlite import ir

import tvm_ffi
from tvm_ffi.codegen import llvm
from tvm_ffi.signature import ScalarType, TensorType

INT64, POINTER = ir.IntType(64), ir.PointerType()
FLOATS = {"float32": ir.FloatType(), "float64": ir.DoubleType()}
OPERATORS = {
    ast.Add: ir.IRBuilder.fadd,
    ast.Sub: ir.IRBuilder.fsub,
    ast.Mult: ir.IRBuilder.fmul,
    ast.Div: ir.IRBuilder.fdiv,
}
COMPARISONS = {"min": "<", "max": ">"}


class Kernel:
    """Generator of the loop for one line of a source file."""

    def __init__(
        self, module: ir.Module, signature: tvm_ffi.Signature, target: str, expression: ast.expr
    ) -> None:
        self.signature, self.target, self.expression = signature, target, expression
        types = [parameter.type for parameter in signature.parameters]
        dtypes = {str(getattr(type_, "dtype", None)) for type_ in types}
        shapes = {type_.shape for type_ in types if isinstance(type_, TensorType)}
        is_optional = any(getattr(type_, "is_optional", True) for type_ in types)
        if len(dtypes) != 1 or not dtypes <= FLOATS.keys() or is_optional:
            raise ValueError(f"{signature.name}: expected only float32 or only float64 parameters")
        shape = shapes.pop() if len(shapes) == 1 else None
        if shape is None or {"_", "..."} & {*map(str, shape)}:
            raise ValueError(f"{signature.name}: expected tensors of one shape with named extents")
        self.element = FLOATS[dtypes.pop()]
        if target not in (other.name for other in signature.parameters if other.is_written):
            raise ValueError(f"{signature.name}: expected an output parameter, got '{target}'")
        if f"kernel_of_{signature.name}" in module.globals:
            raise ValueError(f"{signature.name}: the name is used by another kernel")
        self.function = ir.Function(module, self.function_type(), f"kernel_of_{signature.name}")

    def function_type(self) -> Any:
        """Return the LLVM function type: tensor addresses and numbers, then the element count."""
        types = {TensorType: POINTER, ScalarType: self.element}
        parameters = [types[type(parameter.type)] for parameter in self.signature.parameters]
        return ir.FunctionType(ir.VoidType(), [*parameters, INT64])

    def write(self) -> None:
        """Generate the loop over all elements."""
        begin, head, body, end = (self.function.append_basic_block() for _ in range(4))
        self.code = ir.IRBuilder(begin)
        self.code.branch(head)
        self.code.position_at_end(head)
        self.index = self.code.phi(INT64)
        self.index.add_incoming(INT64(0), begin)
        is_inside = self.code.icmp_signed("<", self.index, self.function.args[-1])
        self.code.cbranch(is_inside, body, end)
        self.code.position_at_end(body)
        self.code.store(self.value(self.expression), self.address(self.target))
        self.index.add_incoming(self.code.add(self.index, INT64(1)), body)
        self.code.branch(head)
        self.code.position_at_end(end)
        self.code.ret_void()

    def address(self, name: str) -> Any:
        """Return the address of the current element of a tensor."""
        return self.code.gep(self.argument(name), [self.index], source_etype=self.element)

    def argument(self, name: str) -> Any:
        """Return the LLVM value of a parameter."""
        names = [parameter.name for parameter in self.signature.parameters]
        if name not in names:
            raise ValueError(f"{self.signature.name}: unknown parameter '{name}'")
        return self.function.args[names.index(name)]

    def value(self, node: ast.expr) -> Any:
        """Generate the instructions of an expression and return its value."""
        if isinstance(node, ast.Constant) and type(node.value) in (int, float):
            return ir.Constant(self.element, float(str(node.value)))
        if isinstance(node, ast.Name):
            argument = self.argument(node.id)
            if argument.type != POINTER:
                return argument
            return self.code.load(self.address(node.id), typ=self.element)
        if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
            return OPERATORS[type(node.op)](
                self.code, self.value(node.left), self.value(node.right)
            )
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return self.code.fneg(self.value(node.operand))
        if isinstance(node, ast.Call) and len(node.args) == 2 and not node.keywords:
            comparison = COMPARISONS.get(getattr(node.func, "id", ""))
            if comparison is not None:
                left, right = map(self.value, node.args)
                is_left = self.code.fcmp_ordered(comparison, left, right)
                return self.code.select(is_left, left, right)
        raise ValueError(f"{self.signature.name}: unsupported expression `{ast.unparse(node)}`")


def compile_line(module: ir.Module, line: str) -> None:
    """Add the kernel of a source line and its wrapper to an LLVM module."""
    text, _, statement = line.rpartition("):")
    signature = tvm_ffi.Signature.parse(text + ")")
    try:
        statements: list[Any] = ast.parse(statement.strip()).body
        (assignment,) = statements
        (target,) = assignment.targets
        name = target.id
    except (AttributeError, SyntaxError, ValueError):
        raise ValueError(f"{signature.name}: expected NAME = EXPRESSION") from None
    kernel = Kernel(module, signature, name, assignment.value)
    kernel.write()
    names = [parameter.name for parameter in signature.parameters]
    arguments = [*names, f"{kernel.target}.size"]
    llvm.emit_wrapper(module, signature, kernel.function, arguments=arguments)


def compile_program(text: str) -> llvm.JitModule:
    """Compile the text of a source file; return a module whose functions can be called."""
    module = ir.Module("toy")
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            try:
                compile_line(module, line)
            except ValueError as error:
                raise SystemExit(f"line {number}: {error}") from error
    return llvm.jit(module, optimization=3)


if __name__ == "__main__":
    source, library = map(Path, sys.argv[1:])
    tvm_ffi.export_library(library, compile_program(source.read_text(encoding="utf-8")))
