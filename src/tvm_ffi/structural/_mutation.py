# SPDX-License-Identifier: Apache-2.0
"""Traversals that make a value in which parts are replaced."""

from __future__ import annotations

import inspect
from typing import Any, Callable

from .. import _ffi_api
from ..core import Object
from ..registry import register_object
from ._callbacks import Callback, Callbacks, by_type_index, native_walk_arguments
from ._kinds import DefRegionKind, InplaceMode, WalkOrder


@register_object("ffi.StructuralMutator")
class StructuralMutator(Object):
    """The mutator of a traversal in progress, which callbacks of `structural_mutate` are given."""

    def mutate(self, value: Any) -> Any:
        """Return what becomes of a value, by the callback for it or by descending into it."""
        return _ffi_api.StructuralMutatorMutate(self, value)

    def default_mutate(self, value: Any) -> Any:
        """Return the value with what becomes of its parts; itself when none of them changes."""
        return _ffi_api.StructuralMutatorDefaultMutate(self, value)

    def var_remap_get(self, var: Object) -> Any | None:
        """Return what a variable was replaced by; None if nothing was noted for it."""
        return _ffi_api.StructuralMutatorVarRemapGet(self, var)

    def var_remap_set(self, var: Object, mapped_value: Any) -> None:
        """Note what replaces a variable wherever else the traversal meets it."""
        _ffi_api.StructuralMutatorVarRemapSet(self, var, mapped_value)

    def def_region_kind(self) -> DefRegionKind:
        """Return whether what is being mutated defines variables."""
        return DefRegionKind(_ffi_api.StructuralMutatorDefRegionKind(self))

    def with_def_region_kind(self, kind: int, callback: Callable[[], Any]) -> Any:
        """Return what ``callback()`` returns, called as if in a region of this kind.

        Parameters
        ----------
        kind : DefRegionKind
            The kind.  A region that is a pattern stays one.
        callback : callable
            Called without arguments; mutates values.
        """
        return _ffi_api.StructuralMutatorWithDefRegionKind(self, kind, callback)


def structural_map(
    root: Any,
    callbacks: Callbacks = (),
    with_def_region_kind: Callbacks = (),
    order: str | WalkOrder = "post",
) -> Any:
    """Replace a value, and all that it holds, by what callbacks return.

    What does not change is shared with the original, which stays as it was.  A variable whose own
    parts change where it is defined becomes the same new variable wherever it is used; callbacks
    that return another variable are asked at each place, see `StructuralMutator.var_remap_set`.

    Parameters
    ----------
    root : object
        The value.  Given by ``root._move()``, containers that nobody else holds change in place.
    callbacks : callable, pair or sequence of pairs
        As in `structural_walk`; called with a value, return the replacement.
    with_def_region_kind : callable, pair or sequence of pairs
        More callbacks, behind the others, which get the `DefRegionKind` as well.
    order : {"post", "pre"} or WalkOrder
        Whether a callback gets a value with its parts replaced already, or before: then the parts
        of the replacement are replaced in turn.

    Returns
    -------
    object
        The value with all replacements; the very same object if there were none.

    Raises
    ------
    TypeError
        If the callbacks are not of this form, or a replacement does not fit its place.
    ValueError
        If there is no such order, or the value is nested too deep or contains itself.

    Examples
    --------
    >>> structural_map([1, ["two", 3]], (int, lambda number: number * 10))
    (10, ("two", 30))
    """
    arguments = native_walk_arguments("structural_map", callbacks, with_def_region_kind, order)
    return _ffi_api.StructuralMap(root, *arguments)


def structural_mutate(root: Any, callbacks: Callbacks = ()) -> Any:
    """Replace a value under the lead of callbacks.

    Parameters
    ----------
    root : object
        The value.  Given by ``root._move()``, containers that nobody else holds change in place.
    callbacks : callable, pair or sequence of pairs
        As in `structural_walk`; called with the value and the `StructuralMutator`, and with the
        `InplaceMode` where they take a third argument.  Return the replacement.  What the value
        holds is replaced only if the callback has the mutator do it, by
        ``mutator.default_mutate(value)``.

    Returns
    -------
    object
        The value with all replacements; the very same object if there were none.

    Raises
    ------
    TypeError
        If the callbacks are not of this form, or a replacement does not fit its place.
    ValueError
        If the value is nested too deep or contains itself.
    """
    pairs = by_type_index("structural_mutate", callbacks)
    return _ffi_api.StructuralMutate(root, [(i, *_native_callback(call)) for i, call in pairs])


def _native_callback(callback: Callback) -> tuple[Callback, bool]:
    """Return the callback as the traversal calls it, and whether that is with the mode."""
    if not _takes_mode(callback):
        return callback, False
    return lambda value, mutator, mode: callback(value, mutator, InplaceMode(mode)), True


def _takes_mode(callback: Callback) -> bool:
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):
        return False  # compiled, and says nothing
    for count in (3, 2):
        try:
            signature.bind(*range(count))
        except TypeError:
            continue
        return count == 3
    raise TypeError(
        "structural_mutate: a callback takes (value, mutator) or (value, mutator, inplace_mode); "
        f"{callback!r} takes {signature}"
    )
