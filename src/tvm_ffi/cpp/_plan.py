# SPDX-License-Identifier: Apache-2.0
"""What a build does: the files it writes, the commands it runs, and all that decides the product.

A plan is made before anything is looked up or written.  Its commands run in the build folder and
name what is in there without a folder, so that a plan serves every build folder.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple, Union

from .. import libinfo
from .._version import __version__
from ._compiler import compiler_command, describe_compiler
from ._exports import Export
from ._files import content_of, text_digest
from ._gpu import Toolkit, find_toolkit
from ._source import Unit

__all__ = ["Plan", "Request", "Step", "key_of", "make_plan"]

# What a part of the key may be: as JSON has it.
Part = Union[str, "list[str]"]

# This package, and no other of its name that stands where a build is run.
_EMBED_CUBIN = (
    f"import sys; sys.path.append({str(Path(libinfo.__file__).parents[1])!r}); "
    "from tvm_ffi.utils.embed_cubin import main; sys.exit(main())"
)

C_FLAGS = ("-fPIC", "-O2")
CPP_FLAGS = ("-std=c++17", "-fPIC", "-O2")
# Libraries say what they export, unless the sources or the user's flags say otherwise.
METADATA_FLAG = "-DTVM_FFI_DLL_EXPORT_INCLUDE_METADATA_DEFAULT=1"

# Variables by which compilers and linkers find other files or take other options.
_VARIABLES = (
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH"),
    *("GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS", "SOURCE_DATE_EPOCH", "SDKROOT"),
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "HIP_PATH", "HIP_PLATFORM"),
    *("HIPCC_COMPILE_FLAGS_APPEND", "HIPCC_LINK_FLAGS_APPEND", "HIP_CLANG_PATH"),
)


_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Request(NamedTuple):
    """What the caller of a build function asks for."""

    name: str
    units: Sequence[Unit]
    files: Mapping[str, str] = _NOTHING
    """Generated files and their texts."""
    functions: Mapping[str, Export] = _NOTHING
    cflags: Sequence[str] = ()
    cuda_cflags: Sequence[str] = ()
    ldflags: Sequence[str] = ()
    include_paths: Sequence[str] = ()
    """Absolute."""
    cubins: Mapping[str, bytes] = _NOTHING
    backend: str | None = None
    output: str = ""
    """File name of the product."""


class Step(NamedTuple):
    """A command that makes one file."""

    command: tuple[str, ...]
    inputs: tuple[str, ...]
    output: str
    depfile: str = ""
    """Where the command lists what it has read; empty if it does not."""
    level: int = 0
    """Steps of one level need nothing from each other; those of the next need them."""


class Plan(NamedTuple):
    """A build that has not been done yet."""

    name: str
    product: str
    files: Mapping[str, str | bytes]
    steps: tuple[Step, ...]
    parts: Mapping[str, Part]
    """All that decides the product and is known beforehand; headers are not."""
    linked: tuple[str, ...]
    """Files that the linker reads or a flag names: objects, archives, scripts; absolute."""
    own_folders: tuple[str, ...]
    """Where headers lie that are likely to change: next to the sources, and the include paths."""


def make_plan(request: Request, cache: Path) -> Plan:
    """Return the plan of a build.

    Parameters
    ----------
    request : Request
        What to build.
    cache : path
        Root of the cache, where compilers' versions are remembered.
    """
    toolkit = None
    if any(unit.kind == "cuda" for unit in request.units):
        toolkit = find_toolkit(request.backend)
    compilers = _compilers(request, toolkit)
    files: dict[str, str | bytes] = {**request.files}
    files.update({f"{name}.cubin": content for name, content in request.cubins.items()})
    steps = tuple(_steps(request, toolkit, compilers))
    return Plan(
        name=request.name,
        product=request.output,
        files=files,
        steps=steps,
        parts=_parts(request, files, steps, _versions(compilers, cache)),
        linked=tuple(_linked_files(request)),
        own_folders=_own_folders(request),
    )


# ---- Commands ------------------------------------------------------------------------------------


def _compilers(request: Request, toolkit: Toolkit | None) -> dict[str, tuple[str, ...]]:
    """Return the command of each compiler that is needed; `link` is one of the others."""
    kinds = {unit.kind for unit in request.units}
    commands = {}
    if "c" in kinds:
        commands["c"] = compiler_command("CC", "cc")
    if kinds != {"c"}:  # object files may need the C++ library
        commands["cpp"] = compiler_command("CXX", "c++")
    if toolkit is not None:
        commands["cuda"] = toolkit.compiler
    return commands


def _steps(
    request: Request, toolkit: Toolkit | None, compilers: Mapping[str, tuple[str, ...]]
) -> Iterator[Step]:
    objects: list[str] = []
    counts: dict[str, int] = {}
    for unit in request.units:
        if unit.kind == "object":
            objects.append(unit.path)
            continue
        index = counts[unit.kind] = counts.get(unit.kind, -1) + 1
        step = _compile_step(unit, index, request, toolkit, compilers[unit.kind])
        objects.append(step.output)
        yield step
    if request.cubins:
        yield from _embed_steps(objects, request.cubins)
        objects = [f"cubin_{len(request.cubins) - 1}.o"]
    level = 2 + len(request.cubins)
    if request.output.endswith((".o", ".obj")):
        yield _object_step(objects, request.output, level)
    else:
        linker = compilers.get("cpp") or compilers["c"]
        flags = (*_link_flags(toolkit), *request.ldflags)
        command = (*linker, *objects, *flags, "-o", request.output)
        yield Step(command, tuple(objects), request.output, level=level)


def _compile_step(
    unit: Unit, index: int, request: Request, toolkit: Toolkit | None, compiler: tuple[str, ...]
) -> Step:
    flags: tuple[str, ...]
    if unit.kind == "cuda":
        assert toolkit is not None
        flags = (*toolkit.compile_flags, METADATA_FLAG, *request.cuda_cflags)
    elif unit.kind == "c":
        flags = (*C_FLAGS, *request.cflags)
    else:
        flags = (*CPP_FLAGS, METADATA_FLAG, *request.cflags)
    includes = tuple(f"-I{path}" for path in (*our_include_paths(), *request.include_paths))
    output = f"{unit.kind}_{index}.o"
    depfile = f"{output}.d"
    command = (*compiler, "-MD", "-MF", depfile, *flags, *includes, "-c", unit.path, "-o", output)
    return Step(command, (unit.path,), output, depfile)


def _embed_steps(objects: Sequence[str], cubins: Mapping[str, bytes]) -> Iterator[Step]:
    """Merge the objects, then put one cubin after the other into the result."""
    yield Step(("ld", "-r", "-o", "merged.o", *objects), tuple(objects), "merged.o", level=1)
    program = (sys.executable, "-I", "-c", _EMBED_CUBIN)
    before = "merged.o"
    for index, name in enumerate(cubins):
        cubin, output = f"{name}.cubin", f"cubin_{index}.o"
        options = ("--output-obj", output, "--input-obj", before, "--cubin", cubin, "--name", name)
        yield Step((*program, *options), (before, cubin), output, level=2 + index)
        before = output


def _object_step(objects: Sequence[str], output: str, level: int) -> Step:
    copy = ("cp", *objects, output)
    merge = ("ld", "-r", "-o", output, *objects)
    return Step(copy if len(objects) == 1 else merge, tuple(objects), output, level=level)


def _link_flags(toolkit: Toolkit | None) -> tuple[str, ...]:
    library_folder = _library_folder()
    flags = ("-shared", f"-L{library_folder}", "-ltvm_ffi")
    return flags if toolkit is None else (*flags, *toolkit.link_flags)


@functools.cache
def our_include_paths() -> tuple[str, ...]:
    """Return the folders of our headers and DLPack's, each once."""
    folders = (libinfo.find_include_path(), libinfo.find_dlpack_include_path())
    return tuple(dict.fromkeys(folders))


