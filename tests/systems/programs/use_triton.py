# SPDX-License-Identifier: Apache-2.0
"""Compile kernels of Triton, launch them over the stand-in driver, ship them without Triton."""

from pathlib import Path

from over_stand_in import run_over_stand_in

run_over_stand_in(
    "triton_kernels.py",
    TRITON_CACHE_DIR=str(Path.cwd() / "triton"),
    TRITON_DEFAULT_FP_FUSION="1",  # its default; it warns otherwise
)
