# SPDX-License-Identifier: Apache-2.0
"""Portable recipes: paths and commands as text that does not depend on the machine.

A cache may be filled on one machine and used on another, where this package, the user's files and
the compilers are in other folders.  Keys and manifests therefore contain a mark such as
``{folder 0}`` instead of such a folder, and the name of a language instead of a compiler's command.
A lookup replaces the marks with the folders of its own recipe.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

__all__ = ["EMBED_CUBIN_MARK", "Portable"]

EMBED_CUBIN_MARK = "{embed_cubin}"
_FOLDER_OPTIONS = ("-I", "-L", "-isystem", "-iquote")


class Portable(NamedTuple):
    """The folders and commands of one recipe that have a mark in portable text."""

    folders: Mapping[str, str]
    """Absolute path of each folder by its mark; empty if the output depends on all paths."""
    commands: Sequence[tuple[str, tuple[str, ...]]]
    """Pairs of a mark and the words of a command: compilers, and programs of this package."""

    def path(self, path: str) -> str:
        """Return a path with the mark of the innermost folder that contains it."""
        found, length = "", 0
        for mark, folder in self.folders.items():
            is_inside = path == folder or path.startswith(f"{folder.rstrip('/')}/")
            if is_inside and len(folder) > length:
                found, length = mark, len(folder.rstrip("/"))
        return found + path[length:] if found else path

    def actual(self, path: str) -> str:
        """Return the path for portable text; text without a mark is a path already."""
        if path[:1] != "{":
            return path
        mark, closing, rest = path.partition("}")
        folder = self.folders.get(mark + closing)
        return path if folder is None else folder.rstrip("/") + rest

    def is_inside(self, path: str) -> bool:
        """Return True if portable text begins with a mark, False for a path."""
        return path.startswith("{")

    def command(self, words: Sequence[str]) -> list[str]:
        """Return the words of a command as portable text."""
        result: list[str] = []
        rest = tuple(words)
        for mark, known in self.commands:
            if rest[: len(known)] == known:
                result.append(mark)
                result += _options_of(known)
                rest = rest[len(known) :]
                break
        return [*result, *map(self._word, rest)]

    def _word(self, word: str) -> str:
        if word.startswith("/"):
            return self.path(word)
        option = next((o for o in _FOLDER_OPTIONS if word.startswith(f"{o}/")), "")
        return option + self.path(word[len(option) :]) if option else word

    def paths(self, paths: Iterable[str]) -> list[str]:
        """Return several paths as portable text."""
        return [self.path(path) for path in paths]


def _options_of(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return the words of a compiler command from the first option on: ``-m32`` of ``gcc -m32``.

    The programs before are described by the version that the command reports.
    """
    if command[0] == sys.executable:
        return ()
    first = next((i for i, word in enumerate(command) if word.startswith("-")), len(command))
    return command[first:]
