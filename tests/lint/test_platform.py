# SPDX-License-Identifier: Apache-2.0
"""Only the files of the platform depend on an operating system or an object-file format.

runtime/platform for the runtime, include/tvm/ffi/platform_detail.h for the C++ headers, and
src/tvm_ffi/_internal/platform.py for the package.
"""

from __future__ import annotations

import re

import pytest

PLATFORM = (
    "runtime/platform/",
    "include/tvm/ffi/platform_detail.h",
    "src/tvm_ffi/_internal/platform.py",
)
# Other files that may depend on a system, each with the reason.
EXCEPTIONS = {
    "include/dlpack/dlpack.h": "the export macro of DLPack",
    "include/tvm/ffi/c_api.h": "the export macros of the C ABI",
    "include/tvm/ffi/base_detail.h": "attributes of compilers",
    "runtime/core/key_hooks.cc": "the calling convention of processor and system",
    # The binding is C code and calls the loader and the thread library directly.
    "src/tvm_ffi/_binding/object/borrowing.px": "a value of a thread that its exit frees",
    "src/tvm_ffi/_binding/object/interpreter_gate.pxi": "threads that the interpreter ends",
    "src/tvm_ffi/_binding/object/library.pxi": "path and scope of the runtime's symbols",
    "src/tvm_ffi/_binding/tensor/torch_views.pxi": "functions of a loaded library",
}

C_SYSTEM = re.compile(
    r"\b(_WIN32|_WIN64|_MSC_VER|__MINGW\w+|__CYGWIN__|__linux__|__gnu_linux__|__ANDROID__"
    r"|__APPLE__|__MACH__|__FreeBSD__|__GLIBC__|__GLIBCXX__|__wasm\w*|__wasi__|__EMSCRIPTEN__)\b"
    r"|#\s*include\s*<(sys/[\w/]+|dlfcn|link|elf|unistd|pthread|fcntl|syscall|unwind|cxxabi"
    r"|execinfo|windows|mach-o/\w+|mach/\w+)\.h>"
    r"|\b(posix_memalign|aligned_alloc|dlopen|dlsym|dladdr|dl_iterate_phdr)\s*\("
)
PYTHON_SYSTEM = re.compile(
    r"\bsys\.platform\b|\bos\.(name|uname)\b|\bplatform\.(system|machine)\("
    r"|\bimport (fcntl|msvcrt|winreg)\b|[\"']/proc/"
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def is_allowed(path):
    return path.startswith((*PLATFORM, *EXCEPTIONS))


def uses_of(repository, files, folders, suffixes, pattern):
    """Return FILE: TEXT for each match outside the platform."""
    found = []
    for path in (path.as_posix() for path in files):
        if not path.startswith(folders) or not path.endswith(suffixes) or is_allowed(path):
            continue
        text = (repository / path).read_text(encoding="utf-8")
        if suffixes != (".py",):
            text = COMMENT.sub("", text)
        found += [f"{path}: {match.group()}" for match in pattern.finditer(text)]
    return found


def test_no_c_or_cython_file_outside_the_platform_depends_on_a_system(repository, files):
    suffixes = (".c", ".cc", ".h", ".pyx", ".pxi", ".pxd")
    folders = ("include/", "runtime/", "src/tvm_ffi/_binding/")
    assert uses_of(repository, files, folders, suffixes, C_SYSTEM) == []


def test_no_python_file_of_the_package_outside_the_platform_depends_on_a_system(repository, files):
    assert uses_of(repository, files, ("src/tvm_ffi/",), (".py",), PYTHON_SYSTEM) == []


@pytest.mark.parametrize("path", sorted((*PLATFORM, *EXCEPTIONS)))
def test_each_file_of_the_platform_and_each_exception_is_needed(repository, files, path):
    """An exception that is not needed would hide a new dependency."""
    texts = [
        COMMENT.sub("", (repository / file).read_text(encoding="utf-8"))
        for file in files
        if file.as_posix().startswith(path) and file.suffix != ".pyc"
    ]
    assert any(C_SYSTEM.search(text) or PYTHON_SYSTEM.search(text) for text in texts)


def test_the_interface_of_the_platform_includes_no_system_header(repository):
    text = (repository / "runtime/platform/platform.h").read_text(encoding="utf-8")
    assert C_SYSTEM.search(COMMENT.sub("", text)) is None
