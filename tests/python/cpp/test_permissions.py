# SPDX-License-Identifier: Apache-2.0
"""Ownership and permission checks of the build cache and of build folders."""

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

pytestmark = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")
needs_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root can change the owner of a file"
)
needs_ninja = pytest.mark.skipif(find_ninja() is None, reason="no ninja")

OTHER_USER = 12345
TEXT = """
int __tvm_ffi_one(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = 1;
  return 0;
}"""


def build(text: str = TEXT, **options: object) -> Path:
    return Path(cpp.build_inline("kernel", c_sources=text, **options))


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def writable(path: Path) -> list[str]:
    """Return the files and folders in a folder that other users may write to."""
    return [str(entry) for entry in path.rglob("*") if mode_of(entry) & 0o022]


@pytest.fixture
def no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


# ---- Modes of new files --------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0, 0o022, 0o077], ids=oct)
def test_the_cache_is_private_with_any_umask(cache, umask):
    """Regression: with the umask 0, all users could replace the built library."""
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


def test_private_folders_are_usable_with_a_umask_of_0777(tmp_path):
    before = os.umask(0o777)
    try:
        _permissions.make_private_folder(tmp_path / "one" / "two")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "one") == mode_of(tmp_path / "one" / "two") == 0o700


def test_new_parent_folders_of_the_cache_are_private(tmp_path, monkeypatch, no_umask):
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "one" / "two"))
    build()
    assert mode_of(tmp_path / "one") == 0o700


@needs_ninja
def test_a_new_build_folder_is_writable_by_the_caller_only(tmp_path, no_umask):
    path = build(build_directory=str(tmp_path / "one" / "two"))
    assert mode_of(path.parent) == mode_of(path.parent.parent) == 0o755
    assert writable(tmp_path / "one") == []


@needs_ninja
@pytest.mark.parametrize(("given", "in_folder"), [(0, "0022"), (0o022, "0022"), (0o027, "0027")])
def test_compilers_run_with_a_restrictive_umask(tmp_path, wrapped_cc, given, in_folder, cache):
    """Regression: modes were restricted only after the build; before, others could open files."""
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


# ---- Errors --------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", [0o775, 0o757, 0o1777], ids=oct)
def test_a_cache_that_others_may_write_to_is_an_error(cache, mode):
    """Regression: a library that another user had created was loaded."""
    build()
    cache.chmod(mode)
    writers = "all users" if mode & 0o002 else f"group {cache.stat().st_gid}"
    message = rf"{writers} may write to it \(mode {mode:04o}\).*`chmod go-w '.*a cäche \$HOME'`"
    for use in (build, lambda: build_cache.prune(unused_days=0)):
        with pytest.raises(PermissionError, match=message):
            use()
    cache.chmod(0o755)
    build()


@needs_root
@pytest.mark.parametrize("name", ["", ".compilers", ".locks", ".staging", ".index"])
def test_a_cache_of_another_user_is_an_error(cache, name):
    """Regression: root loaded libraries that another user had built."""
    build()
    os.chown(cache / name, OTHER_USER, -1)
    with pytest.raises(PermissionError, match=rf"belongs to user {OTHER_USER}, not to you \(0\)"):
        build()


@needs_root
@pytest.mark.parametrize("name", [".", "kernel.so", "manifest.json"])
def test_an_artifact_of_another_user_is_an_error(name):
    path = build()
    os.chown(path.parent / name, OTHER_USER, -1)
    with pytest.raises(
        PermissionError, match=rf"belongs to user {OTHER_USER}.*`rm -rf .*will be built again"
    ):
        build()
    shutil.rmtree(path.parent)
    assert build() == path


@pytest.mark.parametrize("name", [".", "kernel.so", "manifest.json"])
def test_an_artifact_that_others_may_write_to_is_an_error(name):
    path = build()
    (path.parent / name).chmod(0o777)
    with pytest.raises(PermissionError, match=r"all users may write to it \(mode 0777\).*`rm -rf "):
        build()


def test_a_library_that_is_a_link_is_an_error(tmp_path):
    """The owner and mode of the link's target are not checked, so links are refused."""
    path = build()
    elsewhere = tmp_path / "elsewhere.so"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)
    with pytest.raises(PermissionError, match="neither a regular file nor a folder"):
        build()


def test_a_parent_folder_that_others_may_write_to_is_an_error(tmp_path, monkeypatch):
    """A user who may rename the folder above the cache may replace the cache."""
    parent = tmp_path / "parent"
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(parent / "between" / "cache"))
    build()
    parent.chmod(0o777)
    with pytest.raises(
        PermissionError, match=rf"{parent} is not safe.*`chmod go-w {parent}`, or set"
    ):
        build()


