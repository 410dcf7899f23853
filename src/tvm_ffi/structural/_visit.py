# SPDX-License-Identifier: Apache-2.0
"""Read-only structural traversals: `structural_walk` and `structural_visit`."""

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
    """Return value of a callback that ends the traversal.

    Parameters
    ----------
    value : object, optional
        A value that the caller of the traversal reads from the interrupt.
    """

    value: Any

    def __init__(self, value: Any = None) -> None:
        self.__init_handle_by_constructor__(_ffi_api.VisitInterrupt, value)


@register_object("ffi.VisitErrorContext", init=False)
class VisitErrorContext(Object):
    """Path to the value whose callback failed; the context of the callback's error.

    It is ``error.__tvm_ffi_error__.extra_context`` of the exception that a traversal raises.

    Attributes
    ----------
    reverse_visit_pattern : List
        The objects on the path, from the value whose callback failed up to the root.
    prev_error_context : object
        The previous ``extra_context`` of the error.
    """

    reverse_visit_pattern: List[Object]
    prev_error_context: Any


@register_object("ffi.StructuralVisitor")
class StructuralVisitor(Object):
    """The visitor of a traversal in progress, an argument of `structural_visit` callbacks."""

    def visit(self, value: Any) -> VisitInterrupt | None:
        """Visit a value: call the callback for its type or, if there is none, visit its children.

        Returns
        -------
        VisitInterrupt or None
            The interrupt that ended the visit, which the calling callback must return; None if the
            visit was not interrupted.
        """
        interrupt: VisitInterrupt | None = _ffi_api.StructuralVisitorVisit(self, value)
        return interrupt

    def default_visit(self, value: Any) -> VisitInterrupt | None:
        """Visit the children of a value without calling the callback of the value.

        Returns
        -------
        VisitInterrupt or None
            See `visit`.
        """
        interrupt: VisitInterrupt | None = _ffi_api.StructuralVisitorDefaultVisit(self, value)
        return interrupt

    def def_region_kind(self) -> DefRegionKind:
        """Return the kind of definition region of the value that is being visited."""
        return DefRegionKind(_ffi_api.StructuralVisitorDefRegionKind(self))

    def with_def_region_kind(self, kind: int, callback: Callable[[], Any]) -> Any:
        """Return the result of ``callback()``, called in another kind of definition region.

        Parameters
        ----------
        kind : DefRegionKind
            The kind during the call.  Within a `DEF_PATTERN` region it cannot be changed.
        callback : callable
            Function without parameters that visits values by methods of this visitor.
        """
        return _ffi_api.StructuralVisitorWithDefRegionKind(self, kind, callback)


def structural_walk(
    root: Any,
    callbacks: Callbacks = (),
    with_def_region_kind: Callbacks = (),
    order: str | WalkOrder = "post",
) -> VisitInterrupt | None:
    """Call callbacks for a value and all its children, recursively.

    None, keys of mappings, and fields that structural equality ignores are skipped.  A shared value
    is visited once per occurrence; if its visit calls no callback, later occurrences are skipped.

    Parameters
    ----------
    root : object
        The value to walk.
    callbacks : callable, pair or sequence of pairs
        One callable for all values, or pairs ``(type, callable)`` or ``((type, ...), callable)``.
        For each value, the callable of the first pair is called whose type is the type of the
        value or a base of it.  The argument is the value.
    with_def_region_kind : callable, pair or sequence of pairs
        Additional callbacks, used for values without a callback in `callbacks`.  They are called
        with the value and its `DefRegionKind`.
    order : {"post", "pre"} or WalkOrder
        Whether callbacks are called for a value after or before its children.

    Returns
    -------
    VisitInterrupt or None
        The interrupt that a callback returned to end the walk; None if no callback did.  Callbacks
        may also return a `WalkResult` or None, which means `WalkResult.ADVANCE`.

    Raises
    ------
    TypeError
        If `callbacks` has another form, or a callback returns a value of another type.
    ValueError
        If `order` is invalid, or the value is nested too deep or contains itself.

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
    """Visit a value, where callbacks control which children are visited.

    Parameters
    ----------
    root : object
        The value to visit.
    callbacks : callable, pair or sequence of pairs
        See `structural_walk`.  A callback is called with the value and the `StructuralVisitor`.
        The children of the value are visited only if it does
        ``return visitor.default_visit(value)``.

    Returns
    -------
    VisitInterrupt or None
        The interrupt that a callback returned to end the visit; None if no callback did.

    Raises
    ------
    TypeError
        If `callbacks` has another form, or a callback returns a value of another type.
    ValueError
        If the value is nested too deep or contains itself.
    """
    found = by_type_index("structural_visit", callbacks)
    interrupt: VisitInterrupt | None = _ffi_api.StructuralVisit(root, found)
    return interrupt
