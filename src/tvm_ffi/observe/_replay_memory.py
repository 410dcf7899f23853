# SPDX-License-Identifier: Apache-2.0
"""Memory for replays: tensors whose memory overlaps as in the recorded process."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from typing import Any

from ..registry import get_global_func
from ._recorded_values import RecordedTensor

__all__ = ["ReplayMemory", "has_memory"]

_HOST = ("cpu", "cuda_host", "rocm_host")


def has_memory(tensor: RecordedTensor) -> bool:
    """Return True if the tensor can be replayed: its elements are in memory of the CPU."""
    return tensor.device.type in _HOST


class ReplayMemory:
    """Zeroed memory for recorded tensors.

    Tensors that overlapped in the recorded process overlap in the same way, and each address is
    equal to the recorded one modulo 4096.

    Parameters
    ----------
    tensors : iterable of RecordedTensor
        The tensors that `tensor` will create; those on devices are ignored.
    """

    def __init__(self, tensors: Iterable[RecordedTensor]) -> None:
        ranges = sorted({tensor.range for tensor in tensors if has_memory(tensor)})
        blocks: list[list[int]] = []
        for low, high in ranges:
            if blocks and low < blocks[-1][1]:
                blocks[-1][1] = max(blocks[-1][1], high)
            elif not blocks or low != blocks[-1][0]:
                blocks.append([low, high])
            else:  # after a block without bytes
                blocks[-1][1] = high
        new = get_global_func("pytvmffi.MemoryNew")
        self._starts = [low for low, _ in blocks]
        self._memories = [new(high - low, low % 2**63) for low, high in blocks]

    def tensor(self, recorded: RecordedTensor) -> Any:
        """Return the `Tensor`, without a change of its elements.

        Raises
        ------
        ValueError
            If the tensor was not a parameter of the constructor.
        """
        if not has_memory(recorded):
            raise ValueError(f"ReplayMemory: expected a tensor on the CPU, got {recorded.device}")
        memory, offset = None, 0
        if recorded.data != 0:
            index, start = self.block_of(recorded)
            memory, offset = self._memories[index], recorded.data - start
        new_shape = get_global_func("ffi.Shape")
        strides = None if recorded.strides is None else new_shape(*recorded.strides)
        return get_global_func("pytvmffi.MemoryView")(
            memory, offset, new_shape(*recorded.shape), strides, recorded.dtype,
            recorded.byte_offset,
        )  # fmt: skip

    def block_of(self, recorded: RecordedTensor) -> tuple[int, int]:
        """Return the index of the block with the elements, and its recorded address."""
        low, high = recorded.range
        index = bisect_right(self._starts, low) - 1
        if index < 0 or high - self._starts[index] > self._memories[index].shape[0]:
            raise ValueError("ReplayMemory: the tensor was not a parameter of the constructor")
        return index, self._starts[index]

    def ranges(self) -> list[tuple[int, int]]:
        """Return the recorded address and the size of each block, in bytes."""
        return [(start, memory.shape[0]) for start, memory in zip(self._starts, self._memories)]

    def filled(self, recorded: RecordedTensor) -> Any:
        """Return the `Tensor` with the recorded elements, if the recording has them."""
        tensor = self.tensor(recorded)
        if isinstance(recorded.content, bytes) and recorded.content:
            get_global_func("pytvmffi.ElementsWrite")(tensor, recorded.content)
        return tensor
