// SPDX-License-Identifier: Apache-2.0
// Registrations that a library repeats while it is being loaded.
//
// A second copy of a library, say one wheel installed under two paths, registers from its static
// initialisers what the first copy has registered.  An error there ends the process, since nobody
// can catch it; so the first registration stays, and a warning tells what happened.  Everywhere
// else a caller reads the error, and gets it.
#ifndef TVM_FFI_RUNTIME_CORE_DUPLICATE_REGISTRATION_H_
#define TVM_FFI_RUNTIME_CORE_DUPLICATE_REGISTRATION_H_

#include <string_view>

namespace tvm::ffi::runtime {

// Start of the library whose initialisers the system's loader is running on this thread; null when
// it is running none.  Walks the stack: for paths that are not hot.  Call it without locks: it
// waits for the loader's own.
const void* LibraryBeingInitialised() noexcept;

// For a registration that repeats one which code at `registrant` has made.  If a library is being
// loaded, warns on stderr, once for each library, and answers true: the first one stays.  If none
// is, the caller raises.  `what` is "global function" and the like.
bool WarnIfLibraryIsLoading(const char* what, std::string_view name, const void* registrant);

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_DUPLICATE_REGISTRATION_H_
