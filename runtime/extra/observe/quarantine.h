// SPDX-License-Identifier: Apache-2.0
// Quarantine: objects of the runtime that were released, and the data of its tensors.
//
// The debug context adopts the objects that it sees: it replaces their deleter.  When an adopted
// object is released, its destructor runs, but its memory is filled and kept, until the quarantine
// is larger than its limit.  A later change of the memory, of the reference count or of the data is
// a use after the release.
#ifndef TVM_FFI_RUNTIME_EXTRA_OBSERVE_QUARANTINE_H_
#define TVM_FFI_RUNTIME_EXTRA_OBSERVE_QUARANTINE_H_

#include <tvm/ffi/c_api.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace tvm::ffi::extra {

// Where a program was when an event happened.
struct Place {
  std::string_view function;  // the observed call in progress; "" if there is none
  std::string stack;          // of the host language, then native; "" if it is not known
};

enum class Stack { kNone, kInHook, kInDeleter };
// Returns the observed call and the stack of this thread.
using PlaceFunction = std::function<Place(Stack stack)>;

// Released objects are kept while an instance exists.
class QuarantineUse {
 public:
  // Called also after this instance was destroyed.
  explicit QuarantineUse(PlaceFunction place);
  ~QuarantineUse();
  QuarantineUse(const QuarantineUse&) = delete;
  QuarantineUse& operator=(const QuarantineUse&) = delete;
};

// Replaces the deleter of an object that is alive, if the runtime allocated it.  `origin`: the
// function that returned the object, or got it first.
// The stack is read for the first objects of a function.
void AdoptNew(TVMFFIObject* object, std::string_view origin, bool is_result);
void DeleteAdopted(void* object, int flags);  // the deleter of adopted objects

// Deleters whose objects are not adopted, by a hash of the address.
using ForeignDeleters = std::array<std::atomic<void (*)(void*, int)>, 64>;
inline ForeignDeleters foreign_deleters{};
inline std::atomic<void (*)(void*, int)>& ForeignDeleterLike(void (*deleter)(void*, int)) {
  return foreign_deleters[reinterpret_cast<uintptr_t>(deleter) / 16 % foreign_deleters.size()];
}

inline void Adopt(TVMFFIObject* object, std::string_view origin, bool is_result) {
  auto deleter = object->deleter;
  if (deleter == &DeleteAdopted) return;
  if (ForeignDeleterLike(deleter).load(std::memory_order_relaxed) == deleter) return;
  AdoptNew(object, origin, is_result);
}

// Returns the events of a released object for Fault::events.  Later uses are not reported.
std::string EventsOf(const TVMFFIObject* object);

// A use of a released object.
struct QuarantineFinding {
  std::string_view function;  // the call that was in progress when it was found, or the origin
  const char* rule;
  std::string message;
  std::string events;
};
// Examines the objects that were released last, for a use during the call of `function`.
void ExamineLatest(std::string_view function);
// Examines all objects.
void ExamineAll();
size_t NumFindings();
// Returns the finding with the number *next, and increments *next; nullopt if there is none.
std::optional<QuarantineFinding> TakeFinding(std::atomic<size_t>* next);

}  // namespace tvm::ffi::extra

#endif  // TVM_FFI_RUNTIME_EXTRA_OBSERVE_QUARANTINE_H_
