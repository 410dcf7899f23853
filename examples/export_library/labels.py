# SPDX-License-Identifier: Apache-2.0
"""Custom module with labels.  Importing this Python module registers the loader of its kind."""

from __future__ import annotations

from typing import Any, Callable

from tvm_ffi.module import CustomModule


class Labels(CustomModule, kind="example.labels"):
    """Module with one function: ``label(index)`` returns a name."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return the function of this name in this module."""
        return self.label if name == "label" else None

    def label(self, index: int) -> str:
        """Return the name of an index."""
        return self.names[index]

    def save_to_bytes(self) -> bytes:
        """Return the names, one per line."""
        return "\n".join(self.names).encode()

    @classmethod
    def load_from_bytes(cls, data: bytes) -> Labels:
        """Create a module from the bytes of `save_to_bytes`."""
        return cls(data.decode().split("\n"))
