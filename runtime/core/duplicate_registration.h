// SPDX-License-Identifier: Apache-2.0
// Duplicate registrations by a library that the system's loader is loading.
//
// The static initialisers of a second copy of a library, for example of one wheel that is installed
// under two paths, register the same types and functions as the first copy.  An exception from a
// static initialiser would end the process, so the first registration stays in effect and a warning
// is printed.  Everywhere else, a duplicate registration is an error for the caller.
#ifndef TVM_FFI_RUNTIME_CORE_DUPLICATE_REGISTRATION_H_
#define TVM_FFI_RUNTIME_CORE_DUPLICATE_REGISTRATION_H_

#include <string_view>

namespace tvm::ffi::runtime {

// Handles a duplicate of a registration that code at the address `registrant` made.  If the loader
// is loading a library on this thread, prints a warning, once per library, and returns true: the
// first registration stays in effect.  Otherwise returns false, and the caller must raise an error.
//
// kind  the kind of registration for the message, such as "global function"
bool WarnIfLibraryIsLoading(const char* kind, std::string_view name, const void* registrant);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_DUPLICATE_REGISTRATION_H_
