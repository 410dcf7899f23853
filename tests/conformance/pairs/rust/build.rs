// SPDX-License-Identifier: Apache-2.0
//! Links the program, but not the library, with libtvm_ffi.

fn main() {
    if let Ok(folder) = std::env::var("DEP_TVM_FFI_LIBDIR") {
        println!("cargo:rustc-link-arg-bins=-L{folder}");
        println!("cargo:rustc-link-arg-bins=-ltvm_ffi");
    }
}
