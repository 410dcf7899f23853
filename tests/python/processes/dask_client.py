# SPDX-License-Identifier: Apache-2.0
"""A program that sends values to two Dask workers and prints the results as JSON.

Its argument is the path of a library.  It runs in a separate process, because Dask leaves threads
and sockets behind that would disturb other tests.
"""

from __future__ import annotations

import json
import os
import sys

import elsewhere
import values_to_send
from distributed import Client, LocalCluster

import tvm_ffi


def main() -> None:
    """Send values of every kind to a worker and back; send functions that the worker calls."""
    values = values_to_send.of_every_kind(sys.argv[1])
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        Client(cluster) as client,
    ):
        client.wait_for_workers(2)
        described, returned, worker = client.submit(elsewhere.describe, values).result(timeout=60)
        here, _, _ = elsewhere.describe(returned)
        # Dask pickles lambdas by value, and so it pickles function objects that wrap lambdas.
        local = tvm_ffi.convert_func(lambda x: x + 0.5)
        results = client.gather([client.submit(elsewhere.call, local, i) for i in range(4)])
    report = {
        "there": described,
        "and back": here,
        "is another process": worker != os.getpid(),
        "lambdas": [result for result, _ in results],
    }
    print(json.dumps(report))


if __name__ == "__main__":
    main()
