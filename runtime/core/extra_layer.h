// SPDX-License-Identifier: Apache-2.0
// Interface of the core for runtime/extra: functions over the tables that the C ABI lacks.  It uses
// standard types only; classes of the core do not appear here.
#ifndef TVM_FFI_RUNTIME_CORE_EXTRA_LAYER_H_
#define TVM_FFI_RUNTIME_CORE_EXTRA_LAYER_H_

#include <tvm/ffi/extra/c_observe.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "extra_registration.h"  // IWYU pragma: export
#include "known_functions.h"     // IWYU pragma: export
#include "released_data.h"       // IWYU pragma: export
#include "thread_state.h"        // IWYU pragma: export

namespace tvm::ffi::runtime {

// Removes a global function; returns false if the name is not registered.
bool RemoveGlobalFunction(std::string_view name);
// Stores the metadata of a global function in *metadata; returns false if the name is not
// registered.
bool FindGlobalFunctionMetadata(std::string_view name, std::string* metadata);
std::vector<std::string> GlobalFunctionNames();
// Returns the keys of all types in order of registration; the views are valid until the process
// ends.
std::vector<std::string_view> RegisteredTypeKeys();
bool IsRegisteredType(int64_t type_index);
// Stores the index of the type with this key.  If the key is not registered, registers it without
// reserved indices for child types.  Unlike TVMFFITypeGetOrAllocIndex, which exits on failure,
// returns -1 and sets the pending error.
int AllocateType(std::string_view key, int32_t parent_index, int32_t* type_index);

// Returns the C entry that the function had before observers replaced it, as an address.
const void* OwnEntryOf(const void* function);

// While an instance exists, calls of the thread are not observed (c_observe.h).
class UnobservedScope {
 public:
  UnobservedScope();
  ~UnobservedScope();
  UnobservedScope(const UnobservedScope&) = delete;
  UnobservedScope& operator=(const UnobservedScope&) = delete;

 private:
  bool ran_hooks_;
};

// Called by a hook (c_observe.h): the function and the hooks that follow get `args`, which has
// equal arguments.
void ReplaceArguments(const TVMFFIObservedCall& call, const TVMFFIAny* args);

// Creates the form of a function that one prepared call (c_prepared.h) calls instead of the
// function: a function object that keeps state between its calls, which are never concurrent.
// Returns an owned handle, or null for a function that has no such form.
using NewPreparedForm = void* (*)(void* function);
// Adds a kind of forms.  Only while the library is loaded.
void AddPreparedForm(NewPreparedForm create);
// Returns the form of a function, owned; null if it has none.
void* PreparedFormOf(void* function);

// Returns the number of times that the calling thread has changed a current stream.
uint64_t NumStreamChanges();

// True if the runtime marks the tensor as read-only.
bool IsReadOnlyTensor(const TVMFFIObject* tensor);

// Returns the lines of a backtrace for return addresses, most recent call first.
std::string TextOfFrames(const uintptr_t* addresses, size_t count);

// Per-object lock of a host without a GIL, such as free-threaded Python.  The host registers the
// two functions with TVMFFIEnvRegisterCAPI.
struct HostLock {
  void (*begin)(void* section, const void* object);  // section: memory of kLockSectionBytes bytes
  void (*end)(void* section);
};
inline constexpr size_t kLockSectionBytes = 32;
// The registered lock.  Null if the host has not registered a lock, because the GIL of the host
// already serialises the threads.
extern std::atomic<const HostLock*> host_lock;

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_EXTRA_LAYER_H_
