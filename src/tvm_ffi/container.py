# SPDX-License-Identifier: Apache-2.0
"""Native containers: Array, List, Map and Dict.

Array and Map are immutable.  List and Dict are mutable and shared by reference: all languages see a
change.  Reading an element converts it to a Python value.  Lists and dicts that are stored in a
container become native containers.  Keys and elements are compared by type and value: 1, 1.0 and
True are three different keys.
"""

from __future__ import annotations

# These private modules define the names of `collections.abc` and `operator`.  Importing the private
# modules is 2 ms faster.
from _collections_abc import (
    ItemsView,
    Iterable,
    Iterator,
    KeysView,
    Mapping,
    MutableMapping,
    MutableSequence,
    Sequence,
    ValuesView,
)
from _operator import index as _index_of

from . import _ffi_api
from ._binding.containers import (
    ArrayBase,
    DictBase,
    ListBase,
    MapBase,
    MappingBase,
    MappingIterator,
    SequenceBase,
)
from ._binding.object import Object, register_class, type_key_to_index
from ._internal.lazy import TYPE_CHECKING, Any, Callable, SupportsIndex, late_attributes
from ._types.lazy_type_info import attach_lazy_type_info

if TYPE_CHECKING:
    from typing import TypeVar, overload

    from ._types.type_info import MISSING  # noqa: F401  (`__getattr__` provides the name)

    _T = TypeVar("_T")
    _T_co = TypeVar("_T_co", covariant=True)
    _K = TypeVar("_K")
    _V = TypeVar("_V")
    _V_co = TypeVar("_V_co", covariant=True)
else:  # code that reads ``__orig_bases__`` at run time gets `object` for each type variable
    _T = _T_co = _K = _V = _V_co = object

__all__ = ["Array", "Dict", "List", "Map", "getitem_helper", "normalize_index"]

__getattr__ = late_attributes(globals(), {"MISSING": "._types.type_info:MISSING"})


# ---- Index functions, also used by third-party sequences ---------------------------------------


def normalize_index(length: int, idx: SupportsIndex) -> int:
    """Convert an index, which may be negative, to a position counted from 0.

    Parameters
    ----------
    length : int
        Number of elements.
    idx : int
        Index; a negative index counts from the end.

    Raises
    ------
    IndexError
        If `idx` is out of range.
    TypeError
        If `idx` is not an integer.
    """
    try:
        position = _index_of(idx)
    except TypeError:
        raise TypeError(f"indices must be integers or slices, not {type(idx).__name__}") from None
    if not -length <= position < length:
        raise IndexError(f"Index out of range. size: {length}, got index {idx}")
    return position % length


def getitem_helper(
    obj: Any, elem_getter: Callable[[Any, int], Any], length: int, idx: SupportsIndex | slice
) -> Any:
    """Return an element of a sequence, or a list of elements if `idx` is a slice.

    Parameters
    ----------
    obj : object
        The sequence.
    elem_getter : callable
        ``elem_getter(obj, position)`` returns the element at a position counted from 0.
    length : int
        Number of elements.
    idx : int or slice
        The index or slice.
    """
    if isinstance(idx, slice):
        return [elem_getter(obj, i) for i in range(*idx.indices(length))]
    return elem_getter(obj, normalize_index(length, idx))


def _deep_copy(container: Any, memo: Any) -> Any:
    """Return a deep copy of a container.

    The runtime copies it, or Python's `copy` module if the type of a child has no native copy.
    """
    try:
        copied = _ffi_api.DeepCopy(container)
    except RuntimeError:
        make, arguments = container.__reduce__()
        from copy import deepcopy  # `copy` is imported already: `copy.deepcopy` calls this function

        return make(*deepcopy(arguments, memo))
    if type(copied) is type(container):
        return copied
    cls: Any = type(container)
    result = cls.__new__(cls)
    result.__move_handle_from__(copied)
    return result


# ---- Sequences -------------------------------------------------------------------------------


