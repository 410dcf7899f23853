# SPDX-License-Identifier: Apache-2.0
"""Dask: compiled kernels on arrays, on a cluster of two processes.  Prints ``done`` last."""

from __future__ import annotations

import os
import pickle
import shutil
import tempfile
from pathlib import Path

import dask.array as da
import numpy as np
import pytest
from dask.base import tokenize
from distributed import Client, LocalCluster
from guide_page import run_guide

import tvm_ffi
import tvm_ffi.cpp
from tvm_ffi.interop.dask import ship

KERNELS = """
#include <unistd.h>
#include <cstring>
using tvm::ffi::TensorView;

void Scale(TensorView x, TensorView y, double factor) {
  const double* in = static_cast<const double*>(x.data_ptr());
  double* out = static_cast<double*>(y.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) out[i] = factor * in[i];
}

void ScaleRows(TensorView x, TensorView y) { Scale(x, y, 2); }

void AnyShape(TensorView x, TensorView y) {}

void Increment(TensorView x) {
  double* data = static_cast<double*>(x.data_ptr());
  for (int64_t i = 0; i < x.numel(); ++i) data[i] += 1;
}

int64_t Process() { return getpid(); }

double Total(TensorView x) {
  const double* data = static_cast<const double*>(x.data_ptr());
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += data[i];
  return sum;
}

void Fail(TensorView x, TensorView y) { TVM_FFI_THROW(ValueError) << "no such luck"; }

void Wide(TensorView x, TensorView y) { Scale(x, y, 2); }

void Bare(TensorView x, TensorView y) { Scale(x, y, 2); }
"""
SIGNATURES = {
    "Scale": "Scale(x: float64*[n], y: out float64*[n], factor: float = 2.0)",
    "ScaleRows": "ScaleRows(x: float64*[n, m], y: out float64*[n, m])",
    "AnyShape": "AnyShape(x: float64[...], y: out float64[...])",
    "Increment": "Increment(x: inout float64[n])",
    "Process": "Process() -> int",
    "Total": "Total(x: float64[n]) -> float",
    "Wide": "Wide(x: float64[n] align 256, y: out float64[n] align 256)",
    "Fail": "Fail(x: float64[n], y: out float64[n])",
    "Bare": "",
}


def library(folder: Path) -> Path:
    """Build a library that is not on the workers' path."""
    path = tvm_ffi.cpp.build_inline("dask_kernels", cpp_sources=KERNELS, functions=SIGNATURES)
    return Path(shutil.copy(path, folder / "dask_kernels.so"))


def check_functions_travel_by_path(client: Client, path: Path) -> None:
    """Workers that see the same files need no shipped files."""
    module = tvm_ffi.load_module(path)

    def double(block):
        out = np.empty_like(block)
        module.Scale(block, out)
        return out

    x = da.arange(8, chunks=2, dtype=float)
    assert x.map_blocks(double, dtype=float).compute().tolist() == [2.0 * i for i in range(8)]
    assert client.submit(module.Process).result() != os.getpid()
    print("functions travel by path")


def check_shipped_library(client: Client, path: Path) -> None:
    hidden = path.with_name("hidden.so")
    kernels = ship(client, tvm_ffi.load_module(path))
    assert kernels.Process() == os.getpid()
    path.rename(hidden)  # another folder, so that workers have only the shipped files
    try:
        x = da.arange(10, chunks=3, dtype=float)
        y = x.map_blocks(kernels.Scale, factor=0.5, dtype=float)
        assert y.compute().tolist() == [0.5 * i for i in range(10)]
        assert float((y + 1).sum().compute()) == 32.5
        for num_workers in (2, 3):
            client.cluster.scale(num_workers)
            client.wait_for_workers(num_workers, timeout=60)
            found = {
                client.submit(kernels.Process, workers=[worker], pure=False).result()
                for worker in client.scheduler_info()["workers"]
            }
            assert len(found - {os.getpid()}) == num_workers
    finally:
        hidden.rename(path)
    print("shipped library")


