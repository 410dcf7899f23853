// SPDX-License-Identifier: Apache-2.0
#include "file_reader.h"

#include <algorithm>
#include <system_error>

#include "platform.h"

namespace tvm::ffi::platform {
namespace {

// Longest symbol name that is read; every symbol name of the ABI is shorter.
constexpr size_t kMaxString = 4096;

}  // namespace

FileReader::FileReader(const std::string& path) { file_ = OpenFile(path, &size_); }

FileReader::~FileReader() {
  if (file_ >= 0) CloseFile(file_);
}

std::string FileReader::Failure() const {
  if (error_ == 0) return "";
  return "the file cannot be read: " + std::system_category().message(error_);
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
  return size == 0 ? 0 : ReadFile(file_, offset, out, size, &error_);
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

}  // namespace tvm::ffi::platform
