# SPDX-License-Identifier: Apache-2.0
"""Values sent to fresh processes and back: pools of multiprocessing, and Dask."""

from __future__ import annotations

import importlib.util
import json
import multiprocessing
import os
import subprocess
import sys
from pathlib import Path

import elsewhere
import numpy as np
import pytest
import values_to_send

TIMEOUT_S = 120


@pytest.fixture
def pool():
    """Return a pool of two spawned processes, which share no state with this one."""
    workers = multiprocessing.get_context("spawn").Pool(2)
    yield workers
    workers.close()
    workers.join()


def test_values_are_sent_to_spawned_processes_and_back(pool, kernel_library):
    values = values_to_send.of_every_kind(str(kernel_library))
    there, returned, process = pool.apply_async(elsewhere.describe, (values,)).get(TIMEOUT_S)
    back, _, _ = elsewhere.describe(returned)
    for described in (there, back):
        assert json.loads(json.dumps(described)) == values_to_send.EXPECTED
    assert process != os.getpid()


def test_functions_are_mapped_over_spawned_processes(pool, kernels):
    jobs = [(kernels.count, np.arange(i), "text") for i in range(8)]
    results = pool.starmap_async(elsewhere.call, jobs, chunksize=1).get(TIMEOUT_S)
    assert [result for result, _ in results] == [2] * 8
    assert os.getpid() not in {process for _, process in results}


def test_errors_are_raised_from_spawned_processes(pool, kernels):
    job = pool.apply_async(elsewhere.call, (kernels["raise"], "KeyError", "far away"))
    with pytest.raises(KeyError, match="far away"):
        job.get(TIMEOUT_S)


@pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="Dask's package distributed is missing"
)
def test_values_are_sent_to_dask_workers_and_back(kernel_library):
    library = str(kernel_library)
    done = subprocess.run(
        [sys.executable, str(Path(elsewhere.__file__).with_name("dask_client.py")), library],
        env={**os.environ, "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "60s"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    expected = values_to_send.EXPECTED
    assert json.loads(done.stdout) == {
        "there": expected,
        "and back": expected,
        "is another process": True,
        "lambdas": [0.5, 1.5, 2.5, 3.5],
    }
