# SPDX-License-Identifier: Apache-2.0
"""Which systems are tried, what each needs, and the program that uses it."""

from __future__ import annotations

from pathlib import Path

from published import Software

PROGRAMS = Path(__file__).resolve().parent / "programs"

SYSTEMS: list[Software] = []
