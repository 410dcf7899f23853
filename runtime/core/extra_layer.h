// SPDX-License-Identifier: Apache-2.0
// What the core and the layer above it, runtime/extra, ask of each other besides the C ABI.  No
// type of either crosses here.
#ifndef TVM_FFI_RUNTIME_CORE_EXTRA_LAYER_H_
#define TVM_FFI_RUNTIME_CORE_EXTRA_LAYER_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tvm::ffi::runtime {

// ---- Defined by runtime/extra -------------------------------------------------------------------

// Registers what the layer adds to the tables.  The core calls it once, as the library is loaded.
void RegisterExtra();

// ---- Defined by the core: what no C function tells about its tables -----------------------------

// False when the name is not registered.
bool RemoveGlobalFunction(std::string_view name);
// Metadata of a registered function; false when the name is not registered.
bool FindGlobalFunctionMetadata(std::string_view name, std::string* metadata);
std::vector<std::string> GlobalFunctionNames();
// In order of registration; the texts stay for ever.
std::vector<std::string_view> RegisteredTypeKeys();
bool IsRegisteredType(int64_t type_index);
// The index of a type without slots for children; allocated when the key is new.  Unlike
// TVMFFITypeGetOrAllocIndex it reports why it cannot: -1 and the pending error.
int AllocateType(std::string_view key, int32_t parent_index, int32_t* type_index);
// For messages: the key, or a placeholder for an index that nobody registered.
std::string_view TypeKeyOrPlaceholder(int32_t type_index);

// How a host whose threads run at once keeps the others from an object; see TVMFFIEnvRegisterCAPI.
struct HostLock {
  void (*begin)(void* section, const void* object);  // section: kLockSectionBytes of the caller's
  void (*end)(void* section);
};
inline constexpr size_t kLockSectionBytes = 32;
// nullptr: no host has lent one, as its threads take turns.
extern std::atomic<const HostLock*> host_lock;

}  // namespace tvm::ffi::runtime

#endif  // TVM_FFI_RUNTIME_CORE_EXTRA_LAYER_H_
