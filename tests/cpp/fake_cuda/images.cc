// SPDX-License-Identifier: Apache-2.0
// Images as a linker would add them to a library.
extern "C" {
extern const char __tvm_ffi__cubin_fake_linear[] = "FAKE add scale";
extern const char __tvm_ffi__cubin_fake_linear_end[] = "";
extern const char __tvm_ffi__cubin_fake_broken[] = "BROKEN";
extern const char __tvm_ffi__cubin_fake_broken_end[] = "";
}
