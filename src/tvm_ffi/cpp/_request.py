# SPDX-License-Identifier: Apache-2.0
"""Build requests: the checked arguments of `build`, `build_inline`, `load` and `load_inline`.

A request is the first stage of a build; `_lookup` lists the other stages.  The names in a request
are valid file names and its paths are absolute, so later stages need not check arguments.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from .._internal.platform import IS_WINDOWS
from ._exports import Export
from ._file_checks import UNCHECKED_OPTION, file_checks
from ._gpu import BACKENDS
from ._source import Unit, inline_units

__all__ = ["IS_WINDOWS", "MANIFEST_FILE", "Options", "Request", "file_request", "inline_request"]

# The cache writes this file into the folder of each product, so no product may have its name.
MANIFEST_FILE = "manifest.json"

_LANGUAGES = {".c": "c", ".cu": "cuda", ".o": "object", ".obj": "object"}


class Options(NamedTuple):
    """The options of all four build functions; `build_inline` documents them."""

    extra_cflags: Sequence[str] | str | None
    extra_cuda_cflags: Sequence[str] | str | None
    extra_ldflags: Sequence[str] | str | None
    extra_include_paths: Sequence[str] | None
    build_directory: str | None
    backend: str | None
    verbose: bool


class Request(NamedTuple):
    """The checked arguments of a build: the library, its sources and its options."""

    name: str
    product: str
    """File name of the library or object file to build."""
    units: Sequence[Unit]
    files: Mapping[str, str | bytes]
    """Content of each generated file in the build folder, by file name."""
    functions: Mapping[str, Export]
    cubins: Sequence[str]
    """Names of the embedded cubins; the cubin NAME is the file ``NAME.cubin`` in `files`."""
    cflags: Sequence[str]
    cuda_cflags: Sequence[str]
    ldflags: Sequence[str]
    include_paths: Sequence[str]
    backend: str | None
    build_directory: Path | None
    is_verbose: bool


def inline_request(
    name: str,
    sources: Mapping[str, Sequence[str] | str | None],
    exports: Mapping[str, Export],
    embed_cubin: Mapping[str, bytes] | None,
    output: str | None,
    options: Options,
) -> Request:
    """Return the request for a build from source text.

    Parameters
    ----------
    name, embed_cubin, output
        See `build_inline`.
    exports : mapping of str to Export
        Documentation and signature of each function to export.
    sources : mapping of str to str or sequence of str
        Source text by language: ``c``, ``cpp`` or ``cuda``.
    options : Options
        The options of all build functions.
    """
    cubins = _checked_cubins(embed_cubin)
    texts = {language: _as_list(text) for language, text in sources.items()}
    given = {language: text for language, text in texts.items() if text}
    assert given, "sources must be provided."
    units, files = inline_units(name, given, exports)
    cubin_files = {f"{cubin}.cubin": content for cubin, content in cubins.items()}
    return _checked_request(
        name, units, output, options, {**files, **cubin_files}, exports, [*cubins]
    )


def file_request(
    name: str,
    sources: Sequence[str] | str | None,
    cpp_files: Sequence[str] | str | None,
    cuda_files: Sequence[str] | str | None,
    output: str | None,
    options: Options,
    unchecked: bool,
) -> Request:
    """Return the request for a build from files.

    Parameters
    ----------
    name, sources, cpp_files, cuda_files, output, unchecked
        See `build`.
    options : Options
        The options of all build functions.
    """
    units = [Unit(_LANGUAGES.get(Path(path).suffix, "cpp"), path) for path in _absolute(sources)]
    units += [Unit("cpp", path) for path in _absolute(cpp_files)]
    units += [Unit("cuda", path) for path in _absolute(cuda_files)]
    assert units, "sources must be provided."
    for unit in units:
        if not Path(unit.path).is_file():
            raise RuntimeError(f"source file not found: {unit.path}")
    if unchecked:
        options = _with_flags(options, (UNCHECKED_OPTION,))
        return _checked_request(name, units, output, options)
    checks = file_checks(unit.path for unit in units if unit.language != "object")
    if checks is None:
        return _checked_request(name, units, output, options)
    # The compiler for C exists if all files are C, the compiler for C++ otherwise.
    language = "c" if {unit.language for unit in units} == {"c"} else "cpp"
    file = f"checks.{language}"
    units.append(Unit(language, file))
    options = _with_flags(options, checks.options)
    return _checked_request(name, units, output, options, {file: checks.text})


def _with_flags(options: Options, flags: tuple[str, ...]) -> Options:
    """Return options with further flags for all compilers."""
    return options._replace(
        extra_cflags=(*flags, *_words(options, "extra_cflags")),
        extra_cuda_cflags=(*flags, *_words(options, "extra_cuda_cflags")),
    )


def _checked_request(
    name: str,
    units: Sequence[Unit],
    output: str | None,
    options: Options,
    files: Mapping[str, str | bytes] = MappingProxyType({}),
    exports: Mapping[str, Export] = MappingProxyType({}),
    cubins: Sequence[str] = (),
) -> Request:
    """Return a request; raise ValueError unless its names are file names that ninja accepts."""
    product = output or f"{name}.so"
    for text in (name, product):
        if text in {"", ".", ".."} or "/" in text or not text.isprintable():
            raise ValueError(f"name must be a valid file name, got {text!r}")
        if "|" in text:
            raise ValueError(
                f"name must not contain '|', which a ninja file cannot express, got {text!r}"
            )
        if text == MANIFEST_FILE:
            raise ValueError(
                f"name must not be {text!r}, a file name that the build cache reserves"
            )
    folder = options.build_directory
    return Request(
        name=name,
        product=product,
        units=units,
        files=files,
        functions=exports,
        cubins=cubins,
        cflags=_words(options, "extra_cflags"),
        cuda_cflags=_words(options, "extra_cuda_cflags"),
        ldflags=_words(options, "extra_ldflags"),
        include_paths=_absolute(options.extra_include_paths),
        backend=_checked_backend(options.backend),
        build_directory=None if folder is None else Path(folder).absolute(),
        is_verbose=options.verbose,
    )


def _as_list(value: Sequence[str] | str | None) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else list(value)


def _words(options: Options, name: str) -> tuple[str, ...]:
    """Return the words of a parameter with options; a string is split like a shell command."""
    value = getattr(options, name)
    if not isinstance(value, str):
        words = tuple(value or ())
        for word in words:
            if not isinstance(word, str):
                raise TypeError(f"{name} must contain str, got {word!r}")
        return words
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise ValueError(
            f"{name} must be words of a shell command, got {value!r}: {error}"
        ) from None


def _absolute(paths: Sequence[str] | str | None) -> tuple[str, ...]:
    return tuple(str(Path(path).absolute()) for path in _as_list(paths))


def _checked_backend(backend: str | None) -> str | None:
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f'backend must be "cuda" or "hip", got {backend!r}')
    return backend


def _checked_cubins(cubins: Mapping[str, bytes] | None) -> dict[str, bytes]:
    if cubins and IS_WINDOWS:
        raise NotImplementedError("embed_cubin is not supported on Windows")
    for name in cubins or ():
        if re.fullmatch(r"\w+", name, re.ASCII) is None:
            raise ValueError(
                "embed_cubin: expected names of ASCII letters, digits and underscores, "
                f"got {name!r}"
            )
    return dict(cubins or {})
