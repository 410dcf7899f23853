// SPDX-License-Identifier: Apache-2.0
#include "module/library/elf_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace tvm::ffi::extra {
namespace {

constexpr size_t kMaxText = 4096;  // no name of the ABI comes near
constexpr size_t kUsualSegments = 12;

}  // namespace

FileReader::FileReader(const std::string& path)
    // Not blocking: the path may name a pipe.
    : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)) {
  struct stat status;
  bool is_file = file_ >= 0 && fstat(file_, &status) == 0 && S_ISREG(status.st_mode);
  if (is_file) size_ = static_cast<size_t>(status.st_size);
}

FileReader::~FileReader() {
  if (file_ >= 0) close(file_);
}

std::string_view FileReader::From(size_t offset) {
  size_t begin = offset / Piece::kSize * Piece::kSize;
  if (current_->size == 0 || current_->begin != begin) SwitchTo(begin);
  if (offset - begin >= current_->size) return {};
  return {current_->bytes + (offset - begin), current_->size - (offset - begin)};
}

bool FileReader::ReadPieces(size_t offset, void* out, size_t size) {
  if (offset > size_ || size > size_ - offset) return false;
  char bytes[kMaxRead];  // *out is written when all of it is there
  for (size_t i = 0; i < size;) {
    std::string_view piece = From(offset + i).substr(0, size - i);
    if (piece.empty()) return false;
    std::memcpy(bytes + i, piece.data(), piece.size());
    i += piece.size();
  }
  std::memcpy(out, bytes, size);
  return true;
}

std::string FileReader::Text(size_t offset) {
  std::string text;
  while (offset < size_ && text.size() < kMaxText) {
    std::string_view piece = From(offset);
    size_t end = piece.find('\0');
    text += piece.substr(0, end);
    if (end != std::string_view::npos) return text;
    if (piece.empty()) break;
    offset += piece.size();
  }
  return "";
}

bool FileReader::HasPiece(size_t begin) const {
  for (size_t i = 0; i < kNumPieces; ++i) {
    if (pieces_[i].size > 0 && pieces_[i].begin == begin) return true;
  }
  return false;
}

size_t FileReader::Copy(size_t offset, void* out, size_t size) {
  size = offset < size_ ? std::min(size, size_ - offset) : 0;
  size_t copied = 0;
  // Some file systems give a few bytes at a time.
  while (copied < size) {
    ssize_t more = pread(file_, static_cast<char*>(out) + copied, size - copied,
                         static_cast<off_t>(offset + copied));
    if (more == 0) break;  // the file has become shorter
    if (more > 0) {
      copied += static_cast<size_t>(more);
    } else if (errno != EINTR) {
      error_ = errno;
      break;
    }
  }
  return copied;
}

void FileReader::SwitchTo(size_t begin) {
  auto is_it = [&](const Piece& piece) { return piece.size > 0 && piece.begin == begin; };
  auto is_older = [](const Piece& a, const Piece& b) { return a.last_use < b.last_use; };
  Piece* end = pieces_.get() + kNumPieces;
  current_->last_use = ++num_switches_;
  current_ = std::find_if(pieces_.get(), end, is_it);
  if (current_ != end) return;
  current_ = std::min_element(pieces_.get(), end, is_older);
  current_->begin = begin;
  current_->size = Copy(begin, current_->bytes, Piece::kSize);
}

void DynamicSection::Add(const ElfW(Dyn) & entry) {
  auto value = static_cast<size_t>(entry.d_un.d_val);
  size_t slot = Slot(entry.d_tag);
  present_ |= uint64_t{1} << slot;
  values_[slot] = value;
  switch (entry.d_tag) {
    case DT_NEEDED:
    case DT_SONAME:
    case DT_RPATH:
    case DT_RUNPATH:
    case DT_AUXILIARY:
    case DT_FILTER:
    case DT_AUDIT:
    case DT_DEPAUDIT:
      last_text_ = std::max(last_text_, value);
      break;
    default:
      break;
  }
}

bool ElfFile::IsOfThisProcess() const {
  constexpr int kClass = sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32;
  constexpr int kOrder = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? ELFDATA2LSB : ELFDATA2MSB;
  return header_.e_ident[EI_CLASS] == kClass && header_.e_ident[EI_DATA] == kOrder &&
         header_.e_phentsize == sizeof(ElfW(Phdr));
}

void ElfFile::ReadSegments() {
  segments_.reserve(kUsualSegments);
  for (size_t i = 0; i < header_.e_phnum; ++i) {
    ElfW(Phdr) segment;
    size_t place = 0;
    if (__builtin_add_overflow(header_.e_phoff, i * sizeof(segment), &place)) return;
    if (!file_.Read(place, &segment)) return;
    segments_.push_back(segment);
  }
}

void ElfFile::ReadDynamic() {
  const ElfW(Phdr)* last = nullptr;
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type == PT_DYNAMIC && segment.p_filesz > 0) last = &segment;
  }
  if (last == nullptr) return;
  size_t place = 0;
  dynamic_.is_outside = SegmentAt(last->p_vaddr, last->p_filesz) == nullptr ||
                        !FindInFile(last->p_vaddr, &place) || last->p_filesz > file_.size() - place;
  if (dynamic_.is_outside) return;
  ElfW(Dyn) entry;
  for (size_t end = place + last->p_filesz; end - place >= sizeof(entry); place += sizeof(entry)) {
    if (!file_.Read(place, &entry)) return;
    if (entry.d_tag == DT_NULL) {
      dynamic_.ends = true;
    } else if (dynamic_.ends) {
      dynamic_.has_rest = true;
      return;
    } else {
      dynamic_.Add(entry);
    }
  }
}

const ElfW(Phdr) * ElfFile::SegmentAt(size_t address, size_t size, bool is_in_file) const {
  for (const ElfW(Phdr) & segment : segments_) {
    if (segment.p_type != PT_LOAD || address < segment.p_vaddr) continue;
    size_t available = is_in_file ? segment.p_filesz : segment.p_memsz;
    size_t begin = address - segment.p_vaddr;
    if (begin <= available && size <= available - begin) return &segment;
  }
  return nullptr;
}

bool ElfFile::FindInFile(size_t address, size_t* offset) const {
  if (address == 0) return false;
  const ElfW(Phdr)* segment = SegmentAt(address, 1);
  return segment != nullptr &&
         !__builtin_add_overflow(address - segment->p_vaddr, segment->p_offset, offset) &&
         *offset < file_.size();
}

size_t ElfFile::CountOfUndefined() const {
  size_t place = 0;
  uint32_t gnu[2] = {};   // number of buckets, index of the first symbol in the table
  uint32_t sysv[2] = {};  // number of buckets, number of symbols
  // A table without symbols does not tell where they would begin; 1 is what linkers write.
  if (FindInFile(dynamic_[DT_GNU_HASH], &place) && file_.Read(place, &gnu) && gnu[1] > 1) {
    return gnu[1];
  }
  if (FindInFile(dynamic_[DT_HASH], &place) && file_.Read(place, &sysv)) return sysv[1];
  // Linkers put the names behind the symbols.
  size_t names = dynamic_[DT_STRTAB], symbols = dynamic_[DT_SYMTAB];
  return names > symbols ? (names - symbols) / sizeof(ElfW(Sym)) : 0;
}

}  // namespace tvm::ffi::extra
