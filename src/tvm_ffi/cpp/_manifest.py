# SPDX-License-Identifier: Apache-2.0
"""What is known about an artifact: all that it was made from.

A manifest lies beside each product.  It proves that the product is whole, it is compared with the
files of today before the product is used, and with other manifests to say why something was built.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import NamedTuple

from .._internal.regular_file import read_regular
from ._dependencies import Dependencies
from ._files import content_of
from ._plan import Part

__all__ = ["FILE", "Manifest", "differences", "folder_name"]

FILE = "manifest.json"
_FORMAT = 2
_MOST_BYTES = 1 << 26  # some 500,000 files
_LARGEST = 1 << 62
_MOST_BYTES_OF_NAME = 255  # as systems have it
_FOLDER = re.compile(r"(.+)_[0-9a-f]{16}", re.DOTALL)
_KEY = re.compile(r"[0-9a-f]{64}")


def folder_name(name: str, digest: str) -> str:
    """Return what the folder of an artifact is called, after 16 digits of its digest."""
    return f"{name}_{digest}"


class Manifest(NamedTuple):
    """What an artifact was made from, and how."""

    name: str
    product: str
    """File name."""
    size_bytes: int
    content: str
    """Digest of the product."""
    base: str
    """Key of the plan."""
    parts: dict[str, Part]
    """What the key is made of."""
    dependencies: Dependencies
    created: float
    """Seconds since 1970; said to readers, and never compared."""
    build_seconds: float
    reasons: list[str]
    """Why it was built."""

    def to_json(self) -> str:
        """Return the text of the file."""
        content = {**self._asdict(), "dependencies": self.dependencies._asdict()}
        return json.dumps({"format": _FORMAT, **content}, indent=1)

    @staticmethod
    def read(folder: Path) -> Manifest | None:
        """Return the manifest in the folder of an artifact; None if it is not understood.

        One that gives another name than the folder has is not: names lead to other folders.
        """
        place = _FOLDER.fullmatch(folder.name)
        if place is None:
            return None
        try:
            content = json.loads(read_regular(folder / FILE, _MOST_BYTES))
            if content.pop("format") != _FORMAT:
                return None
            dependencies = Dependencies(**content.pop("dependencies"))
            manifest = Manifest(**content, dependencies=dependencies)
            return manifest if _is_understood(manifest) and manifest.name == place[1] else None
        except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
            return None

    def is_of_plan(self, base: str, product: str) -> bool:
        """Whether the artifact was made from a plan, of which this is the key and the product."""
        return (self.base, self.product) == (base, product)

    def is_whole(self, folder: Path) -> bool:
        """Whether the product is there, and is what was built."""
        try:
            return self.has_its_size(folder) and content_of(folder / self.product) == self.content
        except OSError:
            return False

    def has_its_size(self, folder: Path) -> bool:
        """Whether the product is there, and has as many bytes as what was built."""
        try:
            return (folder / self.product).stat().st_size == self.size_bytes
        except OSError:
            return False


def _is_understood(manifest: Manifest) -> bool:
    """Whether everything has its type: JSON that is well formed may say anything."""
    found = manifest.dependencies
    return (
        all(map(_is_text, (manifest.name, manifest.product, manifest.content, manifest.base)))
        and _is_file_name(manifest.product)
        and _KEY.fullmatch(manifest.base) is not None
        and all(map(_is_number, (manifest.size_bytes, manifest.created, manifest.build_seconds)))
        and all(map(_are_texts, (manifest.reasons, found.folders, found.shadows)))
        and all(
            isinstance(table, dict) and all(map(_is_text, table.values()))
            for table in (found.own, found.installed)
        )
        and isinstance(manifest.parts, dict)
        and all(_is_text(part) or _are_texts(part) for part in manifest.parts.values())
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_file_name(text: str) -> bool:
    return text not in ("", ".", "..", FILE) and not {"/", "\0"} & {*text} and _has_bytes(text)


def _has_bytes(text: str) -> bool:
    try:
        return len(os.fsencode(text)) <= _MOST_BYTES_OF_NAME
    except UnicodeEncodeError:
        return False


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and 0 <= value < _LARGEST  # NaN is not


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


# ---- Why two artifacts differ --------------------------------------------------------------------


def differences(old: Manifest, new: Manifest) -> list[str]:
    """Return what differs between what two artifacts were made from, a sentence for each."""
    found = []
    for name in sorted({*old.parts, *new.parts}):
        before, now = old.parts.get(name), new.parts.get(name)
        if before != now:
            found.append(_difference(name, before, now))
    known, read = _files_of(old), _files_of(new)
    for path in sorted({*known, *read}):
        if known.get(path) != read.get(path):
            found.append(_difference(f"file {path}", known.get(path), read.get(path)))
    for path in sorted({*old.dependencies.shadows} ^ {*new.dependencies.shadows}):
        if path not in known and path not in read:
            verb = "appeared" if path in new.dependencies.shadows else "is gone"
            found.append(f"file {path}: {verb} where headers are looked for")
    return found


def _files_of(manifest: Manifest) -> dict[str, str]:
    return {**manifest.dependencies.own, **manifest.dependencies.installed}


def _difference(name: str, before: Part | None, now: Part | None) -> str:
    if before is None:
        return f"{name}: new"
    if now is None:
        return f"{name}: no longer used"
    if isinstance(before, str) and isinstance(now, str):
        is_digest = before.startswith("sha256:") or now.startswith("sha256:")
        return f"{name}: content changed" if is_digest else f"{name}: {before} -> {now}"
    left, right = list(before), list(now)
    added = [f"+{word}" for word in right if word not in left]
    removed = [f"-{word}" for word in left if word not in right]
    changes = " ".join([*removed, *added]) or "another order"
    return f"{name}: {changes}"
