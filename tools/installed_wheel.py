# SPDX-License-Identifier: Apache-2.0
"""A wheel of the installed package: the files that were installed, as they were built.

Tests need one to fill fresh environments with; building it again would take minutes.
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
    """Return what belongs into the wheel; installers add the rest."""
    for path in sorted([*(root / PACKAGE).rglob("*"), *info.rglob("*")]):
        is_added = path.suffix == ".pyc" or path.name in {"RECORD", "INSTALLER", "REQUESTED"}
        if path.is_file() and not is_added and path.name != "direct_url.json":
            yield path


def write_installed_wheel(folder: Path) -> Path:
    """Write the wheel that would install what is installed; return its path.

    Raises
    ------
    RuntimeError
        If the package is installed in an editable way, so that its files are elsewhere.
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
