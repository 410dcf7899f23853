# SPDX-License-Identifier: Apache-2.0
"""Metadata by which installers take this distribution for the incumbent.

Packages require ``apache-tvm-ffi``.  `provide` writes what the metadata of an installed
distribution consists of, without any module: its record has the metadata alone, so that
``pip uninstall`` of it leaves the package as it is.  The record of this distribution has the files
as well, so that they go when this distribution goes.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import re
import sys
from importlib import metadata
from pathlib import Path

from .._version import __version_tuple__
from .conflict import INCUMBENT, REMEDY

__all__ = ["provide", "withdraw"]

_DISTRIBUTION = "pytvmffi"
# What a version may look like (PEP 440, in its normal form).
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")


def provide(name: str, version: str | None = None) -> Path:
    """Let installers see a requirement as satisfied by this distribution.

    Parameters
    ----------
    name : str
        What is required: ``"apache-tvm-ffi"``.
    version : str, optional
        The version that is there; default: the level of the contract that is implemented.

    Returns
    -------
    pathlib.Path
        The folder with the metadata.

    Raises
    ------
    ValueError
        If it is another name, no version, or the real one is installed.
    OSError
        If the environment cannot be written to, or this package is not installed in one.
    """
    if version is None:
        version = ".".join(map(str, __version_tuple__[:3]))
    if _VERSION.fullmatch(version) is None:
        raise ValueError(f"expected a version such as 0.1.15, got {version!r}")
    withdraw(name)
    record = _own_record()
    folder = _metadata_folder(record.parents[1], name, version)
    text = {
        "METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        f"Summary: Provided by {_DISTRIBUTION}\nRequires-Dist: {_DISTRIBUTION}\n",
        "INSTALLER": f"{_DISTRIBUTION}\n",
    }
    rows = [_row(f"{folder.name}/{file}", content) for file, content in text.items()]
    rows.append([f"{folder.name}/RECORD", "", ""])
    text["RECORD"] = _as_csv(rows)
    folder.mkdir()
    for file, content in text.items():
        (folder / file).write_text(content, encoding="utf-8")
    _replace_rows(record, folder.name, rows)
    return folder


def withdraw(name: str) -> Path | None:
    """Take away what `provide` has written.

    Returns
    -------
    pathlib.Path or None
        The folder that was removed; None when nothing was provided.

    Raises
    ------
    ValueError
        If it is another name, or the real one is installed.
    OSError
        If the environment cannot be written to.
    """
    if name != INCUMBENT:
        raise ValueError(f"only {INCUMBENT} can be provided, not {name!r}")
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    folder = _metadata_folder(Path(str(found.locate_file(""))), name, found.version)
    if (found.read_text("INSTALLER") or "").strip() != _DISTRIBUTION:
        raise ValueError(
            f"{name} {found.version} itself is installed, in {folder.parent}; "
            f"to have {_DISTRIBUTION} in its place: {REMEDY}"
        )
    _replace_rows(_own_record(), folder.name, [])
    for file in folder.iterdir():
        file.unlink()
    folder.rmdir()
    return folder


def _metadata_folder(site: Path, name: str, version: str) -> Path:
    return site / f"{name.replace('-', '_')}-{version}.dist-info"


# ---- Records ------------------------------------------------------------------------------------


def _own_record() -> Path:
    """Return the list of the files of this distribution."""
    try:
        files = metadata.files(_DISTRIBUTION) or ()
    except metadata.PackageNotFoundError:
        files = ()
    for file in files:
        if file.name == "RECORD" and file.parent.name.endswith(".dist-info"):
            return Path(str(file.locate()))
    raise FileNotFoundError(
        f"no installer has put {_DISTRIBUTION} into this environment, {sys.prefix}"
    )


def _row(path: str, content: str) -> list[str]:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content.encode()).digest()).rstrip(b"=")
    return [path, f"sha256={digest.decode()}", str(len(content.encode()))]


def _as_csv(rows: list[list[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _replace_rows(record: Path, folder: str, rows: list[list[str]]) -> None:
    """Let a record have these rows for a folder and no other ones; at once, or not at all."""
    text = record.read_text(encoding="utf-8")
    kept = [row for row in csv.reader(io.StringIO(text)) if not row[0].startswith(f"{folder}/")]
    changed = record.with_name(f"RECORD.{os.getpid()}")
    changed.write_text(_as_csv(kept + rows), encoding="utf-8")
    changed.replace(record)
