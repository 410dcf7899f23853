# SPDX-License-Identifier: Apache-2.0
"""Build reasons: the differences between the inputs of a build and those of earlier builds."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Callable

from ._cache_store import BuildCache, CacheEntry, Manifest
from ._freshness import changed_files, shadowing_files
from ._key import TOOLCHAIN, Input

__all__ = ["build_reasons", "differences", "miss_reasons", "stale_reasons"]

# Number of earlier builds that a new build is compared with; a limit keeps builds fast.
_MAX_COMPARED = 8


def build_reasons(
    new: Manifest, cache: BuildCache, actual: Callable[[str], str] = str
) -> list[str]:
    """Return the differences from the most similar of the latest builds with the same name.

    `actual` returns the path for portable text.
    """
    earlier = list(cache.newest(new.name, _MAX_COMPARED))
    if not earlier:
        return [f"this is the first build named {new.name} in this cache"]
    compared = [
        (len(found := differences(old, new, actual)), -old.created, found) for old in earlier
    ]
    return min(compared)[2] or ["the earlier build is missing or damaged"]


def miss_reasons(entry: CacheEntry) -> list[str]:
    """Return why the cache has no product for a recipe: a comparison with similar earlier builds.

    The headers of the new build are not known yet.  Those of an earlier build with the same recipe
    are compared with the files that exist now.
    """
    earlier = list(entry.cache.newest(entry.name, _MAX_COMPARED))
    if not earlier:
        return [f"there is no build named {entry.name} in {entry.cache.root}"]
    compared = []
    for old in earlier:
        actual = entry.portable.actual
        found = [
            text
            for text in input_differences(old.parts, entry.key.inputs, actual)
            if entry.key.has_compilers or not text.startswith(TOOLCHAIN)
        ]
        found = found or stale_reasons(old, actual)
        compared.append((len(found), -old.created, found))
    return min(compared)[2] or ["the earlier build is missing or damaged"]


def stale_reasons(manifest: Manifest, actual: Callable[[str], str]) -> list[str]:
    """Return the differences between the files that a build has read and those that exist now."""
    known = manifest.dependencies.converted(actual)
    try:
        changed = changed_files({**known.own, **known.installed})
        shadows = shadowing_files([*known.own, *known.installed], known.folders)
    except (OSError, ValueError) as error:
        return [f"a file cannot be read: {error}"]
    found = [
        f"file {path}: {'content changed' if Path(path).exists() else 'missing'}"
        for path in sorted(changed)
    ]
    for path in sorted({*known.shadows} ^ {*shadows}):
        verb = "appeared in" if path in shadows else "was removed from"
        found.append(f"file {path}: {verb} a folder that is searched for headers")
    return found


def differences(old: Manifest, new: Manifest, actual: Callable[[str], str] = str) -> list[str]:
    """Return one sentence for each difference between the inputs of two builds."""
    found = input_differences(old.parts, new.parts, actual)
    files_before, files_now = _files_of(old), _files_of(new)
    for path in sorted({*files_before, *files_now}):
        before, now = files_before.get(path), files_now.get(path)
        if before != now:
            found.append(_difference(f"file {actual(path)}", before, now))
    for path in sorted({*old.dependencies.shadows} ^ {*new.dependencies.shadows}):
        if path not in files_before and path not in files_now:
            verb = "appeared in" if path in new.dependencies.shadows else "was removed from"
            found.append(f"file {actual(path)}: {verb} a folder that is searched for headers")
    return found


def input_differences(
    old: Mapping[str, Input], new: Mapping[str, Input], actual: Callable[[str], str] = str
) -> list[str]:
    """Return one sentence for each difference between the inputs of two recipes."""
    found = []
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            kind, _, path = name.partition(" ")
            shown = f"source {actual(path)}" if kind == "source" else name
            found.append(_difference(shown, old.get(name), new.get(name)))
    return found


def _files_of(manifest: Manifest) -> dict[str, str]:
    return {**manifest.dependencies.own, **manifest.dependencies.installed}


def _difference(name: str, before: Input | None, now: Input | None) -> str:
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
    changes = " ".join([*removed, *added]) or "order changed"
    return f"{name}: {changes}"
