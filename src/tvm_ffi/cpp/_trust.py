# SPDX-License-Identifier: Apache-2.0
"""Who may decide what is loaded: the caller and root, and nobody else.

Libraries of the cache are run as the caller.  So nobody else may own or write what leads to them:
folders, files, symbolic links.  Paths are walked from ``/`` down.  An entry that was checked cannot
be exchanged by others any more, since the folder that it stands in was checked before it; that is
why paths are enough here, and no descriptors are held.
"""

from __future__ import annotations

import errno
import os
import shlex
import stat
import struct
import sys
from collections.abc import Collection
from pathlib import Path

__all__ = [
    "check_build_folder",
    "check_cache",
    "check_entry",
    "check_folder",
    "private_folder",
    "users_folder",
]

_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH
_MOST_LINKS = 40  # as the kernel has it
_OVERFLOW_UID = 65534  # how a user namespace shows owners that it does not know
_ACL = "system.posix_acl_access"
_DEFAULT_ACL = "system.posix_acl_default"
# Source: linux/posix_acl_xattr.h: version u32 | entries: tag u16, rights u16, id u32.
_ACL_ENTRY = struct.Struct("<HHI")
_ACL_OWNER, _ACL_MASK, _ACL_OTHERS, _ACL_WRITE = 0x01, 0x10, 0x20, 2
_ELSEWHERE = "set TVM_FFI_CACHE_DIR to a folder of your own"


def check_cache(root: Path) -> None:
    """Refuse the root of a cache that others decide about; what is missing is not refused."""
    real = _walked(root, _ELSEWHERE)
    if real is not None:
        status = os.lstat(real)
        if not stat.S_ISDIR(status.st_mode):
            raise _no_folder(real, _ELSEWHERE)
        _check_owner(real, status, _ELSEWHERE)
        _check_cache_mode(real)


def check_entry(path: Path) -> bool:
    """Refuse an entry of a checked folder; return whether there is one."""
    try:
        status = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    remedy = f"{_removing(path)}, it is built again"
    _check_owner(path, status, remedy)
    _check_kind(path, status, remedy)
    if status.st_mode & _WRITABLE_BY_OTHERS:
        raise _refused(path, _may_write(status), remedy)
    return True


def check_folder(path: Path) -> None:
    """Refuse an entry of a checked folder as `check_entry` does, and one that is no folder."""
    if check_entry(path) and not path.is_dir():
        raise _no_folder(path, f"{_removing(path)}, it is made again")


def check_build_folder(folder: Path, used: Collection[str]) -> None:
    """Refuse what others left in a folder to build in, from when it was open to them.

    Entries of all names count, since compilers find headers beside the sources.  Those that are
    `used` must be no links either, which would lead to where nobody looked.
    """
    for name in sorted(os.listdir(folder)):  # noqa: PTH208
        path = folder / name
        try:
            status = os.lstat(path)
        except FileNotFoundError:  # who builds here now removes files of its own
            continue
        remedy = f"remove what others left there: {_removing(path)}; it is built again"
        _check_owner(path, status, remedy)
        if name in used:
            _check_kind(path, status, remedy)
        if not stat.S_ISLNK(status.st_mode) and _others_may_write(path, status):
            raise _refused(path, _may_write(status), remedy)


def private_folder(folder: Path) -> None:
    """Make a folder of the cache, and those above it, for the caller alone; check what is there."""
    if not folder.parent.exists():
        private_folder(folder.parent)
    else:
        _walked(folder.parent, _ELSEWHERE)
    _make(folder, 0o700, _ELSEWHERE)
    check_cache(folder)


def users_folder(folder: Path) -> None:
    """Make or check a folder that the caller names to build in; a private group may write to it."""
    elsewhere = "name another build_directory"
    if not folder.parent.exists():
        users_folder(folder.parent)
    else:
        _walked(folder.parent, elsewhere)
    _make(folder, 0o755, elsewhere)
    real = _walked(folder, elsewhere)
    if real is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    status = os.lstat(real)
    _check_owner(real, status, elsewhere)
    if _others_may_write(real, status):  # here the sticky bit is not enough
        remedy = f"{_closing(real)} and remove what others put there, or {elsewhere}"
        raise _refused(real, _may_write(status), remedy)
    if _shares_what_is_made(real):
        remedy = f"`setfacl -k {shlex.quote(str(real))}` and remove what is there, or {elsewhere}"
        reason = "by its default access control list, others may write to what is made there"
        raise _refused(real, reason, remedy)


