# SPDX-License-Identifier: Apache-2.0
"""Embedding of cubins into object files, for the macro ``TVM_FFI_EMBED_CUBIN``.

The cubin is written to an object file, which ``ld -r`` merges with the object file that uses the
macro.  ``objcopy`` then makes the symbols local, so that several objects of one library may embed
cubins under the same name.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from .._internal.terminal import is_output_error, run_command
from .._library.object_file import machine_of, write_object

__all__ = ["embed_cubin", "main"]

_SYMBOL_PREFIX = "__tvm_ffi__cubin_"
_PROGRAM = "python -m tvm_ffi.utils.embed_cubin"
_ALIGNMENT = 64  # bytes; the documentation of TVM_FFI_EMBED_CUBIN promises this alignment


def embed_cubin(
    cubin_path: Path, input_obj_path: Path, output_obj_path: Path, name: str, verbose: bool = False
) -> None:
    """Write a copy of an object file with an embedded cubin.

    Parameters
    ----------
    cubin_path : path
        The cubin file.
    input_obj_path : path
        Object file whose source contains ``TVM_FFI_EMBED_CUBIN(name)``.
    output_obj_path : path
        The object file to write; may be `input_obj_path`.  It is not modified on failure.
    name : str
        Argument of the macro; consists of letters, digits and underscores.
    verbose : bool
        Whether to print the ``ld`` and ``objcopy`` commands.

    Raises
    ------
    FileNotFoundError
        If the cubin or the input object file does not exist.
    ValueError
        If `name` contains other characters.
    RuntimeError
        If ``ld`` or ``objcopy`` fails or is missing; the message has the command and its output.

    Notes
    -----
    The cubin is read-only data with an alignment of 64 bytes, between the local symbols
    ``__tvm_ffi__cubin_<name>`` and ``__tvm_ffi__cubin_<name>_end``.
    """
    cubin, input_obj = Path(cubin_path), Path(input_obj_path)
    for path, label in ((cubin, "CUBIN"), (input_obj, "Input object")):
        if not path.exists():
            raise FileNotFoundError(f"{label} file not found: {path}")
    if re.fullmatch(r"\w+", name, re.ASCII) is None:
        raise ValueError(f"name must consist of letters, digits and underscores, got {name!r}")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        _make_object(cubin, folder / "bytes.o", name, machine_of(input_obj))
        _merge(folder, input_obj.resolve(), name, verbose)
        shutil.copyfile(folder / "merged.o", output_obj_path)


def _make_object(cubin: Path, target: Path, name: str, machine: str | None) -> None:
    """Write an object file with a cubin, and with symbols at the cubin's start and end."""
    symbol = f"{_SYMBOL_PREFIX}{name}"
    with target.open("wb") as file:
        write_object(
            file,
            symbol,
            [cubin.read_bytes()],
            machine,
            end_symbol=f"{symbol}_end",
            alignment=_ALIGNMENT,
        )


def _merge(folder: Path, input_obj: Path, name: str, verbose: bool) -> None:
    """Write the file merged.o: the input object file linked with the cubin in bytes.o."""
    _run(["ld", "-r", "-o", "merged.o", str(input_obj), "bytes.o"], folder, verbose)
    symbol = f"{_SYMBOL_PREFIX}{name}"
    command = ["objcopy", "--localize-symbol", symbol, "--localize-symbol", f"{symbol}_end"]
    _run([*command, "merged.o"], folder, verbose)


def _run(command: list[str], folder: Path, verbose: bool) -> None:
    if verbose:
        print(" ".join(command))
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        raise RuntimeError(f"cannot find the program {command[0]}; install GNU binutils") from error
    if done.returncode != 0:
        raise RuntimeError(
            f"{command[0]} failed with status {done.returncode}\n"
            f"Command: {' '.join(command)}\nstdout: {done.stdout}\nstderr: {done.stderr}"
        )


def main() -> int:
    """Run the command line and return the exit status.

    0: success, 1: a file is missing or the output cannot be written, 2: ``ld`` or ``objcopy``
    failed, 3: other errors.
    """
    status: int = run_command(_PROGRAM, _run_command_line)
    return status


def _run_command_line() -> int:
    parser = argparse.ArgumentParser(
        prog=_PROGRAM,
        description="Embed a cubin for TVM_FFI_EMBED_CUBIN(NAME) into an object file.",
    )
    parser.add_argument(
        "--output-obj", type=Path, required=True, metavar="PATH", help="output file"
    )
    parser.add_argument("--input-obj", type=Path, required=True, metavar="PATH", help="input file")
    parser.add_argument("--cubin", type=Path, required=True, metavar="PATH", help="cubin to embed")
    parser.add_argument("--name", required=True, help="the name in TVM_FFI_EMBED_CUBIN(NAME)")
    parser.add_argument("-v", "--verbose", action="store_true", help="print the commands")
    options = parser.parse_args()
    try:
        embed_cubin(
            options.cubin, options.input_obj, options.output_obj, options.name, options.verbose
        )
    except (FileNotFoundError, RuntimeError, OSError, ValueError) as error:
        if is_output_error(error):
            raise
        print(f"Error: {error}", file=sys.stderr)
        return _status_of(error)
    return 0


def _status_of(error: Exception) -> int:
    if isinstance(error, FileNotFoundError):
        return 1
    return 2 if isinstance(error, RuntimeError) else 3


if __name__ == "__main__":
    sys.exit(main())
