/* SPDX-License-Identifier: Apache-2.0 */
#include "named_function.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A name that was found. */
typedef struct Named {
  const TVMFFIHostSlot* slot;
  size_t size;
  char name[]; /* length size; not NUL-terminated */
} Named;

/* By number.  Of names with numbers that fall on one place the first stays: the others are looked
 * up in each call. */
enum { kPlaces = 4096 };
static _Atomic(Named*) places[kPlaces];

static void Remember(_Atomic(Named*)* place, XLA_FFI_ByteSpan name, const TVMFFIHostSlot* slot) {
  Named* expected = NULL;
  Named* named = (Named*)malloc(sizeof(Named) + name.len);
  if (named == NULL) return; /* looked up again the next time */
  named->slot = slot;
  named->size = name.len;
  memcpy(named->name, name.ptr, name.len);
  if (!atomic_compare_exchange_strong(place, &expected, named)) free(named);
}

static int FindSlot(_Atomic(Named*)* place, XLA_FFI_ByteSpan name, const TVMFFIHostSlot** out) {
  TVMFFIByteArray text = {name.ptr, name.len};
  if (TVMFFIHostFindSlot(&text, out) != 0) return -1;
  if (atomic_load_explicit(place, memory_order_relaxed) == NULL) Remember(place, name, *out);
  return 0;
}

int FindNamedFunction(uint32_t number, XLA_FFI_ByteSpan name, TVMFFIObjectHandle* out) {
  _Atomic(Named*)* place = &places[number % kPlaces];
  const Named* named = atomic_load_explicit(place, memory_order_acquire);
  const TVMFFIHostSlot* slot;
  if (named != NULL && named->size == name.len && memcmp(named->name, name.ptr, name.len) == 0) {
    slot = named->slot;
  } else if (FindSlot(place, name, &slot) != 0) {
    return -1;
  }
  return TVMFFIHostSlotFunction(slot, out);
}
