# SPDX-License-Identifier: Apache-2.0
"""Library binary: the serialized modules at the symbol ``__tvm_ffi__library_bin`` of a library.

Layout for n modules with m imports in total; all numbers are unsigned 64-bit little-endian:

    total | n + 1, row[0] ... row[n] | m, child[0] ... child[m - 1] | module 0 | ... | module n - 1
    module:   kind length, kind in UTF-8, payload length, payload
    `_lib`:   4, "_lib"                    the code of the library; without payload

`total` is the number of bytes that follow it.  Module i imports the modules child[row[i]], ...,
child[row[i + 1] - 1], in this order; a module with several importers is stored once.  `load_module`
returns module 0.  `_lib` may occur several times: compilers link the code of several modules of a
tree into one library.

This Python module works without the compiled binding.  Only the function `encode` copies payloads.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Union

SYMBOL = "__tvm_ffi__library_bin"
LIBRARY_KIND = "_lib"

Payload = Union[bytes, bytearray, memoryview]

_SIZE = struct.Struct("<Q")


@dataclass(frozen=True)
class EmbeddedModule:
    """A serialized module in a library."""

    kind: str
    """Kind of the module; `LIBRARY_KIND` for the code of the library."""
    payload: Payload | None
    """Bytes for the loader of the module's kind; None if and only if the kind is `LIBRARY_KIND`."""
    imports: tuple[int, ...] = ()
    """Indices of the imported modules, in import order."""


# ---- Writing of library binaries -----------------------------------------------------------------


def encode(modules: Sequence[EmbeddedModule]) -> bytes:
    """Return the library binary of `modules`.  Loading the library returns the first module.

    Raises
    ------
    ValueError
        If `modules` is empty, a kind is empty, an import index is out of range, or imports are
        cyclic.
    """
    return b"".join(encoded_parts(modules))


def encoded_parts(modules: Sequence[EmbeddedModule]) -> list[Payload]:
    """Return the pieces of a library binary: payloads (not copied) and the bytes between them."""
    rows = [0]
    for module in modules:
        rows.append(rows[-1] + len(module.imports))
    _check_modules(modules)
    children = [child for module in modules for child in module.imports]
    parts: list[Payload] = [_vector(rows) + _vector(children)]
    for module in modules:
        kind = module.kind.encode()
        parts.append(_SIZE.pack(len(kind)) + kind)
        if module.payload is not None:
            payload = memoryview(module.payload).cast("B")
            parts += [_SIZE.pack(len(payload)), payload]
    return [_SIZE.pack(sum(map(len, parts))), *parts]


def _vector(numbers: Sequence[int]) -> bytes:
    return struct.pack(f"<{len(numbers) + 1}Q", len(numbers), *numbers)


def _check_modules(modules: Sequence[EmbeddedModule]) -> None:
    if not modules:
        raise ValueError("library binary: expected at least one module, got none")
    for index, module in enumerate(modules):
        _check_module(index, module)
        for child in module.imports:
            if not 0 <= child < len(modules):
                raise ValueError(
                    f"library binary: module {index} ({module.kind!r}) imports module {child}, "
                    f"but the number of modules is {len(modules)}"
                )
    _check_acyclic([module.imports for module in modules])


def _check_module(index: int, module: EmbeddedModule) -> None:
    if not module.kind:
        raise ValueError(f"library binary: module {index} has an empty kind")
    if (module.payload is None) != (module.kind == LIBRARY_KIND):
        wanted = "no payload" if module.kind == LIBRARY_KIND else "a payload"
        raise ValueError(
            f"library binary: module {index} of kind {module.kind!r} must have {wanted}, "
            f"because only the kind {LIBRARY_KIND!r} has none"
        )


# ---- Reading of library binaries -----------------------------------------------------------------


def decode(data: Payload) -> list[EmbeddedModule]:
    """Parse and validate a library binary.

    Parameters
    ----------
    data : bytes, bytearray or memoryview
        The complete library binary.

    Returns
    -------
    list of EmbeddedModule
        The modules; loading the library returns the first one.  Payloads are views of `data`.

    Raises
    ------
    ValueError
        If `data` is not a valid library binary; the message has the offset of the error.
    """
    reader = _Reader(memoryview(data).cast("B"))
    reader.take_total()
    rows, rows_at = reader.take_vector("row pointer")
    children, children_at = reader.take_vector("child")
    count = len(rows) - 1
    _check_rows(rows, rows_at, len(children))
    _check_children(children, children_at, count)
    imports = [tuple(children[rows[i] : rows[i + 1]]) for i in range(count)]
    modules = [reader.take_module(index, imports[index]) for index in range(count)]
    reader.check_end()
    _check_acyclic(imports)
    return modules


