# SPDX-License-Identifier: Apache-2.0
"""Dicts with attacker-chosen keys whose native hashes collide, see docs/design/hash-flooding.

Converting such a dict to a Map took seconds: each key was compared with all earlier keys.
"""

from __future__ import annotations

import itertools
import time

import pytest

import tvm_ffi


def colliding_keys(count):
    """Return keys of eight letters with the same hash.

    The hash is the letters' value modulo 2^31 - 1, where the second half has twice the weight.
    """
    digits = itertools.islice(itertools.product(range(15), repeat=4), count)
    return [
        bytes([122 - 2 * digit for digit in key] + [65 + digit for digit in key]).decode()
        for key in digits
    ]


@pytest.mark.parametrize("make", [tvm_ffi.Map, tvm_ffi.Dict, tvm_ffi.convert])
def test_dicts_with_colliding_keys_are_refused(make):
    mapping = dict.fromkeys(colliding_keys(40000))
    begin = time.process_time()
    with pytest.raises(ValueError, match="more than 512 keys of the map have colliding hashes"):
        make(mapping)
    assert time.process_time() - begin < 2


def test_the_permitted_number_of_colliding_keys_is_accepted():
    assert len(tvm_ffi.Map(dict.fromkeys(colliding_keys(512)))) == 512


def test_large_dicts_without_collisions_are_accepted():
    assert len(tvm_ffi.Map({f"key {number}": number for number in range(50000)})) == 50000
