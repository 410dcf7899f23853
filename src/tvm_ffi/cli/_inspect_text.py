# SPDX-License-Identifier: Apache-2.0
"""Text output of `tvm-ffi inspect`: reports about libraries and differences between them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from .._internal.terminal import printable
from ..inspection import Change, FunctionReport, LibraryDifference, LibraryReport, ModuleReport
from ._module_tree import module_lines

_UNREAD = "only readable by running the library"
_LABEL_WIDTH = 14


def print_report(report: LibraryReport) -> None:
    """Print the report about a library."""
    console = _console()
    _line(console, (report.path, "bold"))
    _facts(console, report)
    if report.functions:
        _heading(console, f"Functions ({len(report.functions)})")
        for function in report.functions:
            _print_function(console, function)
    if report.symbols:
        missing = sum(not symbol.is_provided for symbol in report.symbols)
        _heading(console, f"ABI symbols ({len(report.symbols)} needed, {missing} missing)")
        for symbol in report.symbols:
            since = f", since {symbol.since}" if symbol.since else ""
            state = ("provided", "green") if symbol.is_provided else ("MISSING", "bold red")
            _line(console, "  ", state, f"  {symbol.readable_name}{since}")
    if report.undefined:
        _heading(console, f"Undefined symbols ({len(report.undefined)})")
        for name in report.undefined:
            _line(console, f"  {name}  ", ("no linked library defines it", "yellow"))
    if report.modules:
        _print_modules(console, report.modules)
    if report.device_code:
        _heading(console, f"Device code ({len(report.device_code)})")
        for code in report.device_code:
            _line(console, f"  {code.kind} {code.arch}, {_size(code.size_bytes)} in {code.place}")
    if report.problems:
        _heading(console, "Problems")
        for problem in report.problems:
            _line(console, "  ", (problem, "red"))


def print_difference(
    difference: LibraryDifference, before: LibraryReport, after: LibraryReport
) -> None:
    """Print the differences between two libraries."""
    console = _console()
    _line(console, "before  ", (before.path, "bold"))
    _line(console, "after   ", (after.path, "bold"))
    if not difference:
        _line(console, "no difference")
        return
    if difference.machine is not None:
        _changes(console, "Machine", [difference.machine])
    _names(console, "Functions removed", "-", difference.functions_removed)
    _names(console, "Functions added", "+", difference.functions_added)
    _changes(console, "Functions changed", difference.functions_changed)
    _names(console, "ABI symbols newly needed", "+", difference.symbols_newly_needed)
    _changes(console, "Versions raised", difference.floors_raised)
    _names(console, "Device code removed", "-", difference.device_code_removed)
    _names(console, "Device code added", "+", difference.device_code_added)


# ---- Parts of a report ---------------------------------------------------------------------------


def _facts(console: Console, report: LibraryReport) -> None:
    elsewhere = "" if report.is_for_this_machine else ", not this machine"
    serves = ("can load it", "green") if report.is_served else ("CANNOT load it", "bold red")
    era = report.era
    releases = {
        (False, False): "any release",
        (True, False): f"{era.at_least} or later",
        (False, True): f"{era.at_most} or earlier",
        (True, True): f"{era.at_least} to {era.at_most}",
    }[era.at_least is not None, era.at_most is not None]
    if era.declared is not None:
        releases = f"level {era.declared}"
    floors = ", ".join(f"{family} {version}" for family, version in report.floors.items())
    _fact(console, "machine", f"{report.machine}, {report.bits}-bit{elsewhere}")
    _fact(console, "size", _size(report.size_bytes))
    _fact(console, "runtime", f"TVM FFI ABI {report.runtime} ", serves)
    _fact(console, "built against", releases)
    for evidence in era.evidence:
        _fact(console, "", evidence)
    _fact(console, "soname", report.soname or "")
    _fact(console, "links to", ", ".join(report.needed))
    _fact(console, "runpath", ":".join(report.runpath))
    _fact(console, "needs", floors)


def _fact(console: Console, label: str, text: str, *more: tuple[str, str]) -> None:
    if text:
        _line(console, f"  {label:{_LABEL_WIDTH}}{text}", *more)


def _print_modules(console: Console, modules: Sequence[ModuleReport]) -> None:
    _heading(console, f"Embedded modules ({len(modules)})")
    for line in module_lines(modules, is_ascii=console.options.ascii_only):
        _line(console, line)
    for index, module in enumerate(modules):
        if module.functions:
            count, loader = len(module.functions), module.loader
            _heading(console, f"Functions of module {index} ({count}), loaded by {loader}")
            for function in module.functions:
                _print_function(console, function)


def _print_function(console: Console, function: FunctionReport) -> None:
    signature = function.signature or ""
    unread = f"  signature: {_UNREAD}" if "metadata" in function.unread else ""
    _line(console, "  ", (function.name, "bold"), signature, (unread, "dim"))
    if function.doc is not None:
        lines = (f"      {printable(line)}\n" for line in function.doc.strip().splitlines())
        # Print the lines without rich, because there may be a million lines and rich takes 0.1 ms
        # for each.
        console.file.writelines(lines)
    elif "doc" in function.unread:
        _line(console, (f"      documentation: {_UNREAD}", "dim"))


# ---- Parts of a comparison -----------------------------------------------------------------------


def _names(console: Console, heading: str, mark: str, names: Iterable[str]) -> None:
    names = tuple(names)
    if names:
        _heading(console, heading)
    for name in names:
        _line(console, f"  {mark} {name}")


def _changes(console: Console, heading: str, changes: Iterable[Change]) -> None:
    changes = tuple(changes)
    if changes:
        _heading(console, heading)
    for change in changes:
        _line(console, f"  {change.name}")
        _line(console, f"    - {change.before}")
        _line(console, f"    + {change.after}")


# ---- Printing of lines ---------------------------------------------------------------------------


def _console() -> Console:
    console = Console(highlight=False, soft_wrap=True)
    console.width = max(console.width, 20)  # rich writes nothing with COLUMNS=0
    return console


def _heading(console: Console, text: str) -> None:
    _line(console)
    _line(console, (text, "bold"))


def _line(console: Console, *parts: str | tuple[str, str]) -> None:
    text = Text()
    for part in parts:
        string, style = part if isinstance(part, tuple) else (part, "")
        text.append(printable(string), style)
    console.print(text, soft_wrap=True)


def _size(size_bytes: int) -> str:
    return f"{size_bytes:,} bytes"