def check_blocks(client: Client, path: Path) -> None:
    kernels = ship(client, path)
    x = da.ones((4, 6), chunks=(2, 3))
    assert kernels.ScaleRows(np.ones((2, 2))).tolist() == [
        [2.0, 2.0],
        [2.0, 2.0],
    ]  # the functions run in this process too
    assert x.map_blocks(kernels.ScaleRows, dtype=float).compute().tolist() == [[2.0] * 6] * 4
    row = da.from_array(np.zeros(4), chunks=2)
    new = row.map_blocks(kernels.Increment, dtype=float)
    assert (new + row).compute().tolist() == [1.0] * 4  # blocks that have other users are unchanged
    overlap = da.map_overlap(kernels.Scale, row + 1, depth=1, boundary=0, dtype=float)
    assert overlap.compute().tolist() == [2.0] * 4
    blockwise = da.blockwise(kernels.ScaleRows, "ij", x, "ij", dtype=float)
    assert blockwise.sum().compute() == 48
    print("blocks")


def check_memory_that_lies_anywhere(client: Client, path: Path) -> None:
    """Arrays that a worker receives are views into the middle of a message."""
    kernels = ship(client, path)
    for size in range(6):
        array = np.arange(size, dtype=float)
        assert client.submit(kernels.Total, array).result() == array.sum()
        misaligned = np.zeros(8 * size + 1, np.uint8)[1:].view(float)
        misaligned[:] = array
        assert kernels.Total(misaligned) == array.sum()
        assert kernels.Wide(misaligned).tolist() == (2 * array).tolist()
        assert kernels.Increment(misaligned).tolist() == (array + 1).tolist()
        assert misaligned.tolist() == array.tolist()
    print("memory that lies anywhere")


def check_names(client: Client, path: Path) -> None:
    kernels, same = ship(client, path), ship(client, path)
    assert tokenize(kernels.Scale) == tokenize(same.Scale)
    assert tokenize(kernels.Scale) != tokenize(kernels.Increment)
    assert tokenize(kernels) == tokenize(pickle.loads(pickle.dumps(kernels)))
    assert repr(kernels.Scale).startswith(
        "<ShippedFunction Scale of <ShippedModule dask_kernels.so"
    )
    print("names")


def check_bad_input(client: Client, path: Path) -> None:
    kernels = ship(client, path)
    x = da.ones(4, chunks=2)
    with pytest.raises(ValueError, match="no such luck"):
        x.map_blocks(kernels.Fail, dtype=float, meta=x).compute()
    with pytest.raises(ValueError, match="argument 'x' must have dtype float64, got int64"):
        x.astype(int).map_blocks(kernels.Scale, dtype=float, meta=x).compute()
    with pytest.raises(TypeError, match="Scale: .*factr"):
        x.map_blocks(kernels.Scale, factr=1, dtype=float, meta=x).compute()
    with pytest.raises(ValueError, match="AnyShape: the signature does not say which shape output"):
        x.map_blocks(kernels.AnyShape, dtype=float, meta=x).compute()
    with pytest.raises(AttributeError, match="Scael.*Scale"):
        kernels.Scael  # noqa: B018  (asking is what fails)
    with pytest.raises(TypeError, match="loaded from a file, got .*; export it as a library first"):
        ship(client, tvm_ffi.system_lib())
    with pytest.raises(FileNotFoundError, match="no_such_file"):
        ship(client, "no_such_file.so")
    assert x.map_blocks(kernels.Scale, dtype=float).compute().tolist() == [2.0] * 4
    lost = type(kernels)("elsewhere/lost.so", "0" * 64)
    with pytest.raises(FileNotFoundError, match="lost.so was not shipped to this process; call"):
        client.submit(lost.module).result()
    print("bad input")


def check_functions_without_a_signature(client: Client, path: Path) -> None:
    kernels = ship(client, path)

    def double(block):
        out = np.empty_like(block)
        kernels.Bare(tvm_ffi.readonly(block), out)
        return out

    x = da.arange(4, chunks=2, dtype=float)
    assert x.map_blocks(double, dtype=float).compute().tolist() == [0.0, 2.0, 4.0, 6.0]
    print("functions without a signature")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = library(Path(folder))
        with (
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster) as client,
        ):
            check_functions_travel_by_path(client, path)
            check_shipped_library(client, path)
            check_blocks(client, path)
            check_memory_that_lies_anywhere(client, path)
            check_names(client, path)
            check_bad_input(client, path)
            check_functions_without_a_signature(client, path)
    run_guide("dask.md")
    print("done")


if __name__ == "__main__":
    main()
