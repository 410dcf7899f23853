# SPDX-License-Identifier: Apache-2.0
"""Build cache: hits, rebuilds and their reasons, listing and pruning.

Most builds use a fake compiler, or C text that compiles quickly.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from tvm_ffi import cpp
from tvm_ffi.cpp import _cache_store, _freshness, _reasons, extension
from tvm_ffi.cpp import cache as build_cache
from tvm_ffi.cpp._cache_store import BuildCache, CacheEntry
from tvm_ffi.cpp._files import content_digest
from tvm_ffi.cpp._key import CacheKey
from tvm_ffi.cpp._portable import Portable

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")

TEXT = "int one(void) { return 1; }"


@pytest.fixture
def source(tmp_path) -> Path:
    """Return a C file that includes ``sub/answer.h`` from an include folder."""
    (tmp_path / "include" / "sub").mkdir(parents=True)
    (tmp_path / "include" / "sub" / "answer.h").write_text("#define ANSWER 1\n")
    path = tmp_path / "src" / "kernel.c"
    path.parent.mkdir()
    path.write_text('#include "sub/answer.h"\n#include <stdlib.h>\nint answer = ANSWER;\n')
    return path


@pytest.fixture
def build(source, tmp_path):
    """Return a function that builds the source and returns the path of the library."""

    def build(**options: object) -> str:
        folders = [str(tmp_path / "early"), str(tmp_path / "include")]
        return cpp.build("kernel", sources=str(source), extra_include_paths=folders, **options)

    return build


def reasons() -> list[str]:
    return build_cache.explain("kernel")


# ---- Hits ----------------------------------------------------------------------------------------


def test_a_cache_hit_searches_path_once_per_compiler(build, monkeypatch):
    """`shutil.which` tests all folders of PATH, so each compiler is searched only once."""
    build()
    searched = []
    which = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name: searched.append(name) or which(name))
    build()
    assert searched == ["cc"]


def test_a_cache_hit_starts_no_process_and_takes_no_lock(build, monkeypatch):
    first = build()
    monkeypatch.setattr(subprocess, "Popen", None)
    monkeypatch.setattr("tvm_ffi.cpp._cache_store.CacheEntry.lock", None)
    assert build() == first


def test_an_artifact_contains_the_product_and_its_manifest(cache, build):
    path = Path(build())
    assert path.parent.parent == cache
    assert path.parent.name.startswith("kernel_")
    assert len(path.parent.name) == len("kernel_") + 16
    assert sorted(file.name for file in path.parent.iterdir()) == ["kernel.so", "manifest.json"]
    assert list((cache / ".staging").iterdir()) == []


def test_modification_times_do_not_matter(build, source, tmp_path):
    first = build()
    for seconds in (2_000_000_000, 1, int(time.time())):
        for path in (source, tmp_path / "include" / "sub" / "answer.h", Path(first)):
            os.utime(path, (seconds, seconds))
        assert build() == first
    assert len(build_cache.find("kernel")) == 1


def test_a_header_change_that_keeps_size_and_time_causes_a_rebuild(build, tmp_path):
    header = tmp_path / "include" / "sub" / "answer.h"
    first, status = build(), header.stat()
    header.write_text("#define ANSWER 2\n")
    os.utime(header, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert build() != first


def test_another_machine_compares_contents_once(build, cache, monkeypatch):
    """The same files have other inode numbers and change times on another machine."""
    first = build()
    (index,) = (cache / ".index").iterdir()
    marks = len(list(index.iterdir()))
    monkeypatch.setattr(_freshness, "file_identity", lambda path: f"other machine {path}")
    monkeypatch.setattr(subprocess, "Popen", None)
    read = []
    monkeypatch.setattr(
        _freshness, "content_digest", lambda path: read.append(str(path)) or content_digest(path)
    )
    assert build() == first
    assert any(path.endswith("/stdlib.h") for path in read)
    assert len(list(index.iterdir())) == marks + 1
    read.clear()
    assert build() == first
    assert not any(path.endswith("/stdlib.h") for path in read)


def test_an_upgraded_header_of_an_installed_package_causes_a_rebuild(build, tmp_path, monkeypatch):
    header = tmp_path / "include" / "sub" / "answer.h"
    package = tmp_path / "installed" / "part.h"
    package.parent.mkdir()
    package.write_text("#define PART 1\n")
    header.write_text("#include <part.h>\n#define ANSWER PART\n")
    monkeypatch.setattr(_freshness, "_INSTALLED", ("/usr/", f"{package.parent}/"))
    flags = ["-isystem", str(package.parent)]
    first, status = build(extra_cflags=flags), package.stat()
    assert build(extra_cflags=flags) == first
    package.write_text("#define PART 2\n")
    os.utime(package, ns=(status.st_atime_ns, status.st_mtime_ns))
    second = build(extra_cflags=flags)
    assert second != first
    assert reasons() == [f"file {package}: content changed"]
    package.write_text("#define PART 1\n")
    assert build(extra_cflags=flags) == first


# ---- Rebuilds and reasons ------------------------------------------------------------------------


def test_the_reason_of_the_first_build(build):
    build()
    assert reasons() == ["this is the first build named kernel in this cache"]


def test_a_header_that_changes_back_finds_the_first_artifact(build, tmp_path):
    header = tmp_path / "include" / "sub" / "answer.h"
    first = build()
    header.write_text("#define ANSWER 2\n")
    second = build()
    assert reasons() == [f"file {header}: content changed"]
    assert second != first
    header.write_text("#define ANSWER 1\n")
    assert build() == first


def test_a_new_header_in_an_earlier_search_folder_causes_a_rebuild(build, tmp_path):
    first = build()
    other = tmp_path / "early" / "sub" / "answer.h"
    other.parent.mkdir(parents=True)
    other.write_text("#define ANSWER 1\n")
    second = build()
    assert second != first
    assert f"file {other}: new" in reasons()
    next_to_source = tmp_path / "src" / "sub" / "answer.h"
    next_to_source.parent.mkdir()
    next_to_source.write_text("#define ANSWER 1\n")
    assert build() not in (first, second)


def test_a_user_header_that_shadows_a_system_header_causes_a_rebuild(build, tmp_path):
    first = build()
    (tmp_path / "early").mkdir()
    (tmp_path / "early" / "unrelated.h").touch()
    assert build() == first
    (tmp_path / "early" / "stdlib.h").touch()
    assert build() != first
    assert f"file {tmp_path / 'early' / 'stdlib.h'}: new" in reasons()


def test_changes_of_source_flags_and_environment_cause_rebuilds(build, source, monkeypatch):
    paths = [build()]
    paths.append(build(extra_cflags=["-DA"]))
    assert reasons() == ["command for c_0.o: +-DA"]
    monkeypatch.setenv("CPATH", "/nonexistent")
    paths.append(build())
    assert reasons() == ["variable CPATH: new"]
    monkeypatch.delenv("CPATH")
    source.write_text(source.read_text() + "int more;\n")
    paths.append(build())
    # The source file is part of the recipe, and one of the files that the depfile lists.
    assert reasons() == [f"source {source}: content changed", f"file {source}: content changed"]
    assert len(set(paths)) == 4


def test_a_change_of_a_linked_file_causes_a_rebuild(build, tmp_path):
    folder = tmp_path / "lib"
    folder.mkdir()
    script = folder / "libpart.so"  # a linker script is an input
    script.write_text("INPUT(-lm)\n")
    flags = [f"-L{folder}", "-lpart"]
    first = build(extra_ldflags=flags)
    assert build(extra_ldflags=flags) == first
    script.write_text("INPUT(-lc)\n")
    assert build(extra_ldflags=flags) != first
    assert reasons() == [f"file {script}: content changed"]


def test_another_compiler_version_causes_a_rebuild(fake_compilers, monkeypatch):
    program = fake_compilers.add("cc")
    monkeypatch.setenv("CC", str(program))
    first = cpp.build_inline("kernel", c_sources=TEXT)
    assert cpp.build_inline("kernel", c_sources=TEXT) == first
    program.write_text(program.read_text().replace("fake 1.0", "fake 2.0"))
    assert cpp.build_inline("kernel", c_sources=TEXT) != first
    (reason,) = reasons()
    digest = r"\(sha256:[0-9a-f]{16}\)"  # of the program, whose path is not part of the key
    assert re.fullmatch(f"compiler c: fake 1.0 {digest} -> fake 2.0 {digest}", reason)


def test_a_change_of_inline_text_causes_a_rebuild(cache):
    first = cpp.build_inline("kernel", c_sources=TEXT)
    assert cpp.build_inline("kernel", c_sources=TEXT) == first
    assert cpp.build_inline("kernel", c_sources=TEXT + "\n/* more */") != first
    assert reasons() == ["source kernel.c: content changed", "source main.c: content changed"]


def test_a_build_is_compared_with_the_most_recent_builds_only(cache, monkeypatch):
    """Regression: a build compared all earlier ones of its name, so builds became slower."""
    monkeypatch.setattr(_reasons, "_MAX_COMPARED", 1)
    for number, flag in enumerate(("-DA", "-DB", "-DA")):
        cpp.build_inline("kernel", c_sources=f"{TEXT} // {number}", extra_cflags=[flag])
    assert "command for c_0.o: --DB +-DA" in reasons()


@pytest.mark.parametrize(
    "damage", ["truncated", "empty", "removed", "no manifest", "half a manifest", "empty manifest"]
)
def test_a_damaged_artifact_is_built_again(build, damage):
    path = Path(build())
    content = path.read_bytes()
    manifest = path.parent / "manifest.json"
    if damage == "truncated":
        path.write_bytes(content[:100])
    elif damage == "empty":  # a machine that crashes may leave an empty file
        path.write_bytes(b"")
    elif damage == "removed":
        path.unlink()
    elif damage == "no manifest":
        manifest.unlink()
    elif damage == "empty manifest":
        manifest.write_bytes(b"")
    else:
        manifest.write_text(manifest.read_text()[:300])
    assert build() == str(path)
    assert path.read_bytes() == content
    if damage in ("truncated", "empty", "removed"):
        assert reasons() == ["the earlier build is missing or damaged"]


@pytest.mark.parametrize(
    "change",
    [
        {"size_bytes": "12"},
        {"content": None},
        {"product": "../kernel.so"},
        {"name": 5},
        {"parts": ["flags"]},
        {"parts": {"flags": 3}},
        {"reasons": "first build"},
        {"reasons": [None]},
        {"created": None},
        {"dependencies": {"own": [], "installed": {}, "folders": [], "shadows": []}},
        {"dependencies": {"own": {}, "installed": {"/a": 1}, "folders": [], "shadows": []}},
        {"dependencies": {"own": {}, "installed": {}, "folders": "x", "shadows": []}},
    ],
    ids=str,
)
def test_a_manifest_with_values_of_other_types_counts_as_missing(build, change):
    """Regression: such a manifest was accepted; every later build of the recipe then failed."""
    path = Path(build())
    manifest = path.parent / "manifest.json"
    good = json.loads(manifest.read_text())
    manifest.write_text(json.dumps({**good, **change}))
    assert build() == str(path)
    assert json.loads(manifest.read_text())["name"] == good["name"]


def test_a_header_that_is_saved_during_the_build_causes_a_second_build(wrapped_cc, build, tmp_path):
    """It is unknown whether the compiler read the old header or the new one."""
    header = tmp_path / "include" / "sub" / "answer.h"
    flag = tmp_path / "saved"
    # The compiler script changes the header after the first compilation.
    log = wrapped_cc(
        f'case "$*" in *-c*) if [ ! -e "{flag}" ]; then touch "{flag}"; cc "$@"\n'
        f'echo "#define ANSWER 9" > "{header}"; exit; fi;; esac'
    )
    path = build()
    compilations = [line for line in log.read_text().splitlines() if " -c " in line]
    assert len(compilations) == 2
    symbols = subprocess.run(
        ["readelf", "-x", ".data", path], check=False, capture_output=True, text=True
    )
    if symbols.returncode == 0:
        assert "09000000" in symbols.stdout


# ---- Listing and removing ------------------------------------------------------------------------


def test_an_empty_cache_lists_no_artifacts(cache):
    assert build_cache.find() == []
    assert build_cache.prune(unused_days=0) == []
    assert build_cache.root_folder() == cache
    with pytest.raises(LookupError, match="the cache .* contains no build named 'kernel'"):
        build_cache.explain("kernel")


def test_artifacts_are_listed_newest_first(build):
    first = build()
    second = cpp.build_inline("other_one", c_sources=TEXT)
    found = build_cache.find()
    assert [(artifact.name, str(artifact.path)) for artifact in found] == [
        ("other_one", second),
        ("kernel", first),
    ]
    assert found[1].size_bytes >= Path(first).stat().st_size
    assert abs(found[0].created - time.time()) < 600
    assert [artifact.name for artifact in build_cache.find("kernel")] == ["kernel"]


def test_pruning_by_name_age_and_size(build):
    kernel = Path(build())
    others = [Path(cpp.build_inline(name, c_sources=TEXT)) for name in ("other1", "other2")]
    for path, days in ((kernel, 9), (others[0], 5), (others[1], 3)):
        used = time.time() - days * 86400
        os.utime(path.parent / "manifest.json", (used, used))

    def names(**options: object) -> list[str]:
        return [artifact.name for artifact in build_cache.prune(**options)]

    assert names() == []
    assert names(unused_days=6, names=["other1"]) == []
    assert names(unused_days=4, dry_run=True) == ["kernel", "other1"]
    assert kernel.exists()
    assert names(unused_days=6) == ["kernel"]
    assert not kernel.parent.exists()
    assert names(max_bytes=10**9) == []
    assert names(max_bytes=sum(f.stat().st_size for f in others[1].parent.iterdir())) == ["other1"]
    assert names(unused_days=0, names=["other2"]) == ["other2"]
    assert build_cache.find() == []


def test_an_artifact_with_a_last_use_in_the_future_can_be_pruned(build):
    """Regression: the artifact's unused time was negative, so `unused_days=0` kept it."""
    manifest = Path(build()).parent / "manifest.json"
    used = time.time() + 1000
    os.utime(manifest, (used, used))
    assert build_cache.prune(unused_days=1) == []
    assert len(build_cache.prune(unused_days=0)) == 1