def _make(folder: Path, mode: int, elsewhere: str) -> None:
    try:
        folder.mkdir(mode)
        if mode == 0o700:
            folder.chmod(mode)  # a umask may have taken even the owner's rights
    except FileExistsError:
        pass
    except OSError as error:
        problem = f"{error.strerror}; {elsewhere}"
        raise type(error)(error.errno, problem, str(folder)) from None


# ---- From / to a folder --------------------------------------------------------------------------


def _walked(path: Path, elsewhere: str) -> Path | None:
    """Check all that a path goes through; return what it names, None if that is missing.

    What it names at last is checked as a folder on the way, less strictly than the root of a cache.
    """
    place = Path("/")
    left = [*reversed(path.absolute().parts)]
    links = 0
    while left:
        name = left.pop()
        place = place.parent if name == ".." else place
        here = place if name == ".." else place / name
        try:
            status = os.lstat(here)
        except FileNotFoundError:
            return None
        except NotADirectoryError:  # the system names what is below it
            raise _no_folder(place, elsewhere) from None
        _check_way(here, status, elsewhere)
        if stat.S_ISLNK(status.st_mode):
            links += 1
            if links > _MOST_LINKS:
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(path))
            left += reversed(here.readlink().parts)  # an absolute one starts with "/" again
        else:
            place = here
    return place


def _no_folder(path: Path, elsewhere: str) -> NotADirectoryError:
    return NotADirectoryError(
        errno.ENOTDIR, f"{os.strerror(errno.ENOTDIR)}; {elsewhere}", str(path)
    )


def _check_way(path: Path, status: os.stat_result, elsewhere: str) -> None:
    if not (status.st_uid == _OVERFLOW_UID and _is_in_user_namespace()):
        _check_owner(path, status, elsewhere)
    if stat.S_ISLNK(status.st_mode) or status.st_mode & stat.S_ISVTX:
        return  # the mode of a link says nothing; sticky: others rename only what is their own
    if _others_may_write(path, status):
        raise _refused(path, _may_write(status), f"{_closing(path)}, or {elsewhere}")


def _check_cache_mode(folder: Path) -> None:
    status = os.lstat(folder)
    if not stat.S_ISDIR(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(folder))
    if status.st_mode & _WRITABLE_BY_OTHERS:
        remedy = f"{_closing(folder)} and remove what others put there, or {_ELSEWHERE}"
        raise _refused(folder, _may_write(status), remedy)


def _check_owner(path: Path, status: os.stat_result, remedy: str) -> None:
    if status.st_uid not in (os.geteuid(), 0):
        owner = f"it belongs to user {status.st_uid}, not to you ({os.geteuid()}) or root"
        raise _refused(path, owner, remedy)


def _check_kind(path: Path, status: os.stat_result, remedy: str) -> None:
    if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
        raise _refused(path, "it is neither a file nor a folder", remedy)


def _others_may_write(path: Path, status: os.stat_result) -> bool:
    """Whether anybody but the owner may write; a group of the caller alone does not count."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not (
        _is_private_group(status.st_gid) and not _has_acl(path)
    )


def _is_private_group(group_id: int) -> bool:
    """Whether a group is the one that systems make for the caller alone, of the caller's name."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(group_id)
    except KeyError:
        return False
    names = {*group.gr_mem, group.gr_name}
    return group_id == user.pw_gid and names == {user.pw_name}


def _has_acl(path: Path) -> bool:
    """Whether the group's bits stand for more than the group."""
    if not hasattr(os, "getxattr"):
        return True
    try:
        os.getxattr(path, _ACL)
    except OSError as error:
        return error.errno not in (errno.ENODATA, errno.ENOTSUP)
    return True


def _shares_what_is_made(folder: Path) -> bool:
    """Whether what compilers make in a folder gets a list by which others may write to it.

    The list counts in place of the umask.
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


def _is_in_user_namespace() -> bool:
    """Whether some owners of files are not known here, as in containers without root."""
    if sys.platform != "linux":
        return False
    try:
        return Path("/proc/self/uid_map").read_text().split() != ["0", "0", "4294967295"]
    except OSError:
        return False


# ---- Words ---------------------------------------------------------------------------------------


def _may_write(status: os.stat_result) -> str:
    who = "all users" if status.st_mode & stat.S_IWOTH else f"group {status.st_gid}"
    return f"{who} may write to it (mode {stat.S_IMODE(status.st_mode):04o})"


def _closing(path: Path) -> str:
    return f"`chmod go-w {shlex.quote(str(path))}`"


def _removing(path: Path) -> str:
    return f"`rm -rf {shlex.quote(str(path))}`"


def _refused(path: Path, reason: str, remedy: str) -> PermissionError:
    return PermissionError(
        f"{path} is not safe to load libraries from: {reason}; expected that only you or root "
        f"may change it; {remedy}"
    )
