# SPDX-License-Identifier: Apache-2.0
"""Any bytes as the manifest of something that was built: understood completely, or not at all."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import coverage_guided

with coverage_guided.instrumented(__name__):
    from tvm_ffi.cpp._manifest import Manifest, differences


_SEED = (Path(__file__).parent / "seeds" / "manifest" / "manifest").read_text()
_VALUES = (None, True, -1, 1.5, "", "../x", [], [1], ["a"], {}, {"a": 1}, {"a": ["b"]}, {"a": "b"})


class Folder:
    """A folder in which every file has the same bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def __truediv__(self, name: str) -> Folder:
        return self

    def read_bytes(self) -> bytes:
        return self._data


@coverage_guided.watched(__name__)
def check(data: bytes) -> None:
    """Read the manifest, and do with it what builders and `tvm-ffi cache` do."""
    if not data.startswith(b"{"):
        data = _damaged_seed(data)
    manifest = Manifest.read(Folder(data))
    if manifest is None:
        return
    assert "/" not in manifest.product
    for text in (manifest.name, manifest.product, manifest.content, manifest.base):
        assert isinstance(text, str)
    for number in (manifest.size_bytes, manifest.created, manifest.build_seconds):
        assert isinstance(number, (int, float))
    assert all(isinstance(reason, str) for reason in manifest.reasons)
    assert differences(manifest, manifest) == []
    manifest.dependencies.digest(manifest.base)
    assert Manifest.read(Folder(manifest.to_json().encode())) == manifest


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
