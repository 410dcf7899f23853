# SPDX-License-Identifier: Apache-2.0
"""Command line of ``tvm-ffi-stubgen``: parsing of options, loading of libraries, exit status."""

from __future__ import annotations

import argparse
import ctypes
import functools
import importlib
import keyword
from collections.abc import Callable
from pathlib import Path

from ..._internal.terminal import ArgumentParser, run_command
from .init_files import init_files, prefixes_below
from .layout_proof import classify, write_coverage_report
from .options import InitConfig, Options
from .pipeline import Run
from .python.library_file import write_library_stubs
from .registered import Registered, collect_type_keys, object_info_from_type_key
from .source_file import FileInfo, find_files
from .target import generator_names, get_generator
from .terminal import TERM_RED, TERM_YELLOW, print_line
from .text_file import real_path

__all__ = ["main"]

_OK, _STALE_OR_EMPTY, _FAILED = 0, 1, 2  # the exit statuses of tvm-ffi-stubgen


def _parser() -> argparse.ArgumentParser:
    parser = ArgumentParser(
        prog="tvm-ffi-stubgen",
        description="Write type stubs of registered functions and types between the marker lines "
        "of source files; with --init-*, also create the files.",
    )
    add = parser.add_argument
    add("--imports", default="", metavar="A;B", help="modules to import first, separated by `;`")
    add("--dlls", default="", metavar="L;M", help="libraries to load first, separated by `;`")
    add("--init-pypkg", metavar="P", help="create packages: distribution that contains the library")
    add("--init-lib", metavar="L", help="create packages: name of the library; `x` for libx.so")
    add("--init-prefix", metavar="X", help="create packages: prefix of functions and types")
    add(
        "--indent",
        type=_indent,
        default=4,
        metavar="N",
        help="spaces per level inside blocks; default: 4",
    )
    add(
        "--target",
        choices=generator_names(),
        default="python",
        help="target language; default: python",
    )
    add("--library", metavar="L", help="write the functions of a library to --output")
    add("--output", metavar="FILE", help="interface file (.pyi) for --library")
    add(
        "--class",
        dest="class_name",
        metavar="NAME",
        help="declare the functions of --library as methods of a class",
    )
    add("--verbose", action="store_true", help="print the changes of every file")
    add("--dry-run", action="store_true", help="write nothing")
    add(
        "--check", action="store_true", help="write nothing; exit status 1 if a file is out of date"
    )
    add("--coverage-out", metavar="FILE", help="write the proved type layouts as JSON")
    add("files", nargs="*", metavar="PATH", help="files, and folders to search for files")
    return parser


def _indent(text: str) -> int:
    if text.isdecimal() and 0 < int(text) <= 16:
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 to 16")


def _options(parser: argparse.ArgumentParser) -> Options:
    args = parser.parse_args()
    init = (args.init_pypkg, args.init_lib, args.init_prefix)
    if any(init) and not all(init):
        parser.error("--init-pypkg, --init-lib, and --init-prefix must be provided together")
    if any(init) and args.check:
        parser.error("--check cannot be combined with --init-* flags")
    if any(init) and not args.files:
        parser.error("--init-* needs a PATH: the folder to write to")
    _check_library_options(parser, args)
    return Options(
        imports=_parts(args.imports),
        dlls=_parts(args.dlls),
        init=InitConfig(*init) if all(init) else None,
        indent=args.indent,
        files=args.files,
        verbose=args.verbose,
        dry_run=args.dry_run,
        check=args.check,
        target=args.target,
        coverage_out=args.coverage_out,
        library=args.library,
        output=args.output,
        class_name=args.class_name,
    )


def _check_library_options(parser: argparse.ArgumentParser, args: argparse.Namespace) -> None:
    if (args.library is None) != (args.output is None):
        parser.error("--library and --output must be provided together")
    if args.library is None:
        if args.class_name is not None:
            parser.error("--class needs --library")
        return
    if args.files or args.init_pypkg or args.coverage_out or args.target != "python":
        parser.error("--library cannot be combined with PATH, --init-*, --coverage-out or --target")
    if Path(args.output).suffix != ".pyi":
        parser.error(f"--output must be a .pyi file, got {args.output!r}")
    name = args.class_name
    if name is not None and not (name.isidentifier() and not keyword.iskeyword(name)):
        parser.error(f"--class: expected a class name, got {name!r}")


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(";") if part.strip()]


def main() -> int:
    """Run ``tvm-ffi-stubgen`` with ``sys.argv`` and return its exit status."""
    status: int = run_command("tvm-ffi-stubgen", _run)
    return status


def _run() -> int:
    parser = _parser()
    opt = _options(parser)
    if not opt.files and opt.coverage_out is None and opt.library is None:
        parser.print_help()
        return _STALE_OR_EMPTY
    if not _load_libraries(opt):
        return _FAILED
    run = Run(get_generator(opt.target), opt, Registered())
    if opt.library is not None:
        write_library_stubs(run, opt.library, Path(str(opt.output)), opt.class_name)
    files: list[FileInfo] = []
    if opt.init is not None:
        if not prefixes_below(run, opt.init.prefix):
            reason = f"No function or type is registered under `{opt.init.prefix}`"
            print_line(f"[Skipped] {reason}", TERM_YELLOW)
            return _STALE_OR_EMPTY
        files = init_files(run, Path(opt.files[0]), opt.init)
    if opt.coverage_out is not None:
        report = functools.partial(_write_coverage, Path(opt.coverage_out))
        run.guarded(Path(opt.coverage_out), report)
    run.process(files + _files(run, opt, {real_path(file.path) for file in files}))
    if opt.init is not None and not opt.dry_run:
        folder = Path(opt.files[0])
        prefixes = set(prefixes_below(run, opt.init.prefix))
        run.guarded(folder, lambda: run.generator.finalize_init(folder, prefixes))
    if run.failed:
        return _FAILED
    return _STALE_OR_EMPTY if run.stale else _OK


def _load_libraries(opt: Options) -> bool:
    """Import modules and load libraries; on a failure, report it and return False."""
    steps: list[tuple[str, str, Callable[[], object]]] = []
    for name in opt.imports:
        steps.append(("--imports", name, functools.partial(importlib.import_module, name)))
    for name in opt.dlls:
        open_library = functools.partial(ctypes.CDLL, name, ctypes.RTLD_GLOBAL)
        steps.append(("--dlls", name, open_library))
    if opt.init is not None:
        from ...libinfo import load_lib_module

        load_it = functools.partial(load_lib_module, opt.init.pkg, opt.init.shared_target)
        steps.append(("--init-lib", opt.init.shared_target, load_it))
    for option, name, load in steps:
        try:
            load()
        except Exception as error:
            print_line(f"[Failed] {option} {name}: {type(error).__name__}: {error}", TERM_RED)
            return False
    return True


def _write_coverage(path: Path) -> None:
    keys = [key for keys in collect_type_keys().values() for key in keys]
    infos = {key: object_info_from_type_key(key) for key in keys}
    write_coverage_report(path, classify(infos))


def _files(run: Run, opt: Options, done: set[Path]) -> list[FileInfo]:
    """Return the files of the command line that are not in `done`; report unreadable files."""
    found = []
    paths = [Path(name) for name in opt.files if opt.init is None or Path(name).exists()]
    for path in find_files(paths, run.generator.source_exts):
        if real_path(path) not in done:
            read = functools.partial(FileInfo.from_file, path, syntax=run.generator.syntax)
            info = run.guarded(path, read)
            found += [] if info is None else [info]
    return found
