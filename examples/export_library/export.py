# SPDX-License-Identifier: Apache-2.0
"""Export a kernel and a module with labels to a library:  ``python export.py OBJECT LIBRARY``."""

from __future__ import annotations

import sys

from labels import Labels

import tvm_ffi


def main(kernel: str, path: str) -> None:
    """Link the kernel to a library whose module imports the module with the labels."""
    labels = Labels(["cat", "dog", "squirrel"])
    tvm_ffi.export_library(path, objects=kernel, imports=[labels], functions=["classify"])
    print("written")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit(f"usage: {sys.argv[0]} OBJECT LIBRARY")
    main(*sys.argv[1:])
