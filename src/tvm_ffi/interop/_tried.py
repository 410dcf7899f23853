# SPDX-License-Identifier: Apache-2.0
"""The software behind an adapter, and the versions of it with which the adapter was tried."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import warnings
from types import ModuleType

__all__ = ["UntriedVersionWarning", "load"]

_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)")


class UntriedVersionWarning(UserWarning):
    """A version of other software is there with which an adapter was not tried."""


def load(
    module: str, first: str, last: str, *, distribution: str | None = None, extra: str | None = None
) -> ModuleType:
    """Import the software behind an adapter.

    Parameters
    ----------
    module : str
        Its import name.
    first, last : str
        The oldest and the newest release that were tried.  Later releases of the same ``X.Y`` as
        the newest count as tried.
    distribution : str, optional
        What is installed to have it, if that is not `module`.
    extra : str, optional
        The extra of this package that brings it.

    Raises
    ------
    ImportError
        If it is not installed; the text says what to install.

    Warns
    -----
    UntriedVersionWarning
        If another version is there.
    """
    distribution = distribution or module
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # it is there, and misses something itself
        package = f"pytvmffi[{extra}]" if extra else distribution
        text = f"this adapter needs {distribution}: pip install '{package}'"
        raise ModuleNotFoundError(text, name=error.name) from error
    version = _version_of(found, distribution)
    if version is not None and not _is_within(version, first, last):
        warnings.warn(
            f"{distribution} {version} was not tried with tvm_ffi.interop; "
            f"versions from {first} to {last} were",
            UntriedVersionWarning,
            stacklevel=3,
        )
    return found


def _version_of(module: ModuleType, distribution: str) -> str | None:
    version = getattr(module, "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def _is_within(version: str, first: str, last: str) -> bool:
    release, newest = _release(version), _release(last)
    return _release(first) <= release and (release <= newest or release[:2] == newest[:2])


def _release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without what marks builds and earlier releases."""
    match = _RELEASE.match(version)
    return tuple(map(int, match[1].split("."))) if match else ()
