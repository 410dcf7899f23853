# SPDX-License-Identifier: Apache-2.0
"""Every libtvm_ffi symbol that a published library imports is exported."""

from __future__ import annotations

import pytest

from .symbols import ASKED_FOR, dynamic_symbols


@pytest.fixture(scope="module")
def served(ours):
    return dynamic_symbols(ours.library, "--defined-only")


@pytest.mark.parametrize("symbol", ASKED_FOR)
def test_imported_symbol_is_exported(served, symbol):
    assert symbol in served, f"needed by {', '.join(ASKED_FOR[symbol])}"
