// SPDX-License-Identifier: Apache-2.0
// Images embedded in an object file, with the symbols that a linker would define.
extern "C" {
extern const char __tvm_ffi__cubin_fake_linear[] = "FAKE add scale";
extern const char __tvm_ffi__cubin_fake_linear_end[] = "";
extern const char __tvm_ffi__cubin_fake_broken[] = "BROKEN";
extern const char __tvm_ffi__cubin_fake_broken_end[] = "";
}
