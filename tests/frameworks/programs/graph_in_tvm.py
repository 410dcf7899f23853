# SPDX-License-Identifier: Apache-2.0
"""A compiled graph as a node of a module that Apache TVM compiles: `call_dps_packed`."""

from __future__ import annotations

import graph_library
import numpy as np
import tvm
from tvm import relax

import tvm_ffi

module = graph_library.load()
tvm_ffi.register_global_func("graph_in_tvm.classify", module.classify)
arrays = graph_library.inputs()

builder = relax.BlockBuilder()
tensors = [
    relax.Var(name, relax.TensorType(array.shape, "float32"))
    for name, array in zip(("x", "w1", "b1", "w2", "b2"), arrays)
]
with builder.function("main", tensors):
    output = relax.TensorType((5, 3), "float32")
    call = relax.call_dps_packed("graph_in_tvm.classify", tensors, out_ty=output)
    builder.emit_func_output(builder.emit(call))
machine = relax.VirtualMachine(tvm.compile(builder.get(), target="llvm"), tvm.cpu())

result = machine["main"](*(tvm.runtime.tensor(array) for array in arrays))
wanted = graph_library.expected(*arrays)
np.testing.assert_allclose(result.numpy(), wanted, rtol=1e-5, atol=1e-6)
print("done")
