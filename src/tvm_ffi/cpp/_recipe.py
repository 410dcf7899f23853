# SPDX-License-Identifier: Apache-2.0
"""Build recipes: the files, commands and compilers of a build.

A recipe depends on the request and the toolchain only: `make_recipe` reads no source file and runs
no command.  Commands run in the build folder and refer to files in it by name, so the same recipe
serves every build folder.
"""

from __future__ import annotations

import functools
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from .. import libinfo
from .._internal.platform import COMPLETE_LIBRARY
from ._compiler import Toolchain
from ._gpu import Toolkit
from ._portable import EMBED_CUBIN_MARK, Portable
from ._request import Request
from ._source import CPP_HEADERS, CPP_MAIN, Unit

__all__ = [
    "PRECOMPILED_NAME",
    "Recipe",
    "Step",
    "make_recipe",
    "only_compiler",
    "package_include_paths",
]

# The command runs in a build folder.  It must import this installation of the package, not a
# package that the build folder contains.
_EMBED_CUBIN = (
    f"import sys; sys.path.append({str(Path(libinfo.__file__).parents[1])!r}); "
    "from tvm_ffi.utils.embed_cubin import main; sys.exit(main())"
)

_EMBED_COMMAND = (sys.executable, "-I", "-c", _EMBED_CUBIN)
# Options for debug information, which contains paths.
_DEBUG = re.compile(
    r"-g(?:[123]|gdb[123]?|dwarf(?:-[2-5])?|line-tables-only|split-dwarf)?|-G|-?-lineinfo"
)

# Without this error, a call of an undeclared function truncates its result to an int.
C_FLAGS = ("-fPIC", "-O2", "-Werror=implicit-function-declaration")
CPP_FLAGS = ("-std=c++17", "-fPIC", "-O2")
# Each process with Python has loaded these libraries.
_SYSTEM_LIBRARIES = ("-lm", "-ldl", "-lpthread")
# Libraries contain the metadata of their exports unless the sources or the user's flags disable it.
METADATA_FLAG = "-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT=1"


class Step(NamedTuple):
    """A command of a build, which writes one file."""

    command: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str
    depfile: str = ""
    """File in which the command lists the files that it has read; empty if it writes none."""
    level: int = 0
    """Order of execution: a step may need the outputs of steps of lower levels only."""


class Recipe(NamedTuple):
    """Everything that a build needs and that determines its output, except the headers."""

    name: str
    product: str
    """File name of the library or object file; the output of the last step."""
    files: Mapping[str, str | bytes]
    """Content of each generated file in the build folder, by file name."""
    sources: tuple[str, ...]
    """Absolute paths of the user's source files."""
    exports: tuple[str, ...]
    """Name, documentation and signature of each exported function."""
    steps: tuple[Step, ...]
    compilers: Mapping[str, str]
    """Version of each compiler that exists, by language."""
    problem: str
    """Why this machine cannot build the recipe: a missing compiler; empty if it can."""
    portable: Portable
    """Text for paths and commands that does not depend on the machine."""
    linked: tuple[str, ...]
    """Absolute paths that the linker may read: objects, and words of flags that may be paths."""
    user_folders: tuple[str, ...]
    """Folders with headers that the user may edit: those of the sources and of ``-I`` options."""
    precompiled: Recipe | None
    """Recipe of precompiled headers; None unless the only compiled file is generated C++."""


