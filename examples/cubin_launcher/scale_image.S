/* SPDX-License-Identifier: Apache-2.0
 *
 * Puts the compiled device code into an object file, under the names that TVM_FFI_EMBED_CUBIN(scale)
 * refers to.  The assembler looks for the file where -Wa,-I says. */
    .section .rodata
    .balign 64
    .globl __tvm_ffi__cubin_scale
    .hidden __tvm_ffi__cubin_scale
__tvm_ffi__cubin_scale:
    .incbin "scale.fatbin"
    .globl __tvm_ffi__cubin_scale_end
    .hidden __tvm_ffi__cubin_scale_end
__tvm_ffi__cubin_scale_end:
    .section .note.GNU-stack,"",%progbits
