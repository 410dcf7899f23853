#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""C and C++ tests on other platforms: cross-compile, run under an emulator, print a table.

A platform is a toolchain file in cmake/toolchains.  The script uses only the standard library.
docs/design/platforms.md lists what was seen to work.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import re
import shutil
import struct
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
LIBRARIES = ("tvm_ffi_shared", "tvm_ffi_minimal", "tvm_ffi_testing")
C_TESTS = ("layout_test_c", "layout_test_cc", "c_client_test")
# Test programs that need nothing of the system but threads.
PORTABLE = (
    *C_TESTS, "cpp_values", "cpp_container", "cpp_reflection", "cpp_serialization",
    "cpp_structural",
)  # fmt: skip


@dataclass(frozen=True)
class Platform:
    """What is built for a platform, and which of its tests run here."""

    targets: tuple[str, ...]  # build targets
    emulator: str = ""  # program without which the tests cannot run; "" if it is the machine itself
    runs: bool = True  # False: the targets are only compiled and linked
    variables: tuple[tuple[str, str], ...] = ()  # for the compiler and the emulator
    exports: str = ""  # Mach-O library whose exported names are compared with the list
    failures: tuple[str, ...] = ()  # tests that fail for a reason of KNOWN_FAILURES


# Tests that fail on some platforms, with the reason.  Elsewhere they must pass.
KNOWN_FAILURES = {
    "recursive_hash": "hashes of another C++ library",
    "structural_hash": "hashes of another C++ library",
    "structural_key": "hashes of another C++ library, or hooks in an unknown calling convention",
    "structural_memory": "requests in a library with its own `operator new` are not counted",
    "structural_mutator": "a class with containers of another C++ library has another size",
    "key_hooks": "hooks in an unknown calling convention",
}

PLATFORMS = {
    "aarch64-linux-gnu": Platform(
        ("all",), "qemu-aarch64-static", variables=(("QEMU_LD_PREFIX", "/usr/aarch64-linux-gnu"),)
    ),
    "riscv64-linux-gnu": Platform(
        PORTABLE, "qemu-riscv64-static", variables=(("QEMU_LD_PREFIX", "/usr/riscv64-linux-gnu"),)
    ),
    "arm-linux-gnueabihf": Platform(
        ("tvm_ffi_minimal", *C_TESTS),
        "qemu-arm-static",
        variables=(("QEMU_LD_PREFIX", "/usr/arm-linux-gnueabihf"),),
    ),
    "x86_64-linux-musl": Platform(
        PORTABLE,
        failures=(
            "recursive_hash",
            "structural_hash",
            "structural_key",
            "structural_memory",
            "structural_mutator",
        ),
    ),
    "x86_64-windows-gnu": Platform(
        (*LIBRARIES, *PORTABLE),
        "wine",
        failures=("key_hooks", "structural_key", "structural_memory"),
    ),
    "aarch64-macos": Platform((*LIBRARIES, *PORTABLE), runs=False, exports="lib/libtvm_ffi.dylib"),
    "wasm32-emscripten": Platform(
        ("tvm_ffi_minimal", *C_TESTS, "cpp_container", "cpp_serialization"),
        "node",
        variables=(("NODE_PATH", "/usr/share/nodejs"),),  # Debian's folder; not every node knows it
        failures=("key_hooks",),
    ),
}


