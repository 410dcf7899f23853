# SPDX-License-Identifier: Apache-2.0
"""Linking of object files to a shared library, and the dynamic symbols of the result.

By default the linker is called directly, without a compiler.  It gets the path of this process's C
library: otherwise the loader would bind each C function to its oldest symbol version.  A compiler
driver, if one is specified, also links start files and the C++ run-time library.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

from .._internal.platform import machine, memory_map
from .._internal.regular_file import open_regular
from ..builds import announce, is_observed
from .elf import open_image
from .elf_header import ET_DYN, ET_REL, read_header
from .object_file import machine_of

StrPath = Union[str, "os.PathLike[str]"]
Command = Union[str, Sequence[str], None]

_ARCHIVES = (b"!<arch>\n", b"!<thin>\n")
_C_LIBRARIES = ("libm.so.", "libpthread.so.", "libdl.so.", "libc.so.")
# Prefixes of the names of symbols that the C++ run-time library defines.
_CXX_MARKS = (
    *("__gxx_personality_v0", "_ZTVN10__cxxabiv1"),
    *("_ZSt", "_ZNSt", "_ZNKSt"),
    *("_Znw", "_Zna", "_Zdl", "_Zda"),  # prefixes of the mangled names of operators new and delete
)
# Maximum length of a command, in bytes.  A longer command may exceed a system limit; its arguments
# are written to a response file.
_LONG_COMMAND = 100_000


@dataclass
class LinkStep:
    """The inputs and the command of one run of the linker."""

    inputs: list[str]
    """Object files and static archives, as absolute paths."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Symbol names to define, each as an alias of an existing symbol: ``{alias: symbol}``."""
    linker: Command = None
    """Command of the linker.  By default ``$LD`` or ``ld``."""
    driver: Command = None
    """Command of a compiler driver, used instead of `linker`."""
    arguments: Sequence[str] = ()
    """Additional arguments at the end of the command."""

    def run(self, target: Path) -> None:
        """Link the inputs to the library `target`.

        Raises
        ------
        RuntimeError
            If the linker cannot be started or fails; the message has the command and its output.
        """
        command = self._command(target)
        shown = shlex.join(command)
        if is_observed():
            reasons = ["export_library links each time"]
            announce("linked library", target.name, key=self._key(), reasons=reasons)
        try:
            done = subprocess.run(
                _shortened(command, target),
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
        except OSError as error:
            raise RuntimeError(
                f"cannot start the linker: {error}\n    {shown}\nInstall one (binutils or lld), or "
                "name one with linker=..., the variable LD, or driver=... for a compiler"
            ) from error
        if done.returncode != 0:
            status = f"the linker failed with status {done.returncode}"
            hint = self._cxx_hint("__dso_handle") if "__dso_handle" in done.stdout else ""
            raise RuntimeError(f"{status}:\n    {shown}\n{done.stdout.rstrip()}{hint}")

    def _key(self) -> str:
        """Return a hash of the contents of the inputs, the aliases and the arguments."""
        digest = hashlib.sha256(repr((dict(self.aliases), *self.arguments)).encode())
        for path in self.inputs:
            with open_regular(path) as file:
                digest.update(file.readall())
        return digest.hexdigest()

    def check_runtime(self, undefined: set[str]) -> None:
        """Raise RuntimeError if undefined symbols show that the C++ run-time library is missing.

        A driver or additional arguments may have linked it; then nothing is checked.
        """
        if self.driver is None and not self.arguments:
            name = next((name for name in sorted(undefined) if name.startswith(_CXX_MARKS)), None)
            if name is not None:
                raise RuntimeError(
                    f"export_library: the library would not load{self._cxx_hint(name)}"
                )

    def _cxx_hint(self, symbol: str) -> str:
        if self.driver is not None:
            return ""
        return (
            f": the objects need {symbol} from the C++ run-time library, which the C++ compiler "
            'links: driver="c++"'
        )

    def _command(self, target: Path) -> list[str]:
        output = ["-shared", "-o", str(target)]
        if self.driver is not None:
            return [
                *_arguments(self.driver),
                *output,
                *self._link_inputs("-Xlinker"),
                *self.arguments,
            ]
        linker = self.linker if self.linker is not None else os.environ.get("LD") or "ld"
        # --eh-frame-hdr creates the table in which the unwinder finds exception handlers.
        command = [*_arguments(linker), *output, "--eh-frame-hdr", *self._link_inputs()]
        is_native = {machine_of(path) for path in self.inputs} <= {machine(), None}
        return [*command, *self.arguments, *(_c_libraries() if is_native else ())]

    def _link_inputs(self, *prefix: str) -> Iterator[str]:
        """Yield the linker arguments for inputs and aliases; `prefix` precedes each option."""
        for path in self.inputs:
            # Without --whole-archive the linker omits archive members that no symbol refers to.
            whole = _is_archive(path)
            yield from (*prefix, "--whole-archive") if whole else ()
            yield path
            yield from (*prefix, "--no-whole-archive") if whole else ()
        for name, symbol in self.aliases.items():
            yield from (*prefix, f"--defsym={name}={symbol}")


def _arguments(command: str | Sequence[str]) -> list[str]:
    arguments = shlex.split(command) if isinstance(command, str) else list(command)
    if not arguments:
        raise ValueError("export_library: the command of the linker is empty")
    return arguments


def _shortened(command: list[str], target: Path) -> list[str]:
    """Return the linker command; a very long command gets its arguments from a response file.

    The response file is written next to the target.
    """
    if sum(map(len, command)) < _LONG_COMMAND:
        return command
    file = target.with_name("arguments")
    quoted = (
        "".join(f"\\{c}" if c in " \t\n\\'\"" else c for c in argument) for argument in command[1:]
    )
    file.write_text("\n".join(quoted), encoding="utf-8", errors="surrogateescape")
    return [command[0], f"@{file}"]


def _c_libraries() -> list[str]:
    """Return linker arguments for the files of the C library that this process has mapped."""
    maps = os.fsdecode(memory_map() or b"")
    files = {line.split(maxsplit=5)[-1] for line in maps.splitlines() if "/" in line}
    found = [file for file in files if Path(file).name.startswith(_C_LIBRARIES)]
    # A system update may have deleted the file.
    found = [file for file in found if Path(file).is_file()]
    return ["--as-needed", *sorted(found)] if found else []


# ---- Input files and symbols ---------------------------------------------------------------------


def check_input(path: StrPath) -> str:
    """Return the absolute path of an object file or a static archive.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If the file is neither an object file nor a static archive.
    """
    if _is_archive(path):
        return os.path.abspath(path)  # noqa: PTH100  (keep symbolic links)
    header = read_header(path)
    kind = None if header is None else header.kind
    if kind == ET_DYN:
        raise ValueError(
            f"{os.fspath(path)!r} is a shared library, which cannot be put into another one: "
            "pass the object files from which it was linked"
        )
    if kind != ET_REL:
        raise ValueError(
            f"{os.fspath(path)!r} is neither an object file (.o) nor a static archive (.a)"
        )
    return os.path.abspath(path)  # noqa: PTH100


def _is_archive(path: StrPath) -> bool:
    with open_regular(path) as file:
        return file.read(8) in _ARCHIVES


def dynamic_symbols(path: StrPath) -> tuple[set[str], set[str]]:
    """Return the names of the exported and of the undefined dynamic symbols of a library."""
    with open_image(path) as image:
        symbols = image.symbols()
    exported = {symbol.name for symbol in symbols if symbol.is_defined}
    return exported, {symbol.name for symbol in symbols} - exported
