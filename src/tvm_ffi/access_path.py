# SPDX-License-Identifier: Apache-2.0
"""Access paths: the steps from a root value to a child, such as ``<root>.args[3]["name"]``."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, Any

from .core import Object
from .registry import register_object

if TYPE_CHECKING:
    from .container import Array

__all__ = ["AccessKind", "AccessPath", "AccessStep"]


class AccessKind(IntEnum):
    """Kind of an access step, such as an attribute or an array element.

    In a comparison of two values, a ``MISSING`` kind is the step to a child that only the other
    value has.
    """

    ATTR = 0
    ARRAY_ITEM = 1
    MAP_ITEM = 2
    ATTR_MISSING = 3
    ARRAY_ITEM_MISSING = 4
    MAP_ITEM_MISSING = 5


@register_object("ffi.reflection.AccessStep")
class AccessStep(Object):
    """One step of an access path; created by the methods of `AccessPath`.

    Attributes
    ----------
    kind : int
        A value of `AccessKind`.
    key : object
        Name of the attribute, index of the element, or key of the mapping.
    """

    kind: int
    key: Any


@register_object("ffi.reflection.AccessPath")
class AccessPath(Object):
    """A path from a root value to one of its children.

    The method `root` returns the empty path; `attr`, `array_item` and `map_item` return a path with
    one more step.  Paths are immutable, and a path shares the steps of its parent.  Two paths are
    equal if their steps are equal.

    Attributes
    ----------
    parent : AccessPath or None
        The path without its last step; None at the root.
    step : AccessStep or None
        The last step; None at the root.
    depth : int
        Number of steps.

    Examples
    --------
    >>> from tvm_ffi.access_path import AccessPath
    >>> path = AccessPath.root().attr("args").array_item(3).map_item("name")
    >>> path
    <root>.args[3]["name"]
    >>> path.parent == AccessPath.root().attr("args").array_item(3), path.depth
    (True, 3)
    """

    parent: AccessPath | None
    step: AccessStep | None
    depth: int

    if TYPE_CHECKING:  # methods of the native type, which `register_object` adds to the class

        @staticmethod
        def _root() -> AccessPath: ...
        def _attr(self, name: str) -> AccessPath: ...
        def _attr_missing(self, name: str) -> AccessPath: ...
        def _array_item(self, index: int) -> AccessPath: ...
        def _array_item_missing(self, index: int) -> AccessPath: ...
        def _map_item(self, key: Any) -> AccessPath: ...
        def _map_item_missing(self, key: Any) -> AccessPath: ...
        def _path_equal(self, other: AccessPath) -> bool: ...
        def _is_prefix_of(self, other: AccessPath) -> bool: ...
        def _to_steps(self) -> Array[AccessStep]: ...

    def __init__(self) -> None:
        """Raise ValueError: paths are created by `root` and by methods of other paths.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "AccessPath has no public constructor; create a path with AccessPath.root()"
        )

    @staticmethod
    def root() -> AccessPath:
        """Return the path without steps, which denotes the root value."""
        return AccessPath._root()

    def attr(self, attr_key: str) -> AccessPath:
        """Return this path with one more step, to an attribute."""
        return self._attr(attr_key)

    def attr_missing(self, attr_key: str) -> AccessPath:
        """Return this path with one more step, to an attribute that does not exist."""
        return self._attr_missing(attr_key)

    def array_item(self, index: int) -> AccessPath:
        """Return this path with one more step, to an element of a sequence."""
        return self._array_item(index)

    def array_item_missing(self, index: int) -> AccessPath:
        """Return this path with one more step, to an index beyond the end of a sequence."""
        return self._array_item_missing(index)

    def map_item(self, key: Any) -> AccessPath:
        """Return this path with one more step, to the value of a mapping key."""
        return self._map_item(key)

    def map_item_missing(self, key: Any) -> AccessPath:
        """Return this path with one more step, to a key that a mapping does not have."""
        return self._map_item_missing(key)

    def is_prefix_of(self, other: AccessPath) -> bool:
        """Return True if `other` begins with all steps of this path, or equals this path."""
        return self._is_prefix_of(other)

    def to_steps(self) -> Array[AccessStep]:
        """Return the steps of the path, beginning at the root."""
        return self._to_steps()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AccessPath):
            return NotImplemented
        return self._path_equal(other)

    def __hash__(self) -> int:
        # Hash only str and int keys, because other keys may be equal in native code, but have
        # different hashes as Python values.
        steps = ((step.kind, step.key) for step in self._to_steps())
        return hash(tuple((k, key if isinstance(key, (str, int)) else None) for k, key in steps))