class _SequenceMethods(SequenceBase, Object):  # noqa: PLW1641  (Array defines `__hash__`)
    """Methods that Array and List share."""

    __slots__ = ()
    __tvm_ffi_type_info__: Any

    def __deepcopy__(self, memo: Any = None) -> Any:
        return _deep_copy(self, memo)

    def __contains__(self, value: object) -> bool:
        return any(_is_same(value, element) for element in self)

    def index(self, value: Any, start: SupportsIndex = 0, stop: SupportsIndex | None = None) -> int:
        """Return the first index of `value` in ``[start, stop)``; raise ValueError if absent."""
        find: Any = Sequence.index
        first = _index_of(start)
        position: int = find(self, value, first, None if stop is None else _index_of(stop))
        return position

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if isinstance(other, (str, bytes)) or not isinstance(other, Sequence):
            return NotImplemented
        if len(self) != len(other):
            return False
        same = all(_is_same(a, b) for a, b in zip(self, other))
        # Compare the lengths again, because `__eq__` of an element may change them.
        return same and len(self) == len(other)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __add__(self, other: Iterable[Any]) -> Any:
        if not isinstance(other, Iterable):
            return NotImplemented
        return type(self)([*self, *other])  # type: ignore[call-arg]

    def __radd__(self, other: Iterable[Any]) -> Any:
        if not isinstance(other, Iterable):
            return NotImplemented
        return type(self)([*other, *self])  # type: ignore[call-arg]


def _is_same(a: Any, b: Any) -> bool:
    """Return True if two elements have equal types and values, as in native comparison."""
    if a is b:
        return True
    if type(a) is not type(b) and (isinstance(a, _NUMBERS) or isinstance(b, _NUMBERS)):
        return False
    if isinstance(a, float) and isinstance(b, float) and a != a:  # noqa: PLR0124  (NaN)
        return b != b  # noqa: PLR0124
    return bool(a == b)


_NUMBERS = (bool, int, float)


class Array(ArrayBase, _SequenceMethods, Sequence[_T_co]):
    """An immutable sequence.

    Parameters
    ----------
    input_list : iterable
        The elements, of any types that can be passed to a function.

    Examples
    --------
    >>> a = tvm_ffi.Array([1, "two", [3, 4]])
    >>> a[1], len(a), a[-1][0]
    ('two', 3, 3)
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, input_list: Iterable[_T_co]) -> None: ...
        def __iter__(self) -> Iterator[_T_co]: ...
        @overload
        def __getitem__(self, index: SupportsIndex, /) -> _T_co: ...
        @overload
        def __getitem__(self, index: slice, /) -> list[_T_co]: ...
        def __getitem__(self, index: Any, /) -> Any: ...

    def __hash__(self) -> int:
        # An Array equals a tuple of its elements, so both have the same hash.
        return hash(tuple(self))

    def __reduce__(self) -> Any:
        return type(self), (list(self),)


class List(ListBase, _SequenceMethods, MutableSequence[_T]):
    """A mutable sequence, shared by reference.

    Parameters
    ----------
    input_list : iterable, optional
        The initial elements.

    Notes
    -----
    Insertion and removal at the front move all other elements, as in `list`.  Use another type for
    a queue.

    Examples
    --------
    >>> a = tvm_ffi.List([1, 2])
    >>> a.append("three")
    >>> a[1:] = [4]
    >>> list(a)
    [1, 4]
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, input_list: Iterable[_T] = ()) -> None: ...
        def __iter__(self) -> Iterator[_T]: ...
        @overload
        def __getitem__(self, index: SupportsIndex, /) -> _T: ...
        @overload
        def __getitem__(self, index: slice, /) -> list[_T]: ...
        def __getitem__(self, index: Any, /) -> Any: ...
        @overload
        def __setitem__(self, index: SupportsIndex, value: _T, /) -> None: ...
        @overload
        def __setitem__(self, index: slice, value: Iterable[_T], /) -> None: ...
        def __setitem__(self, index: Any, value: Any, /) -> None: ...
        def __delitem__(self, index: SupportsIndex | slice, /) -> None: ...
        def insert(self, index: SupportsIndex, value: _T) -> None: ...  # noqa: D102
        def extend(self, values: Iterable[_T]) -> None: ...  # noqa: D102

    __hash__ = None  # type: ignore[assignment]

    def append(self, value: _T) -> None:
        """Add an element at the end."""
        _ffi_api.ListAppend(self, value)

    def pop(self, index: SupportsIndex = -1) -> _T:
        """Remove and return the element at `index`; raise IndexError if it does not exist."""
        # Called before the length is read, because `__index__` may change the list.
        position = _index_of(index)
        if len(self) == 0:
            raise IndexError("pop from empty list")
        # The runtime resolves the index -1, because other threads may change the length.
        if position != -1:
            position = normalize_index(len(self), position)
        element: _T = _ffi_api.ListPop(self, position)
        return element

    def remove(self, value: _T) -> None:
        """Remove the first element that equals `value`; raise ValueError if there is none."""
        position = self.index(value)
        # Delete a slice instead of an element, because `__eq__` of an element may have shortened
        # the list: deleting a slice out of range is not an error.
        del self[position : position + 1]

    def clear(self) -> None:
        """Remove all elements."""
        del self[:]  # clear by one native call, because finalizers of elements may use the list

    def reverse(self) -> None:
        """Reverse the order of the elements in place."""
        _ffi_api.ListReverse(self)

    def __reduce__(self) -> Any:
        return type(self), (list(self),)


