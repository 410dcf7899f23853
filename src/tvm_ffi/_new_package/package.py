# SPDX-License-Identifier: Apache-2.0
"""Creation of a package from the template files; either all files are written or none."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import replace
from pathlib import Path

from .._version import __version__
from ..signature import Signature
from .names import module_name
from .source import LANGUAGES, exported_signatures

__all__ = ["create_package"]

_TEMPLATES = Path(__file__).parent / "template"
_SAMPLE = _TEMPLATES / "softmax.c"


def create_package(
    name: str, source: Path | None = None, folder: Path | None = None
) -> tuple[Path, ...]:
    """Create a Python package with the exported functions of one C or C++ file.

    Parameters
    ----------
    name : str
        Name of the distribution, as in ``pip install``; the module name is derived from it.
    source : pathlib.Path, optional
        The C or C++ file, which is copied into the package.  By default a softmax in C.
    folder : pathlib.Path, optional
        Folder to create.  By default the folder `name` in the working directory.

    Returns
    -------
    tuple of pathlib.Path
        Paths of the written files, relative to `folder`.

    Raises
    ------
    FileExistsError
        If one of the files exists already; then no file is written.
    OSError
        If a file cannot be read or written.
    ValueError
        If `name` is invalid, or `source` exports no functions with signatures.
    """
    module = module_name(name)
    path = _SAMPLE if source is None else source
    # Check the file name, because build files contain it.
    if not re.fullmatch(r"\w[\w.+-]*", path.name, re.ASCII):
        raise ValueError(f"{path}: expected a file name of letters, digits and _.+-")
    signatures = exported_signatures(path)
    folder = Path(name) if folder is None else folder
    code = path.read_text(encoding="utf-8")
    values = _template_values(name, module, path, signatures)
    files = {
        "CMakeLists.txt": _filled("CMakeLists.txt.in", values),
        "pyproject.toml": _filled("pyproject.toml.in", values),
        "README.md": _filled("README.md.in", values),
        f"src/{path.name}": code if source else _without_licence(code),
        f"python/{module}/__init__.py": _filled("__init__.py.in", values),
        f"python/{module}/_library.py": _filled("_library.py.in", values),
        f"python/{module}/_library.pyi": _stubs(signatures),
        f"python/{module}/py.typed": "",
        "tests/test_signatures.py": _filled("test_signatures.py.in", values),
    }
    if source is None:
        files["tests/test_softmax.py"] = _filled("test_softmax.py.in", values)
    _write(folder, files)
    return tuple(map(Path, files))


def _template_values(
    name: str, module: str, path: Path, signatures: list[Signature]
) -> dict[str, str]:
    """Return the replacement of each ``@WORD@`` in the template files."""
    names = list(map(_name_of, signatures))
    texts = [str(replace(signature, doc=None)) for signature in signatures]
    packages = ["pytest", "mypy", *(["numpy"] if path == _SAMPLE else [])]
    return {
        "NAME": name,
        # Without the local part of a version, which no requirement with >= may have.
        "REQUIREMENT": f"pytvmffi>={__version__.partition('+')[0]}",
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
    """Return the stubs that tvm-ffi-stubgen would write for the built library."""
    # Imported here: `names` must be usable without the binding.
    from ..stub._stubgen.python.library_file import library_file

    functions = {signature.name: signature for signature in sorted(signatures, key=_name_of)}
    return "".join(f"{line}\n" for line in library_file(functions, class_name=None, indent=4))


def _name_of(signature: Signature) -> str:
    return signature.name


def _filled(template: str, values: dict[str, str]) -> str:
    text = _without_licence((_TEMPLATES / template).read_text(encoding="utf-8"))
    return re.sub(r"@([A-Z_]+)@", lambda key: values[key[1]], text)


def _without_licence(text: str) -> str:
    """Return a template file without its licence line; the package's author chooses a licence."""
    return text.partition("\n")[2]


def _write(folder: Path, files: dict[str, str]) -> None:
    """Write all files; on failure, remove the files that were written and raise the error."""
    for name in files:
        path = folder / name
        if path.exists() or path.is_symlink():
            raise FileExistsError(
                f"{path} exists already, and `tvm-ffi new` does not overwrite files"
            )
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
