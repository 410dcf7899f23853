# SPDX-License-Identifier: Apache-2.0
"""Ownership and permission checks of the build cache and of build folders.

The caller runs the libraries in the cache, so only the caller and root may own or write the
folders, files and symbolic links that lead to a library.  Paths are checked from ``/`` downwards.
No other user can replace an entry after its check, because the folder that contains it was checked
before.  Therefore the functions work with paths and need no file descriptors.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
import struct
from collections.abc import Collection
from pathlib import Path

from .._internal.platform import has_unmapped_owners

__all__ = [
    "check_build_entries",
    "check_cache_root",
    "check_entry",
    "check_folder",
    "make_build_folder",
    "make_private_folder",
]

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MAX_LINKS = 40  # maximum number of symbolic links in a path, as in the Linux kernel
_OVERFLOW_UID = 65534  # user id of the owner of files that a user namespace does not map
_ACL = "system.posix_acl_access"
_DEFAULT_ACL = "system.posix_acl_default"
# An entry of an access control list: tag u16, rights u16, id u32.  The list begins with its
# version, u32.  The layout is from linux/posix_acl_xattr.h.
_ACL_ENTRY = struct.Struct("<HHI")
_ACL_OWNER, _ACL_MASK, _ACL_OTHERS, _ACL_WRITE = 0x01, 0x10, 0x20, 2
_OTHER_CACHE = "set TVM_FFI_CACHE_DIR to a folder that only you can write to"
_OTHER_BUILD_FOLDER = "name another build_directory"


def check_cache_root(root: Path) -> None:
    """Raise PermissionError if another user may change the root folder of an existing cache."""
    real = _resolve_checked(root, _OTHER_CACHE)
    if real is None:
        return
    status = os.lstat(real)
    if not stat.S_ISDIR(status.st_mode):
        raise _not_a_folder(real, _OTHER_CACHE)
    _check_owner(real, status, _OTHER_CACHE)
    if status.st_mode & _WRITABLE_BY_OTHERS:
        remedy = f"{_chmod_command(real)} and remove the files of other users, or {_OTHER_CACHE}"
        raise _unsafe(real, _writers(status), remedy)


def check_entry(path: Path) -> bool:
    """Check the owner, type and mode of a file or folder whose parent folder is checked already.

    Returns
    -------
    bool
        True if the file or folder exists.

    Raises
    ------
    PermissionError
        If another user owns the path or may write to it, or if it is neither a file nor a folder.
    """
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    remedy = f"remove it with {_rm_command(path)}; it will be built again"
    _check_owner(path, status, remedy)
    _check_type(path, status, remedy)
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise _unsafe(path, _writers(status), remedy)
    return True


def check_folder(path: Path) -> None:
    """Check a path like `check_entry`; raise NotADirectoryError if it is a file."""
    if check_entry(path) and not path.is_dir():
        raise _not_a_folder(path, f"remove it with {_rm_command(path)}; it will be created again")


def check_build_entries(folder: Path, used: Collection[str]) -> None:
    """Raise PermissionError if another user may have changed the entries of a build folder.

    All entries are checked, because compilers find headers beside the sources.  Entries whose names
    are in `used` must not be symbolic links, because the target of a link is not checked.
    """
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        path = folder / name
        try:
            status = os.lstat(path)
        except FileNotFoundError:  # the entry was a temporary file of a concurrent build
            continue
        remedy = f"remove the entry that another user could change with {_rm_command(path)}"
        _check_owner(path, status, remedy)
        if name in used:
            _check_type(path, status, remedy)
        if not stat.S_ISLNK(status.st_mode) and _others_may_write(path, status):
            raise _unsafe(path, _writers(status), remedy)


def make_private_folder(folder: Path) -> None:
    """Create a folder of the cache and its parents with mode 0700; check existing folders."""
    if not folder.parent.exists():
        make_private_folder(folder.parent)
    else:
        _resolve_checked(folder.parent, _OTHER_CACHE)
    _make(folder, 0o700, _OTHER_CACHE)
    check_cache_root(folder)


def make_build_folder(folder: Path) -> None:
    """Create or check a `build_directory`; the caller's private group may write to it, too."""
    if not folder.parent.exists():
        make_build_folder(folder.parent)
    else:
        _resolve_checked(folder.parent, _OTHER_BUILD_FOLDER)
    _make(folder, 0o755, _OTHER_BUILD_FOLDER)
    real = _resolve_checked(folder, _OTHER_BUILD_FOLDER)
    if real is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    status = os.lstat(real)
    _check_owner(real, status, _OTHER_BUILD_FOLDER)
    if _others_may_write(real, status):  # ignore the sticky bit: it lets other users add files
        remedy = (
            f"{_chmod_command(real)} and remove the files of other users, or {_OTHER_BUILD_FOLDER}"
        )
        raise _unsafe(real, _writers(status), remedy)
    if _gives_others_new_files(real):
        remedy = (
            f"`setfacl -k {shlex.quote(str(real))}` and remove the files in it, "
            f"or {_OTHER_BUILD_FOLDER}"
        )
        reason = "its default access control list lets other users write to new files"
        raise _unsafe(real, reason, remedy)


