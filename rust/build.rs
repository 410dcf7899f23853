// SPDX-License-Identifier: Apache-2.0
//! Finds libtvm_ffi for programs: the crate's own tests, and those of crates that depend on it.
//!
//! A library that is loaded into a process with the runtime needs none of this: its symbols are
//! resolved there.

use std::path::Path;
use std::process::Command;

/// The folder of libtvm_ffi: `TVM_FFI_LIBDIR`, else what the installed Python package says.
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
        // These reach the tests of this package alone.
        println!("cargo:rustc-link-arg=-L{folder}");
        println!("cargo:rustc-link-arg=-ltvm_ffi");
        println!("cargo:rustc-link-arg=-Wl,-rpath,{folder}");
        // And this the build scripts of its users, as DEP_TVM_FFI_LIBDIR.
        println!("cargo:libdir={folder}");
    }
}
