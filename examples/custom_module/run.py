# SPDX-License-Identifier: Apache-2.0
"""Custom modules in C++ and Python that import each other:  ``python run.py LIBRARY``."""

from __future__ import annotations

import sys
from typing import Any, Callable

import tvm_ffi
from tvm_ffi.module import CustomModule


class Scaled(CustomModule, kind="example.scaled"):
    """Module whose function multiplies the result of an imported module by a factor."""

    def __init__(self, factor: int) -> None:
        self.factor = factor

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return the function of this name; None if the module has no such function."""
        return self.scaled if name == "scaled" else None

    def scaled(self, x: float) -> Any:
        """Return the factor times the value of the imported polynomial at x."""
        evaluate = self.get_function("evaluate", query_imports=True)
        return self.factor * evaluate(x)

    def save_to_bytes(self) -> bytes:
        """Return the factor as bytes."""
        return self.factor.to_bytes(8, "little")

    @classmethod
    def load_from_bytes(cls, data: bytes) -> Scaled:
        """Create a module from the bytes that `save_to_bytes` returns."""
        return cls(int.from_bytes(data, "little"))


def load(kind: str, data: bytes) -> tvm_ffi.Module:
    """Create a module from bytes, as the loader of a library with embedded modules does."""
    loader = tvm_ffi.get_global_func(f"ffi.Module.load_from_bytes.{kind}")
    module: tvm_ffi.Module = loader(data)
    return module


def main(path: str) -> None:
    """Create two modules of different kinds, import one into the other, serialize and load both."""
    library = tvm_ffi.load_module(path)
    polynomial = library.new_polynomial([1, 2, 3])
    print("kind    ", polynomial.kind, polynomial.get_property_mask())
    print("source  ", polynomial.inspect_source())
    print("evaluate", polynomial.evaluate(2), "|", polynomial.get_function_doc("evaluate"))

    scaled = Scaled(10)
    scaled.import_module(polynomial)
    print("scaled  ", scaled.get_function("scaled")(2))

    copies = [load(module.kind, module.save_to_bytes()) for module in (scaled, polynomial)]
    copies[0].import_module(copies[1])
    print("copy    ", type(copies[0]).__name__, copies[0].get_function("scaled")(2))
    try:
        load("example.polynomial", b"damaged")
    except ValueError as error:
        print("ValueError:", error)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    main(sys.argv[1])
