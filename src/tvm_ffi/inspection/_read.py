# SPDX-License-Identifier: Apache-2.0
"""Function `inspect_library`, which reads a library file and assembles the report about it."""

from __future__ import annotations

import contextlib
import ctypes
import os
import re
import sys
from collections.abc import Iterable

from .. import libinfo
from .._internal.platform import machine
from .._library.cuda_driver_module import SavedFunction, SavedImage, read_cuda_driver_module
from .._library.elf import Image, Symbol, open_image
from .._library.embedded_modules import LIBRARY_KIND, SYMBOL, EmbeddedModule, decode
from ..registry import get_global_func
from ._abi_levels import abi_level_report, introduced_in, is_abi_symbol, readable_name
from ._device_code import device_code
from ._report import FunctionReport, LibraryReport, ModuleReport, SymbolReport
from ._signatures import (
    SIGNATURES,
    declared_level,
    exported_texts,
    parsed_metadata,
    signature_of,
)
from ._undefined import undefined_symbols

_PREFIX = "__tvm_ffi_"
_METADATA_PREFIX, _DOC_PREFIX = "__tvm_ffi__metadata_", "__tvm_ffi__doc_"
_SLOTS = ("__tvm_ffi__library_ctx", SYMBOL)
# Limit of the total length of signatures as a multiple of the file size.  In real libraries, the
# strings do not overlap, so the total is smaller.
_MAX_SHARED = 2
_VERSION = re.compile(r"^(\w+?)_(\d{1,9}(?:\.\d{1,9})*)$")


def inspect_library(
    path: str | os.PathLike[str], *, beside: Iterable[str | os.PathLike[str]] = ()
) -> LibraryReport:
    """Return a report about the exports, requirements and contents of a shared library.

    The library is read without being loaded, so it may be untrusted and for any machine.

    Parameters
    ----------
    path : path
        The library file.
    beside : iterable of path, optional
        Libraries that will be loaded before this one; symbols that they define count as provided.

    Returns
    -------
    LibraryReport
        The report.  Its `problems` are the reasons why the installed runtime cannot load the
        library.

    Raises
    ------
    OSError
        If a file cannot be opened.
    LibraryFileError
        If a file is not a well-formed shared library; the message has the offset.
    """
    provided: set[str] = set()
    for other in (libinfo.find_libtvm_ffi(), *beside):
        provided |= _defined_in(other)
    with open_image(path) as image:
        return _report(image, provided)


def _report(image: Image, provided: set[str]) -> LibraryReport:
    symbols = image.symbols()
    links = image.dynamic_texts()
    texts = exported_texts(image)
    needs = _needed_symbols(symbols, provided)
    modules, saved_images, problem = _modules(image, symbols)
    problems = [*_problems_of_format(image), *_problems_of_symbols(needs)]
    if problem is not None:
        problems.append(problem)
    return LibraryReport(
        path=image.path,
        size_bytes=len(image.data),
        machine=image.machine,
        bits=image.bits,
        is_little_endian=image.is_little_endian,
        is_for_this_machine=_is_for_this_machine(image),
        runtime=version_of_runtime(),
        soname=next(iter(links["soname"]), None),
        needed=tuple(links["needed"]),
        runpath=tuple(links["runpath"]),
        functions=_functions(texts, symbols, _MAX_SHARED * len(image.data)),
        symbols=needs,
        undefined=_undefined(image, symbols, links, provided),
        era=abi_level_report(
            (need.name for need in needs), image.contains_text, declared_level(texts)
        ),
        modules=modules,
        device_code=tuple(device_code(image, saved_images)),
        floors=_floors(image.version_needs()),
        problems=tuple(problems),
    )


# ---- Provided symbols ----------------------------------------------------------------------------


def _defined_in(path: str | os.PathLike[str]) -> set[str]:
    with open_image(path) as image:
        return {symbol.name for symbol in image.symbols() if symbol.is_defined}


def version_of_runtime() -> str:
    """Return the ABI level of the installed runtime."""
    numbers = (ctypes.c_uint32 * 3)()
    ctypes.CDLL(libinfo.find_libtvm_ffi()).TVMFFIGetVersion(numbers)
    return ".".join(map(str, numbers))


# ---- Problems that prevent loading ---------------------------------------------------------------


def _is_for_this_machine(image: Image) -> bool:
    order = "little" if image.is_little_endian else "big"
    bits = 64 if sys.maxsize > 2**32 else 32
    return (image.machine, image.bits, order) == (machine(), bits, sys.byteorder)


def _problems_of_format(image: Image) -> list[str]:
    if image.bits == 64 and image.is_little_endian:
        return []
    order = "little" if image.is_little_endian else "big"
    library = f"a {image.bits}-bit {order}-endian library for {image.machine}"
    return [f"{library}, but the ABI is only for 64-bit little-endian machines"]


def _problems_of_symbols(needs: Iterable[SymbolReport]) -> list[str]:
    return [
        f"the library needs {need.readable_name}, which the runtime does not provide"
        for need in needs
        if not need.is_provided
    ]


# ---- Parts of the report -------------------------------------------------------------------------


