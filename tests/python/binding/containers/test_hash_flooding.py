# SPDX-License-Identifier: Apache-2.0
"""Dicts whose keys somebody chose so that the native hash collides, see docs/design/hash-flooding.

Such a dict took seconds to become a Map: the native table compared each key with all before it.
"""

from __future__ import annotations

import itertools
import time

import pytest

import tvm_ffi


def colliding_keys(count):
    """Eight letters are one number modulo 2^31 - 1, and those of the second half count twice."""
    digits = itertools.islice(itertools.product(range(15), repeat=4), count)
    return [
        bytes([122 - 2 * digit for digit in key] + [65 + digit for digit in key]).decode()
        for key in digits
    ]


@pytest.mark.parametrize("make", [tvm_ffi.Map, tvm_ffi.Dict, tvm_ffi.convert])
def test_dicts_with_colliding_keys_are_refused(make):
    mapping = dict.fromkeys(colliding_keys(40000))
    begin = time.process_time()
    with pytest.raises(ValueError, match="More than 512 keys have colliding hashes"):
        make(mapping)
    assert time.process_time() - begin < 2


def test_as_many_as_are_allowed():
    assert len(tvm_ffi.Map(dict.fromkeys(colliding_keys(512)))) == 512


def test_ordinary_large_dicts():
    assert len(tvm_ffi.Map({f"key {number}": number for number in range(50000)})) == 50000
