# SPDX-License-Identifier: Apache-2.0
"""Equality and hash up to the names of variables."""

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
    """Whether two values have the same structure.

    Parameters
    ----------
    lhs, rhs : object
        The values.
    map_free_vars : bool
        Whether variables that neither side defines are equal to each other where they stand in the
        same places; otherwise they are equal to themselves only.
    skip_tensor_content : bool
        Whether tensors of the same shape and dtype are equal whatever they contain.

    Raises
    ------
    TypeError
        If a type does not say how it is compared, as functions do not.
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
    """Return a hash that is the same for values that `structural_equal` calls equal.

    Parameters
    ----------
    value : object
        The value.
    map_free_vars, skip_tensor_content : bool
        As in `structural_equal`.

    Returns
    -------
    int
        From 0 to 2**64-1; the same in all processes.

    Raises
    ------
    TypeError, ValueError
        As for `structural_equal`.
    """
    number: int = _ffi_api.StructuralHash(value, map_free_vars, skip_tensor_content)
    return number & _MASK_64_BITS


def get_first_structural_mismatch(
    lhs: Any, rhs: Any, map_free_vars: bool = False, skip_tensor_content: bool = False
) -> tuple[AccessPath, AccessPath] | None:
    """Return where two values differ first.

    Parameters
    ----------
    lhs, rhs, map_free_vars, skip_tensor_content
        As in `structural_equal`.

    Returns
    -------
    pair of AccessPath, or None
        Paths to what differs, in each of the values; None where they are equal.

    Raises
    ------
    TypeError, ValueError
        As for `structural_equal`.

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
    """A value that is compared and hashed by its structure, in `dict` as well as in `tvm_ffi.Map`.

    Parameters
    ----------
    key : object
        The value.

    Attributes
    ----------
    key : object
        The value.
    hash_i64 : int
        Its structural hash as a number of 64 bits with a sign; taken when the key is made.

    Raises
    ------
    TypeError, ValueError
        As for `structural_equal`.

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
