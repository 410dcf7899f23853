# SPDX-License-Identifier: Apache-2.0
"""A kind of modules: names for numbers.  Importing this registers the loader of the kind."""

from __future__ import annotations

from typing import Any, Callable

from tvm_ffi.module import CustomModule


class Labels(CustomModule, kind="example.labels"):
    """Has one function: ``label(index)`` returns a name."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def find_function(self, name: str) -> Callable[..., Any] | None:
        """Return the module's own function of this name."""
        return self.label if name == "label" else None

    def label(self, index: int) -> str:
        """Return the name of an index."""
        return self.names[index]

    def save_to_bytes(self) -> bytes:
        """Return what `load_from_bytes` reads: one name per line."""
        return "\n".join(self.names).encode()

    @classmethod
    def load_from_bytes(cls, data: bytes) -> Labels:
        """Make the module that was saved."""
        return cls(data.decode().split("\n"))
