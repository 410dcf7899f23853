# SPDX-License-Identifier: Apache-2.0
"""Check of text that native code reads as UTF-8."""

from __future__ import annotations

__all__ = ["checked_utf8"]


def checked_utf8(text: str, label: str) -> str:
    """Return a text unchanged; raise ValueError if it contains a lone surrogate.

    Parameters
    ----------
    text : str
        The text.
    label : str
        Name of the text in the message.
    """
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise ValueError(
                f"{label} must be text that UTF-8 can encode, got {text!a:.60}"
            ) from None
    return text
