# SPDX-License-Identifier: Apache-2.0
"""Use the library that export.py wrote:  ``python run.py LIBRARY``."""

from __future__ import annotations

import sys

import labels  # noqa: F401  (registers the loader of the kind example.labels)
import numpy as np

import tvm_ffi


def main(path: str) -> None:
    """Load the library; print its imports and call the kernel."""
    module = tvm_ffi.load_module(path)
    print(module.kind, "imports", [imported.kind for imported in module.imports])
    print("classify([0.1, 0.2, 0.7]) is", module.classify(np.array([0.1, 0.2, 0.7], np.float32)))
    print("classify([3, 2, 1]) is", module.classify(np.array([3, 2, 1], np.float32)))
    try:
        module.classify(np.zeros(4))
    except TypeError as error:
        print("TypeError:", error)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} LIBRARY")
    main(sys.argv[1])
