# SPDX-License-Identifier: Apache-2.0
"""``find_package(tvm_ffi)`` with a wheel, a CMake installation and a build folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
from pathlib import Path

import pytest

from tvm_ffi import libinfo

ROOT = Path(__file__).resolve().parents[3]
# The search path: CMake and Ninja of the Python environment come first, even if it is not
# activated.
SEARCH = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", os.defpath)])
CMAKE = shutil.which("cmake", path=SEARCH)

pytestmark = [
    pytest.mark.skipif(CMAKE is None, reason="no cmake"),
    pytest.mark.unsanitized(
        "programs linked with the package would need the sanitizer's libraries"
    ),
]

PROJECT = """
cmake_minimum_required(VERSION 3.18)
project(consumer LANGUAGES {language})
find_package(tvm_ffi {version} CONFIG REQUIRED)
foreach(kind shared static minimal)
  add_executable(with_${{kind}} main.{suffix})
  target_link_libraries(with_${{kind}} PRIVATE tvm_ffi::${{kind}})
endforeach()
add_executable(configured main.{suffix})
tvm_ffi_configure_target(configured)
"""

PROGRAM = """
#include <stdio.h>
#include <tvm/ffi/c_api.h>

int main(void) {
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  printf("%u.%u.%u", version.major, version.minor, version.patch);
  return 0;
}
"""

# If there is a compiler cache, the options of `make venv`, which filled the cache; otherwise the
# options of the fastest build.
BUILD_OPTIONS = ["-DCMAKE_BUILD_TYPE=Debug"]
if shutil.which("ccache"):
    werror = os.environ.get("WERROR", "ON")
    BUILD_OPTIONS = ["-DCMAKE_BUILD_TYPE=Release", f"-DTVM_FFI_WARNINGS_AS_ERRORS={werror}"]

ABI_LEVEL = "0.1.16"
PROGRAMS = ("with_shared", "with_static", "with_minimal", "configured")


def run(*command: str | Path) -> str:
    """Run a command; its output is shown when it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        env={**os.environ, "PATH": SEARCH},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"{command} ended with status {done.returncode}:\n{done.stdout}")
    return done.stdout


def cmake(*arguments: str | Path) -> str:
    assert CMAKE is not None
    return run(CMAKE, *arguments)


def write_project(folder: Path, language: str, version: str = "0.1") -> Path:
    suffix = {"C": "c", "CXX": "cc"}[language]
    folder.mkdir()
    text = PROJECT.format(language=language, suffix=suffix, version=version)
    (folder / "CMakeLists.txt").write_text(text, encoding="utf-8")
    (folder / f"main.{suffix}").write_text(PROGRAM, encoding="utf-8")
    return folder


def build_and_run(project: Path, root: str | Path) -> list[str]:
    """Build the project against the package below `root`; return its programs' output."""
    build = project / "build"
    cmake("-S", project, "-B", build, f"-Dtvm_ffi_ROOT={root}")
    cmake("--build", build)
    return [run(build / name) for name in PROGRAMS]


@pytest.mark.parametrize("language", ["C", "CXX"])
def test_the_installed_python_package_is_found(tmp_path, language):
    project = write_project(tmp_path / "consumer", language)
    assert build_and_run(project, libinfo.find_cmake_path()) == [ABI_LEVEL] * len(PROGRAMS)


def test_a_newer_version_is_refused(tmp_path):
    project = write_project(tmp_path / "consumer", "C", version="0.2")
    with pytest.raises(AssertionError, match=r'compatible with requested version "0\.2"'):
        build_and_run(project, libinfo.find_cmake_path())


TARGETS = """
foreach(name header shared)
  add_library(tvm_ffi::${name} INTERFACE IMPORTED)
endforeach()
"""


@pytest.mark.parametrize("language", ["C", "CXX"])
def test_without_the_archive_only_targets_that_link_it_compile_it(tmp_path, language):
    """Published wheels have `tvm_ffi_archive.cmake` in place of the archive."""
    package = tmp_path / "package"
    installed = package / "share/cmake/tvm_ffi"
    shutil.copytree(libinfo.find_cmake_path(), installed)
    (installed / "tvm_ffi_targets.cmake").write_text(TARGETS, encoding="utf-8")
    shutil.copy(ROOT / "cmake/tvm_ffi_archive.cmake", installed)
    # These sources only say that they are compiled.
    (package / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.18)\nproject(sources LANGUAGES C)\n"
        'file(WRITE ${PROJECT_BINARY_DIR}/empty.c "")\n'
        "add_library(tvm_ffi_minimal STATIC ${PROJECT_BINARY_DIR}/empty.c)\n"
        "set_target_properties(tvm_ffi_minimal PROPERTIES OUTPUT_NAME tvm_ffi_static\n"
        "  ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)\n",
        encoding="utf-8",
    )
    project = tmp_path / "consumer"
    project.mkdir()
    suffix = {"C": "c", "CXX": "cc"}[language]
    (project / f"main.{suffix}").write_text("int main(void) { return 0; }\n", encoding="utf-8")
    (project / "CMakeLists.txt").write_text(
        f"cmake_minimum_required(VERSION 3.18)\nproject(consumer LANGUAGES {language})\n"
        "find_package(tvm_ffi CONFIG REQUIRED)\n"
        "foreach(kind header minimal)\n"
        f"  add_executable(with_${{kind}} main.{suffix})\n"
        "  target_link_libraries(with_${kind} PRIVATE tvm_ffi::${kind})\n"
        "endforeach()\n",
        encoding="utf-8",
    )
    build = tmp_path / "build"
    archive = build / "tvm_ffi_archive/lib/libtvm_ffi_static.a"
    cmake("-S", project, "-B", build, f"-Dtvm_ffi_ROOT={installed}")
    cmake("--build", build, "--target", "with_header")
    assert not archive.exists()
    cmake("--build", build, "--target", "with_minimal")
    assert archive.is_file()