def test_no_cache_is_created_below_a_folder_that_others_may_write_to(tmp_path, monkeypatch):
    tmp_path.joinpath("parent").mkdir()
    tmp_path.joinpath("parent").chmod(0o777)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "parent" / "cache"))
    with pytest.raises(PermissionError, match="not safe to load libraries from"):
        build()
    assert list(tmp_path.joinpath("parent").iterdir()) == []


def test_a_sticky_parent_folder_is_accepted(tmp_path, monkeypatch):
    """In a sticky folder like ``/tmp``, users can create entries and rename only their own."""
    parent = tmp_path / "parent"
    parent.mkdir()
    parent.chmod(0o1777)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(parent / "cache"))
    assert build() == build()


@needs_root
def test_a_cache_that_another_user_created_in_a_sticky_folder_is_an_error(tmp_path, monkeypatch):
    parent = tmp_path / "parent"
    (parent / "cache").mkdir(parents=True)
    parent.chmod(0o1777)
    os.chown(parent / "cache", OTHER_USER, -1)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(parent / "cache"))
    with pytest.raises(PermissionError, match=f"belongs to user {OTHER_USER}"):
        build()


@needs_root
def test_a_parent_folder_of_another_user_is_an_error(tmp_path, monkeypatch):
    parent = tmp_path / "parent"
    parent.mkdir()
    os.chown(parent, OTHER_USER, -1)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(parent / "cache"))
    with pytest.raises(
        PermissionError, match=rf"{parent} is not safe.*belongs to user {OTHER_USER}"
    ):
        build()


def test_a_link_of_the_caller_is_followed_and_its_target_checked(tmp_path, monkeypatch, cache):
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
def test_a_link_of_another_user_is_an_error(tmp_path, monkeypatch, cache):
    build()
    (tmp_path / "link").symlink_to(cache)
    os.lchown(tmp_path / "link", OTHER_USER, -1)
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "link"))
    with pytest.raises(PermissionError, match=f"{tmp_path}/link is not safe"):
        build()


@pytest.mark.parametrize("below", [(), ("cache",), ("cache", "deeper")])
def test_a_file_in_the_path_of_the_cache_is_an_error(tmp_path, monkeypatch, below):
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(file.joinpath(*below)))
    with pytest.raises(NotADirectoryError, match="set TVM_FFI_CACHE_DIR to a .*: '.*/file'"):
        build()


def test_a_device_as_the_cache_is_not_a_folder(monkeypatch):
    """Regression: the error proposed `chmod` of the device."""
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", "/dev/null")
    with pytest.raises(NotADirectoryError, match="set TVM_FFI_CACHE_DIR to a .*: '/dev/null'"):
        build()


def test_a_cycle_of_links_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "link").symlink_to(tmp_path / "link")
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(tmp_path / "link"))
    with pytest.raises(OSError, match="Too many levels of symbolic links"):
        build()


@needs_root
def test_a_cache_of_root_is_accepted_by_all_users(tmp_path, monkeypatch):
    """An administrator can fill a cache for all users."""
    folder = tmp_path / "cache"
    folder.mkdir()
    monkeypatch.setattr(os, "geteuid", lambda: OTHER_USER)
    _permissions.check_cache_root(folder)


@needs_ninja
@pytest.mark.parametrize("mode", [0o757, 0o1777], ids=oct)
def test_a_build_folder_that_others_may_write_to_is_an_error(tmp_path, mode):
    folder = tmp_path / "folder"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(
        PermissionError, match=r"`chmod go-w .*`.*, or name another build_directory"
    ):
        build(build_directory=str(folder))


