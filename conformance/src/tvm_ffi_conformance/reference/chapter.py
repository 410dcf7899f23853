# SPDX-License-Identifier: Apache-2.0
"""Base class of the chapters."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .runtime import Runtime


class Chapter:
    """A part of the ABI; finds the other parts through the runtime.

    A method whose name begins with ``TVMFFI`` is the C function of that name; a pointer is an
    integer, 0 for null. The method raises `Raised` where the C function fails, and returns None
    where the C function returns 0.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        self.set_up()

    def set_up(self) -> None:
        """Prepare the state of the chapter."""
