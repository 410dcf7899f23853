# SPDX-License-Identifier: Apache-2.0
"""Object files become a shared library: which command does it, and what the library then has.

The linker itself is enough, since nothing is compiled.  The C library that this process uses is
linked by name, because symbols without a library get the oldest version of each function.  What a
compiler would add (start files, the C++ run-time library) only a compiler driver knows.
"""

from __future__ import annotations

import os
import platform
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Union

from .._internal.regular_file import open_regular
from .elf import open_image
from .elf_header import ET_DYN, ET_REL, read_header
from .object_file import machine_of

StrPath = Union[str, "os.PathLike[str]"]
Command = Union[str, Sequence[str], None]

_ARCHIVES = (b"!<arch>\n", b"!<thin>\n")
_C_LIBRARIES = ("libm.so.", "libpthread.so.", "libdl.so.", "libc.so.")
# What C++ code refers to and no other code: its run-time library has them.
_CXX_MARKS = (
    *("__gxx_personality_v0", "_ZTVN10__cxxabiv1"),
    *("_ZSt", "_ZNSt", "_ZNKSt"),
    *("_Znw", "_Zna", "_Zdl", "_Zda"),  # operators new and delete
)
_LONG_COMMAND = 100_000  # bytes; longer ones go through a file, as the system has a limit


@dataclass
class LinkStep:
    """What goes into a library, and who links it."""

    inputs: list[str]
    """Object files and static archives, as absolute paths."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Names that symbols get in addition, each with the symbol that it stands for."""
    linker: Command = None
    """The linker; by default ``$LD``, else ``ld``."""
    driver: Command = None
    """A compiler driver that links instead."""
    arguments: Sequence[str] = ()
    """More arguments, at the end."""

    def run(self, target: Path) -> None:
        """Write the library.

        Raises
        ------
        RuntimeError
            If the linker cannot be started or fails; the message has its command and words.
        """
        command = self._command(target)
        shown = shlex.join(command)
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

    def check_runtime(self, undefined: set[str]) -> None:
        """Refuse a library that will not load because nobody linked the C++ run-time library."""
        if self.driver is None and not self.arguments:
            name = next((name for name in sorted(undefined) if name.startswith(_CXX_MARKS)), None)
            if name is not None:
                raise RuntimeError(f"the library would not load{self._cxx_hint(name)}")

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
            return [*_words(self.driver), *output, *self._parts("-Xlinker"), *self.arguments]
        linker = self.linker if self.linker is not None else os.environ.get("LD") or "ld"
        # Without the table that --eh-frame-hdr makes, exceptions do not find their handlers.
        command = [*_words(linker), *output, "--eh-frame-hdr", *self._parts()]
        is_native = {machine_of(path) for path in self.inputs} <= {platform.machine(), None}
        return [*command, *self.arguments, *(_c_libraries() if is_native else ())]

    def _parts(self, *prefix: str) -> Iterator[str]:
        """Yield the inputs and the names; `prefix` before what the linker must see."""
        for path in self.inputs:
            whole = _is_archive(path)  # nothing refers to exported functions, yet they are wanted
            yield from (*prefix, "--whole-archive") if whole else ()
            yield path
            yield from (*prefix, "--no-whole-archive") if whole else ()
        for name, symbol in self.aliases.items():
            yield from (*prefix, f"--defsym={name}={symbol}")


def _words(command: str | Sequence[str]) -> list[str]:
    words = shlex.split(command) if isinstance(command, str) else list(command)
    if not words:
        raise ValueError("the command of the linker is empty")
    return words


def _shortened(command: list[str], target: Path) -> list[str]:
    """Put the arguments of a very long command into a file beside the target."""
    if sum(map(len, command)) < _LONG_COMMAND:
        return command
    file = target.with_name("arguments")
    quoted = ("".join(f"\\{c}" if c in " \t\n\\'\"" else c for c in word) for word in command[1:])
    file.write_text("\n".join(quoted), encoding="utf-8", errors="surrogateescape")
    return [command[0], f"@{file}"]


def _c_libraries() -> list[str]:
    """Return the files of the C library that this process has mapped, for what is needed of it."""
    try:
        maps = Path("/proc/self/maps").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return []
    files = {line.split(maxsplit=5)[-1] for line in maps.splitlines() if "/" in line}
    found = [file for file in files if Path(file).name.startswith(_C_LIBRARIES)]
    found = [file for file in found if Path(file).is_file()]  # not so after an update
    return ["--as-needed", *sorted(found)] if found else []


# ---- Files ---------------------------------------------------------------------------------------


def check_input(path: StrPath) -> str:
    """Return the absolute path of an object file or a static archive.

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError
        If it is something else; the message says what to give instead.
    """
    if _is_archive(path):
        return os.path.abspath(path)  # noqa: PTH100  (links in the path stay)
    header = read_header(path)
    kind = None if header is None else header.kind
    if kind == ET_DYN:
        raise ValueError(
            f"{os.fspath(path)!r} is a shared library, which cannot be put into another one: "
            "give the object files from which it was linked"
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
    """Return the names that a library exports, and those that it needs."""
    with open_image(path) as image:
        symbols = image.symbols()
    exported = {symbol.name for symbol in symbols if symbol.is_defined}
    return exported, {symbol.name for symbol in symbols} - exported
