/* SPDX-License-Identifier: Apache-2.0
 *
 * A library whose embedded bytes declare a size beyond their symbol: the bytes after the symbol,
 * which would complete them, must not be read. */
__asm__(
    ".section .rodata\n"
    ".globl __tvm_ffi__library_bin\n"
    ".type __tvm_ffi__library_bin, %object\n"
    "__tvm_ffi__library_bin:\n"
    ".byte 44, 0, 0, 0, 0, 0, 0, 0\n" /* bytes that follow */
    ".byte 2, 0, 0, 0, 0, 0, 0, 0\n"  /* row pointers */
    ".byte 0, 0, 0, 0, 0, 0, 0, 0\n"
    ".byte 0, 0, 0, 0, 0, 0, 0, 0\n"
    ".size __tvm_ffi__library_bin, 32\n"
    ".byte 0, 0, 0, 0, 0, 0, 0, 0\n" /* imports */
    ".byte 4, 0, 0, 0, 0, 0, 0, 0\n"
    ".ascii \"_lib\"\n"
    ".text\n");
