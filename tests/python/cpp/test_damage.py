# SPDX-License-Identifier: Apache-2.0
"""What lies in the cache and is not what should be there: healed, or one error with the remedy."""

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
def no_waiting():
    """End a test that waits for somebody to write into a FIFO."""

    def give_up(*_: object) -> None:
        raise TimeoutError("the test waits")

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


def is_healed(product: Path) -> bool:
    """Whether a plan is carried out again, and found after that."""
    assert build() == product
    inode = product.stat().st_ino
    assert build() == product
    return product.stat().st_ino == inode


def with_dependencies(manifest: dict, **changes: object) -> dict:
    return {**manifest, "dependencies": {**manifest["dependencies"], **changes}}


# ---- Manifests -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["/a\0b", "/\ud800", LONG, "/tmp", "/proc/self/mem", "/dev/zero"])
@pytest.mark.parametrize("table", ["own", "installed"])
def test_paths_in_a_manifest_that_no_header_has(product, table, path):
    """They ended each later build of the plan."""
    manifest = product.with_name("manifest.json")
    good = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(with_dependencies(good, **{table: {path: "x"}})))
    assert is_healed(product)
    assert json.loads(manifest.read_text())["dependencies"] == good["dependencies"]


@pytest.mark.parametrize("name", ["/a\0b", "/\ud800", LONG])
def test_folders_in_a_manifest_that_are_none(product, name):
    manifest = product.with_name("manifest.json")
    good = json.loads(manifest.read_text())
    manifest.write_text(json.dumps(with_dependencies(good, folders=[name])))
    assert is_healed(product)


@pytest.mark.parametrize("name", ["a\0b", "\ud800", "a" * 300, "", ".", "..", "manifest.json"])
def test_a_product_that_is_not_the_plans(product, name):
    manifest = product.with_name("manifest.json")
    good = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**good, "product": name}))
    assert build_cache.find() == []
    assert is_healed(product)


@pytest.mark.parametrize("place", ["x", "parts"])
def test_a_manifest_that_is_nested_too_deep(product, place):
    """It broke the builds of all texts of its name, and the list of the cache."""
    text = product.with_name("manifest.json").read_text()
    damaged = text.replace('"parts": {', f'"x": {DEEP}, "parts": {{', 1)
    if place == "parts":
        damaged = text.replace('"parts": {', f'"parts": {{"x": {DEEP},', 1)
    product.with_name("manifest.json").write_text(damaged)
    assert build(f"{TEXT} // other") != product
    assert [artifact.path == product for artifact in build_cache.find()] == [False]
    assert is_healed(product)


def test_an_answer_of_a_compiler_that_is_nested_too_deep(product, cache):
    for file in (cache / ".compilers").iterdir():
        file.write_text(DEEP)
    assert build() == product


def test_a_manifest_of_another_name_removes_nothing_elsewhere(product, cache, tmp_path):
    """Pruning went from the name in the manifest, out of the cache."""
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


# ---- Other things in the place of files and folders ----------------------------------------------


def test_an_artifact_that_is_a_file(product):
    shutil.rmtree(product.parent)
    product.parent.touch(mode=0o600)
    assert is_healed(product)


def test_an_index_that_is_a_file(product, cache):
    (index,) = (cache / ".index").iterdir()
    shutil.rmtree(index)
    index.touch(mode=0o600)
    assert is_healed(product)


def test_a_mark_that_leads_nowhere(product, cache):
    """The marks behind it were not seen."""
    (index,) = (cache / ".index").iterdir()
    (index / "a").symlink_to("/nonexistent")
    inode = product.stat().st_ino
    assert build() == product
    assert product.stat().st_ino == inode


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_lock_that_is_no_file(product, cache, kind):
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
def test_a_file_in_place_of_a_folder_of_the_cache(product, cache, name):
    shutil.rmtree(cache / name)
    (cache / name).touch(mode=0o600)
    with pytest.raises(
        NotADirectoryError, match=r"remove it with `rm -rf .*'`; it will be created again"
    ):
        build()


def test_a_header_that_became_a_folder(tmp_path):
    """The text may not need it."""
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


def test_fifos_in_the_cache(product, cache):
    """Whoever listed the cache, or built something of the name, waited for ever."""
    folder = cache / f"kernel_{'0' * 16}"
    folder.mkdir(mode=0o700)
    os.mkfifo(folder / "manifest.json")
    for answer in (cache / ".compilers").iterdir():
        answer.unlink()
        os.mkfifo(answer)
    assert [artifact.path for artifact in build_cache.find()] == [product]
    assert build(f"{TEXT} // other") != product


def test_a_header_that_became_a_fifo(tmp_path):
    header = tmp_path / "a.h"
    header.touch()
    text = f'#ifdef A\n#include "{header}"\n#endif\n{TEXT}'
    options = {"c_sources": text, "extra_cflags": ["-DA"]}
    first = cpp.build_inline("kernel", **options)
    header.unlink()
    os.mkfifo(header)
    from tvm_ffi.cpp._freshness import changed_files

    known = json.loads(Path(first).with_name("manifest.json").read_text())["dependencies"]["own"]
    with pytest.raises(OSError, match="not a regular file"):
        changed_files(known)
