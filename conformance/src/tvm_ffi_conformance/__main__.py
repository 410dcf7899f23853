# SPDX-License-Identifier: Apache-2.0
"""The command `tvm-ffi-conform`: run the kit on a runtime, a library or a caller."""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path

from .results import Results, kit_version, problems, read
from .runtimes.case import CURRENT, load_cases, parse_level

_STATUS = (
    "The exit status is 0 if all required cases passed, 1 if one did not, 2 for invalid arguments "
    "and for a subject that cannot be loaded."
)
_EXAMPLE = "Example: library kernel.so --signature 'add(x: float32[n], y: out float32[n])'"
_ARGUMENTS = "1, 2.5, true, none, text, or a tensor: float32[2,3] (zeros), float32[3]=1,2,3"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Returns
    -------
    int
        0 if all required cases passed, 1 if one did not, 2 for invalid arguments and for a subject
        that cannot be loaded.
    """
    options = _parser().parse_args(arguments)
    try:
        return options.run(options)
    except (OSError, ValueError) as error:
        print(f"tvm-ffi-conform: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tvm-ffi-conform",
        description="Check a runtime, a library or a caller against the TVM FFI ABI.",
        epilog=f"{_STATUS} COMMAND --help describes a command.",
    )
    parser.add_argument("--version", action="version", version=f"tvm-ffi-conform {kit_version()}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, help_: str, epilog: str = "") -> argparse.ArgumentParser:
        description = f"{help_[0].upper()}{help_[1:]}."
        return commands.add_parser(name, help=help_, description=description, epilog=epilog)

    runtime = command("runtime", "run the cases on a libtvm_ffi.so", _STATUS)
    runtime.add_argument("path", help="path of the runtime")
    runtime.add_argument(
        "--level", type=_level,
        help="level to measure against, such as 0.1.8; by default the one that the runtime reports",
    )  # fmt: skip
    runtime.add_argument("--jobs", type=int, help="number of worker processes; by default up to 4")
    runtime.add_argument(
        "--no-fork", dest="fork", action="store_false", default=None,
        help="run each case in a fresh process instead of a forked one",
    )  # fmt: skip
    runtime.set_defaults(run=_runtime)
    library = command("library", "check a library of functions", f"{_STATUS} {_EXAMPLE}")
    library.add_argument("path", help="path of the library")
    library.add_argument(
        "--runtime",
        help="runtime that the library is called with; by default that of an installed package "
        "tvm_ffi, else the reference",
    )
    library.add_argument(
        "--signature", action="append", default=[],
        help="signature of one function, such as 'scale(x: float32[n], y: out float32[n])'; may be "
        "repeated; by default those in the metadata of the library",
    )  # fmt: skip
    library.add_argument("--static", action="store_true", help="do not load the library")
    library.set_defaults(run=_library)
    caller = command("caller", "run a program on the checking reference", _STATUS)
    caller.add_argument("command", nargs="...", metavar="-- COMMAND", help="program, arguments")
    caller.add_argument(
        "--limit", type=_seconds, default=60.0, help="seconds that the program may take (60)"
    )
    caller.set_defaults(run=_caller)
    for each in (runtime, library):
        each.add_argument(
            "--only", default="", type=_regex, metavar="REGEX", help="run cases whose id matches"
        )
        each.add_argument(
            "--limit", type=_seconds, default=5.0, help="seconds that a case may take (5)"
        )
    for each in (runtime, library, caller):
        each.add_argument("--json", type=Path, help="write a results file")
        each.add_argument("--junit", type=Path, help="write JUnit XML")
        each.add_argument("--html", type=Path, help="write a page with a row for each rule")
        each.add_argument(
            "--all", action="store_true", help="print all cases, with those that passed"
        )
    verify = command("verify", "check that a results file is intact; its failures do not matter")
    verify.add_argument("path", type=Path, help="results file")
    verify.add_argument("--against", help="run the cases on this library and compare the verdicts")
    verify.set_defaults(run=_verify)
    reference = command("reference", "write a libtvm_ffi.so that runs the reference in its process")
    reference.add_argument("folder", type=Path, help="folder, in which the file must remain")
    reference.set_defaults(run=_reference)
    call = command(
        "call", "call a function of a library on the checking reference",
        "The exit status is 0 without violations, 1 with violations, 2 if the call failed.",
    )  # fmt: skip
    call.add_argument("library", help="path of the library")
    call.add_argument("function", help="name of the function, without the prefix __tvm_ffi_")
    call.add_argument("arguments", nargs="*", metavar="ARGUMENT", help=_ARGUMENTS)
    call.set_defaults(run=_call)
    listing = command("list", "print the identifiers of the runtime cases")
    listing.add_argument("--level", type=_level, help="only those that this level must pass")
    listing.set_defaults(run=_list)
    page = command("page", "write the HTML page of a results file")
    page.add_argument("path", type=Path, help="results file")
    page.add_argument("output", type=Path, help="HTML file")
    page.set_defaults(run=_page)
    return parser


def _level(text: str) -> tuple[int, ...]:
    """Return the level of an option."""
    newest = ".".join(map(str, CURRENT))
    try:
        level = parse_level(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    if not (0, 1, 0) <= level <= CURRENT:
        raise argparse.ArgumentTypeError(f"expected a level from 0.1.0 to {newest}, got {text!r}")
    return level


def _regex(text: str) -> str:
    """Return the regular expression of an option."""
    try:
        re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"expected a regular expression: {error}") from None
    return text


def _seconds(text: str) -> float:
    """Return the number of seconds of an option."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of seconds, got {text!r}")
    return seconds