def test_notes_from_the_future_expire(cache):
    """Regression: after a clock that was a year ahead, headers were not precompiled for a year."""
    entry = CacheEntry(
        BuildCache(cache), "kernel", CacheKey("0" * 64, {}, "0" * 64), "kernel.so", Portable({}, ())
    )
    entry.add_note("word")
    (note,) = (cache / ".index").glob("*/word")
    assert entry.has_note("word", 3600)
    os.utime(note, (time.time() + 4000, time.time() + 4000))
    assert not entry.has_note("word", 3600)
    assert entry.has_note("word")


def test_a_mark_that_another_process_removes_does_not_hide_later_marks(build, cache, monkeypatch):
    """Regression: the scan ended at a removed mark, and fresh artifacts were built again."""
    build()
    (index,) = (cache / ".index").iterdir()
    marks = {mark.name for mark in index.iterdir()}

    class Vanished:
        name = "0" * 33

        def stat(self, **_: object) -> None:
            raise FileNotFoundError

    scandir = os.scandir
    listed = contextlib.nullcontext([Vanished(), *scandir(index)])
    monkeypatch.setattr(os, "scandir", lambda folder: listed)
    assert {*_cache_store._names_by_age(index)} == marks


def test_the_default_root_needs_a_home_folder(monkeypatch, tmp_path):
    """A relative $HOME is resolved; without a home, the error names TVM_FFI_CACHE_DIR."""
    monkeypatch.delenv("TVM_FFI_CACHE_DIR")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", "somewhere")
    assert build_cache.root_folder() == tmp_path / "somewhere" / ".cache" / "tvm-ffi"

    def fail() -> None:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", fail)
    with pytest.raises(RuntimeError, match="home directory. set TVM_FFI_CACHE_DIR to a folder"):
        build_cache.root_folder()