# ---- Mappings --------------------------------------------------------------------------------


class _Keys(KeysView[Any]):
    def __iter__(self) -> Iterator[Any]:
        return MappingIterator(self._mapping, 0)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{type(self._mapping).__name__}.keys({list(self)})"  # type: ignore[attr-defined]


class _Values(ValuesView[Any]):
    def __iter__(self) -> Iterator[Any]:
        return MappingIterator(self._mapping, 1)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{type(self._mapping).__name__}.values({list(self)})"  # type: ignore[attr-defined]


class _Items(ItemsView[Any, Any]):
    def __iter__(self) -> Iterator[Any]:
        return MappingIterator(self._mapping, 2)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{type(self._mapping).__name__}.items({list(self)})"  # type: ignore[attr-defined]


_ABSENT = object()


class _MappingMethods(MappingBase, Object):  # noqa: PLW1641  (Map defines `__hash__`)
    """Methods that Map and Dict share."""

    __slots__ = ()
    __tvm_ffi_type_info__: Any

    def __deepcopy__(self, memo: Any = None) -> Any:
        return _deep_copy(self, memo)

    def _repr_html_(self) -> str:
        """Return an HTML table of the key-value pairs, abbreviated as in ``repr``."""
        from ._internal.html import table
        from ._internal.printing import shown_pairs

        caption = f"{type(self).__name__} of {len(self)} pairs"
        return table(caption, shown_pairs(self.items(), len(self)))

    def keys(self) -> KeysView[Any]:
        """Return a view of the keys, in insertion order."""
        return _Keys(self)

    def values(self) -> ValuesView[Any]:
        """Return a view of the values, in insertion order of their keys."""
        return _Values(self)

    def items(self) -> ItemsView[Any, Any]:
        """Return a view of the ``(key, value)`` pairs, in insertion order."""
        return _Items(self)

    def __eq__(self, other: object) -> bool:
        if other is self:
            return True
        if not isinstance(other, type(self)):
            return NotImplemented
        if len(self) != len(other):
            return False
        for key, value in self.items():
            found = other.get(key, _ABSENT)
            if found is _ABSENT or not _is_same(value, found):
                return False
        # The lengths are compared again: `__eq__` of a value may change them.
        return len(self) == len(other)

    def __ne__(self, other: object) -> bool:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal


