/* SPDX-License-Identifier: Apache-2.0 */
/* A library with all kinds of metadata for tests of inspection; loading it aborts the process.
 *
 * The header, which the test writes, defines EMBEDDED, CUBIN, FATBIN and HIP as strings. */
#include <stdlib.h>
#include <tvm/ffi/c_api.h>

#include "device_code.h"

__attribute__((constructor)) static void MustNotRun(void) { abort(); }

#define FUNCTION(symbol)                                                               \
  int symbol(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);  \
  int symbol(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) { \
    (void)self, (void)args, (void)num_args, (void)result;                              \
    return TVMFFIObjectDecRef(0);                                                      \
  }

FUNCTION(__tvm_ffi_add)
FUNCTION(__tvm_ffi_plain)
FUNCTION(__tvm_ffi_secret)
FUNCTION(__tvm_ffi__metadata_secret)
FUNCTION(__tvm_ffi__doc_secret)
FUNCTION(__tvm_ffi_typed)
FUNCTION(__tvm_ffi__metadata_typed)
__attribute__((visibility("hidden"))) FUNCTION(__tvm_ffi_hidden)

    struct Row {
  const char* name;
  const char* kind;
  const char* text;
};
__attribute__((used, aligned(8), section("tvm_ffi_exports"))) static struct Row rows[] = {
    {"add", "metadata",
     "{\"type_schema\": \"{\\\"type\\\": \\\"ffi.Function\\\", \\\"named_args\\\": "
     "{\\\"return\\\": [{\\\"type\\\": \\\"None\\\"}], \\\"params\\\": [{\\\"type\\\": "
     "\\\"ffi.Tensor\\\"}, {\\\"type\\\": \\\"int\\\"}]}}\", \"cost\": 3}"},
    {"add", "doc", "Adds a number.\n\nIn place.  \xc3\xbc \033[31m"},
    {"typed", "signature",
     "constexpr f() [with FType = int(const std::__cxx11::basic_string<char>&, "
     "tvm::ffi::Array<long int>); X = int]"},
    {"missing", "doc", "of a function that is not there"},
    {"plain", "unknown kind", "ignored"},
    {"", "abi", "0.1.16"},
    {0, 0, 0},
};

#ifdef MANY_ROWS
static const char long_text[1000001] = {[0 ... 999999] = 'x'};
#define ROW {long_text, "doc", long_text},
#define ROWS10 ROW ROW ROW ROW ROW ROW ROW ROW ROW ROW
#define ROWS100 ROWS10 ROWS10 ROWS10 ROWS10 ROWS10 ROWS10 ROWS10 ROWS10 ROWS10 ROWS10
#define ROWS1000 ROWS100 ROWS100 ROWS100 ROWS100 ROWS100 ROWS100 ROWS100 ROWS100 ROWS100 ROWS100
__attribute__((used, aligned(8), section("tvm_ffi_exports"))) static struct Row many[] = {
    ROWS1000 ROWS1000 ROWS1000 ROWS1000 ROWS1000 ROWS1000 ROWS1000 ROWS1000 ROWS1000 ROWS1000};
#endif

__attribute__((visibility("default"))) extern const char __tvm_ffi__library_bin[];
const char __tvm_ffi__library_bin[] = EMBEDDED;
extern void* __tvm_ffi__library_ctx;
void* __tvm_ffi__library_ctx = 0;

extern const char some_cubin[];
const char some_cubin[] = CUBIN;
__attribute__((used, section(".nv_fatbin"))) static const char fatbin[] = FATBIN;
__attribute__((used, section(".hip_fatbin"))) static const char hip[] = HIP;
#ifdef NEEDS_LATER
int TVMFFIOfALaterRelease(void);
FUNCTION(__tvm_ffi_added)
int (*needed)(void) = &TVMFFIOfALaterRelease;
#endif
__attribute__((weak)) int TVMFFIMaybeThere(void);
int (*maybe_needed)(void) = &TVMFFIMaybeThere;
