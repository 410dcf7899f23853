# SPDX-License-Identifier: Apache-2.0
"""`Launch` and `Condition`: one launch variant with its kernel, arguments, sizes and condition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..signature._expression import Extent, extent_text
from ._device_image import DeviceImage
from ._wrapper import Argument

__all__ = ["PRESENCE", "Condition", "Launch", "compared_with_none"]

PRESENCE = ("is", "is not")  # operators that compare a parameter with None


@dataclass(frozen=True)
class Condition:
    """A comparison of two expressions, or of an optional parameter with None.

    Parameters
    ----------
    left : int, str or Expression
        An expression over names of parameters and extents; for ``is`` and ``is not`` the name of a
        parameter.
    operator : {"<", "<=", ">", ">=", "==", "!=", "is", "is not"}
        The comparison operator.
    right : int, str, Expression or None
        An expression; for ``is`` and ``is not`` None.
    """

    left: Extent
    operator: str
    right: Extent | None

    def __str__(self) -> str:
        right = "None" if self.right is None else extent_text(self.right)
        return f"{extent_text(self.left)} {self.operator} {right}"

    @property
    def operands(self) -> tuple[Extent, ...]:
        """The expressions that are compared; empty for ``is`` and ``is not``."""
        return () if self.right is None else (self.left, self.right)


def compared_with_none(when: Iterable[Condition], operator: str) -> set[str]:
    """Return the parameters that conditions with one of the operators in `PRESENCE` name."""
    return {str(condition.left) for condition in when if condition.operator == operator}


@dataclass(frozen=True)
class Launch:
    """One launch variant: a kernel, its launch configuration, and the condition that selects it.

    Parameters
    ----------
    images : tuple of DeviceImage
        Device code with the kernel, one image for each architecture.
    kernels : mapping
        Name of the kernel for each combination of dtypes, as in `Wrapper.callees`.
    arguments : tuple of Argument
        Arguments of the kernel.
    grid, block : tuple of int, str and Expression, length 3
        Blocks of the launch, and threads of a block.
    cluster : tuple of int, str and Expression, length 3, optional
        Blocks of a cluster.
    shared_memory : int, str or Expression
        Bytes of dynamic shared memory of a block.
    cooperative : bool
        Whether all blocks run at the same time, so that they may wait for each other.
    programmatic : bool
        Whether the kernel may start before the previous kernel in the stream has ended.
    when : tuple of Condition
        Conditions on the arguments; a call may use this variant if all of them hold.
    """

    images: tuple[DeviceImage, ...]
    kernels: Mapping[tuple[str, ...], str]
    arguments: tuple[Argument, ...]
    grid: tuple[Extent, ...]
    block: tuple[Extent, ...]
    cluster: tuple[Extent, ...] | None = None
    shared_memory: Extent = 0
    cooperative: bool = False
    programmatic: bool = False
    when: tuple[Condition, ...] = ()
