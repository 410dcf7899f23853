# SPDX-License-Identifier: Apache-2.0
"""Writer of small ELF shared libraries, whose functions are Python functions.

A case of modules needs a file that the runtime loads, and the kit brings no compiled code. Each
function of such a library is one jump to an address in a slot of the library. The case loads the
library, too, and stores the address of a Python callback in the slot.
"""

from __future__ import annotations

import ctypes
import platform
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from .. import abi
from ..elf import MACHINES, PT_DYNAMIC, PT_GNU_STACK, PT_LOAD
from .case import Absent

# Distance between the segments: at least the size of a page on every supported machine.
_PAGE = 0x10000
_HEADERS = 64 + 4 * 56
_CODE_SIZE = 16
_TEXT, _DATA = 0, 1  # kinds of symbols, and the segments that hold them


def _jump(distance: int) -> bytes:
    """Return the code of a jump to the address that is stored `distance` bytes after the code."""
    machine = platform.machine()
    if machine == "x86_64":
        return b"\xff\x25" + struct.pack("<i", distance - 6)  # jmp *distance(%rip)
    if machine == "aarch64":
        load = 0x58000010 | distance // 4 << 5  # ldr x16, distance
        return struct.pack("<II", load, 0xD61F0200)  # br x16
    raise Absent(f"the kit writes no libraries for {machine}")


def library_content(functions: list[str], data: dict[str, bytes]) -> bytes:
    """Return the content of a shared library.

    Parameters
    ----------
    functions : list of str
        Names of functions. The slot of each is the data symbol ``slot_NAME``.
    data : dict
        Initial content of the other data symbols.
    """
    slots = {f"slot_{name}": bytes(8) for name in functions}
    strings, symbols, memory = b"\0", [(0, 0, 0, 0)], bytearray()
    start_of_code = _HEADERS
    for number, name in enumerate(functions):
        symbols.append((len(strings), _TEXT, start_of_code + number * _CODE_SIZE, _CODE_SIZE))
        strings += name.encode() + b"\0"
    for name, content in {**slots, **data}.items():
        symbols.append((len(strings), _DATA, _PAGE + len(memory), len(content)))
        strings += name.encode() + b"\0"
        memory += content + bytes(-len(content) % 16)
    code = b"".join(
        # The slots come first in the data segment, 16 bytes apart.
        _jump(_PAGE + number * 16 - (start_of_code + number * _CODE_SIZE)).ljust(_CODE_SIZE, b"\0")
        for number in range(len(functions))
    )
    table = b"".join(
        struct.pack("<IBBHQQ", name, (2 if kind == _TEXT else 1) | 16 if name else 0, 0,
                    1 if name else 0, value, size)
        for name, kind, value, size in symbols
    )  # fmt: skip
    # One bucket, whose chain has all symbols.
    chain = [*range(len(symbols) - 1)]
    hashes = struct.pack("<IIII", 1, len(symbols), len(symbols) - 1, 0)
    hashes += struct.pack(f"<{len(chain)}I", *chain)
    start_of_table = start_of_code + len(code)
    start_of_strings = start_of_table + len(table)
    start_of_hashes = -(-(start_of_strings + len(strings)) // 8) * 8
    tags = [(6, start_of_table), (5, start_of_strings), (4, start_of_hashes), (10, len(strings)),
            (11, 24), (0, 0)]  # fmt: skip
    start_of_dynamic = _PAGE + len(memory)
    memory += b"".join(struct.pack("<QQ", *tag) for tag in tags)
    text = code + table + strings
    text = text.ljust(start_of_hashes - start_of_code, b"\0") + hashes
    machine = {name: number for number, name in MACHINES.items()}[platform.machine()]
    header = b"\x7fELF\2\1\1".ljust(16, b"\0")
    header += struct.pack("<HHIQQQIHHHHHH", 3, machine, 1, 0, 64, 0, 0, 64, 56, 4, 64, 0, 0)
    size = _HEADERS + len(text)
    segments = [
        (PT_LOAD, 5, 0, size), (PT_LOAD, 6, _PAGE, len(memory)),
        (PT_DYNAMIC, 6, start_of_dynamic, 16 * len(tags)), (PT_GNU_STACK, 6, 0, 0),
    ]  # fmt: skip
    for kind, flags, start, length in segments:
        align = _PAGE if kind == PT_LOAD else 8
        header += struct.pack("<IIQQQQQQ", kind, flags, start, start, start, length, length, align)
    return (header + text).ljust(_PAGE, b"\0") + bytes(memory)


class Library:
    """A library in a file, loaded by this process as well.

    Parameters
    ----------
    path : Path
        The file.
    functions : dict
        Callables with the parameters of `TVMFFISafeCallType` by symbol.
    data : dict
        Content of data symbols.
    """

    def __init__(
        self, path: Path, functions: dict[str, Callable[..., int]], data: dict[str, bytes]
    ) -> None:
        path.write_bytes(library_content(list(functions), data))
        self.path = str(path)
        self.library = ctypes.CDLL(self.path)
        kind = abi.callback("TVMFFISafeCallType")
        self.callbacks = {name: kind(body) for name, body in functions.items()}
        for name, callback in self.callbacks.items():
            self.word(f"slot_{name}").value = ctypes.cast(callback, ctypes.c_void_p).value

    def word(self, name: str) -> Any:
        """Return the 8 bytes of a data symbol as a writable integer."""
        return ctypes.c_uint64.in_dll(self.library, name)


@contextmanager
def library(
    functions: dict[str, Callable[..., int]] | None = None,
    data: dict[str, bytes] | None = None,
    suffix: str = "so",
) -> Iterator[Library]:
    """Write a library into a temporary folder and load it."""
    with TemporaryDirectory() as folder:
        yield Library(Path(folder, f"kit.{suffix}"), functions or {}, data or {})