@functools.cache
def _library_folder() -> str:
    return str(Path(libinfo.find_libtvm_ffi()).parent)


# ---- What decides the product --------------------------------------------------------------------


def key_of(plan: Plan) -> str:
    """Return the name of all that is known about a plan."""
    text = json.dumps([plan.name, plan.parts], sort_keys=True)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _parts(
    request: Request,
    files: Mapping[str, str | bytes],
    steps: Sequence[Step],
    versions: Mapping[str, str],
) -> dict[str, Part]:
    """Return the parts of the key, in words that explain why two keys differ."""
    parts: dict[str, Part] = {
        "package": __version__,
        "platform": f"{sys.platform} {os.uname().machine}",
        "functions": [
            f"{name}: {' '.join(filter(None, export))}"
            for name, export in request.functions.items()
        ],
        "product": request.output,
    }
    parts.update({f"compiler {kind}": version for kind, version in versions.items()})
    for step in steps:
        parts[f"command for {step.output}"] = list(step.command)
    for name, content in files.items():
        text = content if isinstance(content, str) else content.decode("latin-1")
        parts[f"source {name}"] = text_digest(text)
    for unit in request.units:
        if unit.kind != "object" and unit.path not in files:
            parts[f"source {unit.path}"] = content_of(unit.path)
    parts["linked files"] = _linked_files(request)
    for variable in _VARIABLES:
        if variable in os.environ:
            parts[f"variable {variable}"] = os.environ[variable]
    return parts


def _linked_files(request: Request) -> list[str]:
    """Return objects, and files that flags name: archives, linker scripts, response files."""
    paths = [unit.path for unit in request.units if unit.kind == "object"]
    flags = [*request.cflags, *request.cuda_cflags, *request.ldflags]
    words = [word for flag in flags for word in _words(flag)]
    folders = [flag[2:] for flag in request.ldflags if flag.startswith("-L")]
    for flag in request.ldflags:
        if flag.startswith("-l"):
            words += [f"{folder}/lib{flag[2:]}{end}" for folder in folders for end in (".a", ".so")]
    paths += [word for word in words if os.path.isabs(word) and Path(word).is_file()]  # noqa: PTH117
    return list(dict.fromkeys(paths))


def _words(flag: str) -> list[str]:
    """Return what may be a path in a flag such as ``-Wl,--version-script=PATH`` or ``@PATH``."""
    return [part.lstrip("@") for part in flag.replace("=", ",").split(",")]


def _versions(compilers: Mapping[str, tuple[str, ...]], cache: Path) -> dict[str, str]:
    folder = cache / ".compilers"
    return {kind: describe_compiler(command, folder) for kind, command in compilers.items()}


def _own_folders(request: Request) -> tuple[str, ...]:
    """Return folders with headers of the user's, without those of installed packages."""
    sources = [
        str(Path(unit.path).parent)
        for unit in request.units
        if unit.kind != "object" and unit.path not in request.files
    ]
    flags = (*request.cflags, *request.cuda_cflags)
    given = [flag[2:] for flag in flags if flag.startswith("-I") and len(flag) > 2]
    return tuple(dict.fromkeys([*sources, *request.include_paths, *given]))
