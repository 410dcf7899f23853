# SPDX-License-Identifier: Apache-2.0
"""Structural equality and structural hash."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .. import _ffi_api
from ..core import Object
from ..registry import register_object

if TYPE_CHECKING:
    from ..access_path import AccessPath

_MASK_64_BITS = (1 << 64) - 1


def structural_equal(
    lhs: Any, rhs: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> bool:
    """Return True if two values are equal up to the names of bound variables.

    Parameters
    ----------
    lhs, rhs : object
        The values.
    map_free_vars : bool
        Whether unbound variables at corresponding positions are equal.  Otherwise an unbound
        variable is equal to itself only.
    skip_tensor_content : bool
        Whether tensors of the same shape and dtype are equal regardless of their elements.

    Raises
    ------
    TypeError
        If a value has a type without structural comparison, such as a function.
    ValueError
        If the values are nested too deep or contain themselves.

    Examples
    --------
    >>> structural_equal([1, {"a": 2}], [1, {"a": 2}])
    True
    >>> structural_equal(1, 1.0)
    False
    """
    equal: bool = _ffi_api.StructuralEqual(lhs, rhs, map_free_vars, skip_tensor_content)
    return equal


def structural_hash(
    value: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> int:
    """Return the structural hash of a value.

    Values that are structurally equal have the same hash.

    Parameters
    ----------
    value : object
        The value.
    map_free_vars, skip_tensor_content : bool
        See `structural_equal`.

    Returns
    -------
    int
        The hash, from 0 to 2**64-1.  It is the same in all processes.

    Raises
    ------
    TypeError, ValueError
        See `structural_equal`.
    """
    number: int = _ffi_api.StructuralHash(value, map_free_vars, skip_tensor_content)
    return number & _MASK_64_BITS


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> tuple[AccessPath, AccessPath] | None:
    """Return the access paths to the first difference between two values.

    Parameters
    ----------
    lhs, rhs, map_free_vars, skip_tensor_content
        See `structural_equal`.

    Returns
    -------
    pair of AccessPath, or None
        Paths to the differing children, one for each value; None if the values are equal.

    Raises
    ------
    TypeError, ValueError
        See `structural_equal`.

    Examples
    --------
    >>> get_first_structural_mismatch([1, {"a": 2}], [1, {"a": 3}])
    (<root>[1]["a"], <root>[1]["a"])
    """
    paths: tuple[AccessPath, AccessPath] | None = _ffi_api.GetFirstStructuralMismatch(
        lhs, rhs, map_free_vars, skip_tensor_content
    )
    return paths


@register_object("ffi.StructuralKey")
class StructuralKey(Object):
    """A dictionary key with structural equality and hash, for `dict` and `tvm_ffi.Map`.

    Parameters
    ----------
    key : object
        The value to compare and hash.

    Attributes
    ----------
    key : object
        The value.
    hash_i64 : int
        Structural hash of the value as a signed 64-bit integer, computed at construction.

    Raises
    ------
    TypeError, ValueError
        See `structural_equal`.

    Examples
    --------
    >>> names = {StructuralKey([1, 2]): "a"}
    >>> names[StructuralKey([1, 2])]
    'a'
    """

    key: Any
    hash_i64: int

    def __init__(self, key: Any) -> None:
        self.__init_handle_by_constructor__(_ffi_api.StructuralKey, key)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StructuralKey):
            return NotImplemented
        equal: bool = _ffi_api.StructuralKeyEqual(self, other)
        return equal

    def __hash__(self) -> int:
        return hash(self.hash_i64)
