// SPDX-License-Identifier: Apache-2.0
#include "module/library/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tvm::ffi::extra {
namespace {

// Longest symbol name that is read; every symbol name of the ABI is shorter.
constexpr size_t kMaxString = 4096;
constexpr size_t kUsualNumSegments = 12;

}  // namespace

FileReader::FileReader(const std::string& path)
    // O_NONBLOCK, because opening a FIFO must not wait for a writer.
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status;
  bool is_file = file_ >= 0 && fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (is_file) size_ = static_cast<size_t>(status.st_size);
}

FileReader::~FileReader() {
  if (file_ >= 0) close(file_);
}

std::string_view FileReader::RestOfPage(size_t offset) {
  size_t begin = offset / Page::kSize * Page::kSize;
  if (current_->size == 0 || current_->begin != begin) SwitchTo(begin);
  if (offset - begin >= current_->size) return {};
  return {current_->bytes + (offset - begin), current_->size - (offset - begin)};
}

bool FileReader::ReadFromPages(size_t offset, void* out, size_t size) {
  if (offset > size_ || size > size_ - offset) return false;
  char bytes[kMaxRead];  // copied to *out only after all bytes are read
  for (size_t i = 0; i < size;) {
    std::string_view rest = RestOfPage(offset + i).substr(0, size - i);
    if (rest.empty()) return false;
    std::memcpy(bytes + i, rest.data(), rest.size());
    i += rest.size();
  }
  std::memcpy(out, bytes, size);
  return true;
}

std::string FileReader::ReadString(size_t offset) {
  std::string text;
  while (offset < size_ && text.size() < kMaxString) {
    std::string_view rest = RestOfPage(offset);
    size_t end = rest.find('\0');
    text += rest.substr(0, end);
    if (end != std::string_view::npos) return text;
    if (rest.empty()) break;
    offset += rest.size();
  }
  return "";
}

bool FileReader::HasPage(size_t begin) const {
  for (size_t i = 0; i < kNumPages; ++i) {
    if (pages_[i].size > 0 && pages_[i].begin == begin) return true;
  }
  return false;
}

size_t FileReader::Copy(size_t offset, void* out, size_t size) {
  size = offset < size_ ? std::min(size, size_ - offset) : 0;
  size_t copied = 0;
  // Read in a loop, because some file systems return only a few bytes per read.
  while (copied < size) {
    ssize_t more = pread(file_, static_cast<char*>(out) + copied, size - copied,
                         static_cast<off_t>(offset + copied));
    if (more == 0) break;  // the file was truncated after fstat returned its size
    if (more > 0) {
      copied += static_cast<size_t>(more);
    } else if (errno != EINTR) {
      error_ = errno;
      break;
    }
  }
  return copied;
}

// Makes the page at the file offset `begin` current.  A page that is not cached replaces the least
// recently used page.
void FileReader::SwitchTo(size_t begin) {
  auto is_wanted = [&](const Page& page) { return page.size > 0 && page.begin == begin; };
  auto is_older = [](const Page& a, const Page& b) { return a.last_use < b.last_use; };
  Page* end = pages_.get() + kNumPages;
  current_->last_use = ++num_switches_;
  current_ = std::find_if(pages_.get(), end, is_wanted);
  if (current_ != end) return;
  current_ = std::min_element(pages_.get(), end, is_older);
  current_->begin = begin;
  current_->size = Copy(begin, current_->bytes, Page::kSize);
}

ElfFile::ElfFile(FileReader& file) : file_(file) {
  if (!file_.Read(0, &header_) || std::memcmp(header_.e_ident, ELFMAG, SELFMAG) != 0) return;
  is_elf_ = true;
  if (!IsNativeFormat()) return;
  ReadSegments();
  ReadDynamicSection();
}

bool ElfFile::IsNativeFormat() const {
  return header_.e_ident[EI_CLASS] == kNativeElfClass &&
         header_.e_ident[EI_DATA] == kNativeByteOrder && header_.e_phentsize == sizeof(ElfW(Phdr));
}

