# SPDX-License-Identifier: Apache-2.0
"""Wheel with the files of the installed package.

Tests install this wheel into new environments; building a wheel from source would take minutes.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.metadata
import zipfile
from collections.abc import Iterator
from pathlib import Path

DISTRIBUTION = "pytvmffi"
PACKAGE = "tvm_ffi"


def _files(root: Path, info: Path) -> Iterator[Path]:
    """Yield the installed files of the package, without files that an installer has added."""
    beside = root / f"{PACKAGE}.py"  # imported if the package has lost its files
    for path in sorted([beside, *(root / PACKAGE).rglob("*"), *info.rglob("*")]):
        is_added = path.suffix == ".pyc" or path.name in {"RECORD", "INSTALLER", "REQUESTED"}
        if path.is_file() and not is_added and path.name != "direct_url.json":
            yield path


def write_installed_wheel(folder: Path) -> Path:
    """Write a wheel with the files of the installed package; return its path.

    Raises
    ------
    RuntimeError
        If the installation is editable, so that its files are in the source tree.
    """
    distribution = importlib.metadata.distribution(DISTRIBUTION)
    root = Path(str(distribution.locate_file("")))
    info = next(root.glob(f"{DISTRIBUTION}-*.dist-info"))
    if not (root / PACKAGE / "__init__.py").is_file():
        raise RuntimeError(f"{PACKAGE} is not installed in {root}")
    text = distribution.read_text("WHEEL") or ""
    tag = next(line.partition(": ")[2] for line in text.splitlines() if line.startswith("Tag: "))
    wheel = folder / f"{DISTRIBUTION}-{distribution.version}-{tag}.whl"
    record = []
    with zipfile.ZipFile(wheel, "w") as archive:
        for path in _files(root, info):
            name = path.relative_to(root).as_posix()
            content = path.read_bytes()
            digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
            record.append(f"{name},sha256={digest.decode()},{len(content)}\n")
            archive.write(path, name)
        record.append(f"{info.name}/RECORD,,\n")
        archive.writestr(f"{info.name}/RECORD", "".join(record))
    return wheel
