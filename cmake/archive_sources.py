# SPDX-License-Identifier: Apache-2.0
"""Archive of source files in a wheel: `archive_sources.py ARCHIVE FILE...`.

The bytes depend on the names and the contents of the files only, not on their times and owners.
One compressed archive has half the size of the files that a wheel compresses one by one.
"""

import io
import sys
import tarfile
from pathlib import Path


def main() -> None:
    """Write the archive; names in it are relative to the working directory."""
    # CMake recognizes the compression when it extracts the archive.  bz2 is an optional module.
    try:
        import bz2  # noqa: F401

        mode = "w:bz2"
    except ImportError:
        mode = "w:gz"
    archive, *names = sys.argv[1:]
    with tarfile.open(archive, mode, format=tarfile.USTAR_FORMAT) as tar:
        for path in sorted(Path(name).relative_to(Path.cwd()) for name in names):
            content = path.read_bytes()
            member = tarfile.TarInfo(path.as_posix())
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))


if __name__ == "__main__":
    main()
