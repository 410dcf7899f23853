# SPDX-License-Identifier: Apache-2.0
"""Reader of recordings: damaged files are refused with one sentence."""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tvm_ffi
from tvm_ffi.observe import Recording, RecordingFileError
from tvm_ffi.observe._recorded_values import DamagedValueError, Words

UNIT = 1 << 16
SENTENCE = r"[^\n]*run.tvmrec: expected .*; the file is damaged or is not a recording"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Return the path, the content and the calls of a recording."""
    path = tmp_path_factory.mktemp("recording") / "run.tvmrec"
    echo = tvm_ffi.convert_func(lambda *args: args[0] if args else None)
    array = np.arange(12, dtype="float32").reshape(3, 4)
    with tvm_ffi.record(path, contents="all"):
        for i in range(50):
            echo(i, "text " * 5, array[::-1], [i, {"a": i}])
            echo(array)
    return path, path.read_bytes(), Recording(path).calls


def read(path, content):
    path.write_bytes(content)
    return Recording(path).calls


def end_of_records(content):
    """Return the offset of the first zero after the records of the last chunk."""
    return len(content.rstrip(b"\0"))


@given(seed=st.integers(0, 2**32))
def test_damaged_bytes_are_refused(recorded, seed):
    path, content, calls = recorded
    source = random.Random(seed)
    damaged = bytearray(content)
    for _ in range(source.choice([1, 1, 2, 20])):
        offset = source.choice(
            [source.randrange(72), source.randrange(UNIT, end_of_records(content) + 64)]
        )
        damaged[offset] = source.randrange(256)
    if damaged == content:
        return
    # The words of a chunk's kind are unused by the reader.
    with_kind = bytearray(damaged)
    for start in range(UNIT, len(content), UNIT):
        if content[start : start + 8] == b"TVMCHUNK":
            with_kind[start + 16 : start + 24] = content[start + 16 : start + 24]
    try:
        found = read(path, bytes(damaged))
    except RecordingFileError as error:
        assert str(error).startswith(f"{path}: expected ")  # noqa: PT017
        assert "\n" not in str(error)  # noqa: PT017
    else:
        # A chunk that seems to be cleared is left out, and a checksum of 0 is an unfinished record.
        assert len(found) < len(calls) or with_kind == content


@given(content=st.binary(max_size=400))
def test_arbitrary_bytes_are_refused(recorded, content):
    path = recorded[0]
    for text in (content, b"TVMREC\r\n" + content, (b"TVMREC\r\n" + content).ljust(UNIT, b"\0")):
        with pytest.raises(RecordingFileError, match=SENTENCE):
            read(path, text)


@given(content=st.binary(max_size=200))
def test_arbitrary_words_are_a_value_or_damaged(content):
    words = Words(content)
    try:
        while not words.is_at_end:
            words.value()
    except DamagedValueError:
        pass


def test_a_record_that_was_not_finished_is_left_out(recorded):
    """The process may die at each word of the last record."""
    path, content, calls = recorded
    # The chunks end with records of different kinds; the last one of each has no checksum.
    for start in range(UNIT, len(content), UNIT):
        if content[start : start + 8] != b"TVMCHUNK":
            continue
        offset, last = start + 32, 0
        while struct.unpack_from("<Q", content, offset + 8)[0] != 0:
            last, offset = offset, offset + struct.unpack_from("<Q", content, offset)[0] % 2**56
        for kept in range(0, offset - last, 8):
            torn = bytearray(content)
            torn[last + kept : offset] = bytes(offset - last - kept)
            torn[last + 8 : last + 16] = bytes(8)  # the checksum is written last
            if start == UNIT:  # the definitions of the functions and libraries
                continue
            found = read(path, bytes(torn))
            assert len(found) in (len(calls), len(calls) - 1)


def test_a_file_that_was_cut_is_refused(recorded):
    path, content, _ = recorded
    for size in (0, 7, 100, UNIT - 1, UNIT + 100, len(content) - 1, len(content) - UNIT):
        with pytest.raises(RecordingFileError, match=SENTENCE):
            read(path, content[:size])


def test_another_version_is_named(recorded):
    path, content, _ = recorded
    words = list(struct.unpack_from("<9Q", content))
    words[2] = 7
    checksum = sum(word << 64 * i for i, word in enumerate(words)) % (2**64 - 1)
    with pytest.raises(RecordingFileError, match="expected format 1 of recordings, got 7"):
        read(path, struct.pack("<10Q", *words, checksum) + content[80:])


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        Recording(tmp_path / "missing.tvmrec")
