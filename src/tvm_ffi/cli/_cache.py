# SPDX-License-Identifier: Apache-2.0
"""List, explain, move, verify and remove finished builds of tvm_ffi.cpp.

Exit status of `verify`, `why` and `export`: 1 if a build is damaged, or there is no such build.
"""

from __future__ import annotations

import argparse
import json
import re
import time

from ..cpp import cache
from ._output import print_error, print_line

__all__ = ["add_arguments", "run"]

_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the sub-command ``cache`` to its parser."""
    commands = parser.add_subparsers(dest="action", metavar="ACTION")
    parser.set_defaults(print_help=parser.print_help)
    listing = commands.add_parser("list", help="list builds, newest first")
    listing.add_argument("name", nargs="?", help="list only builds of this name")
    listing.add_argument("--json", action="store_true", help="print JSON")
    explain = commands.add_parser(
        "explain", help="print why the newest build of a name was necessary"
    )
    explain.add_argument("name")
    why = commands.add_parser(
        "why", help="print key and reasons of the newest build of a name, and if it is up to date"
    )
    why.add_argument("name")
    export = commands.add_parser("export", help="write builds to a file, for other machines")
    export.add_argument("file", metavar="FILE", help="the ZIP file to write")
    export.add_argument("names", nargs="*", metavar="name", help="export only these builds")
    importing = commands.add_parser("import", help="add the builds in a file of `export`")
    importing.add_argument("file", metavar="FILE", help="the file, from a source that you trust")
    importing.add_argument(
        "--readable",
        action="store_true",
        help="let all users read the folder, as a read-only folder in TVM_FFI_CACHE_PATH",
    )
    verify = commands.add_parser("verify", help="compare all builds with their manifests")
    prune = commands.add_parser("prune", help="remove unused builds")
    prune.add_argument(
        "names", nargs="*", metavar="name", help="consider only builds of these names"
    )
    prune.add_argument(
        "--unused-days", type=_days, metavar="N", help="remove builds not used for N days; 0: all"
    )
    prune.add_argument(
        "--max-size",
        type=_bytes,
        metavar="SIZE",
        help="remove the least recently used builds until SIZE is left, such as 500M or 2G",
    )
    prune.add_argument(
        "--dry-run",
        action="store_true",
        help="remove nothing, print the builds that would be removed",
    )
    for command in (listing, explain, why, export, importing, verify, prune):
        command.add_argument(
            "--root",
            metavar="FOLDER",
            help="folder of the cache (default: the user's cache folder)",
        )


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1
    if not days >= 0:  # excludes NaN
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return days


def _bytes(text: str) -> int:
    match = re.fullmatch(r"(\d{1,20}(?:\.\d+)?)([KMGT]?)i?B?", text, re.IGNORECASE)
    if match is None:
        raise argparse.ArgumentTypeError(f"expected a size such as 500M or 2G, got {text!r}")
    return int(float(match[1]) * _UNITS[match[2].upper()])


def run(options: argparse.Namespace) -> int:
    """Run an action; return the exit status.

    The status is 1 if there is no build of the name, or `verify` finds a damaged one, otherwise 0.
    """
    if options.action is None:
        options.print_help()
        print()
        print_line(f"{_total(cache.find())} in {cache.root_folder()}")
        return 0
    action = _ACTIONS[options.action]
    try:
        return action(options)
    except LookupError as error:
        print_error(error.args[0])
        return 1


def _prune(options: argparse.Namespace) -> int:
    removed = cache.prune(
        names=options.names or None,
        unused_days=options.unused_days,
        max_bytes=options.max_size,
        dry_run=options.dry_run,
        root=options.root,
    )
    for artifact in removed:
        print_line(_line(artifact))
    total = sum(artifact.size_bytes for artifact in removed)
    verb = "would be removed" if options.dry_run else "removed"
    print(f"{len(removed)} {verb}, {_size(total)}")
    if options.unused_days is None and options.max_size is None:
        _print_choices(options)
    return 0


def _print_choices(options: argparse.Namespace) -> None:
    """Print the size that options of ``prune`` would remove, because no option was given."""
    print("no build was chosen; choose some by --unused-days N or --max-size SIZE:")
    for days in (30, 0):
        chosen = cache.prune(
            names=options.names or None, unused_days=days, dry_run=True, root=options.root
        )
        print(f"  --unused-days {days:<3} would remove {_total(chosen)}")


def _total(builds: list[cache.Artifact]) -> str:
    count = "1 build" if len(builds) == 1 else f"{len(builds)} builds"
    return f"{count}, {_size(sum(build.size_bytes for build in builds))}"


def _list(options: argparse.Namespace) -> int:
    found = cache.find(options.name, root=options.root)
    if options.json:
        entries = [{**vars(artifact), "path": str(artifact.path)} for artifact in found]
        print(json.dumps(entries, indent=1))
        return 0
    for artifact in found:
        print_line(_line(artifact))
    total = sum(artifact.size_bytes for artifact in found)
    layers = sum(artifact.is_read_only for artifact in found)
    others = f", {layers} of them in read-only folders" if layers else ""
    print_line(f"{len(found)} in {options.root or cache.root_folder()}, {_size(total)}{others}")
    return 0


def _explain(options: argparse.Namespace) -> int:
    for reason in cache.explain(options.name, root=options.root):
        print_line(reason)
    return 0


def _why(options: argparse.Namespace) -> int:
    changes = cache.changes(options.name, root=options.root)
    newest = cache.find(options.name, root=options.root)[0]
    print_line(str(newest.path))
    print_line(f"key {newest.key}")
    print_line("built because:")
    for reason in newest.reasons:
        print_line(f"  {reason}")
    print_line("would be built again because:" if changes else "its files have not changed since")
    for reason in changes:
        print_line(f"  {reason}")
    return 0


def _export(options: argparse.Namespace) -> int:
    exported = cache.export_archive(options.file, options.names or None, root=options.root)
    print_line(f"exported {_total(exported)} to {options.file}")
    return 0


def _import(options: argparse.Namespace) -> int:
    found = cache.import_archive(options.file, root=options.root, is_readable=options.readable)
    print_line(f"imported {_total(found)} into {options.root or cache.root_folder()}")
    return 0


def _verify(options: argparse.Namespace) -> int:
    found = cache.verify(root=options.root)
    damaged = {folder: problem for folder, problem in found.items() if problem}
    for folder, problem in damaged.items():
        print_line(f"{folder}: {problem}")
    print_line(f"{len(found) - len(damaged)} whole, {len(damaged)} damaged")
    return 1 if damaged else 0


_ACTIONS = {
    "explain": _explain,
    "export": _export,
    "import": _import,
    "list": _list,
    "prune": _prune,
    "verify": _verify,
    "why": _why,
}


def _line(artifact: cache.Artifact) -> str:
    used = time.strftime("%Y-%m-%d", time.localtime(artifact.last_used))
    mark = "  read-only" if artifact.is_read_only else ""
    return f"{_size(artifact.size_bytes):>10}  used {used}  {artifact.path}{mark}"


def _size(size_bytes: int) -> str:
    """Return a size as text, in the largest unit that gives a number of at least 1."""
    size, unit = float(size_bytes), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):  # noqa: B007
        if size < 1024:
            break
        size /= 1024
    else:
        unit = "TiB"
    return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
