// SPDX-License-Identifier: Apache-2.0
//
// Kernel in MLIR's LLVM dialect, as a compiler generates it: y[i] += a * x[i].
builtin.module {
  llvm.func @saxpy(%x: !llvm.ptr, %y: !llvm.ptr, %n: i64, %a: f32) {
    %zero = llvm.mlir.constant(0 : i64) : i64
    %one = llvm.mlir.constant(1 : i64) : i64
    llvm.br ^head(%zero : i64)
  ^head(%i: i64):
    %more = llvm.icmp "slt" %i, %n : i64
    llvm.cond_br %more, ^body, ^end
  ^body:
    %x_i = llvm.getelementptr %x[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %y_i = llvm.getelementptr %y[%i] : (!llvm.ptr, i64) -> !llvm.ptr, f32
    %left = llvm.load %x_i : !llvm.ptr -> f32
    %right = llvm.load %y_i : !llvm.ptr -> f32
    %product = llvm.fmul %a, %left : f32
    %sum = llvm.fadd %product, %right : f32
    llvm.store %sum, %y_i : f32, !llvm.ptr
    %next = llvm.add %i, %one : i64
    llvm.br ^head(%next : i64)
  ^end:
    llvm.return
  }
}
