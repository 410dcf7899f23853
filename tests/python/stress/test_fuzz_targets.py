# SPDX-License-Identifier: Apache-2.0
"""The Python fuzz targets with their seeds and some hundred damaged copies of each.

Findings of coverage-guided fuzzing are added to the seeds, so that this test covers them.
"""

from __future__ import annotations

import importlib
import random
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "fuzz"
ROUNDS = 300


TARGETS = [
    "device_image",
    "inspect",
    "json_dialect",
    "manifest",
    "recording",
    "signature",
    "state",
    "type_schema",
]


@pytest.fixture(params=TARGETS)
def target(request, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    yield request.param
    del sys.modules[f"{request.param}_fuzz"]  # the fuzz module keeps objects alive


def damaged(seed, source):
    """Return a copy of the seed that is truncated or has changed bytes."""
    content = bytearray(seed)
    for _ in range(source.randrange(1, 8)):
        content[source.randrange(len(content))] = source.choice([0, 1, 0x7F, 0xFF, 0x22, 0x7B])
    return bytes(content[: source.randrange(1, 2 * len(content))])


def test_the_target_accepts_seeds_and_damaged_copies(target):
    check = importlib.import_module(f"{target}_fuzz").check
    source = random.Random(target)
    folder = FOLDER / "seeds" / target
    seeds = [path.read_bytes() for path in folder.iterdir()] if folder.is_dir() else []
    for seed in seeds:
        check(seed)
    seeds.append(source.randbytes(64))
    for _ in range(ROUNDS):
        check(damaged(source.choice(seeds), source))
        check(source.randbytes(source.randrange(64)))
