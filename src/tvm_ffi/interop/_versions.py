# SPDX-License-Identifier: Apache-2.0
"""Imports of optional frameworks and compilers, and checks of their versions."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import warnings
from types import ModuleType

__all__ = ["UntriedVersionWarning", "load"]

_RELEASE = re.compile(r"v?(\d+(?:\.\d+)*)")


class UntriedVersionWarning(UserWarning):
    """The installed version of a framework was not tested with its adapter."""


def load(
    module: str, first: str, last: str, *, distribution: str | None = None, extra: str | None = None
) -> ModuleType:
    """Import the framework or compiler that an adapter needs.

    Parameters
    ----------
    module : str
        Import name.
    first, last : str
        Oldest and newest tested release of the framework.  Later releases with the same ``X.Y`` as
        `last` count as tested.
    distribution : str, optional
        Name of the package on PyPI, if it differs from `module`.
    extra : str, optional
        Extra of ``pytvmffi`` that installs the framework, as in ``pytvmffi[numba]``.

    Raises
    ------
    ImportError
        If the framework is not installed; the message names the package to install.

    Warns
    -----
    UntriedVersionWarning
        If the installed version is outside the tested range.
    """
    distribution = distribution or module
    try:
        framework = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module.partition(".")[0]:
            raise  # The framework itself is installed, but a package that it imports is missing.
        package = f"pytvmffi[{extra}]" if extra else distribution
        message = f"this adapter needs the package {distribution}: pip install '{package}'"
        raise ModuleNotFoundError(message, name=error.name) from error
    version = _version_of(framework, distribution)
    if version is not None and not _is_within(version, first, last):
        warnings.warn(
            f"{distribution} {version} was not tested with tvm_ffi.interop; "
            f"tested versions: {first} to {last}",
            UntriedVersionWarning,
            stacklevel=3,
        )
    return framework


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
    """Return the numbers of a version such as ``2.1.0rc1+cpu``, without the suffixes."""
    match = _RELEASE.match(version)
    return tuple(map(int, match[1].split("."))) if match else ()
