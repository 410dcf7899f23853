# SPDX-License-Identifier: Apache-2.0
"""ABI levels that a library may have been compiled against, derived from its symbols and strings.

The levels are releases of apache-tvm-ffi.  If a library needs a symbol, the release that introduced
the symbol is a lower bound, and the last release that has it an upper bound.  A string that only
the headers of some releases contain gives both bounds.  The tables here come from a comparison of
the published wheels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from ._report import EraReport

_NAMESPACE = re.compile(r"_Z(?:GV|Z|T[VTIS])*NK?3tvm3ffi")
_SPECIAL = {"TV": "vtable for ", "TI": "type info for ", "TS": "name of type "}

# Releases of apache-tvm-ffi in order, by the version of their wheels.
RELEASES = (
    "0.1.8", "0.1.9", "0.1.10", "0.1.11", "0.1.12", "0.1.13.post3", "0.1.14", "0.1.15.post1",
)  # fmt: skip

# For each symbol, the release that introduced it.  Symbols that are not listed are in 0.1.8 or an
# earlier release.
_SINCE = {
    "TVMFFIErrorCreateWithCauseAndExtraContext": "0.1.8",
    "TVMFFIHandleInitOnce": "0.1.8",
    "TVMFFIHandleDeinitOnce": "0.1.8",
    "TVMFFITensorCreateUnsafeView": "0.1.8",
    "_ZN3tvm3ffi8DeepCopyERKNS0_3AnyE": "0.1.11",
    "_ZN3tvm3ffi9ReprPrintERKNS0_3AnyE": "0.1.11",
    "_ZN3tvm3ffi13RecursiveHashERKNS0_3AnyE": "0.1.11",
    "_ZN3tvm3ffi11RecursiveEqERKNS0_3AnyES3_": "0.1.11",
    "_ZN3tvm3ffi11RecursiveLtERKNS0_3AnyES3_": "0.1.11",
    "_ZN3tvm3ffi11RecursiveLeERKNS0_3AnyES3_": "0.1.11",
    "_ZN3tvm3ffi11RecursiveGtERKNS0_3AnyES3_": "0.1.11",
    "_ZN3tvm3ffi11RecursiveGeERKNS0_3AnyES3_": "0.1.11",
    "_ZN3tvm3ffi17VisitErrorContext15FindAccessPathsERKNS0_9ObjectRefERKS1_b": "0.1.12",
    "TVMFFIGetCustomAllocator": "0.1.13.post3",
    "TVMFFISetCustomAllocator": "0.1.13.post3",
    "_ZN3tvm3ffi4json9StringifyERKNS0_3AnyERKNS0_8OptionalIivEE": "0.1.13.post3",
    "TVMFFIBigIntFromByteArray": "0.1.14",
    "TVMFFIBigIntGetContentByteArray": "0.1.14",
}
# For each symbol that a later release removed, the last release that has the symbol.
_UNTIL = {"_ZN3tvm3ffi4json9StringifyERKNS0_3AnyENS0_8OptionalIivEE": "0.1.12"}
# Names of type attributes (strings) that only the headers of some releases compile into libraries,
# each with the first and the last of these releases.
_STRINGS = {
    "__ffi_enum_entries__": ("0.1.11", "0.1.12"),
    "__ffi_enum_attrs__": ("0.1.11", "0.1.12"),
    "__ffi_enum_value_entries__": ("0.1.11", "0.1.12"),
}


def is_abi_symbol(name: str) -> bool:
    """Return True if a symbol is a C function of the ABI or is in the namespace ``tvm::ffi``."""
    return name.startswith("TVMFFI") or _NAMESPACE.match(name) is not None


def introduced_in(name: str) -> str | None:
    """Return the release that introduced a symbol; None if unknown or earlier than 0.1.8."""
    return _SINCE.get(name)


def readable_name(symbol: str) -> str:
    """Return the qualified name of a C++ symbol without parameters; other symbols unchanged."""
    match = re.match(r"_Z((?:GV|Z|T[VTIS])*)NK?", symbol)
    if match is None:
        return symbol
    parts, at = [], match.end()
    while (number := re.compile(r"\d{1,4}").match(symbol, at)) is not None:
        at = number.end() + int(number[0])
        parts.append(symbol[number.end() : at])
    return _SPECIAL.get(match[1], "") + "::".join(parts) if parts else symbol


def abi_level_report(
    symbols: Iterable[str], contains_text: Callable[[str], bool], declared: str | None
) -> EraReport:
    """Return the range of releases that a library may have been compiled against.

    Parameters
    ----------
    symbols : iterable of str
        Names of the ABI symbols that the library needs.
    contains_text : callable
        Function that returns True if a string is among the constants of the library.
    declared : str, optional
        ABI level of the headers, if they recorded it in the library.
    """
    at_least, at_most = -1, len(RELEASES)
    evidence = [] if declared is None else [f"records that its headers have ABI level {declared}"]
    for name in sorted(set(symbols)):
        if name in _SINCE:
            at_least = max(at_least, RELEASES.index(_SINCE[name]))
            evidence.append(f"needs {readable_name(name)}, which release {_SINCE[name]} added")
        if name in _UNTIL:
            at_most = min(at_most, RELEASES.index(_UNTIL[name]))
            evidence.append(
                f"needs a form of {readable_name(name)} that releases after {_UNTIL[name]} lack"
            )
    for text, (first, last) in _STRINGS.items():
        if contains_text(text):
            at_least = max(at_least, RELEASES.index(first))
            at_most = min(at_most, RELEASES.index(last))
            evidence.append(f"contains the string {text!r}, which headers of {first} to {last} add")
    return EraReport(
        declared=declared,
        at_least=RELEASES[at_least] if at_least >= 0 else None,
        at_most=RELEASES[at_most] if at_most < len(RELEASES) else None,
        evidence=tuple(evidence),
    )
