// SPDX-License-Identifier: Apache-2.0
// Metadata that callers attach to functions of a module; it overrides the module's own metadata.
//
// The metadata is in a side table because the layout of modules is part of the ABI and third-party
// code implements kinds of modules.
#ifndef TVM_FFI_RUNTIME_EXTRA_MODULE_ATTACHED_METADATA_H_
#define TVM_FFI_RUNTIME_EXTRA_MODULE_ATTACHED_METADATA_H_

#include <tvm/ffi/extra/module.h>

namespace tvm::ffi::extra {

struct AttachedMetadata {
  Optional<String> metadata;  // JSON text
  Optional<String> doc;
};

// Attaches metadata to a function of a module and replaces the metadata that was attached to it
// earlier.  If `metadata` is empty, only removes the earlier metadata.
void AttachMetadata(const Module& module, const String& name, AttachedMetadata metadata);

// Returns the metadata that is attached to a function of a module; empty if there is none.  In a
// process that never attaches metadata, a call costs one atomic read.
AttachedMetadata FindAttachedMetadata(const ModuleObj* module, const String& name);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_MODULE_ATTACHED_METADATA_H_
