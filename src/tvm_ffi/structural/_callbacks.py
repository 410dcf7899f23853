# SPDX-License-Identifier: Apache-2.0
"""Callbacks of structural traversals, each for the values of a type."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Callable, Union

from .._types.schema import TypeSchema
from ._kinds import DefRegionKind, WalkOrder

Callback = Callable[..., Any]
# The callbacks that users pass: a callable for all values, or pairs of a type (or a tuple of types)
# and a callable.
Callbacks = Union[Callback, tuple[Any, ...], Sequence[Any]]

# The callbacks that native traversals take: pairs of a type index and a callable.
IndexedCallbacks = list[tuple[int, Callback]]

_ANY_INDEX = -1
_NO_INDEX = -2
_ORDERS = {"pre": WalkOrder.PREORDER, "post": WalkOrder.POSTORDER}


def native_walk_arguments(
    function: str, callbacks: Callbacks, with_def_region_kind: Callbacks, order: str | WalkOrder
) -> tuple[IndexedCallbacks, IndexedCallbacks, int]:
    """Return the arguments of a native walk: two lists of callbacks, and the order as an int.

    Raises
    ------
    TypeError
        If callbacks are invalid, see `by_type_index`.
    ValueError
        If `order` is invalid.
    """
    plain = by_type_index(function, callbacks)
    pairs = by_type_index(function, with_def_region_kind)
    with_kind = [(index, _with_region_kind(callback)) for index, callback in pairs]
    found = _ORDERS.get(order) if isinstance(order, str) else order
    if not isinstance(found, WalkOrder):
        raise ValueError(f'{function}: order must be "pre", "post" or a WalkOrder, got {order!r}')
    return plain, with_kind, int(found)


def _with_region_kind(callback: Callback) -> Callback:
    return lambda value, kind: callback(value, DefRegionKind(kind))


def by_type_index(function: str, callbacks: Callbacks) -> IndexedCallbacks:
    """Return pairs of a type index and the callback for values of this type.

    Parameters
    ----------
    function : str
        Name of the public function, for error messages.
    callbacks : callable, pair or sequence of pairs
        The callbacks that the user has passed.

    Raises
    ------
    TypeError
        If `callbacks` has another form, or contains a type that no value has.
    """
    if callable(callbacks):
        return [(_ANY_INDEX, callbacks)]
    if _is_pair(callbacks):
        callbacks = [callbacks]
    if isinstance(callbacks, (str, bytes)) or not isinstance(callbacks, Sequence):
        raise TypeError(
            f"{function}: expected a callable, a pair (type, callable) or a sequence of pairs, "
            f"got {type(callbacks).__name__}"
        )
    found: IndexedCallbacks = []
    for position, pair in enumerate(callbacks):
        if not _is_pair(pair):
            raise TypeError(
                f"{function}: callback {position} must be a pair (type, callable), got {pair!r}"
            )
        types = pair[0] if isinstance(pair[0], tuple) else (pair[0],)
        found += [(_index_of(function, position, t), pair[1]) for t in types]
    return found


def _is_pair(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 2 and callable(value[1])


def _index_of(function: str, position: int, annotation: Any) -> int:
    if annotation is Any or annotation is object:
        return _ANY_INDEX
    try:
        index = TypeSchema.from_annotation(annotation).origin_type_index
    except TypeError:
        index = _NO_INDEX
    if index < 0:
        raise TypeError(
            f"{function}: callback {position}: expected a type of FFI values, got {annotation!r}"
        )
    return index
