# SPDX-License-Identifier: Apache-2.0
"""Build reasons: the differences between the inputs of a build and those of earlier builds."""

from __future__ import annotations

from ._cache_store import BuildCache, Manifest
from ._key import Input

__all__ = ["build_reasons", "differences"]

# Number of earlier builds that a new build is compared with; a limit keeps builds fast.
_MAX_COMPARED = 8


def build_reasons(new: Manifest, cache: BuildCache) -> list[str]:
    """Return the differences from the most similar of the latest builds with the same name."""
    earlier = list(cache.newest(new.name, _MAX_COMPARED))
    if not earlier:
        return [f"this is the first build named {new.name} in this cache"]
    compared = [(len(found := differences(old, new)), -old.created, found) for old in earlier]
    return min(compared)[2] or ["the earlier build is missing or damaged"]


def differences(old: Manifest, new: Manifest) -> list[str]:
    """Return one sentence for each difference between the inputs of two builds."""
    found = []
    for name in sorted({*old.parts, *new.parts}):
        before, now = old.parts.get(name), new.parts.get(name)
        if before != now:
            found.append(_difference(name, before, now))
    files_before, files_now = _files_of(old), _files_of(new)
    for path in sorted({*files_before, *files_now}):
        before, now = files_before.get(path), files_now.get(path)
        if before != now:
            found.append(_difference(f"file {path}", before, now))
    for path in sorted({*old.dependencies.shadows} ^ {*new.dependencies.shadows}):
        if path not in files_before and path not in files_now:
            verb = "appeared in" if path in new.dependencies.shadows else "was removed from"
            found.append(f"file {path}: {verb} a folder that is searched for headers")
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