def test_a_cache_that_cannot_be_created_names_the_variable_to_set(monkeypatch):
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", "/proc/nowhere")
    with pytest.raises(OSError, match="set TVM_FFI_CACHE_DIR to a folder.*'/proc/nowhere'"):
        cpp.build_inline("kernel", c_sources=TEXT)


def test_a_cache_hit_records_the_last_use(build):
    """The time of the last use has a resolution of one day, so that most hits write nothing."""
    manifest = Path(build()).parent / "manifest.json"
    os.utime(manifest, (1, 1))
    build()
    assert time.time() - manifest.stat().st_mtime < 600


def test_a_pruned_artifact_is_built_again(build, cache):
    first = build()
    build_cache.prune(unused_days=0)
    assert build() == first
    assert list((cache / ".index").iterdir()) != []
    build_cache.prune(unused_days=0)
    assert list((cache / ".index").iterdir()) == []


def test_a_loaded_library_survives_pruning():
    text = """
    int __tvm_ffi_one(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
      result->type_index = kTVMFFIInt;
      result->zero_padding = 0;
      result->v_int64 = 1;
      return 0;
    }"""
    module = cpp.load_inline("pruned", c_sources=text)
    build_cache.prune(unused_days=0)
    assert module.one() == 1


def test_a_library_that_is_pruned_before_it_is_loaded_is_built_again(monkeypatch):
    text = "int __tvm_ffi_x(void* h, const TVMFFIAny* a, int32_t n, TVMFFIAny* r) { return 0; }"
    find_or_build = extension.find_or_build
    built = []

    def build_and_prune(request: object) -> Path:
        built.append(find_or_build(request))
        if len(built) == 1:
            build_cache.prune(unused_days=0)
        return built[-1]

    monkeypatch.setattr(extension, "find_or_build", build_and_prune)
    assert cpp.load_inline("pruned_early", c_sources=text).implements_function("x")
    assert len(built) == 2
