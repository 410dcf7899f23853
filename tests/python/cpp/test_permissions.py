# SPDX-License-Identifier: Apache-2.0
"""Nobody but the caller and root decides what is loaded: owners, modes, contents of the cache."""

from __future__ import annotations

import grp
import logging
import os
import pwd
import shutil
import stat
import struct
from pathlib import Path

import pytest

from tvm_ffi import cpp
from tvm_ffi.cpp import _permissions
from tvm_ffi.cpp import cache as build_cache
from tvm_ffi.cpp._ninja import find_ninja

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
needs_ninja = pytest.mark.skipif(find_ninja() is None, reason="no ninja")

STRANGER = 12345
TEXT = """
int __tvm_ffi_one(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->v_int64 = 1;
  return 0;
}"""


def build(text: str = TEXT, **options: object) -> Path:
    return Path(cpp.build_inline("kernel", c_sources=text, **options))


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def writable(path: Path) -> list[str]:
    """Return what others may write below a folder."""
    return [str(entry) for entry in path.rglob("*") if mode_of(entry) & 0o022]


@pytest.fixture
def no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


# ---- What is made --------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0, 0o022, 0o077], ids=oct)
def test_what_is_made_is_the_callers_alone(cache, umask):
    """It was made with what the umask leaves: with 0, all users could exchange the library."""
    before = os.umask(umask)
    try:
        module = cpp.load_inline("kernel", c_sources=TEXT)
    finally:
        os.umask(before)
    assert module.one() == 1
    assert mode_of(cache) == 0o700
    entries = list(cache.rglob("*"))
    assert {mode_of(path) for path in entries if path.is_dir()} == {0o700}
    assert {mode_of(path) for path in entries if path.is_file()} == {0o600}
    assert {".locks", ".index", ".staging", ".compilers"} < {path.name for path in entries}


def test_a_umask_that_takes_the_owners_rights(tmp_path):
    before = os.umask(0o777)
    try:
        _permissions.make_private_folder(tmp_path / "one" / "two")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "one") == mode_of(tmp_path / "one" / "two") == 0o700


def test_folders_above_the_cache_are_private_too(tmp_path, monkeypatch, no_umask):
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "one" / "two"))
    build()
    assert mode_of(tmp_path / "one") == 0o700


@needs_ninja
def test_a_folder_of_the_callers_is_not_for_everybody_to_write(tmp_path, no_umask):
    path = build(build_directory=str(tmp_path / "one" / "two"))
    assert mode_of(path.parent) == mode_of(path.parent.parent) == 0o755
    assert writable(tmp_path / "one") == []


@needs_ninja
@pytest.mark.parametrize(("given", "in_folder"), [(0, "0022"), (0o022, "0022"), (0o027, "0027")])
def test_what_compilers_make_is_closed_from_the_beginning(
    tmp_path, wrapped_cc, given, in_folder, cache
):
    """It was closed after the build; who had opened it before could exchange the library."""
    umasks, open_files = tmp_path / "umasks", tmp_path / "open files"
    wrapped_cc(f"umask >> '{umasks}'; find . -type f -perm /022 >> '{open_files}'")
    before = os.umask(given)
    try:
        build(build_directory=str(tmp_path / "folder"))
        build()
    finally:
        assert os.umask(before) == given
    assert umasks.read_text().split() == [in_folder, in_folder, "0077", "0077"]
    assert "b" not in open_files.read_text()


# ---- What is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777], ids=oct)
def test_a_cache_that_others_may_write_to(cache, mode):
    """It was used, and a library that somebody else had put there was run."""
    build()
    cache.chmod(mode)
    who = "all users" if mode & 0o002 else f"group {cache.stat().st_gid}"
    message = rf"{who} may write to it \(mode {mode:04o}\).*`chmod go-w '.*a cäche \$HOME'`"
    for use in (build, lambda: build_cache.prune(unused_days=0)):
        with pytest.raises(PermissionError, match=message):
            use()
    cache.chmod(0o755)
    build()


@needs_root
@pytest.mark.parametrize("place", ["", ".compilers", ".locks", ".staging", ".index"])
def test_a_cache_that_somebody_else_owns(cache, place):
    """Root used to run what other users had built."""
    build()
    os.chown(cache / place, STRANGER, -1)
    with pytest.raises(PermissionError, match=rf"belongs to user {STRANGER}, not to you \(0\)"):
        build()


@needs_root
@pytest.mark.parametrize("name", [".", "kernel.so", "manifest.json"])
def test_an_artifact_that_somebody_else_owns(name):
    path = build()
    os.chown(path.parent / name, STRANGER, -1)
    with pytest.raises(
        PermissionError, match=rf"belongs to user {STRANGER}.*`rm -rf .*will be built again"
    ):
        build()
    shutil.rmtree(path.parent)
    assert build() == path


@pytest.mark.parametrize("name", [".", "kernel.so", "manifest.json"])
def test_an_artifact_that_others_may_write_to(name):
    path = build()
    (path.parent / name).chmod(0o777)
    with pytest.raises(PermissionError, match=r"all users may write to it \(mode 0777\).*`rm -rf "):
        build()


