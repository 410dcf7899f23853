// SPDX-License-Identifier: Apache-2.0
//! Build script: finds libtvm_ffi and links the tests of this crate with it.
//!
//! A program that depends on the crate needs a build script that reads the folder of libtvm_ffi
//! from `DEP_TVM_FFI_LIBDIR`. A `cdylib` is linked without libtvm_ffi: the loader resolves its
//! symbols in the process that loads it.

use std::path::Path;
use std::process::Command;

/// Return the folder of libtvm_ffi: `TVM_FFI_LIBDIR`, else the output of `tvm-ffi-config --libdir`.
fn library_folder() -> Option<String> {
    if let Ok(folder) = std::env::var("TVM_FFI_LIBDIR") {
        return Some(folder);
    }
    let output = Command::new("tvm-ffi-config").arg("--libdir").output().ok()?;
    let folder = String::from_utf8(output.stdout).ok()?.trim().to_string();
    (output.status.success() && Path::new(&folder).is_dir()).then_some(folder)
}

fn main() {
    println!("cargo:rerun-if-env-changed=TVM_FFI_LIBDIR");
    println!("cargo:rerun-if-env-changed=PATH");
    println!("cargo:rerun-if-changed=build.rs");
    if let Some(folder) = library_folder() {
        // Cargo uses these linker arguments only for the tests and programs of this package.
        println!("cargo:rustc-link-arg=-L{folder}");
        println!("cargo:rustc-link-arg=-ltvm_ffi");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
        // Build scripts of dependent packages receive this value as DEP_TVM_FFI_LIBDIR.
        println!("cargo:libdir={folder}");
    }
}
