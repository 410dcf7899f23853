# SPDX-License-Identifier: Apache-2.0
"""Structural mutation: traversals that return a value with replaced children."""

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
    """The mutator of a traversal in progress, an argument of `structural_mutate` callbacks."""

    def mutate(self, value: Any) -> Any:
        """Return the replacement of a value.

        It is the result of the callback for the value or, without one, of `default_mutate`.
        """
        return _ffi_api.StructuralMutatorMutate(self, value)

    def default_mutate(self, value: Any) -> Any:
        """Return a value with mutated children; the same value if no child changes."""
        return _ffi_api.StructuralMutatorDefaultMutate(self, value)

    def var_remap_get(self, var: Object) -> Any | None:
        """Return the replacement of a variable that `var_remap_set` has set; None if not set."""
        return _ffi_api.StructuralMutatorVarRemapGet(self, var)

    def var_remap_set(self, var: Object, mapped_value: Any) -> None:
        """Set the replacement of a variable for all later occurrences in the traversal."""
        _ffi_api.StructuralMutatorVarRemapSet(self, var, mapped_value)

    def def_region_kind(self) -> DefRegionKind:
        """Return the kind of definition region of the value that is being mutated."""
        return DefRegionKind(_ffi_api.StructuralMutatorDefRegionKind(self))

    def with_def_region_kind(self, kind: int, callback: Callable[[], Any]) -> Any:
        """Return the result of ``callback()``, called in another kind of definition region.

        Parameters
        ----------
        kind : DefRegionKind
            The kind during the call.  Within a `DEF_PATTERN` region it cannot be changed.
        callback : callable
            Function without parameters that mutates values by methods of this mutator.
        """
        return _ffi_api.StructuralMutatorWithDefRegionKind(self, kind, callback)


def structural_map(
    root: Any,
    callbacks: Callbacks = (),
    with_def_region_kind: Callbacks = (),
    order: str | WalkOrder = "post",
) -> Any:
    """Return a value in which callbacks have replaced the root or children at any depth.

    The result shares unchanged children with the original, which is not modified.  If the children
    of a variable change at its definition, all uses refer to the same new variable.  A callback
    that replaces a variable is called for each of its occurrences; `structural_mutate` can store
    the replacement, see `StructuralMutator.var_remap_set`.

    Parameters
    ----------
    root : object
        The value to rewrite.  If passed as ``root._move()``, containers without other owners are
        modified in place.
    callbacks : callable, pair or sequence of pairs
        See `structural_walk`.  A callback is called with a value and returns the replacement.
    with_def_region_kind : callable, pair or sequence of pairs
        Additional callbacks, used for values without a callback in `callbacks`.  They are called
        with the value and its `DefRegionKind`.
    order : {"post", "pre"} or WalkOrder
        ``"post"``: callbacks receive a value whose children are replaced already.  ``"pre"``:
        callbacks receive the original value, and children of the replacement are replaced next.

    Returns
    -------
    object
        The value with all replacements; the same object if nothing was replaced.

    Raises
    ------
    TypeError
        If `callbacks` has another form, or a replacement has the wrong type for its field.
    ValueError
        If `order` is invalid, or the value is nested too deep or contains itself.

    Examples
    --------
    >>> structural_map([1, ["two", 3]], (int, lambda number: number * 10))
    (10, ("two", 30))
    """
    arguments = native_walk_arguments("structural_map", callbacks, with_def_region_kind, order)
    return _ffi_api.StructuralMap(root, *arguments)


def structural_mutate(root: Any, callbacks: Callbacks = ()) -> Any:
    """Return a rewritten value, where callbacks control which children are mutated.

    Parameters
    ----------
    root : object
        The value to rewrite.  If passed as ``root._move()``, containers without other owners are
        modified in place.
    callbacks : callable, pair or sequence of pairs
        See `structural_walk`.  A callback is called with the value, the `StructuralMutator` and, if
        it takes a third argument, the `InplaceMode`.  It returns the replacement.  The children of
        the value are mutated only if it calls ``mutator.default_mutate(value)``.

    Returns
    -------
    object
        The value with all replacements; the same object if nothing was replaced.

    Raises
    ------
    TypeError
        If `callbacks` has another form, or a replacement has the wrong type for its field.
    ValueError
        If the value is nested too deep or contains itself.
    """
    pairs = by_type_index("structural_mutate", callbacks)
    return _ffi_api.StructuralMutate(root, [(i, *_native_callback(call)) for i, call in pairs])


def _native_callback(callback: Callback) -> tuple[Callback, bool]:
    """Return the callable for native code, and True if the callable uses the `InplaceMode`."""
    if not _takes_mode(callback):
        return callback, False
    return lambda value, mutator, mode: callback(value, mutator, InplaceMode(mode)), True


def _takes_mode(callback: Callback) -> bool:
    try:
        signature = inspect.signature(callback)
    except (TypeError, ValueError):
        return False  # a compiled callable without a signature
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