def _runtime(options: argparse.Namespace) -> int:
    from .runtimes.run import run_runtime
    from .terminal import progress_bar

    with progress_bar("cases") as advance:
        results = run_runtime(
            options.path, level=options.level, pattern=options.only, limit=options.limit,
            jobs=options.jobs, fork=options.fork, progress=advance,
        )  # fmt: skip
    return _finish(results, options)


def _library(options: argparse.Namespace) -> int:
    from .libraries.run import run_library

    results = run_library(
        options.path, runtime=options.runtime, signatures=options.signature,
        static_only=options.static, pattern=options.only, limit=options.limit,
    )  # fmt: skip
    return _finish(results, options)


def _caller(options: argparse.Namespace) -> int:
    from .callers.run import run_caller

    command = options.command[1:] if options.command[:1] == ["--"] else options.command
    return _finish(run_caller(command, limit=options.limit), options)


def _reference(options: argparse.Namespace) -> int:
    from .callers.library import build

    print(build(options.folder))
    return 0


def _call(options: argparse.Namespace) -> int:
    from .callers.call import run_call

    # Static destructors of the library must not call into a finished interpreter.
    os._exit(run_call(options.library, options.function, options.arguments))


def _finish(results: Results, options: argparse.Namespace) -> int:
    """Print and write the results; return the exit status."""
    from .page import write_page
    from .terminal import print_results

    for path in filter(None, (options.json, options.junit, options.html)):
        path.parent.mkdir(parents=True, exist_ok=True)
    if options.json:
        results.write(options.json)
    if options.junit:
        results.write_junit(options.junit)
    if options.html:
        write_page(results, options.html)
    print_results(results, everything=options.all)
    if results.subject.get("load_error") or not results.entries:
        return 2
    return 1 if results.failures else 0


def _run_again(results: Results, path: str) -> Results:
    """Run the cases of a results file on another file."""
    from .libraries.run import run_library
    from .runtimes.run import run_runtime

    if results.kind == "runtime":
        return run_runtime(path, level=parse_level(results.subject["level"]))
    if results.kind == "library":
        return run_library(path, signatures=results.subject["signatures"])
    raise ValueError("--against: expected results of a runtime or a library; run a caller again")


def _verify(options: argparse.Namespace) -> int:
    from .runtimes.run import must_pass

    results = None
    found = problems(options.path)
    if not found:
        results = read(options.path)
        if results.kind == "runtime":
            required = must_pass(parse_level(results.subject["level"]))
            found = problems(options.path, required)
    if results and options.against:
        again = _run_again(results, options.against)
        if again.subject.get("sha256") != results.subject.get("sha256"):
            found.append("the library is another file: the SHA-256 differs")
        now = {entry.id: entry.verdict for entry in again.entries}
        found += [
            f"{entry.id}: the file says {entry.verdict}, the library says {now.get(entry.id)}"
            for entry in results.entries
            if now.get(entry.id) != entry.verdict
        ]
    for line in found:
        print(f"{options.path}: {line}", file=sys.stderr)
    if not found:
        totals = results.totals()
        print(
            f"{options.path}: valid; {results.kind} {results.subject['path']}: "
            f"{totals['pass']} passed, {totals['failed']} of {totals['required']} required failed"
        )
    return 1 if found else 0


def _list(options: argparse.Namespace) -> int:
    for case in load_cases().values():
        if options.level is None or case.required_at(options.level):
            print(f"{case.id}  [{case.section}]  {case.rule}")
    return 0


def _page(options: argparse.Namespace) -> int:
    from .page import write_page

    write_page(read(options.path), options.output)
    print(options.output)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
