// SPDX-License-Identifier: Apache-2.0
//! Modules: libraries of functions, loaded from files or linked into the program.

use std::fmt;
use std::path::Path;

use crate::error::{Error, Result};
use crate::function::Function;
use crate::handle::handle;
use crate::object::ObjectRef;

/// A library of functions, loaded as long as anybody needs it.
#[derive(Clone)]
pub struct Module {
    object: ObjectRef,
}

// SAFETY: modules are asked for functions from any thread; they lock what they change.
unsafe impl Send for Module {}
// SAFETY: as above.
unsafe impl Sync for Module {}

handle! { Module, kTVMFFIModule, "ffi.Module" }

impl Module {
    /// Load a library.  Its code runs, so it is trusted like one that is linked.
    ///
    /// # Errors
    /// What the loader says; ValueError for a path that is no UTF-8.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let text = path
            .to_str()
            .ok_or_else(|| Error::value_error(format!("the path {path:?} is no UTF-8")))?;
        Function::global("ffi.ModuleLoadFromFile")?.call((text,))
    }

    /// The functions that were linked into the program under a prefix; see ahead-of-time programs.
    ///
    /// # Errors
    /// What the runtime says.
    pub fn system_library(prefix: &str) -> Result<Self> {
        Function::global("ffi.SystemLib")?.call((prefix,))
    }

    /// Look up a function of the module, and of what it imports.
    ///
    /// # Errors
    /// AttributeError when there is none of this name.
    pub fn function(&self, name: &str) -> Result<Function> {
        self.find_function(name)?.ok_or_else(|| {
            Error::new("AttributeError", format!("the module has no function '{name}'"))
        })
    }

    /// Look up a function; None when there is none of this name.
    ///
    /// # Errors
    /// What the module says.
    pub fn find_function(&self, name: &str) -> Result<Option<Function>> {
        Function::global("ffi.ModuleGetFunction")?.call((self, name, true))
    }
}

impl fmt::Debug for Module {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "<module at {:?}>", self.object.as_ptr())
    }
}
