# SPDX-License-Identifier: Apache-2.0
"""Static checks of a library: symbols, needed level, exports, embedded modules."""

from __future__ import annotations

import struct
from collections.abc import Callable

from .. import abi
from ..documents import section
from ..elf import LibraryFile, Symbol
from ..results import Entry
from ..runtimes.cases.globals_ import FUNCTION_SINCE

_PREFIX = abi.SYMBOL_PREFIX


def function_names(library: LibraryFile) -> list[str]:
    """Return the names of the functions that a library exports."""
    return sorted(
        name[len(_PREFIX) :]
        for name in library.exported
        if name.startswith(_PREFIX) and not name.startswith(_PREFIX + "_")
    )


def needed_level(library: LibraryFile) -> str:
    """Return the first level whose runtimes have all C functions that the library imports."""
    levels = [
        FUNCTION_SINCE.get(name, "0.1.0") for name in library.undefined if name in abi.FUNCTIONS
    ]
    return max(levels, key=lambda level: tuple(map(int, level.split("."))), default="0.1.0")


def check(library: LibraryFile) -> list[Entry]:
    """Return the results of the static checks."""
    entries: list[Entry] = []

    def add(
        name: str, cites: str, rule: str, problem: str, where: str = "", required: bool = True
    ) -> None:
        found = section(cites)
        entries.append(
            Entry(
                f"static.{name}", "fail" if problem else "pass", required, found.document, found.heading,
                rule, problem, where=where,
                repeat=f"tvm-ffi-conform library {library.path} --static",
            )
        )  # fmt: skip

    names = function_names(library)
    add("functions", "13.3", "The library exports `__tvm_ffi_NAME` symbols.",
        "" if names else "no symbol begins with __tvm_ffi_")  # fmt: skip
    for name in names:
        symbol = library.exported[_PREFIX + name]
        add(
            f"{name}.kind",
            "13.3",
            "An exported function is a function symbol.",
            _kind(symbol),
            name,
        )
    unknown = [
        each
        for each in library.undefined
        if each.startswith("TVMFFI") and each not in abi.FUNCTIONS
    ]
    add("imports", "6", "Imported TVMFFI symbols are functions of the C ABI.", ", ".join(unknown))
    add("stack", "1", "The library does not ask for an executable stack.",
        "the stack would be executable" if library.executable_stack else "")  # fmt: skip
    add("text_relocations", "1", "The library has no text relocations.",
        "found text relocations" if library.text_relocations else "")  # fmt: skip
    runtime = [each for each in library.exported if each.startswith("TVMFFI")]
    add(
        "exports.runtime",
        "13.3",
        "The library exports no C function of the runtime.",
        ", ".join(runtime[:5]),
    )
    extra = [
        each
        for each in library.exported
        if not each.startswith(_PREFIX) and not each.startswith("_Z")
    ]
    extra = [
        each for each in extra if each not in ("_init", "_fini", "__bss_start", "_edata", "_end")
    ]
    add("exports.other", "13.3", "The library exports nothing but its functions.", ", ".join(extra[:8]),
        required=False)  # fmt: skip
    absent = [
        each
        for prefix in (abi.METADATA_SYMBOL_PREFIX, abi.DOC_SYMBOL_PREFIX)
        for each in library.exported
        if each.startswith(prefix) and each[len(prefix) :] not in names
    ]
    add(
        "metadata_without_function",
        "13.3",
        "Metadata and documentation belong to a function.",
        ", ".join(absent),
    )
    embedded = library.exported.get(abi.LIBRARY_BIN_SYMBOL)
    if embedded:
        add(
            "embedded",
            "14.4",
            "The embedded import tree is complete.",
            _guard(lambda: _tree(library, embedded)),
        )
    return entries


def _kind(symbol: Symbol) -> str:
    return "" if symbol.kind in (2, 10) else f"expected a function symbol, got kind {symbol.kind}"


def _guard(check_: Callable[[], str]) -> str:
    try:
        return check_()
    except (ValueError, struct.error) as error:
        return str(error)


def _tree(library: LibraryFile, symbol: Symbol) -> str:
    """Return the problem of an embedded import tree, or an empty text."""
    (total,) = struct.unpack("<Q", library.data(symbol.value, 8))
    content = library.data(symbol.value + 8, total)
    if len(content) < total:
        return f"expected {total} bytes, got {len(content)}"
    position = 0

    def number() -> int:
        nonlocal position
        (value,) = struct.unpack_from("<Q", content, position)
        position += 8
        return value

    rows = [number() for _ in range(min(number(), total // 8))]
    children = [number() for _ in range(min(number(), total // 8))]
    modules = len(rows) - 1
    if modules < 1 or rows[0] != 0 or rows[-1] != len(children) or rows != sorted(rows):
        return f"row pointers {rows} do not describe {len(children)} children"
    if any(each >= modules for each in children):
        return f"a child index is not below the number of modules, {modules}"
    for _ in range(modules):
        size = number()
        kind = content[position : position + size]
        position += size
        if not kind:
            return "a module kind is empty"
        if kind != b"_lib":
            payload = number()
            position += payload
    return "" if position == total else f"expected {total} bytes, the tree has {position}"