def _needed_symbols(symbols: list[Symbol], provided: set[str]) -> tuple[SymbolReport, ...]:
    """Return the undefined ABI symbols of a library, without weak symbols."""
    names = sorted(
        {
            symbol.name
            for symbol in symbols
            if not (symbol.is_defined or symbol.is_weak) and is_abi_symbol(symbol.name)
        }
    )
    return tuple(
        SymbolReport(name, readable_name(name), name in provided, introduced_in(name))
        for name in names
    )


def _undefined(
    image: Image, symbols: list[Symbol], links: dict[str, list[str]], provided: set[str]
) -> tuple[str, ...] | None:
    """Return the strong undefined symbols outside the ABI that no linked library defines."""
    if not _is_for_this_machine(image):
        return None
    names = {
        symbol.name
        for symbol in symbols
        if not (symbol.is_defined or symbol.is_weak or is_abi_symbol(symbol.name)) and symbol.name
    }
    return undefined_symbols(names - provided, image.path, links["needed"], links["runpath"])


def _functions(
    texts: dict[str, dict[str, str]], symbols: list[Symbol], budget: int
) -> tuple[FunctionReport, ...]:
    """Return the exported functions; omit signatures when they exceed `budget` characters."""
    defined = {symbol.name for symbol in symbols if symbol.is_defined}
    names = (
        name[len(_PREFIX) :]
        for name in defined
        if name.startswith(_PREFIX)
        and not name.startswith((_METADATA_PREFIX, _DOC_PREFIX))
        and name not in _SLOTS
    )
    found = []
    for name in sorted(names):
        rows = texts.get(name, {})
        budget -= sum(len(rows.get(kind, "")) for kind in SIGNATURES)
        if budget < 0:
            rows = {kind: text for kind, text in rows.items() if kind not in SIGNATURES}
        found.append(_function(name, rows, defined))
    return tuple(found)


def _function(name: str, texts: dict[str, str], defined: set[str]) -> FunctionReport:
    signature = signature_of(name, texts)
    unread = []
    if _METADATA_PREFIX + name in defined and signature is None:
        unread.append("metadata")
    if _DOC_PREFIX + name in defined and "doc" not in texts:
        unread.append("doc")
    return FunctionReport(name, signature, texts.get("doc"), parsed_metadata(texts), tuple(unread))


def _modules(
    image: Image, symbols: list[Symbol]
) -> tuple[tuple[ModuleReport, ...], list[SavedImage], str | None]:
    """Return the embedded modules, their device images, and a message or None."""
    symbol = next((entry for entry in symbols if entry.name == SYMBOL and entry.is_defined), None)
    if symbol is None:
        return (), [], None
    start, left = image.offset_of(symbol.address), image.bytes_left_at(symbol.address)
    if start is None:
        return (), [], f"embedded modules: the symbol {SYMBOL} refers to bytes outside of the file"
    total = int.from_bytes(image.data[start : start + min(8, left)], "little")
    try:
        modules = decode(image.data[start : start + min(left, 8 + total)])
    except ValueError as error:
        return (), [], f"embedded modules: {error}"
    images: list[SavedImage] = []
    return tuple(_module(module, images) for module in modules), images, None


def _module(module: EmbeddedModule, images: list[SavedImage]) -> ModuleReport:
    """Return the report about a module; add its device images to `images`."""
    if module.kind == LIBRARY_KIND:
        return ModuleReport(module.kind, None, module.imports)
    payload = module.payload or b""
    functions: tuple[FunctionReport, ...] = ()
    if module.kind == "cuda_driver":
        with contextlib.suppress(ValueError):  # damaged: the loader reports it
            found, saved = read_cuda_driver_module(bytes(payload))
            images += found
            functions = tuple(map(_saved_function, sorted(saved)))
    loader = f"ffi.Module.load_from_bytes.{module.kind}"
    has_loader = get_global_func(loader, allow_missing=True) is not None
    return ModuleReport(module.kind, len(payload), module.imports, loader, has_loader, functions)


def _saved_function(function: SavedFunction) -> FunctionReport:
    texts = {"metadata": function.metadata} if function.metadata else {}
    # The documentation of a launch plan without documentation is its signature.
    if function.doc and function.doc != (parsed_metadata(texts) or {}).get("signature"):
        texts["doc"] = function.doc
    return _function(function.name, texts, set())


def _floors(versions: list[str]) -> dict[str, str]:
    """Return the highest required version of each symbol family, such as ``GLIBCXX``."""
    floors: dict[str, str] = {}
    for version in versions:
        match = _VERSION.match(version)
        if match is None:
            continue
        family, number = match[1], match[2]
        if family not in floors or version_key(floors[family]) < version_key(number):
            floors[family] = number
    return dict(sorted(floors.items()))


def version_key(version: str) -> tuple[int, ...]:
    """Return a sort key for a version, so that ``2.9`` precedes ``2.34``.

    Parameters
    ----------
    version : str
        Numbers with dots between them, as in `LibraryReport.floors`.
    """
    return tuple(int(part) for part in version.split("."))
