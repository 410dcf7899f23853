# SPDX-License-Identifier: Apache-2.0
"""Compile a network with Apache TVM, run, export, reload, record and save it."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "published"))

import numpy as np
import tvm
from replays import replayed
from tvm import relax
from tvm.relax.frontend import nn


class Network(nn.Module):
    """A network of two layers."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(24, 16)
        self.relu = nn.ReLU()
        self.second = nn.Linear(16, 10)

    def forward(self, x):
        return self.second(self.relu(self.first(x)))


module, named = Network().export_tvm({"forward": {"x": nn.spec.Tensor((1, 24), "float32")}})
random = np.random.default_rng(1)
data = random.random((1, 24), dtype="float32")
weights = [random.random(tuple(int(n) for n in p.shape), dtype="float32") for _, p in named]
expected = np.maximum(data @ weights[0].T + weights[1], 0) @ weights[2].T + weights[3]


def check(executable):
    machine = relax.VirtualMachine(executable, tvm.cpu())
    result = machine["forward"](*map(tvm.runtime.tensor, [data, *weights]))
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-4)


executable = tvm.compile(module, tvm.target.Target("llvm"))
check(executable)
executable.export_library("network.so")
with replayed("ffi.Module*", "vm_*", "forward", modules=("tvm",)):
    check(tvm.runtime.load_module(str(Path("network.so").resolve())))

text = tvm.ir.save_json(module)
tvm.ir.assert_structural_equal(module, tvm.ir.load_json(text))
assert "def forward" in module.script()
try:
    tvm.ir.assert_structural_equal(module, tvm.IRModule())
except ValueError as error:
    assert "forward" in str(error), error
else:
    raise AssertionError("a difference was not found")
print("done")
