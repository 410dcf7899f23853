# SPDX-License-Identifier: Apache-2.0
"""Fuzz target of build-cache manifests: any bytes are rejected, or valid in every field."""

from __future__ import annotations

import atexit
import copy
import json
import shutil
import tempfile
from pathlib import Path

import coverage_guided

with coverage_guided.instrumented(__name__):
    from tvm_ffi.cpp._cache_store import BuildCache, CacheEntry, Manifest
    from tvm_ffi.cpp._key import CacheKey
    from tvm_ffi.cpp._portable import Portable
    from tvm_ffi.cpp._reasons import differences
    from tvm_ffi.cpp._request import MANIFEST_FILE


_SEED = (Path(__file__).parent / "seeds" / "manifest" / "manifest").read_text()
_VALUES = (
    *(None, True, -1, 1.5, "", "../x", [], [1], ["a"], {}, {"a": 1}, {"a": ["b"]}, {"a": "b"}),
    *({"/a\0b": "x"}, {"/\ud800": "missing"}, ["/\udfff"]),
)
_DIGEST, _KEY = "1" * 16, "0" * 64


class Cache:
    """A build cache with one cached build, whose manifest has arbitrary bytes."""

    def __init__(self) -> None:
        parent = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, parent)
        root = Path(parent) / "cache"
        key = CacheKey(_KEY, {}, _KEY)
        self.entry = CacheEntry(BuildCache(root), "kernel", key, "kernel.so", Portable({}, ()))
        self.folder = root / f"kernel_{_DIGEST}"
        for folder in (self.folder, root / ".index" / f"kernel_{_KEY[:16]}"):
            folder.mkdir(parents=True, mode=0o700)
            folder.parent.chmod(0o700)
        (folder / f"{_DIGEST}-x").touch(mode=0o600)
        self._write("kernel.so", bytes(16))

    def _write(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)
        (self.folder / name).chmod(0o600)

    def read(self, data: bytes) -> Manifest | None:
        self._write(MANIFEST_FILE, data)
        return Manifest.read(self.folder)


_CACHE = Cache()


@coverage_guided.watched(__name__)
def check(data: bytes) -> None:
    """Read a manifest and use it as a build and as `tvm-ffi cache` do."""
    if not data.startswith(b"{"):
        data = _damaged_seed(data)
    manifest = _CACHE.read(data)
    assert _CACHE.entry.find() in (None, _CACHE.folder / "kernel.so")
    if manifest is None:
        return
    assert manifest.name == "kernel"
    assert (_CACHE.folder / manifest.product).parent.resolve() == _CACHE.folder.resolve()
    for text in (manifest.name, manifest.product, manifest.content, manifest.base):
        assert isinstance(text, str)
    for number in (manifest.size_bytes, manifest.created, manifest.build_seconds):
        assert isinstance(number, (int, float))
    assert all(isinstance(reason, str) for reason in manifest.reasons)
    assert differences(manifest, manifest) == []
    manifest.dependencies.digest(manifest.base)
    assert _CACHE.read(manifest.to_json().encode()) == manifest


def _damaged_seed(data: bytes) -> bytes:
    """Return a valid manifest in which some values are replaced or missing."""
    content = json.loads(_SEED)
    for position, choice in zip(data[::2], data[1::2]):
        table = content if position < 128 else content.get("dependencies")
        if not (isinstance(table, dict) and table):
            continue
        key = sorted(table)[position % len(table)]
        if choice % 16 < len(_VALUES):
            table[key] = copy.deepcopy(_VALUES[choice % 16])
        else:
            del table[key]
    return json.dumps(content).encode()


if __name__ == "__main__":
    coverage_guided.run(check)