def test_a_library_that_is_a_link(tmp_path):
    """What it points to lies where nobody looked at owners and modes."""
    path = build()
    elsewhere = tmp_path / "elsewhere.so"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(PermissionError, match="neither a regular file nor a folder"):
        build()


def test_a_folder_above_that_others_may_write_to(tmp_path, monkeypatch):
    """Who may rename the cache may put another one in its place."""
    above = tmp_path / "above"
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(above / "between" / "cache"))
    build()
    above.chmod(0o777)
    with pytest.raises(
        PermissionError, match=rf"{above} is not safe.*`chmod go-w {above}`, or set"
    ):
        build()


def test_a_cache_that_is_missing_below_a_folder_that_others_may_write_to(tmp_path, monkeypatch):
    tmp_path.joinpath("above").mkdir()
    tmp_path.joinpath("above").chmod(0o777)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "above" / "cache"))
    with pytest.raises(PermissionError, match="not safe to load libraries from"):
        build()
    assert list(tmp_path.joinpath("above").iterdir()) == []


def test_a_sticky_folder_above_is_no_danger(tmp_path, monkeypatch):
    """As ``/tmp``: others can make entries there, and rename only their own."""
    above = tmp_path / "above"
    above.mkdir()
    above.chmod(0o1777)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(above / "cache"))
    assert build() == build()


@needs_root
def test_an_entry_that_somebody_else_made_first_in_a_sticky_folder(tmp_path, monkeypatch):
    above = tmp_path / "above"
    (above / "cache").mkdir(parents=True)
    above.chmod(0o1777)
    os.chown(above / "cache", STRANGER, -1)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(above / "cache"))
    with pytest.raises(PermissionError, match=f"belongs to user {STRANGER}"):
        build()


@needs_root
def test_a_folder_above_that_somebody_else_owns(tmp_path, monkeypatch):
    above = tmp_path / "above"
    above.mkdir()
    os.chown(above, STRANGER, -1)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(above / "cache"))
    with pytest.raises(PermissionError, match=rf"{above} is not safe.*belongs to user {STRANGER}"):
        build()


def test_a_link_of_the_callers(tmp_path, monkeypatch, cache):
    build()
    (tmp_path / "link").symlink_to(cache)
    (tmp_path / "relative").symlink_to("no/../link")
    (tmp_path / "no").mkdir()
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "relative"))
    assert build().samefile(next(cache.glob("kernel_*/kernel.so")))
    cache.chmod(0o777)
    with pytest.raises(PermissionError, match="all users may write"):
        build()


@needs_root
def test_a_link_of_somebody_else(tmp_path, monkeypatch, cache):
    build()
    (tmp_path / "link").symlink_to(cache)
    os.lchown(tmp_path / "link", STRANGER, -1)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "link"))
    with pytest.raises(PermissionError, match=f"{tmp_path}/link is not safe"):
        build()


@pytest.mark.parametrize("below", [(), ("cache",), ("cache", "deeper")])
def test_a_file_in_place_of_a_folder(tmp_path, monkeypatch, below):
    """Such as a home folder that is none."""
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(file.joinpath(*below)))
    with pytest.raises(NotADirectoryError, match="set TVM_FFI_CACHE_DIR to a .*: '.*/file'"):
        build()


def test_links_in_a_circle(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "link")
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "link"))
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        build()


@needs_root
def test_what_root_made_may_be_used_by_all(tmp_path, monkeypatch):
    """An administrator can fill a cache for everybody; root decides anyway."""
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: STRANGER)
    _permissions.check_cache_root(folder)


@needs_ninja
@pytest.mark.parametrize("mode", [0o757, 0o1777], ids=oct)
def test_a_build_folder_that_others_may_write_to(tmp_path, mode):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(
        PermissionError, match=r"`chmod go-w .*`.*, or name another build_directory"
    ):
        build(build_directory=str(folder))


@needs_root
def test_a_build_folder_that_somebody_else_owns(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    os.chown(folder, STRANGER, -1)
    with pytest.raises(PermissionError, match=f"belongs to user {STRANGER}"):
        build(build_directory=str(folder))


@needs_ninja
@needs_root
@pytest.mark.parametrize(
    "name",
    ["kernel.so", "c_0.o", "main.c", "build.ninja", ".ninja_log", ".ninja_deps", "lock", "a.h"],
)
def test_what_somebody_else_left_in_a_build_folder(tmp_path, name):
    """The folder alone was looked at: what others had put there before it was closed was used."""
    folder = tmp_path / "it's a folder"
    path = build(build_directory=str(folder))
    folder.joinpath(name).touch()  # ninja makes not all; `a.h`: where compilers look first
    os.chown(folder / name, STRANGER, -1)
    message = rf"belongs to user {STRANGER}.*another user could change with `rm -rf .*{name}'`"
    with pytest.raises(PermissionError, match=message):
        build(build_directory=str(folder))
    folder.joinpath(name).unlink()
    assert build(build_directory=str(folder)) == path


@needs_ninja
@pytest.mark.parametrize("name", ["kernel.so", "lock", "build.ninja"])
def test_an_entry_of_a_build_folder_that_others_may_write_to(tmp_path, name):
    path = build(build_directory=str(tmp_path / "folder"))
    path.with_name(name).chmod(0o666)
    with pytest.raises(PermissionError, match=r"all users may write to it \(mode 0666\).*rm -rf"):
        build(build_directory=str(path.parent))


@needs_ninja
@pytest.mark.parametrize("name", ["kernel.so", "lock", "main.c"])
def test_a_link_in_place_of_an_entry_of_a_build_folder(tmp_path, name):
    """What others left would be written to, or read, elsewhere."""
    path = build(build_directory=str(tmp_path / "folder")).with_name(name)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="neither a regular file nor a folder"):
        build(build_directory=str(path.parent))


