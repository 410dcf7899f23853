# SPDX-License-Identifier: Apache-2.0
"""Damaged caches: a build repairs the cache, or fails with an error that names the remedy."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path

import pytest

from tvm_ffi import cpp
from tvm_ffi.cpp import cache as build_cache

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")

TEXT = "int one(void) { return 1; }"
LONG = "/" + "a" * 5000
DEEP = "[" * 200_000 + "]" * 200_000


@pytest.fixture(autouse=True)
def time_limit():
    """End a test that blocks on a FIFO."""

    def give_up(*_: object) -> None:
        raise TimeoutError("the test took more than 60 seconds")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(60)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def product() -> Path:
    return build()


def build(text: str = TEXT) -> Path:
    return Path(cpp.build_inline("kernel", c_sources=text))


def is_repaired(product: Path) -> bool:
    """Return True if a build restores the product and the next build finds it."""
    assert build() == product
    inode = product.stat().st_ino
    assert build() == product
    return product.stat().st_ino == inode


def with_dependencies(manifest: dict, **changes: object) -> dict:
    return {**manifest, "dependencies": {**manifest["dependencies"], **changes}}


# ---- Manifests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/a\0b", "/\ud800", LONG, "/tmp", "/proc/self/mem", "/dev/zero"])
@pytest.mark.parametrize("table", ["own", "installed"])
def test_impossible_paths_in_a_manifest_are_repaired(product, table, path):
    """Regression: they made every later build of the recipe fail."""
    manifest = product.with_name("manifest.json")
    good = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(with_dependencies(good, **{table: {path: "x"}})))
    assert is_repaired(product)
    assert json.loads(manifest.read_text())["dependencies"] == good["dependencies"]


@pytest.mark.parametrize("name", ["/a\0b", "/\ud800", LONG])
def test_impossible_folders_in_a_manifest_are_repaired(product, name):
    manifest = product.with_name("manifest.json")
    good = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(with_dependencies(good, folders=[name])))
    assert is_repaired(product)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "a" * 300, "", ".", "..", "manifest.json"])
def test_another_product_in_a_manifest_is_repaired(product, name):
    manifest = product.with_name("manifest.json")
    good = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**good, "product": name}))
    assert build_cache.find() == []
    assert is_repaired(product)


@pytest.mark.parametrize("field", ["x", "parts"])
def test_a_manifest_with_excessive_nesting_is_repaired(product, field):
    """Regression: it made all builds of the name fail, and the list of the cache."""
    text = product.with_name("manifest.json").read_text()
    damaged = text.replace('"parts": {', f'"x": {DEEP}, "parts": {{', 1)
    if field == "parts":
        damaged = text.replace('"parts": {', f'"parts": {{"x": {DEEP},', 1)
    product.with_name("manifest.json").write_text(damaged)
    assert build(f"{TEXT} // other") != product
    assert [artifact.path == product for artifact in build_cache.find()] == [False]
    assert is_repaired(product)


def test_a_cached_compiler_version_with_excessive_nesting_is_ignored(product, cache):
    for file in (cache / ".compilers").iterdir():
        file.write_text(DEEP)
    assert build() == product


def test_pruning_a_manifest_of_another_name_removes_nothing_outside_the_cache(
    product, cache, tmp_path
):
    """Regression: pruning followed the name in the manifest to a folder outside of the cache."""
    manifest = product.with_name("manifest.json")
    victim = tmp_path / f"victim_{'b' * 16}"
    victim.mkdir()
    precious = victim / f"{product.parent.name[-16:]}-x"
    precious.touch()
    good = json.loads(manifest.read_text())
    for name, base in (("../../victim", "b" * 64), ("kernel", "/../../../victim")):
        manifest.write_text(json.dumps({**good, "name": name, "base": base}))
        build_cache.prune(unused_days=0)
        assert precious.exists()


# ---- Entries of another file type ----------------------------------------------------------------


def test_a_file_at_the_path_of_an_artifact_is_replaced(product):
    shutil.rmtree(product.parent)
    product.parent.touch(mode=0o600)
    assert is_repaired(product)


def test_a_file_at_the_path_of_an_index_is_replaced(product, cache):
    (index,) = (cache / ".index").iterdir()
    shutil.rmtree(index)
    index.touch(mode=0o600)
    assert is_repaired(product)


def test_a_dangling_link_among_the_marks_is_ignored(product, cache):
    """Regression: later marks were ignored, too."""
    (index,) = (cache / ".index").iterdir()
    (index / "a").symlink_to("/nonexistent")
    inode = product.stat().st_ino
    assert build() == product
    assert product.stat().st_ino == inode


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_folder_or_link_at_the_path_of_a_lock_is_an_error(product, cache, kind):
    (lock,) = (cache / ".locks").iterdir()
    lock.unlink()
    if kind == "folder":
        lock.mkdir(mode=0o700)
    else:
        lock.symlink_to("/nonexistent/lock")
    shutil.rmtree(product.parent)
    with pytest.raises(OSError, match=r"`rm -rf .*\.lock'`"):
        build()


@pytest.mark.parametrize("name", [".locks", ".staging", ".index", ".compilers"])
def test_a_file_at_the_path_of_a_cache_folder_is_an_error(product, cache, name):
    shutil.rmtree(cache / name)
    (cache / name).touch(mode=0o600)
    with pytest.raises(
        NotADirectoryError, match=r"remove it with `rm -rf .*'`; it will be created again"
    ):
        build()


def test_a_header_that_became_a_folder_fails_only_if_it_is_included(tmp_path):
    header = tmp_path / "include" / "a.h"
    header.parent.mkdir()
    header.touch()
    text = f'#if __has_include("b.h") || !defined(B)\n#include "a.h"\n#endif\n{TEXT}'
    include = [str(header.parent)]

    def build_with(flag: str) -> str:
        options = {"extra_cflags": [flag], "extra_include_paths": include}
        return cpp.build_inline("kernel", c_sources=text, **options)

    build_with("-DA")
    header.unlink()
    header.mkdir()
    with pytest.raises(RuntimeError, match=r"exited with status 1[^$]*a\.h"):
        build_with("-DA")
    assert build_with("-DB")


def test_fifos_in_the_cache_are_ignored(product, cache):
    """Regression: listing the cache or building the name blocked forever."""
    folder = cache / f"kernel_{'0' * 16}"
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / "manifest.json")
    for version in (cache / ".compilers").iterdir():
        version.unlink()
        os.mkfifo(version)
    assert [artifact.path for artifact in build_cache.find()] == [product]
    assert build(f"{TEXT} // other") != product


def test_a_header_that_became_a_fifo_does_not_block(tmp_path):
    header = tmp_path / "a.h"
    header.touch()
    text = f'#ifdef A\n#include "{header}"\n#endif\n{TEXT}'
    options = {"c_sources": text, "extra_cflags": ["-DA"]}
    first = cpp.build_inline("kernel", **options)
    header.unlink()
    os.mkfifo(header)
    from tvm_ffi.cpp._freshness import changed_files

    known = json.loads(Path(first).with_name("manifest.json").read_text())["dependencies"]["own"]
    with pytest.raises(OSError, match="the path is not a regular file"):
        changed_files(known)