def main() -> None:
    """Build and test the platforms that the command line names, by default all."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("platforms", nargs="*", metavar="PLATFORM", help=", ".join(PLATFORMS))
    parser.add_argument("--build", type=Path, default=Path("build"), help="build folder")
    parser.add_argument(
        "--jobs", default="1", help="number of compilers and tests that run at once"
    )
    arguments = parser.parse_args()
    for name in arguments.platforms:
        if name not in PLATFORMS:
            parser.error(f"expected one of {', '.join(PLATFORMS)}, got {name}")
    os.chdir(ROOT)
    build = arguments.build.resolve() / "platforms"
    doctest = _doctest(build)
    rows = []
    for name in arguments.platforms or PLATFORMS:
        rows.append((name, *_run_platform(name, build / name, doctest, arguments.jobs)))
    print()
    for name, built, result, _ in rows:
        print(f"{name:22} {built:12} {result}")
    sys.exit(any(not succeeded for *_, succeeded in rows))


def _run_platform(name: str, folder: Path, doctest: Path, jobs: str) -> tuple[str, str, bool]:
    """Return what was built, the result of the tests, and whether all is as expected."""
    platform = PLATFORMS[name]
    environment = {**os.environ, **dict(platform.variables), "ZIG": _zig()}
    if platform.emulator == "wine":
        # With wine's debugger, a program that crashes may end with status 0.
        environment |= {
            "WINEDEBUG": "-all",
            "WINEDLLOVERRIDES": "winedbg.exe=d",
            "WINEPATH": _wine_path(folder),
        }

    def run(*command: str | Path) -> bool:
        print(*command, flush=True)
        return subprocess.run([*map(str, command)], env=environment, check=False).returncode == 0

    configure: tuple[str | Path, ...] = (
        "cmake", "-S", ROOT, "-B", folder, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
        f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/{name}.cmake",
        "-DTVM_FFI_BUILD_TESTS=ON", f"-Ddoctest_DIR={doctest}",
    )  # fmt: skip
    compile_: tuple[str | Path, ...] = (
        "cmake",
        "--build",
        folder,
        "--parallel",
        jobs,
        "--target",
        *platform.targets,
    )
    if not run(*configure) or not run(*compile_):
        return "no", "", False
    if platform.exports:
        difference = _unexpected_exports((folder / platform.exports).read_bytes())
        if difference:
            return "yes", f"not run, exported names differ: {difference}", False
    if not platform.runs:
        return "yes", "not run" + ", exported names as listed" * bool(platform.exports), True
    if platform.emulator and shutil.which(platform.emulator) is None:
        return "yes", f"not run: {platform.emulator} is missing", False
    if platform.emulator == "wine":
        run("wine", "cmd", "/c", "exit")  # starts wine's server, which tests would start at once
    results = folder / "results.xml"
    tests = "|".join(platform.targets)
    selected = () if tests == "all" else ("--tests-regex", f"^({tests})(\\.|$)")
    run(
        "ctest", "--test-dir", folder, "--output-on-failure", "--no-tests=error", "--parallel",
        jobs, "--output-junit", results, *selected,
    )  # fmt: skip
    return ("yes", *_summary(results, platform.failures))


def _summary(results: Path, known: tuple[str, ...]) -> tuple[str, bool]:
    """Return the result of the tests as text, and whether just the known ones failed."""
    cases = ElementTree.parse(results).getroot().findall("testcase")
    failed = [case.get("name", "") for case in cases if case.get("status") != "run"]
    text = f"{len(cases) - len(failed)} of {len(cases)} tests pass"
    names = {name.rpartition(".")[2] for name in failed}
    for name in sorted(names):
        text += f", {name} fails ({KNOWN_FAILURES[name] if name in known else 'unexpected'})"
    for name in sorted(set(known) - names):
        text += f", {name} passes (unexpected)"
    return text, names == set(known)


# Names of the list that Clang keeps private on macOS: virtual table and type descriptions of a
# class without a key function (this ABI compares types by name), and the variable of a hidden
# inline function.
PRIVATE_ON_MACOS = {
    "_ZTVN3tvm3ffi5ErrorE", "_ZTIN3tvm3ffi5ErrorE", "_ZTSN3tvm3ffi5ErrorE",
    "_ZZN3tvm3ffi9ModuleObj27_GetOrAllocRuntimeTypeIndexEvE6tindex",
}  # fmt: skip
# Names that the version script hides on Linux: a constant of an exported class, and the function
# that a static program requests by name.
ALSO_ON_MACOS = {"_ZN3tvm3ffi9ModuleObj11_type_finalE", "tvm_ffi_dynamic_loading"}
# The operators new and delete of the C++ library, which Zig links into each library.
OPERATORS_OF_ZIG = re.compile(r"_Z(nw|na|dl|da)[Pm]")


def _unexpected_exports(library: bytes) -> str:
    """Return the differences between the exported names of a Mach-O library and the list.

    The list is the C++ names of cmake/exports.map and the C functions that the headers declare,
    apart from the differences above.
    """
    names = re.findall(r"^ +(_Z\w+);", (ROOT / "cmake/exports.map").read_text("utf-8"), re.M)
    declaration = re.compile(r"TVM_FFI_DLL\s[^;{}()]*?\b(TVMFFI\w+)\(")
    for header in (ROOT / "include/tvm/ffi").rglob("*.h"):
        names += declaration.findall(header.read_text("utf-8"))
    expected = set(names) - PRIVATE_ON_MACOS | ALSO_ON_MACOS
    exported = {name for name in _macho_exports(library) if not OPERATORS_OF_ZIG.match(name)}
    missing = [f"-{name}" for name in sorted(expected - exported)]
    return " ".join(missing + [f"+{name}" for name in sorted(exported - expected)])


# By load command, LC_DYLD_INFO_ONLY and LC_DYLD_EXPORTS_TRIE: the offset of the trie's offset.
TRIE_POSITIONS = {0x80000022: 40, 0x80000033: 8}


def _macho_exports(library: bytes) -> set[str]:
    """Return the names that a 64-bit Mach-O library exports, without their leading underscore."""
    magic, *_, num_commands, _, _, _ = struct.unpack_from("<8I", library)
    if magic != 0xFEEDFACF:
        sys.exit("expected a 64-bit Mach-O library")
    offset, trie = 32, b""
    for _ in range(num_commands):
        command, size = struct.unpack_from("<2I", library, offset)
        position = TRIE_POSITIONS.get(command)
        if position is not None:
            start, length = struct.unpack_from("<2I", library, offset + position)
            trie = library[start : start + length] or trie
        offset += size
    # A node: length of its symbol's description, the description, number of edges; for each edge,
    # the characters that it appends, and the offset of its node.
    nodes, names = [(0, b"")] if trie else [], set()
    while nodes:
        offset, name = nodes.pop()
        described, offset = _uleb128(trie, offset)
        if described:
            names.add(name.decode().removeprefix("_"))
        offset += described
        for _ in range(trie[offset]):
            end = trie.index(b"\0", offset + 1)
            node, next_edge = _uleb128(trie, end + 1)
            nodes.append((node, name + trie[offset + 1 : end]))
            offset = next_edge - 1
    return names - {"__dso_handle", "_mh_dylib_header", "_mh_execute_header"}  # of the linker


def _uleb128(data: bytes, offset: int) -> tuple[int, int]:
    """Return the number that starts at the offset, and the offset after it."""
    value = shift = 0
    while True:
        byte = data[offset]
        value |= (byte & 0x7F) << shift
        offset, shift = offset + 1, shift + 7
        if byte < 0x80:
            return value, offset


def _doctest(build: Path) -> Path:
    """Return a CMake package of doctest that does not name the folder of the host's headers."""
    folder = build / "doctest"
    shutil.rmtree(folder, ignore_errors=True)
    header = next(
        (
            header
            for prefix in os.environ.get("CMAKE_PREFIX_PATH", "/usr:/usr/local").split(":")
            if (header := Path(prefix, "include/doctest/doctest.h")).exists()
        ),
        None,
    )
    if header is None:
        sys.exit("expected doctest/doctest.h in /usr/include; install doctest-dev")
    (folder / "include/doctest").mkdir(parents=True)
    shutil.copy(header, folder / "include/doctest")
    (folder / "doctestConfig.cmake").write_text(
        "add_library(doctest::doctest INTERFACE IMPORTED)\n"
        "set_target_properties(doctest::doctest PROPERTIES INTERFACE_INCLUDE_DIRECTORIES\n"
        '  "${CMAKE_CURRENT_LIST_DIR}/include")\n',
        encoding="utf-8",
    )
    (folder / "doctestConfigVersion.cmake").write_text(
        "set(PACKAGE_VERSION 2.4.9)\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n", encoding="utf-8"
    )
    return folder


def _wine_path(build: Path) -> str:
    """Return the folders in which wine finds the libraries of the build and of the compiler."""
    folders = [build]
    for library in ("libstdc++-6.dll", "libwinpthread-1.dll"):
        command = ["x86_64-w64-mingw32-g++-posix", f"-print-file-name={library}"]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        folders.append(Path(result.stdout.strip()).resolve().parent)
    return ";".join(f"Z:{folder}" for folder in folders)


def _zig() -> str:
    """Return the path of the Zig compiler: of the package `ziglang`, else in PATH."""
    package = importlib.util.find_spec("ziglang")
    if package is not None and package.origin is not None:
        return str(Path(package.origin).parent / "zig")
    return shutil.which("zig") or "zig"


if __name__ == "__main__":
    main()
