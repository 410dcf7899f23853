// SPDX-License-Identifier: Apache-2.0
// A Mach-O library or program in memory.
#ifndef TVM_FFI_RUNTIME_PLATFORM_MACHO_IMAGE_H_
#define TVM_FFI_RUNTIME_PLATFORM_MACHO_IMAGE_H_

#include <mach-o/loader.h>
#include <mach-o/nlist.h>

#include <cstdint>

namespace tvm::ffi::platform {

class MachoImage {
 public:
  explicit MachoImage(const void* start);

  // Returns the number of bytes from the address to the end of its segment; 0 if the address is
  // outside the image.
  size_t BytesFrom(uintptr_t address) const;

  // Calls visit(name) for each exported function, without the leading underscore of C names.
  template <typename Visit>
  void ForEachExportedFunction(Visit visit) const {
    for (uint32_t i = 0; i < num_symbols_; ++i) {
      const nlist_64& symbol = symbols_[i];
      bool is_debug = (symbol.n_type & N_STAB) != 0;
      bool is_exported = (symbol.n_type & N_EXT) != 0 && (symbol.n_type & N_PEXT) == 0 &&
                         (symbol.n_type & N_TYPE) == N_SECT;
      if (is_debug || !is_exported || symbol.n_sect != text_section_) continue;
      const char* name = names_ + symbol.n_un.n_strx;
      visit(*name == '_' ? name + 1 : name);
    }
  }

 private:
  // Calls visit(command) for each load command.
  template <typename Visit>
  void ForEachCommand(Visit visit) const {
    auto* command = reinterpret_cast<const load_command*>(header_ + 1);
    for (uint32_t i = 0; i < header_->ncmds; ++i) {
      visit(command);
      command = reinterpret_cast<const load_command*>(reinterpret_cast<const char*>(command) +
                                                      command->cmdsize);
    }
  }
  void FindTextSection(const segment_command_64& segment);

  const mach_header_64* header_;
  uintptr_t slide_ = 0;  // the distance between an address in the file and in memory
  const nlist_64* symbols_ = nullptr;
  const char* names_ = nullptr;
  uint32_t num_symbols_ = 0;
  int num_sections_ = 0;
  int text_section_ = -1;  // number of the section with code, from 1
};

}  // namespace tvm::ffi::platform

#endif  // TVM_FFI_RUNTIME_PLATFORM_MACHO_IMAGE_H_
