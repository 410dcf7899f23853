# SPDX-License-Identifier: Apache-2.0
"""Kernel languages and compilers, each in its own environment: from source text to a call.

Run by `make test-systems`; the first run downloads several gigabytes.
"""

from __future__ import annotations

import os

import pytest
from published import missing_commands, run_program_of

from .systems import SYSTEMS

pytestmark = pytest.mark.skipif(
    "TVM_FFI_PUBLISHED" not in os.environ, reason="TVM_FFI_PUBLISHED not set: make test-systems"
)


@pytest.mark.parametrize("system", SYSTEMS, ids=lambda system: system.name)
def test_program(environments, tmp_path, system):
    if missing := missing_commands(system):
        pytest.skip(f"{system.name}: no {', '.join(missing)}")
    run_program_of(system, environments(system), tmp_path)
