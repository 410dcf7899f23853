# SPDX-License-Identifier: Apache-2.0
"""`repr` of partially initialized instances, which `cls.__new__(cls)` and unpickling create."""

from __future__ import annotations

from typing import TypeVar

__all__ = ["partial_repr"]

T = TypeVar("T")


def partial_repr(cls: type[T]) -> type[T]:
    """Decorate a class so that `repr` also works on instances with missing attributes."""
    full_repr = cls.__repr__

    def __repr__(self: T) -> str:  # noqa: N807
        try:
            return full_repr(self)
        except AttributeError:
            return f"<{cls.__name__} without state>"

    __repr__.__qualname__ = f"{cls.__qualname__}.__repr__"
    cls.__repr__ = __repr__  # type: ignore[method-assign, assignment]
    return cls
