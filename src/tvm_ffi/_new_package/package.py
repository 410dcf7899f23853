# SPDX-License-Identifier: Apache-2.0
"""The files of a new package: templates with words filled in, all written or none."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace
from pathlib import Path

from ..signature import Signature
from .names import module_name
from .source import LANGUAGES, exported_signatures

__all__ = ["create_package"]

_TEMPLATES = Path(__file__).parent / "template"
_SAMPLE = _TEMPLATES / "softmax.c"


def create_package(
    name: str, source: Path | None = None, folder: Path | None = None
) -> tuple[Path, ...]:
    """Make a package whose functions are those of one file in C or C++.

    Parameters
    ----------
    name : str
        Name of the distribution, as in ``pip install``; that of the module follows from it.
    source : pathlib.Path, optional
        The file, which is copied; by default a softmax in C.
    folder : pathlib.Path, optional
        Where the package is made; by default a folder of its name, here.

    Returns
    -------
    tuple of pathlib.Path
        The files written, relative to the folder.

    Raises
    ------
    FileExistsError
        If one of the files is there; nothing is written then.
    OSError
        If files cannot be read or written.
    ValueError
        If a name or the source is not what a package can be made from.
    """
    module = module_name(name)
    path = _SAMPLE if source is None else source
    if not re.fullmatch(r"\w[\w.+-]*", path.name, re.ASCII):  # build files name it as it is
        raise ValueError(f"{path}: the file's name may have letters, digits and any of _.+-")
    signatures = exported_signatures(path)
    folder = Path(name) if folder is None else folder
    code = path.read_text(encoding="utf-8")
    words = _words(name, module, path, signatures)
    files = {
        "CMakeLists.txt": _filled("CMakeLists.txt.in", words),
        "pyproject.toml": _filled("pyproject.toml.in", words),
        "README.md": _filled("README.md.in", words),
        f"src/{path.name}": code if source else _without_licence(code),
        f"python/{module}/__init__.py": _filled("__init__.py.in", words),
        f"python/{module}/_library.py": _filled("_library.py.in", words),
        f"python/{module}/_library.pyi": _stubs(signatures),
        f"python/{module}/py.typed": "",
        "tests/test_signatures.py": _filled("test_signatures.py.in", words),
    }
    if source is None:
        files["tests/test_softmax.py"] = _filled("test_softmax.py.in", words)
    _write(folder, files)
    return tuple(map(Path, files))


def _words(name: str, module: str, path: Path, signatures: list[Signature]) -> dict[str, str]:
    """Return what stands for each word between two @ in a template."""
    names = list(map(_name_of, signatures))
    texts = [str(replace(signature, doc=None)) for signature in signatures]
    packages = ["pytest", "mypy", *(["numpy"] if path == _SAMPLE else [])]
    return {
        "NAME": name,
        "MODULE": module,
        "SOURCE": path.name,
        "LANGUAGE": LANGUAGES[path.suffix],
        "NAMES": json.dumps(names),
        "IMPORTS": ", ".join(names),
        "ASSIGNMENTS": "\n".join(f'{name} = _LIBRARY["{name}"]' for name in names),
        "SIGNATURES": "\n".join(f"    {text!r}," for text in texts),
        "SIGNATURE_LINES": "\n".join(texts),
        "FIRST": names[0],
        "TEST_PACKAGES": ", ".join(map(json.dumps, packages)),
        "TEST_PACKAGES_SHELL": " ".join(packages),
    }


def _stubs(signatures: list[Signature]) -> str:
    """Return what tvm-ffi-stubgen writes for the library, once it is built."""
    # Loaded late: whoever asks for the names of a package has no use for the binding.
    from ..stub._stubgen.python.library_file import library_file

    functions = {signature.name: signature for signature in sorted(signatures, key=_name_of)}
    return "".join(f"{line}\n" for line in library_file(functions, class_name=None, indent=4))


def _name_of(signature: Signature) -> str:
    return signature.name


def _filled(template: str, words: dict[str, str]) -> str:
    text = _without_licence((_TEMPLATES / template).read_text(encoding="utf-8"))
    return re.sub(r"@([A-Z_]+)@", lambda word: words[word[1]], text)


def _without_licence(text: str) -> str:
    """Return a template without its first line: a new package has the licence of its author."""
    return text.partition("\n")[2]


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write all files, or raise and leave the folder without any."""
    for name in files:
        path = folder / name
        if path.exists() or path.is_symlink():
            raise FileExistsError(f"{path} exists, and nothing is overwritten")
    written: list[Path] = []
    try:
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as stream:
                written.append(path)
                stream.write(text)
    except OSError:
        for path in written:
            with contextlib.suppress(OSError):
                path.unlink()
        raise
