# SPDX-License-Identifier: Apache-2.0
"""Every symbol that a published library asks libtvm_ffi for is there."""

from __future__ import annotations

import pytest

from .symbols import ASKED_FOR, dynamic_symbols


@pytest.fixture(scope="module")
def served(ours):
    return dynamic_symbols(ours.library, "--defined-only")


@pytest.mark.parametrize("symbol", ASKED_FOR)
def test_symbol_is_served(served, symbol):
    assert symbol in served, f"needed by {', '.join(ASKED_FOR[symbol])}"
