# SPDX-License-Identifier: Apache-2.0
from collections.abc import Iterable

class Shape(tuple[int, ...]):
    def __new__(cls, content: Iterable[int]) -> Shape: ...
