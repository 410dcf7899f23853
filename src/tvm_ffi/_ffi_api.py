# SPDX-License-Identifier: Apache-2.0
"""Global functions of the runtime as attributes: ``_ffi_api.X`` is the function ``ffi.X``."""

from __future__ import annotations

from ._internal.lazy import TYPE_CHECKING
from .registry import init_ffi_api

if TYPE_CHECKING:
    from typing import Any

    def __getattr__(name: str) -> Any: ...


init_ffi_api("ffi", __name__)
