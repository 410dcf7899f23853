// SPDX-License-Identifier: Apache-2.0
#include "observe/record_file.h"

#include <tvm/ffi/error.h>

#include <chrono>
#include <cstring>
#include <system_error>

#include "../platform/platform.h"

namespace tvm::ffi::extra {
namespace {

constexpr size_t kUnit = size_t{64} << 10;
constexpr size_t kChunkSize = 4 * kUnit;
constexpr size_t kChunkHeader = 32;
constexpr uint64_t kVersion = 1;

// The first words of the file and of a chunk, as text.
constexpr char kFileMark[9] = "TVMREC\r\n";
constexpr char kChunkMark[9] = "TVMCHUNK";

// The states of a chunk.
constexpr uint64_t kInUse = 1;
constexpr uint64_t kBeingCleared = 0;

uint64_t WordOf(const char* mark) {
  uint64_t word;
  std::memcpy(&word, mark, 8);
  return word;
}

// Adds with carry: the sum modulo 2^64 - 1.
uint64_t AddWithCarry(uint64_t sum, uint64_t word) {
  sum += word;
  return sum + (sum < word ? 1 : 0);
}

std::atomic<uint64_t>* AtomicAt(char* memory) {
  return reinterpret_cast<std::atomic<uint64_t>*>(memory);
}

}  // namespace

RecordFile::RecordFile(const std::string& path, bool replaces, const RecordSettings& settings)
    : settings_(settings) {
  int error = 0;
  file_ = platform::CreateNewFile(path, replaces, &error);
  if (file_ != -1) {
    header_ = static_cast<char*>(platform::ExtendMapped(file_, 0, kUnit, &error));
    if (header_ == nullptr) platform::CloseFile(file_);
  }
  if (header_ == nullptr) {
    TVM_FFI_THROW(OSError) << "cannot create the recording " << path << ": "
                           << std::system_category().message(error);
  }
  size_ = kUnit;
  auto now = std::chrono::system_clock::now().time_since_epoch();
  uint64_t words[] = {
      WordOf(kFileMark),
      Pair(0x01020304, sizeof(void*)),  // the byte order
      kVersion,
      kUnit,
      static_cast<uint64_t>(platform::ProcessNumber()),
      static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()),
      static_cast<uint64_t>(settings.contents),
      settings.max_bytes,
      settings.last_calls,
  };
  constexpr size_t kCount = std::size(words);
  static_assert(kCount + 1 == kDropped);
  uint64_t sum = 0;
  for (size_t i = 0; i < kCount; ++i) {
    sum = AddWithCarry(sum, words[i]);
    if (i > 0) HeaderWord(static_cast<int>(i))->store(words[i], std::memory_order_relaxed);
  }
  HeaderWord(kCount)->store(sum, std::memory_order_relaxed);
  // Last, so that a file with the mark has a whole header.
  HeaderWord(0)->store(words[0], std::memory_order_release);
}

RecordFile::~RecordFile() {
  for (const Chunk& chunk : free_) platform::UnmapFile(chunk.memory, chunk.size);
  platform::UnmapFile(header_, kUnit);
  platform::CloseFile(file_);
}

bool RecordFile::Archive(const Chunk& chunk) {
  size_t size = (chunk.used + kUnit - 1) / kUnit * kUnit;
  size_t offset;
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (error() != 0) return false;
    offset = size_;
    size_ += size;
  }
  uint64_t header[4];
  std::memcpy(header, chunk.memory, kChunkHeader);
  header[1] = size;
  header[3] = kBeingCleared;
  int error = 0;
  bool is_written = platform::WriteFile(file_, offset, header, kChunkHeader, &error) &&
                    platform::WriteFile(file_, offset + kChunkHeader, chunk.memory + kChunkHeader,
                                        size - kChunkHeader, &error) &&
                    platform::WriteFile(file_, offset + 24, &kInUse, 8, &error);
  if (!is_written) SetError(error);
  return is_written;
}

Chunk RecordFile::TakeChunk(size_t record_size, uint64_t kind) {
  std::lock_guard<std::mutex> lock(mutex_);
  size_t size = std::max(kChunkSize, (record_size + kChunkHeader + kUnit - 1) / kUnit * kUnit);
  Chunk chunk;
  for (Chunk& free : free_) {
    if (free.size < size) continue;
    chunk = free;
    free = free_.back();
    free_.pop_back();
    break;
  }
  if (chunk.memory != nullptr) {
    AtomicAt(chunk.memory + 24)->store(kBeingCleared, std::memory_order_release);
    std::atomic_signal_fence(std::memory_order_seq_cst);
    std::memset(chunk.memory + kChunkHeader, 0, chunk.size - kChunkHeader);
  } else {
    if (error() != 0) return chunk;
    int error = 0;
    chunk.memory = static_cast<char*>(platform::ExtendMapped(file_, size_, size, &error));
    if (chunk.memory == nullptr) {
      SetError(error);
      return chunk;
    }
    chunk.size = size;
    size_ += size;
    AtomicAt(chunk.memory + 8)->store(size, std::memory_order_relaxed);
    AtomicAt(chunk.memory)->store(WordOf(kChunkMark), std::memory_order_release);
  }
  AtomicAt(chunk.memory + 16)->store(kind, std::memory_order_relaxed);
  AtomicAt(chunk.memory + 24)->store(kInUse, std::memory_order_release);
  chunk.used = kChunkHeader;
  chunk.num_calls = 0;
  return chunk;
}

