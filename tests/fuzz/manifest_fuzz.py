# SPDX-License-Identifier: Apache-2.0
"""Any bytes as the manifest of something that was built: understood completely, or not at all."""

from __future__ import annotations

import atexit
import copy
import json
import shutil
import tempfile
from pathlib import Path

import coverage_guided

with coverage_guided.instrumented(__name__):
    from tvm_ffi.cpp._manifest import FILE, Manifest, differences
    from tvm_ffi.cpp._store import Store


_SEED = (Path(__file__).parent / "seeds" / "manifest" / "manifest").read_text()
_VALUES = (
    *(None, True, -1, 1.5, "", "../x", [], [1], ["a"], {}, {"a": 1}, {"a": ["b"]}, {"a": "b"}),
    *({"/a\0b": "x"}, {"/\ud800": "missing"}, ["/\udfff"]),
)
_DIGEST, _BASE = "1" * 16, "0" * 64


class Cache:
    """A cache with one artifact, whose manifest has any bytes."""

    def __init__(self) -> None:
        above = tempfile.mkdtemp()
        atexit.register(shutil.rmtree, above)
        self.store = Store(Path(above) / "cache")
        self.folder = self.store.root / f"kernel_{_DIGEST}"
        for folder in (self.folder, self.store.root / ".index" / f"kernel_{_BASE[:16]}"):
            folder.mkdir(parents=True, mode=0o700)
            folder.parent.chmod(0o700)
        (folder / f"{_DIGEST}-x").touch(mode=0o600)
        self._write("kernel.so", bytes(16))

    def _write(self, name: str, content: bytes) -> None:
        (self.folder / name).write_bytes(content)
        (self.folder / name).chmod(0o600)

    def read(self, data: bytes) -> Manifest | None:
        self._write(FILE, data)
        return Manifest.read(self.folder)


_CACHE = Cache()


@coverage_guided.watched(__name__)
def check(data: bytes) -> None:
    """Read the manifest, and do with it what builders and `tvm-ffi cache` do."""
    if not data.startswith(b"{"):
        data = _damaged_seed(data)
    manifest = _CACHE.read(data)
    assert _CACHE.store.find("kernel", _BASE, "kernel.so") in (None, _CACHE.folder / "kernel.so")
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
    """Return a good manifest with parts that are something else, or missing."""
    content = json.loads(_SEED)
    for place, choice in zip(data[::2], data[1::2]):
        inside = content if place < 128 else content.get("dependencies")
        if not (isinstance(inside, dict) and inside):
            continue
        key = sorted(inside)[place % len(inside)]
        if choice % 16 < len(_VALUES):
            inside[key] = copy.deepcopy(_VALUES[choice % 16])
        else:
            del inside[key]
    return json.dumps(content).encode()


if __name__ == "__main__":
    coverage_guided.run(check)
