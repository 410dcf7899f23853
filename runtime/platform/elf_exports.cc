// SPDX-License-Identifier: Apache-2.0
// Exported functions of a loaded ELF library, read from its symbol table.
#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#include "platform.h"

namespace tvm::ffi::platform {
namespace {

// The dynamic symbol table and hash tables of a mapped library.
class SymbolTables {
 public:
  explicit SymbolTables(const link_map& library) {
    for (const ElfW(Dyn)* entry = library.l_ld; entry != nullptr && entry->d_tag != DT_NULL;
         ++entry) {
      const void* table = Mapped(library, entry->d_un.d_ptr);
      if (entry->d_tag == DT_SYMTAB) symbols_ = static_cast<const ElfW(Sym)*>(table);
      if (entry->d_tag == DT_STRTAB) names_ = static_cast<const char*>(table);
      if (entry->d_tag == DT_HASH) hash_ = static_cast<const uint32_t*>(table);
      if (entry->d_tag == DT_GNU_HASH) gnu_hash_ = static_cast<const uint32_t*>(table);
    }
  }

  template <typename Visit>
  void ForEachFunction(Visit visit) const {
    if (symbols_ == nullptr || names_ == nullptr) return;
    auto visit_function = [&](size_t i) {
      if (IsExportedFunction(symbols_[i])) visit(names_ + symbols_[i].st_name);
    };
    if (gnu_hash_ != nullptr) return ForEachInChains(visit_function);
    // A SysV hash table begins with the number of buckets, followed by the number of symbols.
    for (size_t i = 1; hash_ != nullptr && i < hash_[1]; ++i) visit_function(i);
  }

 private:
  // Returns the memory address of a table from its entry in the dynamic section.  glibc replaces
  // the offsets in these entries by addresses; other C libraries do not.
  static const void* Mapped(const link_map& library, ElfW(Addr) value) {
    return reinterpret_cast<const void*>(value < library.l_addr ? library.l_addr + value : value);
  }

  static bool IsExportedFunction(const ElfW(Sym) & symbol) {
    unsigned type = symbol.st_info & 0xf, binding = symbol.st_info >> 4;
    bool is_function = type == STT_FUNC || type == STT_NOTYPE || type == STT_GNU_IFUNC;
    return symbol.st_shndx != SHN_UNDEF && binding != STB_LOCAL && is_function;
  }

  // GNU hash table:
  //   uint32      number of buckets, index of the first symbol, number of filter words, shift
  //   address[]   filter
  //   uint32[]    per bucket: the index of its first symbol, 0 if the bucket is empty
  //   uint32[]    hashes from the first symbol on; the lowest bit ends the chain of a bucket
  template <typename Visit>
  void ForEachInChains(Visit visit) const {
    uint32_t num_buckets = gnu_hash_[0], first = gnu_hash_[1], num_words = gnu_hash_[2];
    const uint32_t* buckets = gnu_hash_ + 4 + num_words * (sizeof(ElfW(Addr)) / sizeof(uint32_t));
    const uint32_t* hashes = buckets + num_buckets;
    for (uint32_t bucket = 0; bucket < num_buckets; ++bucket) {
      uint32_t symbol = buckets[bucket];
      if (symbol < first) continue;
      do visit(symbol);
      while ((hashes[symbol++ - first] & 1) == 0);
    }
  }

  const ElfW(Sym) * symbols_ = nullptr;
  const char* names_ = nullptr;
  const uint32_t* hash_ = nullptr;
  const uint32_t* gnu_hash_ = nullptr;
};

}  // namespace

std::vector<std::string> ExportedFunctions(void* handle) {
  std::vector<std::string> names;
  link_map* library = nullptr;
  if (dlinfo(handle, RTLD_DI_LINKMAP, &library) != 0 || library == nullptr) return names;
  SymbolTables(*library).ForEachFunction([&](const char* name) { names.emplace_back(name); });
  return names;
}

}  // namespace tvm::ffi::platform
