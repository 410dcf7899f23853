# SPDX-License-Identifier: Apache-2.0
"""Archives and read-only folders: builds of one machine that another one uses.

The other machine differs in the paths of the package and of the user's files, in HOME, user and
time, and its cache is read-only.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import tvm_ffi
from tvm_ffi import builds, cpp
from tvm_ffi.cli import main
from tvm_ffi.cpp import cache as build_cache

pytestmark = pytest.mark.skipif(shutil.which("c++") is None, reason="no compiler is installed")

TEXT = "int one(void) { return 1; }"

PROGRAM = """
import hashlib, json, sys, time
from pathlib import Path
is_later = sys.argv[2] == "later"
if is_later:
    now = time.time
    time.time = lambda: now() + 3e8
from tvm_ffi import builds, cpp
folder = Path(sys.argv[1])
files = [str(folder / "src" / name) for name in ("a.c", "b.cc")]
include = {"extra_include_paths": [str(folder / "include")]}
text = "int one() { return 1; }"
builds.policy("error" if is_later else "allow")
paths = {
    "c": cpp.build_inline("c", c_sources="int one(void) { return 1; }"),
    "c++": cpp.build_inline("cc", cpp_sources=text, functions=["one"]),
    "again": cpp.build_inline("cc", cpp_sources=text + "int two;", functions=["one"]),
    "flags": cpp.build_inline("c", c_sources="int x;", extra_cflags="-O1", extra_ldflags="-Wl,-O1"),
    "object": cpp.build_inline("o", c_sources="int x;", output="o.o"),
    "cubin": cpp.build_inline("e", c_sources="int x;", embed_cubin={"k": b"device code"}),
    "file": cpp.build("file", sources=files[0], **include),
    "files": cpp.build("files", sources=files, **include),
}
digests = {name: hashlib.sha256(Path(p).read_bytes()).hexdigest() for name, p in paths.items()}
module = cpp.load_inline("cc", cpp_sources=text, functions=["one"])
print(json.dumps([digests, module.one(), list(paths.values())]))
"""


def project(folder: Path) -> Path:
    """Write the user's files; their contents do not depend on the folder."""
    contents = {
        "src/a.c": '#include <stdio.h>\n#include "own.h"\n#include "beside.h"\nint a = OWN;\n',
        "src/b.cc": '#include <vector>\n#include "own.h"\nint b = OWN;\n',
        "src/beside.h": "#define BESIDE 1\n",
        "include/own.h": "#define OWN 1\n",
    }
    for name, text in contents.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def copied_package(folder: Path) -> Path:
    """Return a folder with a copy of the package, for PYTHONPATH."""
    installed = Path(tvm_ffi.__file__).parent
    try:
        shutil.copytree(installed, folder / "tvm_ffi", copy_function=os.link)
    except OSError:
        shutil.rmtree(folder / "tvm_ffi", ignore_errors=True)
        shutil.copytree(installed, folder / "tvm_ffi")
    for path in (folder, *folder.parents):
        if path != Path("/tmp") and path.owner() == Path(folder).owner() and path != Path("/"):
            path.chmod(path.stat().st_mode | 0o055)
    return folder


def run(program: str, *arguments: object, prefix: tuple[str, ...] = (), **variables: str):
    command = [*prefix, sys.executable, "-c", program, *map(str, arguments)]
    environment = {**os.environ, **variables}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


def read_only(folder: Path) -> tuple[str, ...]:
    """Return a command prefix that mounts a folder read-only and runs a program as another user."""
    programs = {name: shutil.which(name) for name in ("unshare", "sh", "mount", "setpriv")}
    if None in programs.values() or os.geteuid() != 0:
        return ()
    mount, setpriv = programs["mount"], programs["setpriv"]
    user = f"exec {setpriv} --reuid=65534 --regid=65534 --clear-groups"
    bind = f'{mount} --bind "{folder}" "{folder}" && {mount} -o remount,ro,bind "{folder}"'
    prefix = (
        str(programs["unshare"]),
        "-m",
        str(programs["sh"]),
        "-c",
        f'{bind} && {user} "$@"',
        "sh",
    )
    probe = [*prefix, sys.executable, "-c", f"open({str(folder / 'x')!r}, 'w')"]
    errors = subprocess.run(probe, capture_output=True, text=True, check=False).stderr
    return prefix if "Read-only file system" in errors else ()


