# SPDX-License-Identifier: Apache-2.0
"""Check of the errors that invalid input causes."""

from __future__ import annotations

from collections.abc import Callable


def refused(
    error: type[Exception], text: str, function: Callable, *arguments: object, **named: object
) -> None:
    """Check that a call fails with an error of this kind, and with this text in its message."""
    try:
        function(*arguments, **named)
    except error as caught:
        assert text in str(caught), caught
    else:
        raise AssertionError(text)
