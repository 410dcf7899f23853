# SPDX-License-Identifier: Apache-2.0
"""Fuzz target of recordings: arbitrary records in a chunk give calls, or `RecordingFileError`.

The target computes the checksums, because the fuzzer could not guess them.
"""

from __future__ import annotations

import struct
import tempfile

import coverage_guided

with coverage_guided.instrumented(__name__):
    from tvm_ffi.observe import Recording, RecordingFileError, call_script, compare
    from tvm_ffi.observe._recorded_values import describe

_UNIT = 1 << 16
_MODULUS = 2**64 - 1


def _record(kind: int, payload: bytes) -> bytes:
    payload += bytes(-len(payload) % 8)
    head = 16 + len(payload) | kind << 56
    checksum = (head + int.from_bytes(payload, "little")) % _MODULUS
    return struct.pack("<QQ", head, checksum or _MODULUS) + payload


def _file(records: bytes) -> bytes:
    header = struct.pack("<8sIIQQQQQQQ", b"TVMREC\r\n", 0x01020304, 8, 1, _UNIT, 1, 0, 2, 99, 0)
    header += struct.pack("<Q", int.from_bytes(header, "little") % _MODULUS)
    size = -(-(32 + len(records)) // _UNIT) * _UNIT
    chunk = struct.pack("<8sQQQ", b"TVMCHUNK", size, 2, 1) + records
    return header.ljust(_UNIT, b"\0") + chunk.ljust(size, b"\0")


def check(data: bytes) -> None:
    """Read a recording with two known functions; each byte pair begins a record."""
    records = _record(1, struct.pack("<QQQ", 0, 5, 8) + b"lib.so\0\0")
    records += _record(2, struct.pack("<QQQ", 0, 0, 1) + b"f")
    while len(data) > 1:
        kind, count = data[0] % 6, data[1]
        records += _record(kind, data[2 : 2 + count])
        data = data[2 + count :]
    try:
        with tempfile.NamedTemporaryFile() as file:
            file.write(_file(records))
            file.flush()
            recording = Recording(file.name)
    except RecordingFileError as error:
        assert "\n" not in str(error)  # noqa: PT017
        return
    for call in recording.calls:
        assert all(isinstance(describe(value), str) for value in (*call.arguments, call.result))
        try:
            compile(call_script(call), "call.py", "exec")
        except ValueError:  # the call has an object
            continue
    assert compare(recording, recording) is None


if __name__ == "__main__":
    coverage_guided.run(check)
