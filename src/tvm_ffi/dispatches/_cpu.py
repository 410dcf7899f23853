# SPDX-License-Identifier: Apache-2.0
"""CPU features: their names, the levels of x86-64, and the features of this processor."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .._internal.suggestion import did_you_mean
from ..registry import get_global_func

__all__ = ["feature_names", "features_of", "processor_features"]

# Features that each level adds to the previous level, as far as the runtime reports them
# (ORDER cpu-features).
_LEVELS = {
    "x86-64": (),
    "x86-64-v2": ("ssse3", "sse4.1", "sse4.2", "popcnt"),
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "fma"),
    "x86-64-v4": ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"),
}
_FURTHER = ("avx512vnni",)
_FEATURES = {"x86-64", *(name for names in _LEVELS.values() for name in names), *_FURTHER}


def feature_names(where: str, names: str | Iterable[str]) -> tuple[str, ...]:
    """Return the names in a text such as ``"avx2 fma"``, or in a sequence.

    Raises
    ------
    ValueError
        If a name is neither a feature nor a level.
    """
    found = tuple(names.split() if isinstance(names, str) else names)
    known = (*_LEVELS, *sorted(_FEATURES - {"x86-64"}))
    for name in found:
        if name not in known:
            hint = did_you_mean(name, known)
            raise ValueError(
                f"{where}: expected CPU features or levels such as 'avx2' or 'x86-64-v3', got "
                f"{name!r}{hint}"
            )
    return found


def features_of(names: Iterable[str]) -> frozenset[str]:
    """Return the features that names of features and levels comprise."""
    found: set[str] = set()
    for name in names:
        if name not in _LEVELS:
            found.add(name)
            continue
        found.add("x86-64")
        levels = list(_LEVELS)
        for level in levels[: levels.index(name) + 1]:
            found.update(_LEVELS[level])
    return frozenset(found)


def processor_features() -> frozenset[str]:
    """Return the features of the processor; empty for processors other than x86-64."""
    read: Any = get_global_func("pytvmffi.CpuFeatures")
    return frozenset(read())
