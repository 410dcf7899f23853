# SPDX-License-Identifier: Apache-2.0
"""Dispatches: one function with several implementations, which conditions and hardware select."""

from __future__ import annotations

from ._explanation import CandidateReport, Explanation
from ._function import Dispatch, dispatch

__all__ = ["CandidateReport", "Dispatch", "Explanation", "dispatch"]
