/* SPDX-License-Identifier: Apache-2.0
 *
 * Macros that embed the signature and documentation of a function that is defined as a C symbol:
 *
 *     TVM_FFI_DLL_EXPORT int __tvm_ffi_scale(void* handle, const TVMFFIAny* args, ...) { ... }
 *     TVM_FFI_DLL_EXPORT_SIGNATURE(scale, "scale(x: inout float32[n], factor: float = 1.0)")
 *     TVM_FFI_DLL_EXPORT_DOC(scale, "Multiply each element.")
 *
 * Use each macro at file scope, without a semicolon, at most once per function; the text is a
 * string literal.  Each macro defines a symbol, through which a loaded library returns the text,
 * and a row of the section `tvm_ffi_exports`, which tools read from the library file
 * (docs/design/export-rows.md).  For functions exported with TVM_FFI_DLL_EXPORT_TYPED_FUNC, use
 * the macros in tvm/ffi/function.h instead. */
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

/* Row of the section `tvm_ffi_exports`, which tools read: function name, kind of the text, and the
 * text, all NUL-terminated. */
struct TVMFFICExportRow_ {
  const char* name;
  const char* kind;
  const char* text;
};

/* Return a text as a String value.
 *
 * result   receives an owned string.
 * Fails:   out of memory.     Threads: any. */
static inline int TVMFFICReturnText_(const char* text, size_t size, TVMFFIAny* result) {
  TVMFFIByteArray bytes;
  bytes.data = text;
  bytes.size = size;
  return TVMFFIStringFromByteArray(&bytes, result);
}

/* Write a text, escaped for a JSON string, without quotes; return the end of the output.  Writes at
 * most six bytes for each byte of the text. */
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

/* Further members of the metadata, as JSON text after the signature.  A build that generates a
 * function with checks, __tvm_ffi_NAME, defines __tvm_ffi_NAME as the name tvm_ffi_unchecked_NAME
 * while it compiles the user's function.  TVM_FFI_SIGNATURE_UNCHECKED is defined by builds whose
 * user wants no checks. */
#define TVM_FFI_C_QUOTED__(Text) #Text
#define TVM_FFI_C_QUOTED_(Macro) TVM_FFI_C_QUOTED__(Macro)
#ifdef TVM_FFI_SIGNATURE_UNCHECKED
#define TVM_FFI_C_SIGNATURE_MEMBERS_(Symbol) ",\"unchecked\":true"
#else
#define TVM_FFI_C_SIGNATURE_MEMBERS_(Symbol) \
  (TVM_FFI_C_QUOTED_(Symbol)[0] == '_' ? "" : ",\"checked\":true")
#endif

/* Return {"signature":"TEXT" MEMBERS}.  The text is escaped at run time, so that the library
 * contains it only once.
 *
 * result   receives an owned string.
 * Fails:   out of memory.     Threads: any. */
static inline int TVMFFICReturnSignature_(const char* text, size_t size, const char* members,
                                          TVMFFIAny* result) {
  static const char begin[] = "{\"signature\":\"";
  size_t members_size = strlen(members);
  char* json = (char*)malloc(sizeof(begin) + 6 * size + members_size + sizeof("\"}"));
  char* end;
  int code;
  if (json == NULL) {
    TVMFFIErrorSetRaisedFromCStr("MemoryError", "out of memory");
    return -1;
  }
  memcpy(json, begin, sizeof(begin) - 1);
  end = TVMFFICWriteJSON_(json + sizeof(begin) - 1, text, size);
  *end++ = '"';
  memcpy(end, members, members_size);
  end += members_size;
  *end++ = '}';
  code = TVMFFICReturnText_(json, (size_t)(end - json), result);
  free(json);
  return code;
}

/* Define a symbol that returns a text. */
#define TVM_FFI_C_TEXT_SYMBOL_(Symbol, Return)                                           \
  TVM_FFI_C_SYMBOL_ TVM_FFI_DLL_EXPORT int Symbol(void* self, const TVMFFIAny* args,     \
                                                  int32_t num_args, TVMFFIAny* result);  \
  TVM_FFI_C_SYMBOL_ TVM_FFI_DLL_EXPORT int Symbol(void* self, const TVMFFIAny* args,     \
                                                  int32_t num_args, TVMFFIAny* result) { \
    (void)self, (void)args, (void)num_args;                                              \
    return Return;                                                                       \
  }

/* Define a row of the section `tvm_ffi_exports`.  It is not const, because all rows of a section
 * must have the same flags and the addresses in a row may need relocations.  It is aligned
 * explicitly, because otherwise a compiler may leave gaps between rows. */
#ifdef __ELF__
#define TVM_FFI_C_ROW_(Variable, Name, Kind, Text)                                         \
  __attribute__((used, aligned(8),                                                         \
                 section("tvm_ffi_exports"))) static struct TVMFFICExportRow_ Variable = { \
      Name, Kind, Text};
#else
#define TVM_FFI_C_ROW_(Variable, Name, Kind, Text)
#endif

/* Embed the signature of __tvm_ffi_NAME. */
#define TVM_FFI_DLL_EXPORT_SIGNATURE(Name, Text)                                       \
  TVM_FFI_C_TEXT_SYMBOL_(                                                              \
      __tvm_ffi__metadata_##Name,                                                      \
      TVMFFICReturnSignature_("" Text "", sizeof(Text) - 1,                            \
                              TVM_FFI_C_SIGNATURE_MEMBERS_(__tvm_ffi_##Name), result)) \
  TVM_FFI_C_ROW_(TVMFFICDeclaration_##Name, #Name, "declaration", "" Text "")

/* Embed the documentation of __tvm_ffi_NAME. */
#define TVM_FFI_DLL_EXPORT_DOC(Name, Text)                                         \
  TVM_FFI_C_TEXT_SYMBOL_(__tvm_ffi__doc_##Name,                                    \
                         TVMFFICReturnText_("" Text "", sizeof(Text) - 1, result)) \
  TVM_FFI_C_ROW_(TVMFFICDoc_##Name, #Name, "doc", "" Text "")

#endif /* TVM_FFI_EXTRA_C_SIGNATURE_H_ */
