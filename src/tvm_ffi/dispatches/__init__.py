# SPDX-License-Identifier: Apache-2.0
"""Dispatches: one function with several implementations, chosen by conditions and hardware.

>>> import tvm_ffi
>>> scale = tvm_ffi.dispatch("scale(n: int, factor: int = 2) -> int")
>>> scale.add(lambda n, factor: n * factor, name="general") is None
False
>>> scale(21)
42
"""

from __future__ import annotations

from .._internal.public_name import set_public_module
from ._explanation import CandidateReport, Explanation
from ._function import (
    Dispatch,
    _State,  # noqa: F401 - `typing.get_type_hints` looks it up in this module
    dispatch,
)
from ._function import restored as restored

__all__ = ["CandidateReport", "Dispatch", "Explanation", "dispatch"]

set_public_module(globals())