def mapping_from(cls: Any, row: list[Any]) -> Any:
    """Return a `cls` (Map or Dict) made from ``[key, value, key, value, ...]``.

    The keys need not be hashable in Python.  Pickles contain the name of this function.
    """
    mapping = cls.__new__(cls)
    mapping.__init_from_row__(row)
    return mapping


class Map(MapBase, _MappingMethods, Mapping[_K, _V_co]):
    """An immutable mapping in insertion order.

    Parameters
    ----------
    input_dict : mapping
        The key-value pairs.  Keys that are objects are compared by identity.

    Examples
    --------
    >>> m = tvm_ffi.Map({"a": 1, 2: "b"})
    >>> m["a"], 2 in m, 2.0 in m, list(m)
    (1, True, False, ['a', 2])
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, input_dict: Mapping[_K, _V_co]) -> None: ...
        def __getitem__(self, key: _K, /) -> _V_co: ...
        def __iter__(self) -> Iterator[_K]: ...
        @overload
        def get(self, key: _K, default: None = None) -> _V_co | None: ...
        @overload
        def get(self, key: _K, default: _V_co | _T) -> _V_co | _T: ...
        def get(self, key: _K, default: Any = None) -> Any: ...  # noqa: D102
        def keys(self) -> KeysView[_K]: ...  # noqa: D102
        def values(self) -> ValuesView[_V_co]: ...  # noqa: D102
        def items(self) -> ItemsView[_K, _V_co]: ...  # noqa: D102

    def __hash__(self) -> int:
        return hash(frozenset(self.items()))

    def __reduce__(self) -> Any:
        return mapping_from, (type(self), [part for pair in self.items() for part in pair])


class Dict(DictBase, _MappingMethods, MutableMapping[_K, _V]):
    """A mutable mapping in insertion order, shared by reference.

    Parameters
    ----------
    input_dict : mapping, optional
        The initial key-value pairs.

    Examples
    --------
    >>> d = tvm_ffi.Dict({"a": 1})
    >>> d["b"] = [2, 3]
    >>> d.pop("a"), list(d)
    (1, ['b'])
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __init__(self, input_dict: Mapping[_K, _V] | None = None) -> None: ...
        def __getitem__(self, key: _K, /) -> _V: ...
        def __iter__(self) -> Iterator[_K]: ...
        @overload
        def get(self, key: _K, default: None = None) -> _V | None: ...
        @overload
        def get(self, key: _K, default: _V | _T) -> _V | _T: ...
        def get(self, key: _K, default: Any = None) -> Any: ...  # noqa: D102
        def keys(self) -> KeysView[_K]: ...  # noqa: D102
        def values(self) -> ValuesView[_V]: ...  # noqa: D102
        def items(self) -> ItemsView[_K, _V]: ...  # noqa: D102

    __hash__ = None  # type: ignore[assignment]

    def __setitem__(self, key: _K, value: _V) -> None:
        _ffi_api.DictSetItem(self, key, value)

    def __delitem__(self, key: _K) -> None:
        if key not in self:
            raise KeyError(key)
        _ffi_api.DictErase(self, key)

    def pop(self, key: _K, default: Any = _ABSENT) -> Any:
        """Remove a key and return its value.

        If the key is absent, return `default`, or raise KeyError if `default` is omitted.
        """
        value = self.get(key, _ABSENT)
        if value is not _ABSENT:
            # Remove the key without an error if another thread has removed it already.
            _ffi_api.DictErase(self, key)
        elif default is _ABSENT:
            raise KeyError(key)
        else:
            value = default
        return value

    def clear(self) -> None:
        """Remove all keys and values."""
        _ffi_api.DictClear(self)

    def __reduce__(self) -> Any:
        return mapping_from, (type(self), [part for pair in self.items() for part in pair])


for _key, _class in {
    "ffi.Array": Array,
    "ffi.List": List,
    "ffi.Map": Map,
    "ffi.Dict": Dict,
}.items():
    _index = type_key_to_index(_key)
    assert _index is not None  # the runtime registers these types when its library is loaded
    register_class(_index, _class)
    attach_lazy_type_info(_key, _class)
