# SPDX-License-Identifier: Apache-2.0
"""Print the metadata of a library's kernels and call them:  ``python run.py LIBRARY``."""

from __future__ import annotations

import json
import sys
from typing import Any

import numpy as np

import tvm_ffi


def describe(schema: dict[str, Any]) -> str:
    """Return a type schema in JSON form as text, such as ``(Tensor, int) -> None``."""
    if "named_args" in schema:
        parts = schema["named_args"]
        params = ", ".join(map(describe, parts["params"]))
        return f"({params}) -> {describe(parts['return'][0])}"
    args = schema.get("args")
    name = str(schema["type"])
    return f"{name}[{', '.join(map(describe, args))}]" if args else name


def print_kernel(module: tvm_ffi.Module, name: str) -> None:
    """Print the signature and the documentation of one kernel."""
    metadata = module.get_function_metadata(name)
    if metadata is None:
        raise SystemExit(f"{name} has no metadata: build the library with it")
    print(f"{name}{describe(json.loads(metadata['type_schema']))}")
    doc = module.get_function_doc(name)
    print(f"    {doc if doc is not None else '(not documented)'}")


def main(path: str) -> None:
    """Print the metadata of the kernels in a library and call the kernels."""
    module = tvm_ffi.load_module(path)
    for name in ("scale", "sum", "volume"):
        print_kernel(module, name)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    out = np.empty_like(x)
    module.scale(x, 0.5, out)
    print("scale(x, 0.5) wrote", out.tolist())
    print(f"sum(x, None) = {module.sum(x, None)}, sum(x, 100) = {module.sum(x, 100)}")
    print("volume(Shape((2, 3))) =", module.volume(tvm_ffi.Shape((2, 3))))
    try:
        module.sum(x.astype(np.float64), None)
    except TypeError as error:
        print(f"TypeError: {error}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    main(sys.argv[1])
