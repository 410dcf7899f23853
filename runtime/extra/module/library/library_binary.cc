// SPDX-License-Identifier: Apache-2.0
#include "module/library/library_binary.h"

#include <tvm/ffi/error.h>
#include <tvm/ffi/extra/module.h>
#include <tvm/ffi/string_escape_detail.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "module/byte_reader.h"

namespace tvm::ffi::extra {
namespace {

constexpr size_t kWord = 8;  // size of an integer in bytes

// Returns true for UTF-8 text without NUL.  The kind of a module must be such text, because kinds
// are C strings.
bool IsText(std::string_view text) {
  while (!text.empty()) {
    uint32_t code_point = 0;
    size_t length = ffi::detail::DecodeUtf8(text, &code_point);
    if (length == 0 || code_point == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Reads fields in sequence.  If a field is invalid, throws an error that contains the byte offset.
class Reader {
 public:
  Reader(std::string_view bytes, const std::string& library) : bytes_(bytes), library_(library) {}

  size_t Position() const { return bytes_.position(); }
  size_t NumLeft() const { return bytes_.num_left(); }

  [[noreturn]] void Fail(size_t position, const std::string& defect) const {
    TVM_FFI_THROW(RuntimeError) << "Failed to load " << library_ << ": "
                                << symbol::tvm_ffi_library_bin << " is malformed at byte "
                                << position << ": " << defect;
    TVM_FFI_UNREACHABLE();
  }

  // Reads the first field, which is the number of bytes after it, and ends the input after these
  // bytes.
  void TakeTotal() {
    size_t available = bytes_.size();
    uint64_t total = TakeInteger("the number of bytes");
    if (total > NumLeft()) {
      Fail(0, std::to_string(total) + " bytes should follow, but the symbol has " +
                  std::to_string(available) + " in all");
    }
    bytes_.Truncate(static_cast<size_t>(total));
  }

  uint64_t TakeInteger(const char* field) {
    if (std::optional<uint64_t> value = bytes_.TakeNumber(kWord)) return *value;
    Fail(Position(), std::string("the bytes end within ") + field);
  }

  // Reads the number of the elements that follow.  Each element has at least `size` bytes.  Fails
  // if fewer bytes remain.
  size_t TakeCount(const char* field, size_t size) {
    size_t begin = Position();
    uint64_t count = TakeInteger(field);
    if (count > NumLeft() / size) {
      Fail(begin, std::string(field) + " is " + std::to_string(count) + ", but only " +
                      std::to_string(NumLeft()) + " bytes are left");
    }
    return static_cast<size_t>(count);
  }

  std::string_view TakeText(const char* size_field) {
    return bytes_.Take(TakeCount(size_field, 1));
  }

 private:
  ByteReader bytes_;
  const std::string& library_;
};

class Decoder {
 public:
  Decoder(std::string_view bytes, const std::string& library) : reader_(bytes, library) {}

  LibraryBinary Decode() {
    reader_.TakeTotal();
    TakeRows();
    TakeImports();
    for (size_t i = 0; i < result_.entries.size(); ++i) TakeEntry(&result_.entries[i], i);
    if (reader_.NumLeft() > 0) {
      reader_.Fail(reader_.Position(),
                   std::to_string(reader_.NumLeft()) + " bytes follow the last module");
    }
    Sort();
    return std::move(result_);
  }

 private:
  void TakeRows() {
    size_t begin = reader_.Position();
    size_t count = reader_.TakeCount("the number of row pointers", kWord);
    if (count < 2) reader_.Fail(begin, "expected at least one module, got none");
    result_.entries.resize(count - 1);
    uint64_t previous = TakeRow(0, 0);
    if (previous != 0) reader_.Fail(reader_.Position() - kWord, "the first row pointer is not 0");
    for (LibraryBinary::Entry& entry : result_.entries) {
      entry.first_import = static_cast<size_t>(previous);
      previous = TakeRow(previous, static_cast<size_t>(&entry - result_.entries.data()) + 1);
      entry.end_import = static_cast<size_t>(previous);
    }
  }

  uint64_t TakeRow(uint64_t previous, size_t i) {
    uint64_t row = reader_.TakeInteger("the row pointers");
    if (row < previous) {
      reader_.Fail(reader_.Position() - kWord,
                   "row pointer " + std::to_string(i) + " is " + std::to_string(row) +
                       ", less than the previous one, " + std::to_string(previous));
    }
    return row;
  }

  void TakeImports() {
    size_t begin = reader_.Position();
    size_t count = reader_.TakeCount("the number of imports", kWord);
    size_t last_row = result_.entries.back().end_import;
    if (count != last_row) {
      reader_.Fail(begin, "there are " + std::to_string(count) +
                              " imports, but the row pointers end with " +
                              std::to_string(last_row));
    }
    imports_begin_ = reader_.Position();
    result_.imports.reserve(count);
    while (result_.imports.size() < count) {
      uint64_t child = reader_.TakeInteger("the imports");
      if (child >= result_.entries.size()) {
        reader_.Fail(reader_.Position() - kWord, "module " + std::to_string(child) +
                                                     " is imported, but there are only " +
                                                     std::to_string(result_.entries.size()));
      }
      result_.imports.push_back(static_cast<size_t>(child));
    }
  }

  void TakeEntry(LibraryBinary::Entry* entry, size_t i) {
    size_t begin = reader_.Position();
    std::string module = "module " + std::to_string(i);
    entry->kind = reader_.TakeText("the size of a kind");
    if (entry->kind.empty()) reader_.Fail(begin, module + " has an empty kind");
    if (!IsText(entry->kind)) {
      reader_.Fail(begin + kWord, "the kind of " + module + " is not UTF-8 text");
    }
    if (!entry->IsLibrary()) entry->payload = reader_.TakeText("the size of a payload");
  }

  // Fills importers_first with a topological order.  A depth-first search leaves a module after it
  // has left all imports of the module, so the topological order is the reverse of the order in
  // which the search leaves the modules.
  void Sort() {
    state_.resize(result_.entries.size(), State::kNew);
    result_.importers_first.reserve(state_.size());
    for (size_t i = 0; i < state_.size(); ++i) {
      if (state_[i] == State::kNew) Walk(i);
    }
    std::reverse(result_.importers_first.begin(), result_.importers_first.end());
  }

  void Walk(size_t root) {
    Enter(root);
    while (!path_.empty()) {
      auto& [module, next_import] = path_.back();
      if (next_import == result_.entries[module].end_import) {
        state_[module] = State::kLeft;
        result_.importers_first.push_back(module);
        path_.pop_back();
        continue;
      }
      size_t import = next_import++;
      size_t imported = result_.imports[import];
      if (state_[imported] == State::kEntered) {
        reader_.Fail(
            imports_begin_ + kWord * import,
            "module " + std::to_string(imported) + " imports itself, directly or indirectly");
      }
      if (state_[imported] == State::kNew) Enter(imported);
    }
  }

  void Enter(size_t module) {
    state_[module] = State::kEntered;
    path_.emplace_back(module, result_.entries[module].first_import);
  }

  enum class State : unsigned char { kNew, kEntered, kLeft };

  Reader reader_;
  LibraryBinary result_;
  size_t imports_begin_ = 0;
  std::vector<State> state_;
  std::vector<std::pair<size_t, size_t>>
      path_;  // modules on the search path, each with its next import
};

}  // namespace

LibraryBinary DecodeLibraryBinary(std::string_view bytes, const std::string& library) {
  return Decoder(bytes, library).Decode();
}

}  // namespace tvm::ffi::extra
