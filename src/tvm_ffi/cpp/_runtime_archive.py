# SPDX-License-Identifier: Apache-2.0
"""The static runtime: an archive that is compiled from the package's sources when it is needed.

Published wheels do not contain the archive, which would be two fifths of the size.
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .. import libinfo
from .._internal.platform import SYSTEM, machine
from .._version import __version__
from ..builds import announce
from ._cache_store import CacheEntry, Manifest, checked_cache
from ._command import PRIVATE_UMASK, command_error, run_command
from ._compiler import compiler_command, describe_compiler
from ._files import content_digest
from ._freshness import Dependencies
from ._key import Input, key_of
from ._ninja import find_ninja
from ._portable import Portable
from ._progress import progress_line

__all__ = ["runtime_archive"]

_NAME = "tvm_ffi_static"
_PRODUCT = "libtvm_ffi_static.a"
_REASON = "this package contains the sources of the static runtime, not the archive"


def runtime_archive() -> Path:
    """Return the path of the archive of the runtime in the build cache; build it if necessary.

    Raises
    ------
    RuntimeError
        If CMake or a C++ compiler is missing, or the compiler fails.
    LateBuildError
        If the policy for late builds refuses the build.
    """
    sources = Path(libinfo.find_source_path())
    cache = checked_cache()
    compiler = describe_compiler(compiler_command("CXX", "c++"), cache.compilers_folder)
    inputs: dict[str, Input] = {
        "package": __version__,
        "platform": f"{SYSTEM} {machine()}",
        "compiler cpp": compiler,
    }
    for variable in ("CFLAGS", "CXXFLAGS"):
        if variable in os.environ:
            inputs[f"variable {variable}"] = os.environ[variable]
    for path in _source_files(sources):
        inputs[f"source {path.relative_to(sources)}"] = content_digest(path)
    entry = CacheEntry(cache, _NAME, key_of(_NAME, inputs), _PRODUCT, Portable({}, ()))
    archive = entry.find()
    if archive is not None:
        return archive
    announce("library", _NAME, key=entry.key.digest, reasons=[_REASON])
    text = "compiling the static runtime, once: up to two minutes of processor time"
    print(text, file=sys.stderr, flush=True)
    with progress_line(text), entry.lock():
        return entry.find() or _build(sources, entry)


def _source_files(sources: Path) -> Iterator[Path]:
    """Yield the files that the build reads; installed packages have the archive ``runtime.tar``."""
    archive = sources / "runtime.tar"
    if archive.is_file():
        yield archive
    for folder in ("cmake", "include", "runtime"):
        for path in sorted((sources / folder).rglob("*.*")):
            if path.suffix in {".cc", ".cmake", ".h"}:
                yield path


def _build(sources: Path, entry: CacheEntry) -> Path:
    """Compile the sources and publish the archive; the caller must hold the entry's lock."""
    cmake = shutil.which("cmake") or shutil.which("cmake", path=str(Path(sys.executable).parent))
    if cmake is None:
        raise RuntimeError(
            f"{_PRODUCT} must be compiled, but cmake is not found; install it with "
            "`pip install cmake`"
        )
    start = time.perf_counter()
    ninja = find_ninja()
    generator = ["-G", "Ninja", f"-DCMAKE_MAKE_PROGRAM={ninja}"] if ninja else []
    with entry.staging() as folder:
        build = folder / "build"
        for command in (
            [cmake, "-S", str(sources), "-B", str(build), "-DCMAKE_BUILD_TYPE=Release", *generator],
            [cmake, "--build", str(build), "--target", "tvm_ffi_minimal", "--parallel"],
        ):
            done = run_command(command, folder, PRIVATE_UMASK)
            if done.returncode != 0:
                raise command_error("cmake", done.returncode, done.stdout, done.stderr)
        product = folder / _PRODUCT
        (build / "lib" / _PRODUCT).rename(product)
        shutil.rmtree(build)
        manifest = Manifest(
            name=entry.name,
            product=_PRODUCT,
            size_bytes=product.stat().st_size,
            content=content_digest(product),
            base=entry.key.digest,
            parts=entry.key.inputs,
            dependencies=Dependencies({}, {}, [], []),
            folders={},
            created=time.time(),
            build_seconds=round(time.perf_counter() - start, 3),
            reasons=[_REASON],
        )
        return entry.publish(folder, manifest)
