// SPDX-License-Identifier: Apache-2.0
#include "module/library/needed_symbols.h"

#include <dlfcn.h>

#include <system_error>

#include "module/library/elf_file.h"
#include "module/library/file_defect.h"

namespace tvm::ffi::extra {
namespace {

// Far more than any library asks for; what is beyond is not looked at.
constexpr size_t kMaxAbiSymbols = 10000;
constexpr size_t kMaxUnserved = 16;

// Calls visit(index, name) for each symbol that has to come from another library, until it returns
// false; a name that is not in the table is empty.
template <typename Visit>
void ForEachUndefined(const ElfFile& elf, Visit visit) {
  const DynamicSection& dynamic = elf.dynamic();
  size_t symbols = 0, names = 0, names_size = dynamic[DT_STRSZ];
  if (!elf.FindInFile(dynamic[DT_SYMTAB], &symbols)) return;
  if (!elf.FindInFile(dynamic[DT_STRTAB], &names)) return;
  size_t count = elf.CountOfUndefined();
  for (size_t i = 1; i < count; ++i) {  // the first is no symbol
    ElfW(Sym) symbol;
    if (!elf.file().Read(symbols + i * sizeof(symbol), &symbol)) return;
    bool is_needed = symbol.st_shndx == SHN_UNDEF && (symbol.st_info >> 4) == STB_GLOBAL;
    if (!is_needed) continue;
    bool has_name = symbol.st_name < names_size;
    if (!visit(i, has_name ? elf.file().Text(names + symbol.st_name) : std::string())) return;
  }
}

bool IsServed(const std::string& name) { return dlsym(RTLD_DEFAULT, name.c_str()) != nullptr; }

void Examine(const ElfFile& elf, LibraryFile* result) {
  result->defect = DefectOf(elf);
  if (!result->defect.empty()) return;
  size_t looked_at = 0;
  ForEachUndefined(elf, [&](size_t index, const std::string& name) {
    if (name.empty()) {
      result->defect = DamagedFile("symbol " + std::to_string(index) +
                                   " must have a name in the string table, got none");
      return false;
    }
    if (!IsAbiSymbol(name)) return true;
    if (!IsServed(name)) result->unserved.push_back(name);
    return ++looked_at < kMaxAbiSymbols && result->unserved.size() < kMaxUnserved;
  });
}

}  // namespace

bool IsAbiSymbol(std::string_view name) {
  constexpr std::string_view kC = "TVMFFI", kMangled = "_Z", kNamespace = "3tvm3ffi";
  if (name.substr(0, kC.size()) == kC) return true;
  if (name.substr(0, kMangled.size()) != kMangled) return false;
  // _ZN, _ZNK, _ZTVN, _ZGVZN: what stands there in front of the namespace the symbol belongs to.
  size_t place = name.find_first_not_of("GIKNSTVZ", kMangled.size());
  return place != std::string_view::npos && name[place - 1] != 'T' &&
         name.substr(place, kNamespace.size()) == kNamespace;
}

LibraryFile ReadLibraryFile(const std::string& path) {
  LibraryFile result;
  FileReader file(path);
  ElfFile elf(file);
  if (elf.IsElf()) Examine(elf, &result);
  if (file.error() != 0) {
    result.defect = "the file cannot be read: " + std::system_category().message(file.error());
  }
  return result;
}

}  // namespace tvm::ffi::extra
