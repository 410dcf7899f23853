# SPDX-License-Identifier: Apache-2.0
"""Recordings: the reader of the files of `tvm_ffi.record`.

A file whose process was killed is whole: records that were not finished are left out.  A damaged
file is refused.  `runtime/extra/observe/record_file.h` has the format.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ._observer import UNNAMED
from ._recorded_values import Content, DamagedValueError, RecordedTensor, Words

__all__ = ["CONTENTS", "RecordedCall", "Recording", "RecordingFileError"]

CONTENTS = ("none", "digest", "all", "error")  # `Contents` in record_values.h

_FILE_MARK = b"TVMREC\r\n"
_CHUNK_MARK = b"TVMCHUNK"
_VERSION = 1
_UNIT = 1 << 16
_CHUNK_HEADER = 32
_HEADER = struct.Struct("<8sIIQQQQQQQQQQ")
_MODULUS = 2**64 - 1
_LIBRARY, _FUNCTION, _CALL, _RESULT, _CHANGE = 1, 2, 3, 4, 5


class RecordingFileError(ValueError):
    """The file is damaged, or is not a recording."""


class RecordedCall(NamedTuple):
    """A call of a recording.

    Attributes
    ----------
    number : int
        The number of the call, from 1 in the order in which the calls of all threads began.
    name : str
        The name of the function.
    library : str
        The path of the library with the code of the function; "" if it is unknown.
    library_digest : int
        The XXH64 digest of the library file when the function was first called; 0 if unknown.
    thread : int
        The number of the thread, from 1 in the order of the first calls.
    caller : int
        The number of the recorded call during which the same thread called, or 0.
    stream : int
        The stream of the first argument on a device, or 0.
    arguments : tuple
        The arguments before the call: Python values, and `RecordedTensor` and similar classes.
    status : int or None
        0 for success, None if the call did not end.
    result : object
        The result, or a `RecordedError`.
    contents : dict
        Contents of tensors after the call, by index of the argument and of the tensor in it.
    """

    number: int
    name: str
    library: str
    library_digest: int
    thread: int
    caller: int
    stream: int
    arguments: tuple[Any, ...]
    status: int | None
    result: Any
    contents: dict[tuple[int, int], bytes | int | None]


class Recording:
    """The calls in a file of `tvm_ffi.record`.

    Parameters
    ----------
    path : path
        The file, after the recorder was stopped or its process has ended.

    Attributes
    ----------
    calls : list of RecordedCall
        The calls in the order in which they began.
    contents : str
        The option `contents` of the recorder.
    last : int or None
        The option `last` of the recorder.
    process : int
        The number of the recorded process.
    num_dropped : int
        The number of calls that were not recorded, because the disk was full.

    Raises
    ------
    RecordingFileError
        If the file is damaged, or is not a recording.
    OSError
        If the file cannot be read.

    Examples
    --------
    >>> import tempfile, tvm_ffi
    >>> path = tempfile.mkdtemp() + "/run.tvmrec"
    >>> with tvm_ffi.record(path):
    ...     _ = tvm_ffi.get_global_func("ffi.Shape")(2, 3)
    >>> from tvm_ffi.observe import Recording
    >>> [(call.name, call.arguments) for call in Recording(path).calls]
    [('ffi.Shape', (2, 3))]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._bytes = self.path.read_bytes()
        self._read_header()
        self.calls = self._read_calls()

    def _refuse(self, expected: str, offset: int) -> RecordingFileError:
        return RecordingFileError(
            f"{self.path}: expected {expected} at byte {offset}; the file is damaged or is not a "
            "recording"
        )

    def _read_header(self) -> None:
        if len(self._bytes) < _UNIT or not self._bytes.startswith(_FILE_MARK):
            raise self._refuse("the header of a recording", 0)
        (_, order, _, version, unit, process, start_ns, contents, max_bytes, last, checksum, *rest
        ) = _HEADER.unpack_from(self._bytes)  # fmt: skip
        if order != 0x01020304:
            raise self._refuse("a header from a little-endian processor", 8)
        if int.from_bytes(self._bytes[:72], "little") % _MODULUS != checksum % _MODULUS:
            raise self._refuse("the checksum of the header", 72)
        if version != _VERSION or unit != _UNIT:
            raise RecordingFileError(
                f"{self.path}: expected format {_VERSION} of recordings, got {version}; read the "
                "file with the version of tvm_ffi that wrote it"
            )
        if contents >= len(CONTENTS):
            raise self._refuse("a known kind of contents", 48)
        self.process, self.start_ns = process, start_ns
        self.contents, self.max_bytes, self.last = CONTENTS[contents], max_bytes, last or None
        self.num_dropped, self.error = rest

    def _records(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield offset, kind and payload of each finished record."""
        offset, end = _UNIT, len(self._bytes)
        while offset + _CHUNK_HEADER <= end:
            mark, size, kind, state = struct.unpack_from("<8sQQQ", self._bytes, offset)
            if mark == bytes(8):  # the process was killed before it wrote the header
                size = _UNIT
                if any(self._bytes[offset : offset + size]) and size != 0:
                    raise self._refuse("a chunk", offset)
            elif mark != _CHUNK_MARK or size == 0 or size % _UNIT != 0 or kind not in (0, 1, 2):
                raise self._refuse("a chunk", offset)
            elif state not in (0, 1):
                raise self._refuse("the state of a chunk", offset + 24)
            elif state == 1 and offset + size > end:
                raise self._refuse(f"a chunk of {size} bytes", offset)
            elif state == 1:
                yield from self._records_of_chunk(offset, offset + size)
            offset += size

    def _records_of_chunk(self, start: int, end: int) -> Iterator[tuple[int, int, bytes]]:
        offset = start + _CHUNK_HEADER
        calls: dict[int, bytes] = {}  # the payloads of whole calls, by their offsets in the chunk
        while offset + 16 <= end:
            head, checksum = struct.unpack_from("<QQ", self._bytes, offset)
            size, kind = head & (2**56 - 1), head >> 56
            if checksum == 0:  # the end, or the record that was not finished
                rest = offset + max(size, 16)
                if rest > end or self._bytes.count(0, rest, end) != end - rest:
                    raise self._refuse("zeros after the last record", offset)
                return
            if size < 16 or size % 8 != 0 or offset + size > end:
                raise self._refuse("the size of a record", offset)
            payload = self._bytes[offset + 16 : offset + size]
            total = head + int.from_bytes(payload, "little")
            if total % _MODULUS != checksum % _MODULUS:
                raise self._refuse("a record with its checksum", offset)
            if kind == _CALL:
                calls[offset - start] = payload
            elif kind == _CHANGE:
                template = calls.get(int.from_bytes(payload[:8], "little"), b"")
                kind, payload = _CALL, _changed(template, payload[8:])
                if not payload:
                    raise self._refuse("a change of a call", offset)
            yield offset, kind, payload
            offset += size

    def _read_calls(self) -> list[RecordedCall]:
        libraries: dict[int, tuple[str, int]] = {}
        functions: dict[int, tuple[str, int]] = {}
        begins: dict[bytes, tuple[int, Words]] = {}  # a call may be in two chunks
        results: dict[int, tuple[int, Words]] = {}
        tensors: dict[bytes, RecordedTensor] = {}
        for offset, kind, payload in self._records():
            words = Words(payload, tensors)
            try:
                if kind == _LIBRARY:
                    number, digest = words.word(), words.word()
                    libraries[number] = words.text(), digest
                elif kind == _FUNCTION:
                    number, library = words.word(), words.word()
                    functions[number] = words.text(), library
                elif kind == _CALL:
                    begins[payload[:8]] = offset, words
                elif kind == _RESULT:
                    results[words.word()] = offset, words
                else:
                    raise DamagedValueError
            except DamagedValueError as error:
                raise self._refuse("a record of a known kind", offset) from error
        calls = []
        for offset, words in begins.values():
            where = offset
            try:
                number, (function, thread) = words.word(), words.pair()
                caller, stream, (count, _) = words.word(), words.word(), words.pair()
                arguments = tuple(words.value() for _ in range(count))
                if not words.is_at_end:
                    raise DamagedValueError
                name, library = functions[function]
                path, digest = libraries[library]
                status: int | None = None
                result: Any = None
                contents: dict[tuple[int, int], Content] = {}
                if number in results:
                    where, rest = results[number]
                    status, result, contents = _read_result(rest)
            except (DamagedValueError, KeyError) as error:
                raise self._refuse("the values of a call", where) from error
            calls.append(
                RecordedCall(number, name or UNNAMED, path, digest, thread, caller, stream,
                             arguments, status, result, contents)
            )  # fmt: skip
        calls.sort(key=lambda call: call.number)
        return calls


def _changed(template: bytes, change: bytes) -> bytes:
    """Return the payload of a call with some words replaced; empty if the change is damaged."""
    num_masks = (len(template) // 8 + 63) // 64
    mask = int.from_bytes(change[: 8 * num_masks], "little")
    words = change[8 * num_masks :]
    if len(words) != 8 * bin(mask).count("1") or mask >> (len(template) // 8):
        return b""
    payload = bytearray(template)
    for i in range(0, len(words), 8):
        lowest = (mask & -mask).bit_length() - 1
        payload[8 * lowest : 8 * lowest + 8] = words[i : i + 8]
        mask &= mask - 1
    return bytes(payload)


def _read_result(words: Words) -> tuple[int, Any, dict[tuple[int, int], Content]]:
    status, count = words.pair()
    result = words.value()
    contents = {}
    for _ in range(count):
        key = words.pair()
        contents[key] = words.content()
    if not words.is_at_end:
        raise DamagedValueError
    return status, result, contents
