/* SPDX-License-Identifier: Apache-2.0 */
/* A library with a symbol that may be missing, which the build selects. */
#include <stdio.h>
#include <tvm/ffi/c_api.h>

/* This initialiser must not run if the library is refused. */
__attribute__((constructor)) static void SayThatItRuns(void) { fputs("initialiser ran\n", stderr); }

#if defined(NEEDS_LATER) || defined(NEEDS_LATER_HIDDEN) /* the latter exports nothing */
int TVMFFIOfALaterRelease(void);
int TVMFFIOfALaterRelease2(void);
static int Use(void) { return TVMFFIOfALaterRelease() + TVMFFIOfALaterRelease2(); }
#elif defined(NEEDS_LATER_CPP)
int _ZN3tvm3ffi5LaterEv(void); /* tvm::ffi::Later() */
static int Use(void) { return _ZN3tvm3ffi5LaterEv(); }
#elif defined(NEEDS_LATER_DATA)
extern void* _ZTVN3tvm3ffi8LaterObjE[]; /* vtable for tvm::ffi::LaterObj */
extern void* const later_vtable[];
void* const later_vtable[] = {_ZTVN3tvm3ffi8LaterObjE};
static int Use(void) { return later_vtable[0] == NULL; }
#elif defined(NEEDS_DEFINED_ELSEWHERE)
int TVMFFIDefinedElsewhere(void); /* the part below defines this symbol */
static int Use(void) { return TVMFFIDefinedElsewhere(); }
#elif defined(NEEDS_DEFINING)
int TVMFFIDefinedElsewhere(void);
int TVMFFIDefinedElsewhere(void) { return 5; }
static int Use(void) { return 0; }
#elif defined(NEEDS_WEAK)
__attribute__((weak)) int TVMFFIMaybeThere(void);
static int Use(void) { return TVMFFIMaybeThere == NULL ? 7 : TVMFFIMaybeThere(); }
#elif defined(NEEDS_FOREIGN)
int no_such_function(void); /* symbol of another library; the function is never called */
static int Use(void) { return TVMFFIObjectDecRef(NULL) == 0 ? 9 : no_such_function(); }
#endif

/* The exported packed function `use`. */
int __tvm_ffi_use(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);
int __tvm_ffi_use(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)self;
  (void)args;
  (void)num_args;
  result->type_index = kTVMFFIInt;
  result->zero_padding = 0;
  result->v_int64 = Use();
  return 0;
}
