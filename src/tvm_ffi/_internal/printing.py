# SPDX-License-Identifier: Apache-2.0
"""Print options: limits of the ``repr`` of containers and tensors."""

from __future__ import annotations

import contextlib
import operator
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, SupportsIndex, TypedDict

from .._binding.object import print_limits, set_print_options, text_layout

__all__ = ["PrintOptions", "get_printoptions", "printoptions", "set_printoptions", "shown_pairs"]

_MAX_INT64 = (1 << 63) - 1
_lock = threading.RLock()


class PrintOptions(TypedDict):
    """The print options, see `set_printoptions`."""

    threshold: int
    edgeitems: int
    precision: int
    linewidth: int


def get_printoptions() -> PrintOptions:
    """Return the current print options; ``set_printoptions(**options)`` restores them."""
    with _lock:
        threshold, edge_items = print_limits()
        precision, line_width = text_layout()
    return {
        "threshold": threshold,
        "edgeitems": edge_items,
        "precision": precision,
        "linewidth": line_width,
    }


def set_printoptions(
    *,
    threshold: SupportsIndex | None = None,
    edgeitems: SupportsIndex | None = None,
    precision: SupportsIndex | None = None,
    linewidth: SupportsIndex | None = None,
) -> None:
    """Set the limits of the ``repr`` of containers and tensors.  None leaves an option unchanged.

    Parameters
    ----------
    threshold : int, optional
        A container is abbreviated if it has more elements than this, counting the elements of
        nested containers; a tensor with more elements is shown without values.  Initially 1000;
        ``sys.maxsize`` means no limit.
    edgeitems : int, optional
        Number of elements shown at each end of an abbreviated container.  Initially 3.
    precision : int, optional
        Number of significant digits of floats in tensors.  Initially 6.
    linewidth : int, optional
        Number of characters up to which a tensor is printed in one line.  Initially 75.

    Raises
    ------
    TypeError
        If an option is not an integer.
    ValueError
        If `threshold` or `linewidth` is below 0, or `edgeitems` or `precision` is below 1.

    Notes
    -----
    The options belong to the process: a change takes effect in all threads immediately.

    Examples
    --------
    >>> with tvm_ffi.printoptions(threshold=5, edgeitems=2):
    ...     tvm_ffi.Array(range(100))
    (0, 1, ..., 98, 99)
    """
    given = {
        "threshold": (threshold, 0),
        "edgeitems": (edgeitems, 1),
        "precision": (precision, 1),
        "linewidth": (linewidth, 0),
    }
    with _lock:
        options: dict[str, int] = {**get_printoptions()}  # type: ignore[dict-item]
        for name, (value, least) in given.items():
            if value is not None:
                options[name] = _checked(name, value, least)
        set_print_options(
            options["threshold"],
            options["edgeitems"],
            min(options["precision"], 100),
            min(options["linewidth"], 1 << 30),
        )


def _checked(name: str, value: SupportsIndex, least: int) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"print option {name} must be an int, got {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"print option {name} must be >= {least}, got {number}")
    return min(number, _MAX_INT64)


def shown_pairs(pairs: Iterable[tuple[Any, Any]], count: int) -> list[tuple[str, str]]:
    """Return the ``repr`` of the keys and values of a mapping with `count` pairs.

    If `count` is above the print option ``threshold``, return only the first and last pairs.
    """
    threshold, edge_items = print_limits()
    if count <= threshold or count <= 2 * edge_items:
        return [(repr(key), repr(value)) for key, value in pairs]
    rest = iter(pairs)
    texts = [(repr(key), repr(value)) for key, value in islice(rest, edge_items)]
    last = deque(rest, edge_items)
    return [*texts, ("...", "..."), *((repr(key), repr(value)) for key, value in last)]


@contextlib.contextmanager
def printoptions(
    *,
    threshold: SupportsIndex | None = None,
    edgeitems: SupportsIndex | None = None,
    precision: SupportsIndex | None = None,
    linewidth: SupportsIndex | None = None,
) -> Iterator[PrintOptions]:
    """Set print options for the duration of a ``with`` block; parameters as in `set_printoptions`.

    At the end of the block all options are restored, in all threads.
    """
    before = get_printoptions()
    set_printoptions(
        threshold=threshold, edgeitems=edgeitems, precision=precision, linewidth=linewidth
    )
    try:
        yield get_printoptions()
    finally:
        set_printoptions(**before)
