// SPDX-License-Identifier: Apache-2.0
//! Modules: libraries loaded from files or linked into the program.

use std::fmt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::function::Function;
use crate::handle::handle;
use crate::object::ObjectRef;

/// A reference to a module: an object with functions that are found by name.
#[derive(Clone)]
pub struct Module {
    object: ObjectRef,
}

// SAFETY: the ABI permits lookups from any thread; modules lock their mutable state.
unsafe impl Send for Module {}
// SAFETY: the ABI permits lookups from several threads at the same time.
unsafe impl Sync for Module {}

handle! { Module, kTVMFFIModule, "ffi.Module" }

impl Module {
    /// Load a library and return its module. Load only trusted files, because loading runs code of
    /// the library.
    ///
    /// # Errors
    /// The error of the loader; ValueError for a path that is not valid UTF-8.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = path.to_str().ok_or_else(|| {
            Error::value_error(format!("expected a path in valid UTF-8, got {path:?}"))
        })?;
        Function::global("ffi.ModuleLoadFromFile")?.call((text,))
    }

    /// Return the system library: the module of the functions that are linked into the program. A
    /// lookup of a function in this module tries the name with `prefix` first, then the name
    /// without `prefix`.
    ///
    /// # Errors
    /// The error of the runtime function.
    pub fn system_library(prefix: &str) -> Result<Self> {
        Function::global("ffi.SystemLib")?.call((prefix,))
    }

    /// Look up a function in the module and its imports.
    ///
    /// # Errors
    /// AttributeError if the module has no function of this name.
    pub fn function(&self, name: &str) -> Result<Function> {
        self.find_function(name)?.ok_or_else(|| {
            Error::new("AttributeError", format!("the module has no function '{name}'"))
        })
    }

    /// Look up a function in the module and its imports; return None if no module has it.
    ///
    /// # Errors
    /// The error of the module.
    pub fn find_function(&self, name: &str) -> Result<Option<Function>> {
        Function::global("ffi.ModuleGetFunction")?.call((self, name, true))
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<module at {:?}>", self.object.as_ptr())
    }
}
