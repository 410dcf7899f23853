# SPDX-License-Identifier: Apache-2.0
"""Which systems are tried, what each needs, and the program that uses it."""

from __future__ import annotations

from pathlib import Path

from published import Software

PROGRAMS = Path(__file__).resolve().parent / "programs"

SYSTEMS: list[Software] = [
    Software(
        "Mojo",
        packages=("max==26.7.0", "max-core==26.7.0", "max-mojo-libs==26.7.0"),
        needs=("mojo==1.2.0", "numpy"),
        program=PROGRAMS / "use_mojo.py",
        commands=("cc", "nm"),
    ),
]
