# SPDX-License-Identifier: Apache-2.0
"""Array frameworks and graph compilers, each in its own environment, calling tvm_ffi functions.

Run by `make test-frameworks`; the first run downloads several gigabytes.
"""

from __future__ import annotations

import os

import pytest
from published import missing_commands, run_program_of

from .frameworks import FRAMEWORKS

pytestmark = pytest.mark.skipif(
    "TVM_FFI_PUBLISHED" not in os.environ, reason="TVM_FFI_PUBLISHED not set: make test-frameworks"
)


@pytest.mark.parametrize("framework", FRAMEWORKS, ids=lambda framework: framework.name)
def test_program(environments, tmp_path, framework):
    if missing := missing_commands(framework):
        pytest.skip(f"{framework.name}: no {', '.join(missing)}")
    run_program_of(framework, environments(framework), tmp_path)
