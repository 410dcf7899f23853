# SPDX-License-Identifier: Apache-2.0
"""Test environments besides .venv: free-threaded Python, sanitizers, third-party packages.

The targets of the Makefile call this script: test-nogil, test-nogil-tsan, test-python-asan,
test-aarch64, test-flashinfer, test-clients, test-systems, test-frameworks, test-device and fuzz.
Each environment is a folder in the build folder and is kept.  The time of its stamp file is that of
its creation: a step is repeated only if one of the files that it reads is newer.

The script uses only the standard library, because some environments are made before .venv exists.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Callable

ROOT = Path(__file__).resolve().parents[1]
# The files and folders from which the wheel of this package is built.
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "pyproject.toml", "cmake", "include",
           "runtime", "src")  # fmt: skip

PIP = ("-m", "pip", "--disable-pip-version-check")
# Build in the current environment: pip's isolated environments are new for each build, which would
# compile all files again.
BUILD_PACKAGE = ("--no-build-isolation", "--no-deps")
# Do not compile dependencies: where NumPy has no wheel, that takes a quarter of an hour.
WHEELS_ONLY = ("--quiet", "--only-binary", ":all:")

FLASHINFER = ("flashinfer-python==0.7.2", "nvidia-curand==10.4.0.35")

# Tests that start compilers, CMake and pip, and call the same native code as other tests: a quarter
# of the time of all tests under ASan.
NOT_SANITIZED = (
    "tests/python/cpp/test_exports.py",
    "tests/python/cpp/test_portability.py",
    "tests/python/cpp/test_precompiled.py",
    "tests/python/new_package",
    "tests/python/package",
    "tests/python/stub",
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

BINFMT = Path("/proc/sys/fs/binfmt_misc")
BINFMT_QEMU = Path("/usr/lib/binfmt.d/qemu-aarch64.conf")  # of Debian's qemu-user-static
AARCH64_UNREGISTERED = f"""\
The system starts no programs for AArch64. As root:
  mount -t binfmt_misc binfmt_misc {BINFMT}
  cat {BINFMT_QEMU} >{BINFMT}/register"""

IS_FREE_THREADED = "import sys; sys.exit(sys._is_gil_enabled())"
IS_FREE_THREADED_TSAN = (
    "import sys, sysconfig; sys.exit(sys._is_gil_enabled() "
    "or '-fsanitize=thread' not in sysconfig.get_config_var('CFLAGS'))"
)


def main() -> None:
    """Make the environment that the command line names, and run its tests."""
    arguments = _parse_arguments()
    os.chdir(ROOT)
    COMMANDS[arguments.environment](arguments)


def _parse_arguments() -> argparse.Namespace:
    usage = "%(prog)s ENVIRONMENT [options] [-- pytest arguments or fuzz targets]"
    parser = argparse.ArgumentParser(usage=usage, description=(__doc__ or "").splitlines()[0])
    parser.add_argument("environment", choices=sorted(COMMANDS))
    parser.add_argument("--build", type=Path, default=Path("build"), help="build folder")
    parser.add_argument("--jobs", default="1", help="number of tests that run at once")
    parser.add_argument("--python", default="python3", help="interpreter of the environment")
    parser.add_argument("--python-tsan", default="", help="free-threaded interpreter under TSan")
    parser.add_argument("--stress-seconds", default="30", help="duration of the stress test")
    parser.add_argument("--fuzz-seconds", default="60", help="duration of each fuzz target")
    parser.add_argument("--incumbent", default="", help="wheel of the incumbent to compare with")
    parser.add_argument("--tests", default="tests/python", help="test files and folders")
    options = sys.argv[1:]
    end = options.index("--") if "--" in options else len(options)
    parsed = parser.parse_args(options[:end])
    parsed.rest = options[end + 1 :]
    parsed.build = parsed.build.resolve()
    return parsed


# ---- Environments and their tests ----------------------------------------------------------------


def nogil(arguments: argparse.Namespace) -> None:
    """Run the Python tests on a free-threaded Python, then the stress test for a longer time."""
    folder = arguments.build / "nogil"
    python = _make_nogil(folder, arguments.python)
    _install_package(python, folder)
    _pytest(python, arguments, "nogil", *arguments.tests.split())
    stress = ("-s", "tests/python/stress/test_thread_stress.py")
    _run(python, "-m", "pytest", *stress, TVM_FFI_STRESS_SECONDS=arguments.stress_seconds)


def nogil_tsan(arguments: argparse.Namespace) -> None:
    """Run the tests with threads on a free-threaded Python under ThreadSanitizer.

    Python, the binding and the runtime are compiled for ThreadSanitizer, NumPy is not.  The
    ordinary free-threaded Python runs pip, which takes a tenth of the time.
    """
    builder = _make_nogil(arguments.build / "nogil", arguments.python)
    _require_python(
        arguments.python_tsan,
        IS_FREE_THREADED_TSAN,
        "PYTHON_NOGIL_TSAN: expected a free-threaded Python that was configured"
        f" --with-thread-sanitizer, got '{arguments.python_tsan}'",
        TSAN_OPTIONS="report_bugs=0",
    )
    folder = arguments.build / "nogil-tsan"
    site = folder / "site"

    def install() -> None:
        shutil.rmtree(site, ignore_errors=True)
        _run(builder, *PIP, "install", *WHEELS_ONLY, "--target", site, "--group", "light")
        options = ("--target", str(site), *_debug_build("thread"))
        _run(builder, *PIP, "install", *BUILD_PACKAGE, *_build_folder(folder), *options, ".")

    _make(folder / ".installed", [*_source_files(), _stamp_of(builder)], install)
    reports = _new_folder(folder / "reports")
    suppressions = ROOT / "tests/python/stress/tsan_suppressions.txt"
    _run(
        arguments.python_tsan, "-m", "pytest", "-s", "-p", "no:cacheprovider",
        *_results(arguments, "nogil-tsan"), *arguments.tests.split(), *arguments.rest,
        reports=reports,
        TVM_FFI_TESTS_SANITIZED="1",
        TVM_FFI_STRESS_SECONDS=arguments.stress_seconds,
        TSAN_OPTIONS=f"exitcode=0:suppressions={suppressions}:log_path={reports}/tsan",
        PYTHONPATH=str(site),
    )  # fmt: skip


def python_asan(arguments: argparse.Namespace) -> None:
    """Run the Python tests with the package compiled for ASan and UBSan.

    Both sanitizers are preloaded into Python and into every process that a test starts, including
    compilers.  Python uses malloc, because its own allocator hides accesses to freed memory.
    """
    folder = arguments.build / "python-asan"
    python = _make_virtualenv(folder, arguments.python)
    # Compile without optimization, which takes a quarter of the time.
    _install_package(python, folder, *_debug_build("address,undefined"))
    reports = _new_folder(folder / "reports")
    asan = "verify_asan_link_order=0:detect_leaks=0:allocator_may_return_null=1"
    ubsan = "halt_on_error=1:print_stacktrace=1"
    # UBSan is first, although ASan asks to be: otherwise UBSan does not write its reports to files.
    preloaded = ":".join(_compiler_file(name) for name in ("libubsan.so", "libasan.so"))
    _pytest(
        python,
        arguments,
        "python-asan",
        *(f"--ignore={path}" for path in NOT_SANITIZED),
        *arguments.tests.split(),
        reports=reports,
        TVM_FFI_TESTS_SANITIZED="1",
        PYTHONMALLOC="malloc",
        LD_PRELOAD=preloaded,
        ASAN_OPTIONS=f"{asan}:log_path={reports}/asan",
        UBSAN_OPTIONS=f"{ubsan}:log_path={reports}/ubsan",
    )


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
        _new_folder(tools)
        for tool in AARCH64_TOOLS:
            (tools / tool).symlink_to(f"/usr/bin/aarch64-linux-gnu-{tool}")
        for name, tool in (("cc", "gcc"), ("c++", "g++")):
            (tools / name).symlink_to(tool)
        venv = ("-m", "venv", "--clear", "--without-pip", str(site))
        _run(root / "usr/bin/python3.11", *venv, QEMU_LD_PREFIX=prefix)
        install = ("--python", str(python), "install", *WHEELS_ONLY, "--group", "light")
        _run(sys.executable, *PIP, *install, QEMU_LD_PREFIX=prefix)

    def install_package() -> None:
        headers = root / "usr/include"
        options = (
            f"-DCMAKE_TOOLCHAIN_FILE={ROOT}/cmake/toolchains/aarch64-linux-gnu.cmake",
            f"-DPython_INCLUDE_DIR={headers}/python3.11",
            *(f"-DCMAKE_{language}_FLAGS=-idirafter{headers}" for language in ("C", "CXX")),
        )
        wheels = _new_folder(folder / "wheel")
        wheel = ("wheel", *BUILD_PACKAGE, *_build_folder(folder), "--wheel-dir", str(wheels))
        _run(
            sys.executable, *PIP, *wheel, ".",
            _PYTHON_HOST_PLATFORM="linux-aarch64",
            SETUPTOOLS_EXT_SUFFIX=".cpython-311-aarch64-linux-gnu.so",
            CMAKE_ARGS=shlex.join(options),
        )  # fmt: skip
        install = ("install", "--no-deps", "--force-reinstall", *map(str, wheels.glob("*.whl")))
        _run(sys.executable, *PIP, "--python", python, *install, QEMU_LD_PREFIX=prefix)

    _make(folder / ".unpacked", [ROOT / "pyproject.toml"], unpack)
    _make(folder / ".installed", [*_source_files(), folder / ".unpacked"], install_package)
    rust = _aarch64_rust(folder, tools) if shutil.which("cargo") else {}
    path = os.pathsep.join([str(python.parent), str(tools), os.environ.get("PATH", os.defpath)])
    left_out = (f"--deselect={test}" for test in NOT_EMULATED)
    options = ("--numprocesses", arguments.jobs, "--dist", "loadfile")
    _run(
        python, "-m", "pytest", *options, *_results(arguments, "aarch64"), *left_out,
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

    _make(folder / ".rust", [folder / ".unpacked"], unpack)
    return {
        "CARGO_BUILD_TARGET": AARCH64_RUST,
        "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER": str(tools / "gcc"),
        "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER": str(tools / "host-gcc"),  # build scripts
        "CARGO_TARGET_DIR": str(folder / "rust"),
        "RUSTC": str(tools / "rustc"),
        "RUSTDOC": str(tools / "rustdoc"),
    }


def flashinfer(arguments: argparse.Namespace) -> None:
    """Compile FlashInfer's sources with the headers of this package.

    FlashInfer is unpacked without its dependencies: compiling its sources needs no GPU, and only
    one of the dependencies, a library of CUDA headers.
    """
    folder = arguments.build / "flashinfer"
    install = (*PIP, "install", "--quiet", "--no-deps", "--target", folder, *FLASHINFER)
    _make(folder / ".unpacked", [], lambda: _run(sys.executable, *install))
    test = ("tests/compat/test_flashinfer_sources.py", *arguments.rest)
    _run(sys.executable, "-m", "pytest", *test, TVM_FFI_FLASHINFER=str(folder))


def published(arguments: argparse.Namespace) -> None:
    """Run third-party packages with a wheel of this package, each in a separate environment."""
    folder = arguments.build / "published"
    wheels = folder / "wheel"

    def build_wheel() -> None:
        shutil.rmtree(wheels, ignore_errors=True)
        options = ("--quiet", *BUILD_PACKAGE, "--wheel-dir", wheels)
        _run(sys.executable, *PIP, "wheel", *options, ".")

    _make(folder / ".wheel", _source_files(), build_wheel)
    test = (*arguments.tests.split(), *arguments.rest)
    _run(sys.executable, "-m", "pytest", *test, TVM_FFI_PUBLISHED=str(folder))


def device(arguments: argparse.Namespace) -> None:
    """Run the device tests with the packages that the interpreter has, without a package index.

    The results are written to the folder that the variable ``OUT`` names, else to the build folder.
    """
    folder = arguments.build / "device"
    site = folder / "site"
    python = shutil.which(arguments.python) or arguments.python
    offline = ("install", "--quiet", "--no-index", "--no-deps", "--target")

    def install(target: Path, *what: str) -> None:
        shutil.rmtree(target, ignore_errors=True)
        _run(python, *PIP, *offline, target, *what)

    package = ("--no-build-isolation", *_build_folder(folder), ".")
    _make(folder / ".installed", _source_files(), lambda: install(site, *package))
    incumbent = folder / "incumbent"
    if arguments.incumbent:
        install(incumbent, arguments.incumbent)
    results = Path(os.environ.get("OUT") or arguments.build).resolve()
    path = os.environ.get("PATH", os.defpath)
    # Warnings are not errors, because the versions of the frameworks are those of the machine.
    options = ("-v", "-rfE", "-W", "default", "-o", "faulthandler_timeout=150")
    _run(
        python, "-m", "pytest", *options, "-p", "no:cacheprovider",
        "--junit-xml", results / "results-device.xml",
        "tests/device", "tests/examples/test_cuda_examples.py", *arguments.rest,
        PATH=os.pathsep.join([str(site / "bin"), path, "/usr/local/cuda/bin"]),
        PYTHONPATH=str(site),
        PYTEST_DISABLE_PLUGIN_AUTOLOAD="1",
        TVM_FFI_CACHE_DIR=str(folder / "cache"),
        TVM_FFI_DEVICE_RESULTS=str(results),
        TVM_FFI_DEVICE_INCUMBENT=str(incumbent) if arguments.incumbent else "",
    )  # fmt: skip


def fuzz(arguments: argparse.Namespace) -> None:
    """Build the fuzz targets with Clang and run them; keep the corpus for the next run."""
    folder = arguments.build / "fuzz"
    _run(
        "cmake", "-S", ".", "-B", folder, "-G", "Ninja",
        "-DCMAKE_C_COMPILER=clang", "-DCMAKE_CXX_COMPILER=clang++",
        "-DCMAKE_BUILD_TYPE=RelWithDebInfo", "-DTVM_FFI_BUILD_FUZZERS=ON",
        "-DTVM_FFI_SANITIZERS=address,undefined,fuzzer-no-link",
    )  # fmt: skip
    _run("cmake", "--build", folder, "--target", "fuzzers")
    options = ("--seconds", arguments.fuzz_seconds, "--jobs", arguments.jobs)
    _run(sys.executable, "tests/fuzz/run.py", "--build", folder, *options, *arguments.rest)


COMMANDS = {
    "nogil": nogil,
    "nogil-tsan": nogil_tsan,
    "python-asan": python_asan,
    "aarch64": aarch64,
    "flashinfer": flashinfer,
    "published": published,
    "device": device,
    "fuzz": fuzz,
}

# ---- Steps that environments share ---------------------------------------------------------------


def _make_nogil(folder: Path, python: str) -> Path:
    _require_python(
        python,
        IS_FREE_THREADED,
        f"PYTHON_NOGIL: expected a free-threaded Python, 3.13 or later, got '{python}'",
    )
    return _make_virtualenv(folder, python)


def _make_virtualenv(folder: Path, python: str) -> Path:
    """Make a virtual environment with the requirements of most tests; return its interpreter."""
    venv = folder / "venv"
    interpreter = venv / "bin" / "python"

    def install() -> None:
        _run(python, "-m", "venv", "--clear", venv)
        # pip 25.1 is the first release that reads [dependency-groups].
        _run(interpreter, *PIP, "install", "--quiet", "pip>=25.1")
        _run(interpreter, *PIP, "install", *WHEELS_ONLY, "--group", "light")

    _make(_stamp_of(interpreter), [ROOT / "pyproject.toml"], install)
    return interpreter


def _stamp_of(interpreter: Path) -> Path:
    return interpreter.parents[2] / ".environment"


def _install_package(python: Path, folder: Path, *options: str) -> None:
    install = (*PIP, "install", *BUILD_PACKAGE, *_build_folder(folder), *options, ".")
    sources = [*_source_files(), _stamp_of(python)]
    _make(folder / ".installed", sources, lambda: _run(python, *install))


def _build_folder(folder: Path) -> tuple[str, ...]:
    return (f"--config-settings=build-dir={folder / 'package'}",)


def _debug_build(sanitizers: str) -> tuple[str, ...]:
    return (
        "--config-settings=cmake.build-type=Debug",
        f"--config-settings=cmake.define.TVM_FFI_SANITIZERS={sanitizers}",
    )


def _pytest(
    python: Path, arguments: argparse.Namespace, name: str, *tests: str,
    reports: Path | None = None, **variables: str,
) -> None:  # fmt: skip
    # --dist loadfile: tests of one file share libraries that they compile, so one worker runs them.
    options = ("--numprocesses", arguments.jobs, "--dist", "loadfile", "--no-loadscope-reorder")
    results = _results(arguments, name)
    command = (python, "-m", "pytest", *options, *results, *tests, *arguments.rest)
    _run(*command, reports=reports, **variables)


def _results(arguments: argparse.Namespace, name: str) -> tuple[str, ...]:
    return ("--junit-xml", str(arguments.build / f"results-{name}.xml"))


def _make(stamp: Path, sources: Iterable[Path], action: Callable[[], None]) -> None:
    """Call `action` and touch the stamp file, unless it is newer than all source files."""
    if stamp.exists():
        made = stamp.stat().st_mtime_ns
        if all(source.stat().st_mtime_ns <= made for source in sources):
            return
        stamp.unlink()
    stamp.parent.mkdir(parents=True, exist_ok=True)
    action()
    stamp.touch()


def _source_files() -> list[Path]:
    return [
        path
        for name in SOURCES
        for path in ([ROOT / name] if (ROOT / name).is_file() else (ROOT / name).rglob("*"))
        if path.is_file() and path.suffix != ".pyc"
    ]


def _new_folder(folder: Path) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder


def _unpack_debian(folder: Path, architecture: str, packages: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    options = ("--variant=extract", f"--arch={architecture}", f"--include={packages}")
    _run("mmdebstrap", *options, "bookworm", folder)


def _register_qemu() -> None:
    """Have the kernel start programs for AArch64 with qemu; as root, register qemu if needed."""
    if not (BINFMT / "register").exists() and os.geteuid() == 0:
        _run("mount", "-t", "binfmt_misc", "binfmt_misc", BINFMT)
    if (BINFMT / "qemu-aarch64").exists():
        return
    try:
        (BINFMT / "register").write_bytes(BINFMT_QEMU.read_bytes().strip())
    except OSError as error:
        sys.exit(f"{AARCH64_UNREGISTERED}\n{error}")


def _compiler_file(name: str) -> str:
    compiler = shlex.split(os.environ.get("CC") or "cc")
    command = [*compiler, f"-print-file-name={name}"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _require_python(python: str, test: str, message: str, **variables: str) -> None:
    """End the script with a message unless `python` runs the code `test` with exit status 0."""
    try:
        done = subprocess.run(
            [python, "-c", test], env={**os.environ, **variables}, capture_output=True, check=False
        )
    except OSError:
        sys.exit(message)
    if done.returncode != 0:
        sys.exit(message)


def _run(*command: str | Path, reports: Path | None = None, **variables: str) -> None:
    """Run a command; end the script if it fails or if a sanitizer writes a file to `reports`."""
    shown = [*(f"{name}={value}" for name, value in variables.items()), *map(str, command)]
    print(shlex.join(shown), flush=True)
    environment = {**os.environ, **_tools_of(Path(command[0])), **variables}
    try:
        status = subprocess.run([*map(str, command)], env=environment, check=False).returncode
    except OSError as error:
        sys.exit(f"{command[0]}: {error.strerror}")
    for report in sorted(reports.iterdir()) if reports else ():
        print(report.read_text(encoding="utf-8", errors="replace"))
        status = status or 1
    if status != 0:
        sys.exit(status)


def _tools_of(program: Path) -> Mapping[str, str]:
    """Return the variable PATH for an environment's interpreter: its folder precedes others."""
    if program.name != "python" or not program.is_absolute():
        return {}
    return {"PATH": os.pathsep.join([str(program.parent), os.environ.get("PATH", os.defpath)])}


if __name__ == "__main__":
    main()
