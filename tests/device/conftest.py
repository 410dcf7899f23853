# SPDX-License-Identifier: Apache-2.0
"""Device tests, ``make test-device``: the GPU or the fake CUDA driver, and a table of outcomes.

Without a GPU, the process loads the fake driver under the name of the real one.  It records calls,
and a callback does the work of the kernel on host memory that claims to be device memory.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import fake_driver
import pytest

# The folder of the results; `make test-device` sets it.  Other runs of pytest must not collect the
# tests, because the fake driver stays in the process.
RESULTS = os.environ.get("TVM_FFI_DEVICE_RESULTS", "")
collect_ignore_glob = [] if RESULTS else ["*"]
ROWS = "device-benchmarks.json"
DRIVER = pytest.StashKey[str]()
FAKE = "the fake driver: this machine has no GPU"


def pytest_configure(config: pytest.Config) -> None:
    """Find the GPU; without one, build and load the fake driver, also for child processes."""
    if not RESULTS:
        return
    Path(RESULTS, ROWS).unlink(missing_ok=True)
    config.stash[DRIVER] = name = _gpu_name() or FAKE
    if name == FAKE:
        folder = tempfile.mkdtemp(prefix="fake_driver")
        config.add_cleanup(lambda: shutil.rmtree(folder))
        ctypes.CDLL(str(fake_driver.build(Path(folder))))
        os.environ["LD_LIBRARY_PATH"] = folder
        os.environ["TVM_FFI_CUDA_ARCH_LIST"] = "9.0"
    os.environ["XLA_PYTHON_CLIENT_PREALLOCATE"] = "false"  # JAX leaves memory to the others


def _gpu_name() -> str | None:
    """Return the name of the first GPU, or None; a GPU that the driver cannot use is an error."""
    try:
        listed = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
        has_gpu = listed.returncode == 0 and "GPU 0" in listed.stdout
    except OSError:
        has_gpu = False
    name = ctypes.create_string_buffer(256)
    try:
        driver = ctypes.CDLL("libcuda.so.1")
        status = driver.cuInit(0) or driver.cuDeviceGetName(name, len(name), 0)
        reason = f"cuInit or cuDeviceGetName returned {status}" if status else ""
    except (OSError, AttributeError) as error:
        reason = str(error)
    if not reason:
        return name.value.decode()
    if has_gpu:
        raise pytest.UsageError(f"nvidia-smi lists a GPU that the driver cannot use: {reason}")
    return None


# ---- The GPU and its stand-in --------------------------------------------------------------------


class GPU:
    """The GPU, with PyTorch's memory and streams."""

    is_fake = False

    def __init__(self) -> None:
        self.torch = pytest.importorskip("torch")
        major, minor = self.torch.cuda.get_device_capability()
        self.architecture = f"sm_{major}{minor}"
        self.name = self.torch.cuda.get_device_name()

    def vector(self) -> Any:
        """Return 12 float32 numbers 0, 1, ... on the device."""
        return self.torch.arange(12.0, device="cuda")

    def fill(self, vector: Any, value: float) -> None:
        vector.fill_(value)

    def values(self, vector: Any) -> list[float]:
        return vector.tolist()

    def working(self) -> AbstractContextManager[Any]:
        """Return a context in which kernels run and results get memory."""
        return ExitStack()

    @contextmanager
    def stream(self) -> Iterator[None]:
        """Make a busy stream current: a kernel on another stream would run before a fill."""
        stream = self.torch.cuda.Stream()
        self.torch.cuda.synchronize()
        with self.torch.cuda.stream(stream):
            self.torch.cuda._sleep(50_000_000)  # cycles: some 30 ms
            yield
        stream.synchronize()

    def fail(self, function: str, status: int) -> None:
        """Make the fake driver fail; a GPU fails by itself."""


class FakeGPU(GPU):
    """The fake driver, which knows one kernel's work: that of ``scale_f32``."""

    is_fake = True
    architecture = "sm_90"
    name = FAKE

    def __init__(self) -> None:
        import fake_device  # after the fake driver
        import fake_device_launches

        self.device, self.work = fake_device, fake_device_launches.scale

    def vector(self) -> Any:
        return self.device.vector()

    def fill(self, vector: Any, value: float) -> None:
        vector.data[:] = [value] * 12

    def values(self, vector: Any) -> list[float]:
        if hasattr(vector, "data"):
            return list(vector.data)
        tensor = self.device.forged.read_versioned(vector.__dlpack__(max_version=(1, 3))).tensor
        return list((ctypes.c_float * tensor.shape[0]).from_address(tensor.data))

    @contextmanager
    def working(self) -> Iterator[None]:
        self.device.driver.fake_driver_on_launch(self.work, None)
        self.device.calls()
        with self.device.Allocator():
            yield
        self.device.driver.fake_driver_reset()

    @contextmanager
    def stream(self) -> Iterator[None]:
        import tvm_ffi

        self.device.calls()
        with tvm_ffi.use_raw_stream(tvm_ffi.device("cuda"), 0x1234):
            yield
        streams = [line.rpartition(" ")[2] for line in self.device.calls("cuLaunch")]
        assert streams
        assert set(streams) == {"0x1234)"}

    def fail(self, function: str, status: int) -> None:
        self.device.driver.fake_driver_fail(function.encode(), status, 0)


@pytest.fixture(scope="session")
def _device(pytestconfig: pytest.Config) -> GPU:
    return FakeGPU() if pytestconfig.stash[DRIVER] == FAKE else GPU()


@pytest.fixture
def gpu(_device: GPU) -> Iterator[GPU]:
    """Return the GPU or the fake driver."""
    with _device.working():
        yield _device


@pytest.fixture
def torch(pytestconfig: pytest.Config) -> Any:
    """Return PyTorch with a GPU; skip the test on the fake driver."""
    if pytestconfig.stash[DRIVER] == FAKE:
        pytest.skip("needs a GPU")
    return pytest.importorskip("torch")


# ---- The table -----------------------------------------------------------------------------------


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print a line for each test, with the reason why it was skipped, then the benchmark rows."""
    if not RESULTS:
        return
    terminalreporter.section(f"device tests on {config.stash[DRIVER]}")
    for outcome in ("passed", "failed", "error", "skipped"):
        for report in terminalreporter.stats.get(outcome, ()):
            if report.when == "call" or outcome != "passed":
                test = report.nodeid.removeprefix("tests/").removeprefix("device/")
                reason = report.longrepr[2] if outcome == "skipped" else ""
                seconds = getattr(report, "duration", 0.0)  # a file that is skipped has none
                line = f"{outcome:8}{seconds:7.2f} s  {test}  {reason}"
                terminalreporter.write_line(line.rstrip())
    rows = Path(RESULTS, ROWS)
    if rows.is_file():
        for row in json.loads(rows.read_text("utf-8"))["rows"]:
            cells = ", ".join(f"{name} {value}" for name, value in row["cells"].items())
            terminalreporter.write_line(f"{row['label']}: {cells}")
