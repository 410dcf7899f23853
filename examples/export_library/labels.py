# SPDX-License-Identifier: Apache-2.0
"""Custom module with labels; importing this file registers the loader of the module kind."""

from __future__ import annotations

from typing import Any, Callable

from tvm_ffi.module import CustomModule


class Labels(CustomModule, kind="example.labels"):
    """Module with one function, ``label(index)``, which returns the name of a class."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return the function of this name; None if the module has no such function."""
        return self.label if name == "label" else None

    def label(self, index: int) -> str:
        """Return the name of the class with this index."""
        return self.names[index]

    def save_to_bytes(self) -> bytes:
        """Return the names, one per line."""
        return "\n".join(self.names).encode()

    @classmethod
    def load_from_bytes(cls, data: bytes) -> Labels:
        """Create a module from the bytes that `save_to_bytes` returns."""
        return cls(data.decode().split("\n"))