def _make(folder: Path, mode: int, alternative: str) -> None:
    try:
        folder.mkdir(mode)
        if mode == 0o700:
            # Set the mode again, because the umask may have removed rights of the owner.
            folder.chmod(mode)
    except FileExistsError:
        pass
    except OSError as error:
        problem = f"{error.strerror}; {alternative}"
        raise type(error)(error.errno, problem, str(folder)) from None


# ---- Path resolution -----------------------------------------------------------------------------


def _resolve_checked(path: Path, alternative: str) -> Path | None:
    """Resolve a path and check every folder and link on it; return None if an entry is missing.

    The check starts at ``/``.  The last component of the path is checked like its parent folders.
    This check is less strict than that of a cache's root in `check_cache_root`.
    """
    resolved = Path("/")
    remaining = [*reversed(path.absolute().parts)]
    links = 0
    while remaining:
        name = remaining.pop()
        resolved = resolved.parent if name == ".." else resolved
        current = resolved if name == ".." else resolved / name
        try:
            status = os.lstat(current)
        except FileNotFoundError:
            return None
        except NotADirectoryError:  # the system's error names `current`, not the file above it
            raise _not_a_folder(resolved, alternative) from None
        _check_component(current, status, alternative)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MAX_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            # The first part of an absolute target is "/", so the resolution restarts there.
            remaining += reversed(current.readlink().parts)
        else:
            resolved = current
    return resolved


def _check_component(path: Path, status: os.stat_result, alternative: str) -> None:
    """Raise PermissionError if another user may replace this link or an entry of this folder.

    Raises NotADirectoryError if the component is neither a link nor a folder.
    """
    if not (status.st_uid == _OVERFLOW_UID and has_unmapped_owners()):
        _check_owner(path, status, alternative)
    if not (stat.S_ISLNK(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise _not_a_folder(path, alternative)
    # The mode of a link has no meaning.  In a sticky folder, other users cannot rename or remove
    # the caller's entries.
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return
    if _others_may_write(path, status):
        raise _unsafe(path, _writers(status), f"{_chmod_command(path)}, or {alternative}")


def _check_owner(path: Path, status: os.stat_result, remedy: str) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        owner = f"it belongs to user {status.st_uid}, not to you ({os.geteuid()}) or root"
        raise _unsafe(path, owner, remedy)


def _check_type(path: Path, status: os.stat_result, remedy: str) -> None:
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise _unsafe(path, "it is neither a regular file nor a folder", remedy)


# ---- Groups, access control lists and namespaces -------------------------------------------------


def _others_may_write(path: Path, status: os.stat_result) -> bool:
    """Return True if another user may write; write access of the caller's private group is safe."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not (
        _is_private_group(status.st_gid) and not _has_acl(path)
    )


def _is_private_group(group_id: int) -> bool:
    """Return True for the primary group that has the caller's name and no other member."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(group_id)
    except KeyError:
        return False
    names = {*group.gr_mem, group.gr_name}
    return group_id == user.pw_gid and names == {user.pw_name}


def _has_acl(path: Path) -> bool:
    """Return True if a file may have an access control list; its group bits are the list's mask."""
    if not hasattr(os, "getxattr"):
        return True
    try:
        os.getxattr(path, _ACL)
    except OSError as error:
        return error.errno not in (errno.ENODATA, errno.ENOTSUP)
    return True


def _gives_others_new_files(folder: Path) -> bool:
    """Return True if the default access control list of a folder lets others write to new files.

    A default list replaces the umask, so new files could be writable in spite of a strict umask.
    """
    try:
        content = os.getxattr(folder, _DEFAULT_ACL)
        entries = list(_ACL_ENTRY.iter_unpack(content[4:]))
    except (AttributeError, OSError, struct.error):
        return False
    mask = next((rights for tag, rights, _ in entries if tag == _ACL_MASK), _ACL_WRITE)
    return any(
        rights & _ACL_WRITE & (_ACL_WRITE if tag == _ACL_OTHERS else mask)
        for tag, rights, _ in entries
        if tag not in (_ACL_OWNER, _ACL_MASK)
    )


# ---- Parts of error messages ---------------------------------------------------------------------


def _writers(status: os.stat_result) -> str:
    users = "all users" if status.st_mode & stat.S_IWOTH else f"group {status.st_gid}"
    return f"{users} may write to it (mode {stat.S_IMODE(status.st_mode):04o})"


def _chmod_command(path: Path) -> str:
    return f"`chmod go-w {shlex.quote(str(path))}`"


def _rm_command(path: Path) -> str:
    return f"`rm -rf {shlex.quote(str(path))}`"


def _unsafe(path: Path, reason: str, remedy: str) -> PermissionError:
    return PermissionError(
        f"{path} is not safe to load libraries from: {reason}; expected that only you or root "
        f"may change it; {remedy}"
    )


def _not_a_folder(path: Path, remedy: str) -> NotADirectoryError:
    return NotADirectoryError(errno.ENOTDIR, f"{os.strerror(errno.ENOTDIR)}; {remedy}", str(path))