@needs_root
def test_a_build_folder_of_another_user_is_an_error(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    os.chown(folder, OTHER_USER, -1)
    with pytest.raises(PermissionError, match=f"belongs to user {OTHER_USER}"):
        build(build_directory=str(folder))


@needs_ninja
@needs_root
@pytest.mark.parametrize(
    "name",
    ["kernel.so", "c_0.o", "main.c", "build.ninja", ".ninja_log", ".ninja_deps", "lock", "a.h"],
)
def test_a_file_of_another_user_in_a_build_folder_is_an_error(tmp_path, name):
    """Regression: only the folder was checked, so other users' files in it were used."""
    folder = tmp_path / "it's a folder"
    path = build(build_directory=str(folder))
    folder.joinpath(name).touch()  # ninja does not write all of these files
    os.chown(folder / name, OTHER_USER, -1)
    message = rf"belongs to user {OTHER_USER}.*another user could change with `rm -rf .*{name}'`"
    with pytest.raises(PermissionError, match=message):
        build(build_directory=str(folder))
    folder.joinpath(name).unlink()
    assert build(build_directory=str(folder)) == path


@needs_ninja
@pytest.mark.parametrize("name", ["kernel.so", "lock", "build.ninja"])
def test_a_file_in_a_build_folder_that_others_may_write_to_is_an_error(tmp_path, name):
    path = build(build_directory=str(tmp_path / "folder"))
    path.with_name(name).chmod(0o666)
    with pytest.raises(PermissionError, match=r"all users may write to it \(mode 0666\).*rm -rf"):
        build(build_directory=str(path.parent))


@needs_ninja
@pytest.mark.parametrize("name", ["kernel.so", "lock", "main.c"])
def test_a_link_at_the_path_of_a_used_file_in_a_build_folder_is_an_error(tmp_path, name):
    """The build would read or write the target of the link."""
    path = build(build_directory=str(tmp_path / "folder")).with_name(name)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PermissionError, match="neither a regular file nor a folder"):
        build(build_directory=str(path.parent))


def set_default_acl(folder: Path, rights_of_other_user: int, mask: int) -> None:
    """Set a folder's default access control list; skip the test if lists are not supported."""
    no_id = 0xFFFFFFFF
    entries = [(0x01, 7, no_id), (0x02, rights_of_other_user, OTHER_USER), (0x04, 5, no_id)]
    entries += [(0x10, mask, no_id), (0x20, 5, no_id)]
    content = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)
    try:
        os.setxattr(folder, "system.posix_acl_default", content)
    except (AttributeError, OSError) as error:
        pytest.skip(f"access control lists are not supported: {error}")


@needs_ninja
def test_a_build_folder_whose_default_acl_lets_others_write_is_an_error(tmp_path):
    """Regression: a default list replaces the umask, so others could write to new libraries."""
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


def test_a_cache_below_a_folder_with_a_default_acl_is_private(tmp_path, monkeypatch):
    set_default_acl(tmp_path, 7, 7)
    root = tmp_path / "cache"
    monkeypatch.setenv("TVM_FFI_CACHE_DIR", str(root))
    assert build() == build()
    assert writable(root) == []


@needs_ninja
def test_a_folder_at_the_path_of_the_lock_is_an_error(tmp_path):
    (tmp_path / "folder" / "lock").mkdir(parents=True)
    with pytest.raises(IsADirectoryError, match="expected a lock file; .*`rm -rf .*/lock`"):
        build(build_directory=str(tmp_path / "folder"))


# ---- Groups and namespaces -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "members", "is_safe"),
    [("me", [], True), ("me", ["me"], True), ("me", ["you"], False), ("staff", [], False)],
)
def test_a_parent_folder_may_be_writable_by_the_private_group_of_the_caller(
    tmp_path, monkeypatch, name, members, is_safe
):
    """With the umask 002, folders are writable by the private group of their owner."""
    parent = tmp_path / "parent"
    (parent / "cache").mkdir(parents=True, mode=0o700)
    parent.chmod(0o775)
    group = grp.struct_group((name, "x", parent.stat().st_gid, members))
    user = pwd.struct_passwd(("me", "x", os.geteuid(), parent.stat().st_gid, "", "/", "/bin/sh"))
    monkeypatch.setattr(grp, "getgrgid", lambda _: group)
    monkeypatch.setattr(pwd, "getpwuid", lambda _: user)
    if is_safe:
        _permissions.check_cache_root(parent / "cache")
    else:
        with pytest.raises(PermissionError, match="group"):
            _permissions.check_cache_root(parent / "cache")


@needs_root
@pytest.mark.parametrize("is_namespace", [True, False])
def test_a_parent_folder_of_an_unmapped_owner_is_accepted_in_a_user_namespace(
    tmp_path, monkeypatch, is_namespace
):
    """In a rootless container, files of the host's root belong to user 65534."""
    parent = tmp_path / "parent"
    (parent / "cache").mkdir(parents=True, mode=0o700)
    os.chown(parent, 65534, -1)
    monkeypatch.setattr(_permissions, "has_unmapped_owners", lambda: is_namespace)
    if is_namespace:
        _permissions.check_cache_root(parent / "cache")
        os.chown(parent / "cache", 65534, -1)
    with pytest.raises(PermissionError, match="belongs to user 65534"):
        _permissions.check_cache_root(parent / "cache")


# ---- Contents ------------------------------------------------------------------------------------


def test_a_library_with_other_content_of_the_same_size_is_built_again(caplog):
    """Regression: only the size of the file was compared, not its contents."""
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
