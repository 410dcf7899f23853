# SPDX-License-Identifier: Apache-2.0
"""Alias distribution: metadata that satisfies requirements on ``apache-tvm-ffi``.

Third-party packages require ``apache-tvm-ffi``.  `provide` writes a ``dist-info`` folder of that
name.  Its RECORD lists only the metadata files, so that ``pip uninstall apache-tvm-ffi`` removes no
module.  The RECORD of pytvmffi lists the folder as well, so that ``pip uninstall pytvmffi`` removes
it.  `provide_wheel` writes a wheel with the same metadata for installers.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import sys
import zipfile
from importlib import metadata
from pathlib import Path

from .._version import __version__
from .conflict import INCUMBENT, REMEDY

__all__ = ["provide", "provide_wheel", "withdraw"]

_DISTRIBUTION = "pytvmffi"
_SUMMARY = f"Provided by {_DISTRIBUTION}"
# Matches a version in the normalized form of PEP 440.
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")


def provide(name: str, version: str | None = None) -> Path:
    """Write metadata that satisfies requirements on `name`.

    Parameters
    ----------
    name : str
        The required distribution, ``"apache-tvm-ffi"``.
    version : str, optional
        The version to provide; by default the version of this package.  It is greater than that of
        each known release of apache-tvm-ffi with this interface, so that upgrades do not replace
        this package by such a release.

    Returns
    -------
    pathlib.Path
        The folder with the metadata.

    Raises
    ------
    ValueError
        If `name` is not ``"apache-tvm-ffi"``, `version` is not a version, or apache-tvm-ffi itself
        is installed.
    OSError
        If the environment is not writable, or this package was not installed in it by an installer
        such as pip.
    """
    version = _checked_version(version)
    withdraw(name)
    record = _own_record()
    folder = _metadata_folder(record.parents[1], name, version)
    text = {"METADATA": _metadata_text(name, version), "INSTALLER": f"{_DISTRIBUTION}\n"}
    rows = _rows(folder.name, text)
    text["RECORD"] = _as_csv(rows)
    folder.mkdir()
    for file, content in text.items():
        (folder / file).write_text(content, encoding="utf-8")
    _replace_rows(record, folder.name, rows)
    return folder


def provide_wheel(name: str, folder: Path, version: str | None = None) -> Path:
    """Write a wheel of the distribution `name` that has no modules and requires this package.

    Parameters
    ----------
    name, version
        See `provide`.
    folder : pathlib.Path
        Folder of the wheel; created if it does not exist.

    Returns
    -------
    pathlib.Path
        The wheel, which replaces a wheel of the same version.

    Raises
    ------
    ValueError
        If `name` is not ``"apache-tvm-ffi"``, or `version` is not a version.
    OSError
        If the wheel cannot be written.
    """
    version = _checked_version(version)
    _check_name(name)
    info = _metadata_folder(Path(), name, version).name
    generator = f"Generator: {_DISTRIBUTION} {__version__}"
    text = {
        "METADATA": _metadata_text(name, version),
        "WHEEL": f"Wheel-Version: 1.0\n{generator}\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    text["RECORD"] = _as_csv(_rows(info, text))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for file, written in text.items():
            # A fixed time, so that equal wheels have equal hashes in lock files.
            archive.writestr(zipfile.ZipInfo(f"{info}/{file}"), written)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    path.write_bytes(content.getvalue())
    return path


def _checked_version(version: str | None) -> str:
    if version is None:
        return __version__
    if _VERSION.fullmatch(version) is None:
        raise ValueError(f"expected a version such as 0.1.15, got {version!r}")
    return version


def _check_name(name: str) -> None:
    if name != INCUMBENT:
        raise ValueError(f"only the distribution {INCUMBENT} can be provided, not {name!r}")


def _metadata_text(name: str, version: str) -> str:
    return (
        f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {_SUMMARY}\n"
        f"Requires-Dist: {_DISTRIBUTION}\n"
    )


def withdraw(name: str) -> Path | None:
    """Remove the ``dist-info`` folder that `provide` has written.

    Returns
    -------
    pathlib.Path or None
        The removed folder; None if `name` was not provided.

    Raises
    ------
    ValueError
        If `name` is not ``"apache-tvm-ffi"``, or apache-tvm-ffi itself is installed.
    OSError
        If the environment is not writable.
    """
    _check_name(name)
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    folder = _metadata_folder(Path(str(found.locate_file(""))), name, found.version)
    if (found.read_text("INSTALLER") or "").strip() != _DISTRIBUTION:
        if found.metadata["Summary"] == _SUMMARY:
            raise ValueError(
                f"{name} {found.version} was installed from a wheel of `tvm-ffi provide --wheel`; "
                f"remove it by `pip uninstall {name}`"
            )
        raise ValueError(
            f"the distribution {name} {found.version} itself is installed in {folder.parent}; "
            f"to replace it with {_DISTRIBUTION}, run `{REMEDY}`"
        )
    _replace_rows(_own_record(), folder.name, [])
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    return folder


def _metadata_folder(site: Path, name: str, version: str) -> Path:
    return site / f"{name.replace('-', '_')}-{version}.dist-info"


# ---- RECORD files -------------------------------------------------------------------------------


def _own_record() -> Path:
    """Return the path of the RECORD file of this distribution."""
    try:
        files = metadata.files(_DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:
        files = ()
    for file in files:
        if file.name == "RECORD" and file.parent.name.endswith(".dist-info"):
            return Path(str(file.locate()))
    raise FileNotFoundError(
        f"the Python environment {sys.prefix} contains no RECORD file of {_DISTRIBUTION}; install "
        f"{_DISTRIBUTION} with pip"
    )


def _row(path: str, content: str) -> list[str]:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=")
    return [path, f"sha256={digest.decode()}", str(len(content.encode()))]


def _rows(folder: str, text: dict[str, str]) -> list[list[str]]:
    """Return the rows of a RECORD file that lists these files and itself."""
    rows = [_row(f"{folder}/{file}", content) for file, content in text.items()]
    return [*rows, [f"{folder}/RECORD", "", ""]]


def _as_csv(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _replace_rows(record: Path, folder: str, rows: list[list[str]]) -> None:
    """Replace the rows of a RECORD file that list files in `folder`, atomically."""
    text = record.read_text(encoding="utf-8")
    kept = [row for row in csv.reader(io.StringIO(text)) if not row[0].startswith(f"{folder}/")]
    changed = record.with_name(f"RECORD.{os.getpid()}")
    changed.write_text(_as_csv(kept + rows), encoding="utf-8")
    changed.replace(record)