def make_recipe(request: Request, toolchain: Toolchain) -> Recipe:
    """Return the recipe for a build request."""
    includes = [f"-I{path}" for path in (*package_include_paths(), *request.include_paths)]
    options: dict[str, tuple[str, ...]] = {
        "c": (*C_FLAGS, *request.cflags, *includes),
        "cpp": (*CPP_FLAGS, METADATA_FLAG, *request.cflags, *includes),
    }
    if toolchain.gpu is not None:
        flags = (*toolchain.gpu.compile_flags, METADATA_FLAG, *request.cuda_cflags)
        options["cuda"] = (*flags, *includes)
    compile_steps, objects = _compile_steps(request.units, toolchain.commands, options)
    linker = toolchain.commands.get("cpp") or toolchain.commands["c"]
    link_flags = tuple(_link_flags(request, linker, toolchain.gpu))
    link_steps = _link_steps(objects, request.cubins, request.product, linker, link_flags)

    sources = [
        unit.path
        for unit in request.units
        if unit.language != "object" and unit.path not in request.files
    ]
    given_objects = [unit.path for unit in request.units if unit.language == "object"]
    compile_flags = [*request.cflags, *request.cuda_cflags]
    linked = (*given_objects, *_paths_in_flags(compile_flags, request.ldflags))
    beside = [str(Path(path).parent) for path in sources]
    given = [flag[2:] for flag in compile_flags if flag.startswith("-I") and len(flag) > 2]
    user_folders = tuple(dict.fromkeys([*beside, *request.include_paths, *given]))
    precompiled = None
    if [step.inputs for step in compile_steps] == [(CPP_MAIN,)] and CPP_MAIN in request.files:
        version = toolchain.versions.get("cpp", "")
        precompiled = _header_recipe(compile_steps[0], version, linked, user_folders)
    portable = _portable(toolchain, request, user_folders)
    if precompiled is not None:
        # Precompiled headers contain the paths of headers, and compilers check these files.
        precompiled = precompiled._replace(portable=portable._replace(folders={}))
    return Recipe(
        name=request.name,
        product=request.product,
        files=request.files,
        sources=tuple(sources),
        exports=tuple(
            f"{name}: {' '.join(str(part) for part in export if part)}"
            for name, export in request.functions.items()
        ),
        steps=(*compile_steps, *link_steps),
        compilers=toolchain.versions,
        problem=toolchain.problem,
        portable=portable,
        linked=linked,
        user_folders=user_folders,
        precompiled=precompiled,
    )


def _portable(toolchain: Toolchain, request: Request, user_folders: Sequence[str]) -> Portable:
    """Return the marks of a recipe's folders and commands.

    With debug information, the output depends on the paths of sources and headers, so they have no
    marks and keys contain them.
    """
    commands = [(f"{{compiler {name}}}", words) for name, words in toolchain.commands.items()]
    commands.append((EMBED_CUBIN_MARK, _EMBED_COMMAND))
    flags = (*request.cflags, *request.cuda_cflags, *request.ldflags)
    if any(map(_DEBUG.fullmatch, flags)):
        return Portable({}, commands)
    folders = {f"{{folder {index}}}": folder for index, folder in enumerate(user_folders)}
    # A library does not contain these paths, and refers to shared libraries by their names.
    searched = dict.fromkeys(flag[2:] for flag in request.ldflags if flag.startswith("-L/"))
    folders.update((f"{{linked {index}}}", folder) for index, folder in enumerate(searched))
    folders["{library}"] = _library_folder()
    for index, folder in enumerate(package_include_paths()):
        folders[f"{{include {index}}}"] = folder
    if toolchain.gpu is not None:
        folders["{toolkit}"] = toolchain.gpu.home
    return Portable(folders, commands)


# ---- Compile and link steps ----------------------------------------------------------------------


def _compile_steps(
    units: Iterable[Unit],
    commands: Mapping[str, tuple[str, ...]],
    options: Mapping[str, tuple[str, ...]],
) -> tuple[list[Step], list[str]]:
    """Return the compile steps, and the object files to link in the order of the units."""
    steps: list[Step] = []
    objects: list[str] = []
    counts: dict[str, int] = {}
    for language, source in units:
        if language == "object":
            objects.append(source)
            continue
        index = counts[language] = counts.get(language, -1) + 1
        output, depfile = f"{language}_{index}.o", f"{language}_{index}.o.d"
        words = ("-MD", "-MF", depfile, *options[language], "-c", source, "-o", output)
        steps.append(Step((*commands[language], *words), (source,), output, depfile))
        objects.append(output)
    return steps, objects


def _link_steps(
    objects: Sequence[str],
    cubins: Sequence[str],
    product: str,
    linker: tuple[str, ...],
    flags: tuple[str, ...],
) -> Iterator[Step]:
    """Yield the steps that embed the cubins and link the library or the object file."""
    if cubins:
        yield from _embed_steps(objects, cubins)
        objects = [f"cubin_{len(cubins) - 1}.o"]
    level = 2 + len(cubins)
    if not product.endswith((".o", ".obj")):
        yield Step((*linker, *objects, *flags, "-o", product), tuple(objects), product, level=level)
    elif len(objects) == 1:
        yield Step(("cp", *objects, product), tuple(objects), product, level=level)
    else:
        yield Step(("ld", "-r", "-o", product, *objects), tuple(objects), product, level=level)


def _embed_steps(objects: Sequence[str], cubins: Sequence[str]) -> Iterator[Step]:
    """Yield a step that merges the object files, then one step for each cubin to embed."""
    yield Step(("ld", "-r", "-o", "merged.o", *objects), tuple(objects), "merged.o", level=1)
    before = "merged.o"
    for index, name in enumerate(cubins):
        cubin, output = f"{name}.cubin", f"cubin_{index}.o"
        options = ("--output-obj", output, "--input-obj", before, "--cubin", cubin, "--name", name)
        yield Step((*_EMBED_COMMAND, *options), (before, cubin), output, level=2 + index)
        before = output


