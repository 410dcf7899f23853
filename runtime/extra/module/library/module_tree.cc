// SPDX-License-Identifier: Apache-2.0
#include "module/library/module_tree.h"

#include <tvm/ffi/any.h>
#include <tvm/ffi/function.h>

#include <map>
#include <optional>
#include <utility>
#include <vector>

namespace tvm::ffi::extra {
namespace {

std::string LoaderName(std::string_view kind) {
  return "ffi.Module.load_from_bytes." + std::string(kind);
}

[[noreturn]] void ThrowLoaderIsMissing(std::string_view kind, const std::string& library) {
  TVM_FFI_THROW(RuntimeError) << "Library binary was created using {" << kind
                              << "} but a loader of that name is not registered. Failed to load "
                              << library << ": it embeds a module of kind `" << kind
                              << "`, which the global function `" << LoaderName(kind)
                              << "` would make. First import the Python package that registers "
                                 "this function, or load the library that contains it"
                              << (kind == "cuda" ? "; for kernels that TVM or TileLang compiled, "
                                                   "tvm_ffi.cuda.register_tvm_loader() in Python "
                                                   "registers one"
                                                 : "");
  TVM_FFI_UNREACHABLE();
}

using Loaders = std::map<std::string_view, Function>;

Loaders FindLoaders(const LibraryBinary& binary, const std::string& library) {
  Loaders loaders;
  for (const LibraryBinary::Entry& entry : binary.entries) {
    if (entry.IsLibrary() || loaders.count(entry.kind) > 0) continue;
    std::optional<Function> loader = Function::GetGlobal(LoaderName(entry.kind));
    if (!loader.has_value()) ThrowLoaderIsMissing(entry.kind, library);
    loaders.emplace(entry.kind, *std::move(loader));
  }
  return loaders;
}

Module LoadEntry(const LibraryBinary::Entry& entry, const Function& loader,
                 const std::string& library) {
  Any loaded = loader(Bytes(entry.payload.data(), entry.payload.size()));
  if (std::optional<Module> module = loaded.as<Module>()) return *std::move(module);
  TVM_FFI_THROW(TypeError) << "Failed to load " << library << ": the loader `"
                           << LoaderName(entry.kind) << "` must return `ffi.Module`, got `"
                           << loaded.GetTypeKey() << "`";
  TVM_FFI_UNREACHABLE();
}

}  // namespace

Module BuildModuleTree(const LibraryBinary& binary, const std::vector<Module>& libraries,
                       const std::string& library) {
  Loaders loaders = FindLoaders(binary, library);
  std::vector<Module> modules;
  modules.reserve(binary.entries.size());
  size_t num_libraries = 0;
  for (const LibraryBinary::Entry& entry : binary.entries) {
    modules.push_back(entry.IsLibrary() ? libraries.at(num_libraries++)
                                        : LoadEntry(entry, loaders.at(entry.kind), library));
  }
  // Connect each importer before the modules that it imports.  The imported modules then have no
  // imports yet, so the cycle check in ImportModule is short.
  for (size_t importer : binary.importers_first) {
    const LibraryBinary::Entry& entry = binary.entries[importer];
    for (size_t i = entry.first_import; i < entry.end_import; ++i) {
      modules[importer]->ImportModule(modules[binary.imports[i]]);
    }
  }
  return modules[0];
}

}  // namespace tvm::ffi::extra
