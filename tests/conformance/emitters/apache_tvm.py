# SPDX-License-Identifier: Apache-2.0
"""Export a function that Apache TVM compiles for the host, through the target in the argument."""

import sys

import tvm
from tvm import te

n = te.var("n")
x = te.placeholder((n,), name="x", dtype="float32")
y = te.compute((n,), lambda i: x[i] + 1.0, name="y")
function = te.create_prim_func([x, y]).with_attr("global_symbol", "add")
library = tvm.compile(tvm.IRModule({"add": function}), target=sys.argv[1])
library.export_library("emitted.so")
