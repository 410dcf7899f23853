# SPDX-License-Identifier: Apache-2.0
"""Symbolic extents of TensorFlow tensors: numbers that are known only when the graph runs."""

from __future__ import annotations

from typing import Any

__all__ = ["Extent", "shape_of", "shape_tensor"]


class Extent:
    """An extent that is known only when the graph runs; arithmetic adds graph operations.

    Parameters
    ----------
    tensor : tf.Tensor
        The extent, a scalar of dtype int64.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    def __repr__(self) -> str:
        return "?"

    def __eq__(self, other: object) -> bool:
        """Return True for any extent: the function compares the extents when the graph runs."""
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __neg__(self) -> Extent:
        return Extent(-self.tensor)

    def __add__(self, other: Extent | int) -> Extent:
        return Extent(self.tensor + _value(other))

    def __radd__(self, other: int) -> Extent:
        return Extent(other + self.tensor)

    def __sub__(self, other: Extent | int) -> Extent:
        return Extent(self.tensor - _value(other))

    def __rsub__(self, other: int) -> Extent:
        return Extent(other - self.tensor)

    def __mul__(self, other: Extent | int) -> Extent:
        return Extent(self.tensor * _value(other))

    def __rmul__(self, other: int) -> Extent:
        return Extent(other * self.tensor)

    def __floordiv__(self, other: Extent | int) -> Extent:
        return Extent(self.tensor // _value(other))

    def __rfloordiv__(self, other: int) -> Extent:
        return Extent(other // self.tensor)

    def __mod__(self, other: Extent | int) -> Extent:
        return Extent(self.tensor % _value(other))

    def __rmod__(self, other: int) -> Extent:
        return Extent(other % self.tensor)

    def __lt__(self, other: object) -> bool:
        raise ValueError(
            "the shape of an output depends on the minimum or maximum of extents that are known "
            "only when the graph runs; pass the shape and dtype of the output as out="
        )

    __gt__ = __lt__


def _value(extent: Extent | int) -> Any:
    return extent.tensor if isinstance(extent, Extent) else extent


def shape_of(tensorflow: Any, tensor: Any) -> tuple[int | Extent, ...]:
    """Return the shape of a tensor, with an `Extent` for each extent that is unknown.

    Raises
    ------
    ValueError
        If the number of dimensions is unknown.
    """
    if tensor.shape.rank is None:
        raise ValueError(
            "has an unknown number of dimensions; pass out=, or set the shape with tf.ensure_shape"
        )
    known = tensor.shape.as_list()
    if None not in known:
        return tuple(known)
    extents = tensorflow.shape(tensor, out_type=tensorflow.int64)
    return tuple(Extent(extents[i]) if n is None else n for i, n in enumerate(known))


def shape_tensor(tensorflow: Any, shape: Any) -> Any:
    """Return a shape as an int64 tensor; `shape` is a tensor or a sequence of extents."""
    if isinstance(shape, tensorflow.Tensor):
        return tensorflow.cast(shape, tensorflow.int64)
    extents = [_value(extent) for extent in shape]
    if not any(isinstance(extent, tensorflow.Tensor) for extent in extents):
        return tensorflow.constant(extents, tensorflow.int64, shape=[len(extents)])
    return tensorflow.stack([tensorflow.cast(extent, tensorflow.int64) for extent in extents])
