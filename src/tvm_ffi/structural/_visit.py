# SPDX-License-Identifier: Apache-2.0
"""Traversals that look only: walks descend by themselves, visits where callbacks let them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

from .. import _ffi_api
from ..core import Object
from ..registry import register_object
from ._callbacks import Callbacks, by_type_index, native_walk_arguments
from ._kinds import DefRegionKind, WalkOrder

if TYPE_CHECKING:
    from ..container import List


@register_object("ffi.VisitInterrupt")
class VisitInterrupt(Object):
    """Ends a traversal early, when a callback returns it.

    Parameters
    ----------
    value : object, optional
        What to tell whoever began the traversal.
    """

    value: Any

    def __init__(self, value: Any = None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.VisitInterrupt, value)


@register_object("ffi.VisitErrorContext", init=False)
class VisitErrorContext(Object):
    """Where a traversal failed: ``error.__tvm_ffi_error__.extra_context`` of the exception.

    Attributes
    ----------
    reverse_visit_pattern : List
        The objects on the way, from the one whose callback failed to the root.
    prev_error_context : object
        What was attached to the error before.
    """

    reverse_visit_pattern: List[Object]
    prev_error_context: Any


@register_object("ffi.StructuralVisitor")
class StructuralVisitor(Object):
    """The visitor of a traversal in progress, which callbacks of `structural_visit` are given."""

    def visit(self, value: Any) -> VisitInterrupt | None:
        """Visit a value: by the callback for it or, without one, by descending into it.

        Returns
        -------
        VisitInterrupt or None
            What ended the visit early; the callback returns it in turn.
        """
        interrupt: VisitInterrupt | None = _ffi_api.StructuralVisitorVisit(self, value)
        return interrupt

    def default_visit(self, value: Any) -> VisitInterrupt | None:
        """Visit what a value holds, but not itself.

        Returns
        -------
        VisitInterrupt or None
            As for `visit`.
        """
        interrupt: VisitInterrupt | None = _ffi_api.StructuralVisitorDefaultVisit(self, value)
        return interrupt

    def def_region_kind(self) -> DefRegionKind:
        """Return whether what is being visited defines variables."""
        return DefRegionKind(_ffi_api.StructuralVisitorDefRegionKind(self))

    def with_def_region_kind(self, kind: int, callback: Callable[[], Any]) -> Any:
        """Return what ``callback()`` returns, called as if in a region of this kind.

        Parameters
        ----------
        kind : DefRegionKind
            The kind.  A region that is a pattern stays one.
        callback : callable
            Called without arguments; visits values.
        """
        return _ffi_api.StructuralVisitorWithDefRegionKind(self, kind, callback)


def structural_walk(
    root: Any,
    callbacks: Callbacks = (),
    with_def_region_kind: Callbacks = (),
    order: str | WalkOrder = "post",
) -> VisitInterrupt | None:
    """Call callbacks for a value and all that it holds.

    None and the keys of mappings are left out, and so are fields that structural equality ignores.
    What several places share is met at each of them.

    Parameters
    ----------
    root : object
        The value.
    callbacks : callable, pair or sequence of pairs
        One callable for all values; or pairs ``(type, callable)``, ``((type, ...), callable)``, of
        which the first counts that is for the type of the value, or for one that it derives from.
        Called with the value.
    with_def_region_kind : callable, pair or sequence of pairs
        More callbacks, behind the others, which get the `DefRegionKind` as well.
    order : {"post", "pre"} or WalkOrder
        Whether a value comes after or before what it holds.

    Returns
    -------
    VisitInterrupt or None
        What a callback returned to end the walk.  Callbacks may also return a `WalkResult`; None is
        `WalkResult.ADVANCE`.

    Raises
    ------
    TypeError
        If the callbacks are not of this form, or one returns something else.
    ValueError
        If there is no such order, or the value is nested too deep or contains itself.

    Examples
    --------
    >>> numbers = []
    >>> structural_walk([1, ["two", 3]], (int, numbers.append))
    >>> numbers
    [1, 3]
    """
    arguments = native_walk_arguments("structural_walk", callbacks, with_def_region_kind, order)
    interrupt: VisitInterrupt | None = _ffi_api.StructuralWalk(root, *arguments)
    return interrupt


def structural_visit(root: Any, callbacks: Callbacks = ()) -> VisitInterrupt | None:
    """Visit a value under the lead of callbacks.

    Parameters
    ----------
    root : object
        The value.
    callbacks : callable, pair or sequence of pairs
        As in `structural_walk`; called with the value and the `StructuralVisitor`.  What the value
        holds is visited only if the callback has the visitor do it, by
        ``return visitor.default_visit(value)``.

    Returns
    -------
    VisitInterrupt or None
        What a callback returned to end the visit.

    Raises
    ------
    TypeError
        If the callbacks are not of this form, or one returns something else.
    ValueError
        If the value is nested too deep or contains itself.
    """
    found = by_type_index("structural_visit", callbacks)
    interrupt: VisitInterrupt | None = _ffi_api.StructuralVisit(root, found)
    return interrupt
