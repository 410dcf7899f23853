# SPDX-License-Identifier: Apache-2.0
"""Exchange libraries: one set of sources, built against this project's and the incumbent's headers.

Each library is linked with the *other* implementation's runtime, and the linker must resolve every
symbol: this proves that the headers need nothing that the other runtime lacks.  Objects are reused
until sources, headers, compiler or flags change.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
SOURCES = sorted((FOLDER / "exchange").glob("*.cc"))
INCLUDED = sorted((FOLDER / "exchange").glob("*.h"))
FLAGS = ("-std=c++17", "-O1", "-fPIC")


@dataclass(frozen=True)
class Implementation:
    """Headers to compile with, and the runtime library of the same implementation."""

    name: str
    include_folders: tuple[str, ...]
    version: str
    """A digest that changes with the headers."""
    library: Path


def compiler() -> list[str]:
    """Return the command of the C++ compiler."""
    return shlex.split(os.environ.get("CXX", "c++"))


def digest_of(parts: Iterable[str | bytes]) -> str:
    """Return a short digest of strings and file contents."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest()[:16]


def version_of_headers(folders: Sequence[str]) -> str:
    """Return a digest of all headers below these folders."""
    headers = sorted(path for folder in folders for path in Path(folder).rglob("*.h"))
    return digest_of(part for path in headers for part in (str(path), path.read_bytes()))


def build_libraries(
    folder: Path, ours: Implementation, incumbent: Implementation
) -> dict[str, tuple[Path, Path]]:
    """Return two copies of each library, which can be loaded together as separate libraries."""
    folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = {
            implementation.name: [
                pool.submit(_compile, folder, source, implementation) for source in SOURCES
            ]
            for implementation in (incumbent, ours)  # longest compilation first
        }
        other = {ours.name: incumbent, incumbent.name: ours}
        return {
            name: _link(folder, name, [job.result() for job in jobs], other[name])
            for name, jobs in objects.items()
        }


def build_client(folder: Path, source: Path, ours: Implementation) -> Path:
    """Return a library of one source file and the checks, built with this project's headers."""
    folder.mkdir(parents=True, exist_ok=True)
    objects = [_compile(folder, path, ours) for path in (source, FOLDER / "exchange/failure.cc")]
    return _link(folder, source.stem, objects, ours)[0]


def _compile(folder: Path, source: Path, implementation: Implementation) -> Path:
    includes = [flag for path in implementation.include_folders for flag in ("-isystem", path)]
    cache = [path] if (path := shutil.which("ccache")) else []
    command = [*cache, *compiler(), *FLAGS, *includes, "-c", str(source)]
    texts = [path.read_bytes() for path in (source, *INCLUDED)]
    key = digest_of([*command, implementation.version, _compiler_version(), *texts])
    stem = f"{implementation.name}-{source.stem}"
    target = folder / f"{stem}-{key}.o"
    if not target.is_file():
        for outdated in folder.glob(f"{stem}-*.o"):
            outdated.unlink()
        _run([*command, "-o", str(target.with_suffix(".part"))])
        target.with_suffix(".part").rename(target)  # last, so that builds are resumable
    return target


def _link(
    folder: Path, name: str, objects: list[Path], runtime: Implementation
) -> tuple[Path, Path]:
    first, second = folder / f"{name}.so", folder / f"{name}-2.so"
    inputs = [str(path) for path in objects]
    libraries = [f"-L{runtime.library.parent}", "-ltvm_ffi", "-Wl,-z,defs"]
    _run([*compiler(), "-shared", *inputs, *libraries, "-o", str(first)])
    shutil.copyfile(first, second)
    return first, second


def _compiler_version() -> str:
    return _run([*compiler(), "--version"])


def _run(command: list[str]) -> str:
    """Run a compiler and return its output; raise AssertionError with its messages if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{shlex.join(command)}\n{done.stderr}"
    return done.stdout