void RecordFile::FreeChunk(const Chunk& chunk) {
  std::lock_guard<std::mutex> lock(mutex_);
  free_.push_back(chunk);
}

RecordLog::~RecordLog() {
  if (chunk_.memory != nullptr) platform::UnmapFile(chunk_.memory, chunk_.size);
  for (const Chunk& chunk : earlier_) platform::UnmapFile(chunk.memory, chunk.size);
}

bool RecordLog::NextChunk(size_t record_size) {
  if (chunk_.memory != nullptr && !(is_ring_ ? KeepLastCalls() : Archive())) return false;
  chunk_ = file_->TakeChunk(record_size, kind_);
  while (chunk_.memory == nullptr && !earlier_.empty()) {  // the disk is full
    file_->FreeChunk(earlier_.front());
    earlier_.pop_front();
    chunk_ = file_->TakeChunk(record_size, kind_);
  }
  ++chunk_number_;
  return chunk_.memory != nullptr;
}

bool RecordLog::Archive() {
  if (!file_->Archive(chunk_)) return false;
  file_->FreeChunk(chunk_);
  return true;
}

bool RecordLog::KeepLastCalls() {
  earlier_.push_back(chunk_);
  uint64_t num_calls = 0;
  for (const Chunk& chunk : earlier_) num_calls += chunk.num_calls;
  while (num_calls - earlier_.front().num_calls >= file_->settings().last_calls) {
    num_calls -= earlier_.front().num_calls;
    file_->FreeChunk(earlier_.front());
    earlier_.pop_front();
  }
  return true;
}

void RecordLog::Write(RecordKind kind, const uint64_t* words, size_t size) {
  auto* to = reinterpret_cast<uint64_t*>(chunk_.memory + chunk_.used);
  uint64_t sum = size | static_cast<uint64_t>(kind) << 56;
  to[0] = sum;
  for (size_t i = 2; i < size / 8; ++i) {
    sum = AddWithCarry(sum, words[i]);
    to[i] = words[i];
  }
  AtomicAt(chunk_.memory + chunk_.used + 8)->store(sum, std::memory_order_release);
  chunk_.used += size;
}

bool RecordLog::Append(RecordKind kind, const Words& words) {
  size_t size = words.size() * 8;
  if (chunk_.size - chunk_.used < size && !NextChunk(size)) return false;
  Write(kind, words.data(), size);
  return true;
}

bool RecordLog::AppendCall(const Words& words, Template* last) {
  bool is_similar = last->chunk == chunk_number_ && last->num_words == words.size();
  if (!is_similar || !AppendChange(words, *last)) {
    if (!Append(RecordKind::kCall, words)) return false;
    *last = {chunk_number_, chunk_.used - words.size() * 8, words.size()};
  }
  ++chunk_.num_calls;
  return true;
}

bool RecordLog::AppendChange(const Words& words, const Template& last) {
  constexpr size_t kMaxMasks = 4, kMaxChanged = 24;
  constexpr size_t kHead = 3;  // size, checksum, offset of the template
  size_t count = words.size() - 2;
  size_t num_masks = (count + 63) / 64;
  if (num_masks > kMaxMasks) return false;
  uint64_t change[kHead + kMaxMasks + kMaxChanged];
  auto* old_words = reinterpret_cast<const uint64_t*>(chunk_.memory + last.offset) + 2;
  const uint64_t* new_words = words.data() + 2;
  change[2] = last.offset;
  size_t size = kHead + num_masks;
  size_t max_size = std::min(size + kMaxChanged, count / 2 + 2);
  for (size_t i = 0; i < num_masks; ++i) {
    uint64_t mask = 0;
    size_t end = std::min(count, 64 * (i + 1));
    for (size_t j = 64 * i; j < end; ++j) {
      if (old_words[j] == new_words[j]) continue;
      if (size >= max_size) return false;
      mask |= uint64_t{1} << (j % 64);
      change[size++] = new_words[j];
    }
    change[kHead + i] = mask;
  }
  if (chunk_.size - chunk_.used < size * 8) return false;
  Write(RecordKind::kChange, change, size * 8);
  return true;
}

}  // namespace tvm::ffi::extra
