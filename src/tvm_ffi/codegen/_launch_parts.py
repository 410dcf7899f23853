# SPDX-License-Identifier: Apache-2.0
"""One launch of a kernel as data: what runs, with which arguments, in how many blocks, and when."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..signature._expression import Extent, extent_text
from ._device_image import DeviceImage
from ._wrapper import Argument

__all__ = ["Condition", "Launch"]


@dataclass(frozen=True)
class Condition:
    """A comparison of two expressions over a signature's names.

    Parameters
    ----------
    left, right : int, str or Expression
        What is compared.
    operator : {"<", "<=", ">", ">=", "==", "!="}
        How.
    """

    left: Extent
    operator: str
    right: Extent

    def __str__(self) -> str:
        return f"{extent_text(self.left)} {self.operator} {extent_text(self.right)}"


@dataclass(frozen=True)
class Launch:
    """One way to launch a kernel.

    Parameters
    ----------
    images : tuple of DeviceImage
        Device code that has the kernel, one for each architecture.
    kernels : mapping
        Name of the kernel for each choice of dtypes, as `Wrapper.callees`.
    arguments : tuple of Argument
        What the kernel takes.
    grid, block : tuple of int, str and Expression, length 3
        Blocks of the launch, and threads of a block.
    cluster : tuple of int, str and Expression, length 3, optional
        Blocks of a cluster.
    shared_memory : int, str or Expression
        Bytes of dynamic shared memory of a block.
    cooperative : bool
        Whether all blocks run at the same time, and may wait for each other.
    programmatic : bool
        Whether the kernel may begin before the one ahead of it in the stream has ended.
    when : tuple of Condition
        For which arguments it is meant: those for which all hold.
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
