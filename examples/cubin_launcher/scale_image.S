/* SPDX-License-Identifier: Apache-2.0
 *
 * Embeds the device image scale.fatbin in an object file, between the symbols that the macro
 * TVM_FFI_EMBED_CUBIN(scale) declares.  The option -Wa,-I names the folder of scale.fatbin. */
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
