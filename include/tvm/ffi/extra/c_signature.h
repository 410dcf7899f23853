/* SPDX-License-Identifier: Apache-2.0
 *
 * Signatures and documentation of functions that are written as symbols, in C or in C++:
 *
 *     TVM_FFI_DLL_EXPORT int __tvm_ffi_scale(void* handle, const TVMFFIAny* args, ...) { ... }
 *     TVM_FFI_DLL_EXPORT_SIGNATURE(scale, "scale(x: inout float32[n], factor: float = 1.0)")
 *     TVM_FFI_DLL_EXPORT_DOC(scale, "Multiply each element.")
 *
 * Both stand at file scope, without a semicolon, once per function, and their text is a string
 * literal.  Each defines the symbol that a running library is asked by, and a row that tools read
 * from the file (docs/design/export-rows.md).  Functions that are exported with
 * TVM_FFI_DLL_EXPORT_TYPED_FUNC have macros of their own in tvm/ffi/function.h. */
#ifndef TVM_FFI_EXTRA_C_SIGNATURE_H_
#define TVM_FFI_EXTRA_C_SIGNATURE_H_

#include <stdlib.h>
#include <string.h>
#include <tvm/ffi/c_api.h>

#ifdef __cplusplus
#define TVM_FFI_C_SYMBOL_ extern "C"
#else
#define TVM_FFI_C_SYMBOL_ extern
#endif

/* Three addresses of texts: the function's name, a kind, and what the kind says. */
struct TVMFFICExportRow_ {
  const char* name;
  const char* kind;
  const char* text;
};

/* Return a text.
 *
 * result   receives an owned string.
 * Fails:   out of memory.     Threads: any. */
static inline int TVMFFICReturnText_(const char* text, size_t size, TVMFFIAny* result) {
  TVMFFIByteArray bytes;
  bytes.data = text;
  bytes.size = size;
  return TVMFFIStringFromByteArray(&bytes, result);
}

/* Write a text as the inside of a JSON string; return the end of what was written.  At most six
 * bytes are written for each byte of the text. */
static inline char* TVMFFICWriteJSON_(char* out, const char* text, size_t size) {
  static const char digits[] = "0123456789abcdef";
  size_t i;
  for (i = 0; i < size; ++i) {
    unsigned char byte = (unsigned char)text[i];
    if (byte < 0x20) {
      memcpy(out, "\\u00", 4);
      out[4] = digits[byte >> 4];
      out[5] = digits[byte & 15];
      out += 6;
      continue;
    }
    if (byte == '"' || byte == '\\') *out++ = '\\';
    *out++ = (char)byte;
  }
  return out;
}

/* Return {"signature":"TEXT"}.  Escaping is work of the call, so that no file holds the text twice.
 *
 * result   receives an owned string.
 * Fails:   out of memory.     Threads: any. */
static inline int TVMFFICReturnSignature_(const char* text, size_t size, TVMFFIAny* result) {
  static const char begin[] = "{\"signature\":\"";
  char* json = (char*)malloc(sizeof(begin) + 6 * size + 2);
  char* end;
  int code;
  if (json == NULL) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "out of memory");
    return -1;
  }
  memcpy(json, begin, sizeof(begin) - 1);
  end = TVMFFICWriteJSON_(json + sizeof(begin) - 1, text, size);
  *end++ = '"';
  *end++ = '}';
  code = TVMFFICReturnText_(json, (size_t)(end - json), result);
  free(json);
  return code;
}

#define TVM_FFI_C_TEXT_SYMBOL_(Symbol, Return, Text)                                     \
  TVM_FFI_C_SYMBOL_ TVM_FFI_DLL_EXPORT int Symbol(void* self, const TVMFFIAny* args,     \
                                                  int32_t num_args, TVMFFIAny* result);  \
  TVM_FFI_C_SYMBOL_ TVM_FFI_DLL_EXPORT int Symbol(void* self, const TVMFFIAny* args,     \
                                                  int32_t num_args, TVMFFIAny* result) { \
    (void)self, (void)args, (void)num_args;                                              \
    return Return(Text, sizeof(Text) - 1, result);                                       \
  }

/* Not const: rows with and without addresses to relocate share the section.  Aligned: a compiler
 * may leave gaps otherwise. */
#ifdef __ELF__
#define TVM_FFI_C_ROW_(Variable, Name, Kind, Text)                                         \
  __attribute__((used, aligned(8),                                                         \
                 section("tvm_ffi_exports"))) static struct TVMFFICExportRow_ Variable = { \
      Name, Kind, Text};
#else
#define TVM_FFI_C_ROW_(Variable, Name, Kind, Text)
#endif

/* The signature of __tvm_ffi_NAME, as text. */
#define TVM_FFI_DLL_EXPORT_SIGNATURE(Name, Text)                                          \
  TVM_FFI_C_TEXT_SYMBOL_(__tvm_ffi__metadata_##Name, TVMFFICReturnSignature_, "" Text "") \
  TVM_FFI_C_ROW_(TVMFFICDeclaration_##Name, #Name, "declaration", "" Text "")

/* The documentation of __tvm_ffi_NAME. */
#define TVM_FFI_DLL_EXPORT_DOC(Name, Text)                                      \
  TVM_FFI_C_TEXT_SYMBOL_(__tvm_ffi__doc_##Name, TVMFFICReturnText_, "" Text "") \
  TVM_FFI_C_ROW_(TVMFFICDoc_##Name, #Name, "doc", "" Text "")

#endif /* TVM_FFI_EXTRA_C_SIGNATURE_H_ */
