# SPDX-License-Identifier: Apache-2.0
"""Options of one run of ``tvm-ffi-stubgen``: the parsed command line."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["InitConfig", "Options"]


@dataclass
class InitConfig:
    """Values of the options ``--init-pypkg``, ``--init-lib`` and ``--init-prefix``.

    Parameters
    ----------
    pkg : str
        Name of the distribution (PyPI package) that contains the library.
    shared_target : str
        Name of the library's build target: ``tvm_ffi`` for ``libtvm_ffi.so``.
    prefix : str
        Prefix of the functions and types for which files are created.
    """

    pkg: str
    shared_target: str
    prefix: str


@dataclass
class Options:
    """The parsed command line.

    Parameters
    ----------
    imports, dlls : list of str
        Modules to import and libraries to load before the registry is read.
    init : InitConfig, optional
        Values of the ``--init-*`` options; None without these options.
    indent : int
        Number of spaces per level inside blocks.
    files : list of str
        Files to process, and folders to search for files.
    verbose, dry_run, check : bool
        `verbose` prints differences, `dry_run` writes no file, and `check` writes no file but
        reports outdated files.
    target : str
        Name of the target language.
    coverage_out : str, optional
        Path of the layout report to write.
    library, output, class_name : str, optional
        Values of the options ``--library``, ``--output`` and ``--class``.
    """

    imports: list[str] = field(default_factory=list)
    dlls: list[str] = field(default_factory=list)
    init: InitConfig | None = None
    indent: int = 4
    files: list[str] = field(default_factory=list)
    verbose: bool = False
    dry_run: bool = False
    check: bool = False
    target: str = "python"
    coverage_out: str | None = None
    library: str | None = None
    output: str | None = None
    class_name: str | None = None