@pytest.mark.parametrize("has_compiler", [True, False])
def test_another_machine_finds_every_build_of_an_imported_archive(
    tmp_path, cache, monkeypatch, has_compiler
):
    first = project(tmp_path / "machine a" / "project")
    monkeypatch.setenv("TVM_FFI_CPP_EXTENSION_PRECOMPILE", "1")
    built, one, paths = run(PROGRAM, first, "now", SOURCE_DATE_EPOCH="1", HOME=str(tmp_path / "h"))
    assert one == 1
    archive = tmp_path / "builds.zip"
    assert main(["cache", "export", str(archive)]) == 0
    layer = tmp_path / "layer"
    assert main(["cache", "import", str(archive), "--root", str(layer), "--readable"]) == 0
    shutil.rmtree(first)
    shutil.rmtree(cache)

    second = project(tmp_path / "b" / "deeper" / "project")
    package = copied_package(tmp_path / "b" / "packages")
    variables = {
        "PYTHONPATH": str(package),
        "HOME": "/nonexistent",
        "SOURCE_DATE_EPOCH": "2",
        "TVM_FFI_CACHE_PATH": f"/proc/nowhere:{layer}",
        "HOSTNAME": "another",
    }
    if not has_compiler:
        variables["PATH"] = str(tmp_path / "empty")
    found, one, paths = run(PROGRAM, second, "later", prefix=read_only(layer), **variables)
    assert found == built
    assert one == 1
    assert {Path(path).parents[1] for path in paths} == {layer}


def test_the_same_inputs_have_the_same_key_in_other_folders(tmp_path, cache, monkeypatch):
    """Keys contain the names of files, but neither folders nor the command of the compiler."""
    keys = set()
    for name in ("a", "b"):
        folder = project(tmp_path / name / name)
        compiler = tmp_path / name / "cc"
        compiler.symlink_to(shutil.which("cc"))
        monkeypatch.setenv("CC", str(compiler))
        build = {
            "sources": str(folder / "src/a.c"),
            "extra_include_paths": [str(folder / "include")],
        }
        cpp.build("k", **build)
        keys |= {artifact.key for artifact in build_cache.find("k")}
    assert len(keys) == 1
    assert len(build_cache.find("k")) == 1


def test_a_changed_header_in_another_folder_is_found(tmp_path, cache):
    """A mark in the manifest stands for the folder of the lookup, not for that of the build."""
    paths = []
    for name in ("a", "b"):
        folder = project(tmp_path / name)
        (folder / "include/own.h").write_text(f"#define OWN {len(name + str(paths))}\n")
        include = [str(folder / "include")]
        paths.append(cpp.build("k", sources=str(folder / "src/a.c"), extra_include_paths=include))
    assert paths[0] != paths[1]


def test_debug_information_makes_paths_part_of_the_key(tmp_path, cache):
    for name in ("a", "b"):
        folder = project(tmp_path / name)
        options = {"extra_include_paths": [str(folder / "include")], "extra_cflags": ["-g"]}
        cpp.build("k", sources=str(folder / "src/a.c"), **options)
    assert len(build_cache.find("k")) == 2


def test_native_flags_make_the_processor_part_of_the_key(cache, monkeypatch):
    """Regression: two machines that share a cache took code for each other's processor."""
    paths = set()
    for processor in ("one", "two"):
        monkeypatch.setattr("tvm_ffi.cpp._key.processor", lambda name=processor: name)
        paths.add(cpp.build_inline("plain", c_sources=TEXT))
        paths.add(cpp.build_inline("native", c_sources=TEXT, extra_cflags=["-march=native"]))
    assert sorted(Path(path).name for path in paths) == ["native.so", "native.so", "plain.so"]
    assert build_cache.explain("native") == ["processor: one -> two"]


