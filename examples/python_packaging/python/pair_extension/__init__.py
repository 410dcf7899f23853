# SPDX-License-Identifier: Apache-2.0
"""Python package whose functions and class are implemented in C++."""

from ._library import LIBRARY, mirror
from .pair import IntPair

__all__ = ["IntPair", "add_one", "mirror"]

add_one = LIBRARY.add_one
