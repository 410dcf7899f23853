# SPDX-License-Identifier: Apache-2.0
"""`Launch` and `Condition`: one launch variant with its kernel, arguments, sizes and condition."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..signature._expression import Extent, extent_text
from ._device_image import DeviceImage
from ._wrapper import Argument

__all__ = ["Condition", "Launch"]


@dataclass(frozen=True)
class Condition:
    """A comparison of two expressions, which can contain parameter and extent names.

    Parameters
    ----------
    left, right : int, str or Expression
        The operands.
    operator : {"<", "<=", ">", ">=", "==", "!="}
        The comparison operator.
    """

    left: Extent
    operator: str
    right: Extent

    def __str__(self) -> str:
        return f"{extent_text(self.left)} {self.operator} {extent_text(self.right)}"


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