def test_the_time_is_part_of_the_key_only_of_sources_that_use_it(cache, monkeypatch):
    paths = set()
    for time in ("1", "2"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", time)
        paths.add(cpp.build_inline("plain", c_sources=TEXT))
        paths.add(cpp.build_inline("dated", c_sources="const char* at = __DATE__;"))
    assert sorted(Path(path).name for path in paths) == ["dated.so", "dated.so", "plain.so"]


def test_without_a_compiler_a_miss_is_the_error_of_the_compiler(cache, monkeypatch):
    cpp.build_inline("k", c_sources=TEXT)
    monkeypatch.setenv("CC", "/nonexistent/cc")
    cpp.build_inline("k", c_sources=TEXT)
    with pytest.raises(RuntimeError, match="^compiler /nonexistent/cc is not found"):
        cpp.build_inline("k", c_sources="int other;")
    with builds.policy("error"), pytest.raises(builds.LateBuildError) as caught:
        cpp.build_inline("k", c_sources="int other;")
    assert caught.value.build.reasons[0] == "source k.c: content changed"


def test_without_a_compiler_own_headers_are_still_compared(tmp_path, cache, monkeypatch):
    folder = project(tmp_path / "p")
    options = {"sources": str(folder / "src/a.c"), "extra_include_paths": [str(folder / "include")]}
    cpp.build("k", **options)
    monkeypatch.setenv("CC", "/nonexistent/cc")
    cpp.build("k", **options)
    (folder / "include/own.h").write_text("#define OWN 2\n")
    with pytest.raises(RuntimeError, match="is not found"):
        cpp.build("k", **options)


# ---- Read-only folders ---------------------------------------------------------------------------


def test_layers_are_searched_after_the_folder_that_is_written(tmp_path, cache, monkeypatch):
    texts = {name: f"int {name};" for name in "abc"}
    layers = {}
    for name, text in texts.items():
        layers[name] = tmp_path / name
        monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(layers[name]))
        cpp.build_inline(name, c_sources=text)
    monkeypatch.setenv("TVM_FFI_CACHE_PATH", f"{tmp_path / 'w'}:{layers['a']}:{layers['b']}")
    before = {path: path.stat().st_mtime_ns for name in "ab" for path in layers[name].rglob("*")}
    found = {name: Path(cpp.build_inline(name, c_sources=text)) for name, text in texts.items()}
    assert {name: path.parents[1].name for name, path in found.items()} == {
        "a": "a",
        "b": "b",
        "c": "w",
    }
    after = {path: path.stat().st_mtime_ns for name in "ab" for path in layers[name].rglob("*")}
    assert after == before
    is_read_only = {artifact.name: artifact.is_read_only for artifact in build_cache.find()}
    assert is_read_only == {"a": True, "b": True, "c": False}
    assert [artifact.name for artifact in build_cache.prune(unused_days=0)] == ["c"]


def test_an_empty_first_entry_stands_for_the_usual_folder(tmp_path, cache, monkeypatch):
    monkeypatch.setenv("TVM_FFI_CACHE_PATH", f":{tmp_path / 'missing layer'}")
    assert Path(cpp.build_inline("k", c_sources=TEXT)).parents[1] == cache


def test_a_layer_that_others_may_write_to_is_refused(tmp_path, cache, monkeypatch):
    layer = tmp_path / "layer"
    layer.mkdir()
    layer.chmod(0o777)
    monkeypatch.setenv("TVM_FFI_CACHE_PATH", f"{cache}:{layer}")
    with pytest.raises(PermissionError, match="layer is not safe to load libraries from"):
        cpp.build_inline("k", c_sources=TEXT)


# ---- Archives ------------------------------------------------------------------------------------


@pytest.fixture
def archive(tmp_path, cache) -> Path:
    cpp.build_inline("k", c_sources=TEXT)
    build_cache.export_archive(tmp_path / "builds.zip")
    return tmp_path / "builds.zip"


def rewritten(archive: Path, change) -> Path:
    """Copy an archive, with other pairs of name and content."""
    with zipfile.ZipFile(archive) as source:
        entries = {name: source.read(name) for name in source.namelist()}
    with zipfile.ZipFile(archive.with_name("changed.zip"), "w") as target:
        for name, content in change(entries):
            target.writestr(name, content)
    return archive.with_name("changed.zip")


def test_equal_builds_give_equal_archives(tmp_path, archive):
    build_cache.export_archive(tmp_path / "again.zip", ["k"])
    assert (tmp_path / "again.zip").read_bytes() == archive.read_bytes()