def _link_flags(request: Request, linker: Sequence[str], toolkit: Toolkit | None) -> Iterator[str]:
    yield "-shared"
    # A library with an undefined function could be loaded, but the first call of the function would
    # end the process.  Libraries with a sanitizer get its functions from the process.
    words = (*linker, *request.cflags, *request.ldflags)
    if not any("-fsanitize" in word for word in words):
        yield from COMPLETE_LIBRARY
    yield from request.ldflags
    # Linkers search these libraries for functions that the user's archives need.
    yield from (f"-L{_library_folder()}", "-ltvm_ffi")
    if toolkit is not None:
        yield from toolkit.link_flags
    yield from _SYSTEM_LIBRARIES


def _paths_in_flags(compile_flags: Sequence[str], ldflags: Sequence[str]) -> list[str]:
    """Return words of flags that may be paths of archives, linker scripts or response files."""
    words = [word for flag in (*compile_flags, *ldflags) for word in _words(flag)]
    folders = [flag[2:] for flag in ldflags if flag.startswith("-L")]
    for flag in ldflags:
        if flag.startswith("-l"):
            is_file_name = flag.startswith("-l:")
            names = [flag[3:]] if is_file_name else [f"lib{flag[2:]}{s}" for s in (".a", ".so")]
            words += [
                f"{folder}/{name}"
                for folder in folders
                for name in names
                if not is_file_name or name.endswith(".a")
            ]
    return [word for word in dict.fromkeys(words) if os.path.isabs(word)]  # noqa: PTH117


def _words(flag: str) -> list[str]:
    """Return the words of a flag such as ``-Wl,--version-script=PATH`` or ``@PATH``."""
    return [part.lstrip("@") for part in flag.replace("=", ",").split(",")]


def only_compiler(steps: Sequence[Step]) -> str | None:
    """Return the file name of the compiler if there is exactly one compile step, else None."""
    compilers = [step.command[0] for step in steps if step.level == 0]
    return Path(compilers[0]).name if len(compilers) == 1 else None


@functools.cache
def package_include_paths() -> tuple[str, ...]:
    """Return the folders of this package's headers and of DLPack's, without duplicates."""
    folders = (libinfo.find_include_path(), libinfo.find_dlpack_include_path())
    return tuple(dict.fromkeys(folders))


@functools.cache
def _library_folder() -> str:
    return str(Path(libinfo.find_libtvm_ffi()).parent)


# ---- Precompiled headers -------------------------------------------------------------------------

PRECOMPILED_NAME = "precompiled_headers"
_PRECOMPILED_PRODUCT = "headers.hpp.gch"
# Options with which the compiler could read other headers, or the same headers in another order.
_EXCLUDED_OPTIONS = ("-include", "--include", "-imacros", "--imacros", "-iquote", "-Wp,", "-x", "@")


def _header_recipe(
    compiling: Step, version: str, linked: Sequence[str], user_folders: tuple[str, ...]
) -> Recipe | None:
    """Return the recipe that precompiles the headers of generated C++ files.

    Returns None if the compiler is neither GCC nor Clang, or if an option makes it read other
    headers.
    """
    is_known = "clang version" in version.lower() or "free software" in version.lower()
    if not is_known or any(word.startswith(_EXCLUDED_OPTIONS) for word in compiling.command):
        return None
    depfile = f"{_PRECOMPILED_PRODUCT}.d"
    headers = [word for header in CPP_HEADERS for word in ("-include", header)]
    # Clang checks later that the main file of precompiled headers still exists.  The main file is
    # therefore /dev/null, whose path does not depend on the build folder.
    replacements = {
        CPP_MAIN: (*headers, "-x", "c++-header", os.devnull),
        compiling.depfile: (depfile,),
        compiling.output: (_PRECOMPILED_PRODUCT,),
    }
    command = [new for word in compiling.command for new in replacements.get(word, (word,))]
    return Recipe(
        name=PRECOMPILED_NAME,
        product=_PRECOMPILED_PRODUCT,
        files={},
        sources=(),
        exports=(),
        steps=(Step(tuple(command), (os.devnull,), _PRECOMPILED_PRODUCT, depfile),),
        compilers={"cpp": version},
        problem="",
        portable=Portable({}, ()),
        linked=tuple(path for path in linked if any(path in word for word in command)),
        user_folders=user_folders,
        precompiled=None,
    )
