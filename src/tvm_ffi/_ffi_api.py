# SPDX-License-Identifier: Apache-2.0
"""The runtime's own global functions: ``ffi.X`` is ``_ffi_api.X``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .registry import init_ffi_api

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...


init_ffi_api("ffi", __name__)
