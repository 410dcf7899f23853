# SPDX-License-Identifier: Apache-2.0
"""Options of a run: the parsed command line."""

from __future__ import annotations

from dataclasses import dataclass, field

__all__ = ["InitConfig", "Options"]


@dataclass
class InitConfig:
    """Values of ``--init-pypkg``, ``--init-lib`` and ``--init-prefix``.

    Parameters
    ----------
    pkg : str
        Distribution that ships the library.
    shared_target : str
        Library by the name of its build target: ``tvm_ffi`` for ``libtvm_ffi.so``.
    prefix : str
        Prefix of the functions and types to write.
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
        Values of ``--init-*``.
    indent : int
        Spaces per level inside blocks.
    files : list of str
        Files and folders.
    verbose, dry_run, check : bool
        Print differences; do not write; do not write, and report outdated files.
    target : str
        Name of the language.
    coverage_out : str, optional
        Path of the layout report.
    library, output, class_name : str, optional
        Values of ``--library``, ``--output`` and ``--class``.
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
