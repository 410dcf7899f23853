# SPDX-License-Identifier: Apache-2.0
"""Every symbol that a published library asks libtvm_ffi for is there."""

from __future__ import annotations

import pytest

from .symbols import ASKED_FOR, NOT_SERVED_YET, dynamic_symbols


@pytest.fixture(scope="module")
def served(ours):
    return dynamic_symbols(ours.library, "--defined-only")


def marks_of(symbol):
    if symbol not in NOT_SERVED_YET:
        return []
    return [pytest.mark.xfail(reason=f"{NOT_SERVED_YET[symbol]}: not there yet")]


@pytest.mark.parametrize(
    "symbol", [pytest.param(symbol, marks=marks_of(symbol)) for symbol in ASKED_FOR]
)
def test_symbol_is_served(served, symbol):
    assert symbol in served, f"needed by {', '.join(ASKED_FOR[symbol])}"


def test_what_is_missing_is_asked_for():
    assert NOT_SERVED_YET.keys() <= ASKED_FOR.keys()