void ElfFile::ReadSegments() {
  segments_.reserve(kUsualNumSegments);
  for (size_t i = 0; i < header_.e_phnum; ++i) {
    ElfW(Phdr) segment;
    size_t offset = 0;
    if (__builtin_add_overflow(header_.e_phoff, i * sizeof(segment), &offset)) return;
    if (!file_.Read(offset, &segment)) return;
    segments_.push_back(segment);
  }
}

void ElfFile::ReadDynamicSection() {
  const ElfW(Phdr)* last = nullptr;  // keep the last PT_DYNAMIC, as the loader does
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type == PT_DYNAMIC && segment.p_filesz > 0) last = &segment;
  }
  dynamic_.is_present = last != nullptr;
  if (last == nullptr) return;
  size_t offset = 0;
  dynamic_.is_in_file = FindSegment(last->p_vaddr, last->p_filesz) != nullptr &&
                        FindInFile(last->p_vaddr, &offset) &&
                        last->p_filesz <= file_.size() - offset;
  if (!dynamic_.is_in_file) return;
  ElfW(Dyn) entry;
  for (size_t end = offset + last->p_filesz; end - offset >= sizeof(entry);
       offset += sizeof(entry)) {
    if (!file_.Read(offset, &entry)) return;
    if (entry.d_tag == DT_NULL) {
      dynamic_.is_terminated = true;
      return;
    }
    AddDynamicEntry(entry);
  }
}

// Stores an entry of the dynamic section.  If several entries have the same tag, the last entry
// counts, as it does for the loader.
void ElfFile::AddDynamicEntry(const ElfW(Dyn) & entry) {
  auto value = static_cast<size_t>(entry.d_un.d_val);
  if (entry.d_tag == DT_SYMTAB) dynamic_.symbol_table = value;
  if (entry.d_tag == DT_STRTAB) dynamic_.string_table = value;
  if (entry.d_tag == DT_STRSZ) dynamic_.string_table_size = value;
  if (entry.d_tag == DT_GNU_HASH) dynamic_.gnu_hash_table = value;
  if (entry.d_tag == DT_HASH) dynamic_.hash_table = value;
}

// Returns the PT_LOAD segment whose part in the file contains all `size` bytes at the virtual
// address; nullptr if no segment does.
const ElfW(Phdr) * ElfFile::FindSegment(size_t address, size_t size) const {
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    size_t begin = address - segment.p_vaddr;
    if (begin <= segment.p_filesz && size <= segment.p_filesz - begin) return &segment;
  }
  return nullptr;
}

bool ElfFile::FindInFile(size_t address, size_t* offset) const {
  if (address == 0) return false;
  const ElfW(Phdr)* segment = FindSegment(address, 1);
  return segment != nullptr &&
         !__builtin_add_overflow(address - segment->p_vaddr, segment->p_offset, offset) &&
         *offset < file_.size();
}

size_t ElfFile::NumUndefinedSymbols() const {
  size_t offset = 0;
  uint32_t gnu[2] = {};   // GNU hash table header: number of buckets, first defined symbol
  uint32_t sysv[2] = {};  // SysV hash table header: number of buckets, number of symbols
  // Ignore an index of 1: linkers write it into the GNU hash table of a library that defines no
  // symbols.
  if (FindInFile(dynamic_.gnu_hash_table, &offset) && file_.Read(offset, &gnu) && gnu[1] > 1) {
    return gnu[1];
  }
  if (FindInFile(dynamic_.hash_table, &offset) && file_.Read(offset, &sysv)) return sysv[1];
  // Compute the number of symbols from the size of the symbol table, which ends at the string
  // table: linkers put the string table after the symbol table.
  size_t names = dynamic_.string_table, symbols = dynamic_.symbol_table;
  return names > symbols ? (names - symbols) / sizeof(ElfW(Sym)) : 0;
}

}  // namespace tvm::ffi::extra
