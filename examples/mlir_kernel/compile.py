# SPDX-License-Identifier: Apache-2.0
"""Compile an MLIR kernel to a library:  ``python compile.py KERNEL.mlir LIBRARY.so``."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from xdsl.backend.llvm.convert import convert_module
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.dialects.llvm import LLVM
from xdsl.parser import Parser

import tvm_ffi
from tvm_ffi.codegen import llvm

SIGNATURE = "saxpy(x: float32[n], y: inout float32[n], a: float32 = 1.0) doc 'y += a * x.'"


def read(text: str) -> Any:
    """Parse MLIR text and return it as an llvmlite module."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(LLVM)
    module = Parser(context, text).parse_module()
    module.verify()
    return convert_module(module, fallback_target_triple="")


def main() -> None:
    """Add the wrapper to the kernel, compile both with LLVM, and write the library."""
    source, library = map(Path, sys.argv[1:])
    module = read(source.read_text(encoding="utf-8"))
    # The function `saxpy` in the module takes two addresses, the number of elements and the factor.
    llvm.emit_wrapper(module, SIGNATURE, "saxpy", arguments=["x", "y", "n", "a"])
    print(tvm_ffi.export_library(library, llvm.jit(module)).name, "written")


if __name__ == "__main__":
    main()
