// SPDX-License-Identifier: Apache-2.0
// Load-time check of an ELF file: damage and undefined symbols.
#include "elf_defect.h"
#include "elf_file.h"
#include "platform.h"

namespace tvm::ffi::platform {
namespace {

// Limits on the work for a damaged or very large file.
constexpr size_t kMaxSymbols = 10000;
constexpr size_t kMaxMissing = 16;

// Calls visit(index, name) for each strong undefined symbol until `visit` returns false.  The name
// is "" if its offset is outside the string table.
template <typename Visit>
void ForEachUndefined(const ElfFile& elf, Visit visit) {
  const DynamicSection& dynamic = elf.dynamic();
  size_t symbols = 0, names = 0;
  if (!elf.FindInFile(dynamic.symbol_table, &symbols)) return;
  if (!elf.FindInFile(dynamic.string_table, &names)) return;
  size_t count = elf.NumUndefinedSymbols();
  for (size_t i = 1; i < count; ++i) {  // entry 0 of an ELF symbol table is reserved
    ElfW(Sym) symbol;
    if (!elf.file().Read(symbols + i * sizeof(symbol), &symbol)) return;
    bool is_needed = symbol.st_shndx == SHN_UNDEF && (symbol.st_info >> 4) == STB_GLOBAL;
    if (!is_needed) continue;
    bool has_name = symbol.st_name < dynamic.string_table_size;
    if (!visit(i, has_name ? elf.file().ReadString(names + symbol.st_name) : "")) return;
  }
}

void CheckElfFile(const ElfFile& elf, LibraryCheck* result) {
  result->defect = FindFileDefect(elf);
  if (!result->defect.empty()) return;
  size_t num_symbols = 0;
  ForEachUndefined(elf, [&](size_t index, const std::string& name) {
    if (name.empty()) {
      result->defect =
          DamagedFileMessage("undefined symbol " + std::to_string(index) + " has no name");
      return false;
    }
    if (FindSymbolInProcess(name.c_str()) == nullptr) result->missing_symbols.push_back(name);
    return ++num_symbols < kMaxSymbols && result->missing_symbols.size() < kMaxMissing;
  });
}

}  // namespace

LibraryCheck CheckLibraryFile(const std::string& path) {
  LibraryCheck result;
  FileReader file(path);
  ElfFile elf(file);
  if (elf.is_elf()) CheckElfFile(elf, &result);
  if (std::string failure = file.Failure(); !failure.empty()) result.defect = failure;
  return result;
}

}  // namespace tvm::ffi::platform
