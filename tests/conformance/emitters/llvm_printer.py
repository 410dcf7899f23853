# SPDX-License-Identifier: Apache-2.0
"""Wrap a function in LLVM IR by a wrapper in LLVM IR that this package prints."""

from llvmlite import ir

from tvm_ffi.codegen import llvm

I32, F32, POINTER = ir.IntType(32), ir.FloatType(), ir.PointerType()
kernels = ir.Module("kernels")
square = ir.Function(kernels, ir.FunctionType(ir.VoidType(), [POINTER, POINTER, I32]), "square")
begin, head, body, end = (square.append_basic_block() for _ in range(4))
code = ir.IRBuilder(begin)
code.branch(head)
code.position_at_end(head)
i = code.phi(I32)
i.add_incoming(I32(0), begin)
code.cbranch(code.icmp_signed("<", i, square.args[2]), body, end)
code.position_at_end(body)
value = code.load(code.gep(square.args[0], [i], source_etype=F32), typ=F32)
code.store(code.fmul(value, value), code.gep(square.args[1], [i], source_etype=F32))
i.add_incoming(code.add(i, I32(1)), body)
code.branch(head)
code.position_at_end(end)
code.ret_void()
llvm.emit_wrapper(
    kernels, "square(x: float32[n], y: out float32[n])", square, arguments=["x", "y", "int32 n"]
)
llvm.export_library("emitted.so", [llvm.jit(kernels)])
