/* SPDX-License-Identifier: Apache-2.0 */
#include "named_function.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Cache entry: the name of a global function, and the slot that contains the function. */
typedef struct CacheEntry {
  const TVMFFIHostSlot* slot;
  size_t size;
  char name[]; /* characters of the name, not NUL-terminated; length size */
} CacheEntry;

/* The cache.  The checksum of a name selects its entry.  If two names select the same entry, the
 * name that was cached first keeps it, and each call looks up the other name in the function
 * registry. */
enum { kCacheSize = 4096 };
static _Atomic(CacheEntry*) cache[kCacheSize];

static void Remember(_Atomic(CacheEntry*)* entry, XLA_FFI_ByteSpan name,
                     const TVMFFIHostSlot* slot) {
  CacheEntry* expected = NULL;
  CacheEntry* added = (CacheEntry*)malloc(sizeof(CacheEntry) + name.len);
  if (added == NULL) return; /* not cached: the next call looks up the name again */
  added->slot = slot;
  added->size = name.len;
  memcpy(added->name, name.ptr, name.len);
  if (!atomic_compare_exchange_strong(entry, &expected, added)) free(added);
}

static int FindSlot(_Atomic(CacheEntry*)* entry, XLA_FFI_ByteSpan name,
                    const TVMFFIHostSlot** out) {
  TVMFFIByteArray text = {name.ptr, name.len};
  if (TVMFFIHostFindSlot(&text, out) != 0) return -1;
  if (atomic_load_explicit(entry, memory_order_relaxed) == NULL) Remember(entry, name, *out);
  return 0;
}

int FindNamedFunction(uint32_t checksum, XLA_FFI_ByteSpan name, TVMFFIObjectHandle* out) {
  _Atomic(CacheEntry*)* entry = &cache[checksum % kCacheSize];
  const CacheEntry* known = atomic_load_explicit(entry, memory_order_acquire);
  const TVMFFIHostSlot* slot;
  if (known != NULL && known->size == name.len && memcmp(known->name, name.ptr, name.len) == 0) {
    slot = known->slot;
  } else if (FindSlot(entry, name, &slot) != 0) {
    return -1;
  }
  return TVMFFIHostSlotFunction(slot, out);
}