NAMELESS = """
cmake_minimum_required(VERSION 3.18)
project(nameless LANGUAGES C)
find_package(tvm_ffi CONFIG REQUIRED)
foreach(name plain mapped)
  add_executable(${name} main.c)
endforeach()
tvm_ffi_add_prefix_map(mapped ${CMAKE_CURRENT_SOURCE_DIR})
tvm_ffi_add_apple_dsymutil(mapped)
"""


def test_source_paths_can_be_removed_from_a_target(tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(NAMELESS, encoding="utf-8")
    source = "#include <stdio.h>\nint main(void) { return puts(__FILE__) < 0; }\n"
    (tmp_path / "main.c").write_text(source, encoding="utf-8")
    build = tmp_path / "build"
    cmake("-S", tmp_path, "-B", build, f"-Dtvm_ffi_ROOT={libinfo.find_cmake_path()}")
    cmake("--build", build)
    assert run(build / "plain") == f"{tmp_path / 'main.c'}\n"
    assert run(build / "mapped") == "main.c\n"


def test_a_cmake_installation_can_be_moved(tmp_path):
    build, installed, moved = tmp_path / "build", tmp_path / "installed", tmp_path / "moved"
    cmake("-S", ROOT, "-B", build, *BUILD_OPTIONS)
    cmake("--build", build, "--parallel", str(os.cpu_count() or 1))

    in_build_folder = write_project(tmp_path / "in_build_folder", "C")
    assert build_and_run(in_build_folder, build) == [ABI_LEVEL] * len(PROGRAMS)

    cmake("--install", build, "--prefix", installed)
    shutil.rmtree(build)
    installed.rename(moved)
    consumer = write_project(tmp_path / "consumer", "C")
    assert build_and_run(consumer, moved) == [ABI_LEVEL] * len(PROGRAMS)
    written = "".join(path.read_text("utf-8") for path in moved.rglob("*.cmake"))
    assert str(tmp_path) not in written


def test_the_sources_in_the_package_can_be_configured(tmp_path):
    """`add_subdirectory` adds the runtime to another project's build, without the wheel."""
    project = tmp_path / "consumer"
    project.mkdir()
    text = (
        "cmake_minimum_required(VERSION 3.18)\nproject(consumer LANGUAGES C CXX)\nset(SKBUILD 2)\n"
        f"add_subdirectory({libinfo.find_source_path()} tvm_ffi)\n"
        "get_target_property(type tvm_ffi::shared TYPE)\n"
        'message(STATUS "tvm_ffi::shared is a ${type}")\n'
    )
    (project / "CMakeLists.txt").write_text(text, encoding="utf-8")
    output = cmake("-S", project, "-B", project / "build")
    assert "tvm_ffi::shared is a SHARED_LIBRARY" in output


def archive_sources(archive: Path, folder: Path) -> None:
    """Write the files of the folder `folder` into the archive, as the build of a wheel does."""
    files = sorted(map(str, filter(Path.is_file, folder.rglob("*"))), reverse=True)
    script = ROOT / "cmake/archive_sources.py"
    subprocess.run([sys.executable, script, archive, *files], cwd=folder, check=True)


def test_changed_sources_are_extracted_into_another_folder(tmp_path):
    """Files in the archive have no times, so a build would not compile changed files again."""
    package = tmp_path / "package"
    shutil.copytree(ROOT / "cmake", package / "cmake")
    shutil.copytree(ROOT / "include", package / "include")
    shutil.copy(ROOT / "CMakeLists.txt", package)
    sources = tmp_path / "sources"
    shutil.copytree(ROOT / "runtime", sources / "runtime")
    folders = []
    for text in ("// first\n", "// second\n"):
        (sources / "runtime/core/added.cc").write_text(text, encoding="utf-8")
        archive_sources(package / "runtime.tar", sources)
        cmake("-S", package, "-B", tmp_path / "build")
        folders.append({*(tmp_path / "build/sources").iterdir()})
    assert len(folders[0]) == 1
    assert len(folders[1]) == 2
    (folder,) = folders[1] - folders[0]
    assert (folder / "runtime/core/added.cc").read_text("utf-8") == "// second\n"


def test_the_archive_of_sources_depends_on_names_and_contents_only(tmp_path):
    archives = []
    for name, time in (("first", 1), ("second folder", 10**9)):
        folder = tmp_path / name
        for file in ("b.cc", "a/c.cc"):
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file, encoding="utf-8")
            path.chmod(0o600 if time == 1 else 0o644)
            os.utime(path, (time, time))
        archive_sources(tmp_path / "archive.tar", folder)
        archives.append((tmp_path / "archive.tar").read_bytes())
    assert archives[0] == archives[1]
    with tarfile.open(tmp_path / "archive.tar") as archive:
        assert archive.getnames() == ["a/c.cc", "b.cc"]
