# SPDX-License-Identifier: Apache-2.0
"""Alias distribution: metadata that satisfies requirements on ``apache-tvm-ffi``.

Third-party packages require ``apache-tvm-ffi``.  `provide` writes a ``dist-info`` folder of that
name.  Its RECORD lists only the metadata files, so that ``pip uninstall apache-tvm-ffi`` removes no
module.  The RECORD of pytvmffi lists the folder as well, so that ``pip uninstall pytvmffi`` removes
it.
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
# Matches a version in the normalized form of PEP 440.
_VERSION = re.compile(r"\d+(\.\d+)*((a|b|rc)\d+)?(\.post\d+)?(\.dev\d+)?")


def provide(name: str, version: str | None = None) -> Path:
    """Write metadata that satisfies requirements on `name`.

    Parameters
    ----------
    name : str
        The required distribution, ``"apache-tvm-ffi"``.
    version : str, optional
        The version to provide; by default the release of apache-tvm-ffi whose Python interface this
        package implements.

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
    if name != INCUMBENT:
        raise ValueError(f"only the distribution {INCUMBENT} can be provided, not {name!r}")
    try:
        found = metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return None
    folder = _metadata_folder(Path(str(found.locate_file(""))), name, found.version)
    if (found.read_text("INSTALLER") or "").strip() != _DISTRIBUTION:
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