class _Reader:
    """A cursor over a library binary; methods raise ValueError instead of reading past the end."""

    def __init__(self, data: memoryview) -> None:
        self._data = data
        self._offset = 0

    def take_total(self) -> None:
        total = self._take_number("the number of bytes that follow")
        if total != self._remaining:
            raise _error(0, f"{self._remaining}, the number of bytes that follow", total)

    def take_vector(self, name: str) -> tuple[tuple[int, ...], int]:
        """Return a list of numbers, stored after their count, and the offset of the first number.

        The count is compared with the number of remaining bytes before memory is allocated.
        """
        at = self._offset
        count = self._take_number(f"the number of {name} entries")
        if count > self._remaining // _SIZE.size:
            raise _error(
                at,
                f"at most {self._remaining // _SIZE.size} {name} entries, as {self._remaining} "
                "bytes remain",
                count,
            )
        begin = self._offset
        numbers = struct.unpack_from(f"<{count}Q", self._data, begin)
        self._offset += count * _SIZE.size
        return numbers, begin

    def take_module(self, index: int, imports: tuple[int, ...]) -> EmbeddedModule:
        at = self._offset
        view = self._take_bytes(f"the kind of module {index}")
        if not view:
            raise _error(at, f"the length of the kind of module {index}, at least 1", 0)
        try:
            kind = str(view, "utf-8")
        except UnicodeDecodeError as error:
            offset = at + _SIZE.size + error.start
            wanted = f"UTF-8 in the kind of module {index}"
            raise _error(offset, wanted, f"byte 0x{view[error.start]:02x}") from error
        if kind == LIBRARY_KIND:
            return EmbeddedModule(kind, None, imports)
        return EmbeddedModule(kind, self._take_bytes(f"the payload of module {index}"), imports)

    def check_end(self) -> None:
        if self._remaining:
            raise _error(self._offset, "the end", f"{self._remaining} more bytes")

    @property
    def _remaining(self) -> int:
        return len(self._data) - self._offset

    def _take_number(self, name: str) -> int:
        if self._remaining < _SIZE.size:
            raise _error(self._offset, f"{name} in 8 bytes", f"{self._remaining} bytes")
        (number,) = _SIZE.unpack_from(self._data, self._offset)
        self._offset += _SIZE.size
        return int(number)

    def _take_bytes(self, name: str) -> memoryview:
        at = self._offset
        size = self._take_number(f"the length of {name}")
        if size > self._remaining:
            raise _error(at, f"the length of {name}, at most {self._remaining}", size)
        view = self._data[self._offset : self._offset + size]
        self._offset += size
        return view


def _error(offset: int, expected: str, got: object) -> ValueError:
    return ValueError(f"library binary: byte {offset}: expected {expected}, got {got}")


def _check_rows(rows: tuple[int, ...], rows_at: int, num_children: int) -> None:
    """Raise ValueError unless `rows` begins at 0, does not decrease, and ends at `num_children`."""
    if len(rows) < 2:
        raise _error(rows_at - _SIZE.size, "at least 2 row pointer entries", len(rows))
    if rows[0] != 0:
        raise _error(rows_at, "0 as row pointer 0", rows[0])
    for i in range(1, len(rows)):
        if not rows[i - 1] <= rows[i] <= num_children:
            wanted = f"row pointer {i} from {rows[i - 1]} to {num_children}"
            raise _error(rows_at + i * _SIZE.size, wanted, rows[i])
    if rows[-1] != num_children:
        at = rows_at + (len(rows) - 1) * _SIZE.size
        raise _error(at, f"{num_children}, the number of children, as last row pointer", rows[-1])


def _check_children(children: tuple[int, ...], children_at: int, count: int) -> None:
    for i, child in enumerate(children):
        if child >= count:
            wanted = f"a module below {count} as child {i}"
            raise _error(children_at + i * _SIZE.size, wanted, child)


# ---- Detection of import cycles ------------------------------------------------------------------


def _check_acyclic(imports: Sequence[Sequence[int]]) -> None:
    cycle = find_cycle(imports)
    if cycle is not None:
        shown = list(map(str, cycle))
        shown = shown if len(shown) <= 8 else [*shown[:4], "...", *shown[-3:]]
        raise ValueError(f"library binary: modules import in a cycle: {' -> '.join(shown)}")


def find_cycle(imports: Sequence[Sequence[int]]) -> list[int] | None:
    """Return an import cycle as a list of module indices; None if the imports are acyclic.

    The first index is repeated at the end.  The search is iterative, so that deep trees do not
    exhaust the stack.
    """
    done = [False] * len(imports)
    # Maps each module of the current path to its remaining children.
    on_path: dict[int, Iterator[int]] = {}
    for start in range(len(imports)):
        pending = [] if done[start] else [start]
        while pending:
            module = pending[-1]
            children = on_path.setdefault(module, iter(imports[module]))
            child = next((child for child in children if not done[child]), None)
            if child is None:
                done[pending.pop()] = True
                del on_path[module]
            elif child in on_path:
                return [*pending[pending.index(child) :], child]
            else:
                pending.append(child)
    return None