def set_default_acl(folder: Path, rights_of_stranger: int, mask: int) -> None:
    """Let what is made in a folder have an access control list; skip where there are none."""
    nobody = 0xFFFFFFFF
    entries = [(0x01, 7, nobody), (0x02, rights_of_stranger, STRANGER), (0x04, 5, nobody)]
    entries += [(0x10, mask, nobody), (0x20, 5, nobody)]
    content = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(folder, "system.posix_acl_default", content)
    except (AttributeError, OSError) as error:
        pytest.skip(f"no access control lists here: {error}")


@needs_ninja
def test_a_build_folder_that_shares_what_is_made_in_it(tmp_path):
    """The list counts in place of the umask: others wrote to the library before it was loaded."""
    set_default_acl(tmp_path, 7, 7)
    folder = tmp_path / "folder"
    with pytest.raises(PermissionError, match=r"default access control list.*`setfacl -k .*`.*or"):
        build(build_directory=str(folder))
    os.removexattr(folder, "system.posix_acl_default")
    path = build(build_directory=str(folder))
    assert writable(folder) == []
    for rights, mask in ((5, 5), (7, 5)):
        set_default_acl(folder, rights, mask)
        assert build(build_directory=str(folder)) == path


def test_a_cache_below_a_folder_that_shares_what_is_made_in_it(tmp_path, monkeypatch):
    set_default_acl(tmp_path, 7, 7)
    root = tmp_path / "cache"
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(root))
    assert build() == build()
    assert writable(root) == []


@needs_ninja
def test_a_folder_in_place_of_the_lock(tmp_path):
    (tmp_path / "folder" / "lock").mkdir(parents=True)
    with pytest.raises(IsADirectoryError, match="expected a lock file; .*`rm -rf .*/lock`"):
        build(build_directory=str(tmp_path / "folder"))


# ---- Groups and namespaces -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "members", "is_safe"),
    [("me", [], True), ("me", ["me"], True), ("me", ["you"], False), ("staff", [], False)],
)
def test_the_group_that_has_only_the_caller(tmp_path, monkeypatch, name, members, is_safe):
    """Systems with the umask 002 let it write to all folders of the user's."""
    above = tmp_path / "above"
    (above / "cache").mkdir(parents=True, mode=0o700)
    above.chmod(0o775)
    group = grp.struct_group((name, "x", above.stat().st_gid, members))
    user = pwd.struct_passwd(("me", "x", os.geteuid(), above.stat().st_gid, "", "/", "/bin/sh"))
    monkeypatch.setattr(grp, "getgrgid", lambda _: group)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    if is_safe:
        _permissions.check_cache_root(above / "cache")
    else:
        with pytest.raises(PermissionError, match="group"):
            _permissions.check_cache_root(above / "cache")


@needs_root
@pytest.mark.parametrize("is_namespace", [True, False])
def test_folders_above_of_owners_that_a_namespace_does_not_know(
    tmp_path, monkeypatch, is_namespace
):
    """Root outside of a container without root looks like nobody."""
    above = tmp_path / "above"
    (above / "cache").mkdir(parents=True, mode=0o700)
    os.chown(above, 65534, -1)
    monkeypatch.setattr(_permissions, "_is_in_user_namespace", lambda: is_namespace)
    if is_namespace:
        _permissions.check_cache_root(above / "cache")
        os.chown(above / "cache", 65534, -1)
    with pytest.raises(PermissionError, match="belongs to user 65534"):
        _permissions.check_cache_root(above / "cache")


# ---- Contents ------------------------------------------------------------------------------------


def test_a_library_with_other_content_of_the_same_size_is_built_again(caplog):
    """Only the size was compared."""
    path = build()
    content = path.read_bytes()
    changed = bytearray(content)
    changed[len(changed) // 2] ^= 1
    path.write_bytes(changed)
    with caplog.at_level(logging.WARNING, "tvm_ffi.cpp"):
        assert build() == path
    assert path.read_bytes() == content
    (message,) = caplog.messages
    assert message == f"{path} was built again: its content differs from the digest in its manifest"
    assert build_cache.explain("kernel") == ["the earlier build is missing or damaged"]