def test_an_import_is_idempotent_and_private(tmp_path, archive):
    target = tmp_path / "target"
    for _ in range(2):
        (artifact,) = build_cache.import_archive(archive, root=target)
    assert artifact.path.stat().st_mode & 0o777 == 0o600
    assert artifact.path.parent.stat().st_mode & 0o777 == 0o700
    assert list((target / ".staging").iterdir()) == []
    assert build_cache.verify(root=target) == {artifact.path.parent: ""}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda e: [("../x", b"")], "expected files of builds, got the name '../x'"),
        (lambda e: [("/etc/x", b"")], "expected files of builds, got the name '/etc/x'"),
        (lambda e: [(".index/k_0123456789abcdef", b"")], "expected files of builds"),
        (lambda e: [("k_0123456789abcdef/../x", b"")], "expected files of builds"),
        (lambda e: [("k_0123456789abcdef/a/b", b"")], "expected files of builds"),
        (lambda e: [("k_0123456789abcdef/", b"")], "expected files of builds"),
        (lambda e: [("readme", b"")], "expected files of builds, got the name 'readme'"),
        (lambda e: list(e.items()) * 2, "twice"),
        (
            lambda e: [(n, c) for n, c in e.items() if not n.endswith("manifest.json")],
            "is damaged: manifest.json is missing or damaged",
        ),
        (
            lambda e: [(n, c) for n, c in e.items() if not n.endswith(".so")],
            "is damaged: k.so is missing, or its content differs from its digest",
        ),
        (
            lambda e: [(n, c + b"x" if n.endswith(".so") else c) for n, c in e.items()],
            "is damaged: k.so is missing, or its content differs from its digest",
        ),
        (
            lambda e: [(n, c.replace(b'"-O2"', b'"-O3"')) for n, c in e.items()],
            "the key in the manifest is not that of its inputs",
        ),
        (
            lambda e: [(f"k_{'0' * 16}/{n.split('/')[1]}", c) for n, c in e.items()],
            "the name of the folder is not that of its inputs",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_damaged_archive_is_an_error_and_adds_nothing(tmp_path, archive, change, message):
    target = tmp_path / "target"
    with pytest.raises(ValueError, match=r"changed\.zip cannot be imported: ") as caught:
        build_cache.import_archive(rewritten(archive, change), root=target)
    assert message in str(caught.value)
    assert build_cache.find(root=target) == []
    assert not (tmp_path / "x").exists()
    staging = target / ".staging"
    assert not staging.exists() or list(staging.iterdir()) == []


def test_any_damaged_bytes_are_a_value_error(tmp_path, archive):
    whole = archive.read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 100)):
        archive.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="cannot be imported"):
            build_cache.import_archive(archive, root=tmp_path / "target")
    for position in range(0, len(whole), max(1, len(whole) // 100)):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        archive.write_bytes(bytes(damaged))
        try:
            build_cache.import_archive(archive, root=tmp_path / "target")
        except ValueError as error:
            assert "cannot be imported" in str(error)  # noqa: PT017  (some bytes have no meaning)
        assert not any(build_cache.verify(root=tmp_path / "target").values())


def test_a_negative_position_in_an_archive_is_a_value_error(tmp_path, archive):
    """Regression: OSError from the standard library."""
    content = bytearray(archive.read_bytes())
    end = content.rindex(b"PK\x05\x06")
    content[end + 16 : end + 20] = (2**31).to_bytes(4, "little")  # offset of the directory
    archive.write_bytes(bytes(content))
    with pytest.raises(ValueError, match="cannot be imported"):
        build_cache.import_archive(archive, root=tmp_path / "target")


def test_a_damaged_build_is_found_and_not_exported(tmp_path, cache, capsys):
    path = Path(cpp.build_inline("k", c_sources=TEXT))
    path.write_bytes(b"damage")
    assert main(["cache", "verify"]) == 1
    out = capsys.readouterr().out
    assert f"{path.parent}: k.so is missing, or its content differs from its digest\n" in out
    assert out.endswith("0 whole, 1 damaged\n")
    assert main(["cache", "export", str(tmp_path / "x.zip")]) == 2
    assert "cannot be exported: k.so is missing" in capsys.readouterr().err
    assert [entry.name for entry in tmp_path.iterdir()] == [cache.name]


def test_a_lost_index_is_found(cache):
    path = Path(cpp.build_inline("k", c_sources=TEXT))
    shutil.rmtree(cache / ".index")
    (problem,) = build_cache.verify().values()
    assert problem.startswith("lookups do not find it, because ")
    assert path.exists()


def test_an_export_of_nothing_is_an_error(tmp_path, cache, capsys):
    assert main(["cache", "export", str(tmp_path / "x.zip")]) == 1
    assert "contains no build\n" in capsys.readouterr().err
    cpp.build_inline("k", c_sources=TEXT)
    assert main(["cache", "export", str(tmp_path / "x.zip"), "k", "other"]) == 1
    assert "contains no build named 'other'" in capsys.readouterr().err


def test_why_tells_key_reasons_and_changes(tmp_path, cache, capsys):
    folder = project(tmp_path / "p")
    options = {"sources": str(folder / "src/a.c"), "extra_include_paths": [str(folder / "include")]}
    path = cpp.build("k", **options)
    key = build_cache.find("k")[0].key
    assert main(["cache", "why", "k"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        path,
        f"key {key}",
        "built because:",
        "  this is the first build named k in this cache",
        "its files have not changed since",
    ]
    (folder / "include/own.h").write_text("#define OWN 2\n")
    assert main(["cache", "why", "k"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[4:] == [
        "would be built again because:",
        f"  file {folder}/include/own.h: content changed",
    ]
    assert main(["cache", "why", "unknown"]) == 1


def test_the_folder_of_a_linked_library_is_no_part_of_the_key(tmp_path, cache):
    """TensorFlow's operator is linked to a library in the Python environment."""
    paths, texts = set(), {"a": "int f;", "b": "int f;", "c": "int g;"}
    for name, text in texts.items():
        folder = tmp_path / name
        folder.mkdir()
        shutil.copy(cpp.build_inline("s", c_sources=text), folder / "libs.so")
        flags = [f"-L{folder}", "-l:libs.so"]
        paths.add(cpp.build_inline("k", c_sources=TEXT, extra_ldflags=flags))
    assert len(paths) == 1
