# SPDX-License-Identifier: Apache-2.0
"""How much of containers and tensors ``repr`` shows."""

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
    """What `get_printoptions` returns."""

    threshold: int
    edgeitems: int
    precision: int
    linewidth: int


def get_printoptions() -> PrintOptions:
    """Return the current options as a dict, fit for ``set_printoptions(**options)``."""
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
    """Set how much ``repr`` shows of containers and tensors; what is not given stays.

    Parameters
    ----------
    threshold : int, optional
        Containers with more elements than this in all, those of the containers inside counted, are
        abbreviated; tensors with more are shown without values.  Initially 1000;
        ``sys.maxsize`` shows everything.
    edgeitems : int, optional
        How many elements an abbreviated container shows at each end.  Initially 3.
    precision : int, optional
        Significant digits of floats in tensors.  Initially 6.
    linewidth : int, optional
        Characters up to which a tensor is shown in one line.  Initially 75.

    Raises
    ------
    TypeError
        If an option is no integer.
    ValueError
        If one is too small: `threshold` and `linewidth` may be 0, the others 1.

    Notes
    -----
    The options are the process's: every thread sees them at once.

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
        raise TypeError(f"{name} must be an int, got {type(value).__name__}") from None
    if number < least:
        raise ValueError(f"{name} must be >= {least}, got {number}")
    return min(number, _MAX_INT64)


def shown_pairs(pairs: Iterable[tuple[Any, Any]], count: int) -> list[tuple[str, str]]:
    """Return the texts of `count` pairs, or where they are too many, of the first and the last."""
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
    """Set options, as `set_printoptions` does, for the duration of a block.

    At its end all options are again what they were at its beginning, in all threads.
    """
    before = get_printoptions()
    set_printoptions(
        threshold=threshold, edgeitems=edgeitems, precision=precision, linewidth=linewidth
    )
    try:
        yield get_printoptions()
    finally:
        set_printoptions(**before)
