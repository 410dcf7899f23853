// SPDX-License-Identifier: Apache-2.0
// Recording files: chunks of records in a mapped file, which is whole at each moment.
//
//   file    header | chunk | chunk ...      the header and the chunks are multiples of 64 KiB
//   chunk   mark | size | kind | state | record ... | zeros
//   record  size in the low 56 bits, kind in the high 8 bits | checksum | payload
//
// All numbers are words of 64 bits, and all sizes are in bytes.  The checksum of a record is the
// remainder of all its words except the checksum, as one number with the first word lowest, divided
// by 2^64 - 1: the sum of the words with carry.  It is written last, so a record whose checksum is
// 0 was not finished.
//
// Each thread writes to a chunk that is mapped.  The pages of a mapped file belong to the system,
// which writes them after the process has died, however it died.  A full chunk is copied to the end
// of the file, because first writes to mapped pages are slow; the mapped chunk is then cleared.  A
// chunk with the state 0 is being copied or cleared.  If the process dies between the two, both
// chunks have the records.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_RECORD_FILE_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_RECORD_FILE_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "observe/record_values.h"

namespace tvm::ffi::extra {

// The kinds of records.
//
//   kChange    a call that differs in few words from an earlier call in the same chunk: the offset
//              of the earlier record in the chunk, masks with a bit for each word of its payload,
//              the words whose bits are set
enum class RecordKind : uint64_t { kLibrary = 1, kFunction, kCall, kResult, kChange };

struct RecordSettings {
  Contents contents = Contents::kNone;
  uint64_t max_bytes = 0;   // the largest content, string or bytes that is written as bytes
  uint64_t last_calls = 0;  // 0: all calls; else the number of calls per thread that are kept
};

// A part of the file that is mapped.
struct Chunk {
  char* memory = nullptr;
  size_t size = 0;
  size_t used = 0;
  uint64_t num_calls = 0;
};

class RecordFile {
 public:
  // Throws OSError if the file cannot be created.
  RecordFile(const std::string& path, bool replaces, const RecordSettings& settings);
  ~RecordFile();
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  // Copies a chunk to the end of the file.  Returns false if the disk is full.
  bool Archive(const Chunk& chunk);
  // Returns an empty chunk with room for a record, or a chunk without memory if the disk is full.
  Chunk TakeChunk(size_t record_size, uint64_t kind);
  // Gives back a chunk, which another log may overwrite.
  void FreeChunk(const Chunk& chunk);

  void CountDropped() { HeaderWord(kDropped)->fetch_add(1, std::memory_order_relaxed); }
  uint64_t num_dropped() { return HeaderWord(kDropped)->load(std::memory_order_relaxed); }
  // The error code of the system that ended the recording, or 0.
  int error() { return static_cast<int>(HeaderWord(kError)->load(std::memory_order_relaxed)); }
  const RecordSettings& settings() const { return settings_; }

 private:
  void SetError(int error) {
    HeaderWord(kError)->store(static_cast<uint64_t>(error), std::memory_order_relaxed);
  }
  enum { kDropped = 10, kError = 11 };  // the words of the header that change
  std::atomic<uint64_t>* HeaderWord(int i) {
    return reinterpret_cast<std::atomic<uint64_t>*>(header_) + i;
  }

  const RecordSettings settings_;
  intptr_t file_;
  char* header_ = nullptr;
  std::mutex mutex_;
  size_t size_ = 0;          // guarded by mutex_
  std::vector<Chunk> free_;  // guarded by mutex_
};

// A sequence of records.  One thread at a time uses a log.
class RecordLog {
 public:
  RecordLog(RecordFile* file, uint64_t kind)
      : file_(file), kind_(kind), is_ring_(kind == kCalls && file->settings().last_calls != 0) {}
  ~RecordLog();
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;

  // The last record of a kind of calls that was written as a whole.
  struct Template {
    uint64_t chunk = 0;
    size_t offset = 0;
    size_t num_words = 0;
  };

  // Appends a record.  The first two words of `words` are free for the size and the checksum.
  // Returns false if the disk is full.
  bool Append(RecordKind kind, const Words& words);
  // Appends a call, as a change of `last` if that is shorter.
  bool AppendCall(const Words& words, Template* last);

  static constexpr uint64_t kDefinitions =
      1;  // libraries and functions, which are never overwritten
  static constexpr uint64_t kCalls = 2;

 private:
  // Appends `size` bytes, for which the chunk has room.
  void Write(RecordKind kind, const uint64_t* words, size_t size);
  bool AppendChange(const Words& words, const Template& last);
  bool NextChunk(size_t record_size);
  bool Archive();
  bool KeepLastCalls();

  RecordFile* file_;
  uint64_t kind_;
  bool is_ring_;  // only the last calls are kept
  Chunk chunk_;
  uint64_t chunk_number_ = 0;  // counts the chunks that were current
  std::deque<Chunk> earlier_;  // the chunks that are kept for the last calls, oldest first
};

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_RECORD_FILE_H_
