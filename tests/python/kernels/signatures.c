/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions that return their arguments in an Array, with signatures in their metadata. */
#include "kernel.h"

static int ReturnText(const char* text, TVMFFIAny* result) {
  const TVMFFIByteArray bytes = {text, strlen(text)};
  return TVMFFIStringFromByteArray(&bytes, result);
}

static int ReturnAll(const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  static TVMFFIObjectHandle make_array = NULL;
  const TVMFFIByteArray name = {"ffi.Array", 9};
  if (make_array == NULL && TVMFFIFunctionGetGlobal(&name, &make_array) != 0) return -1;
  *result = None();
  return TVMFFIFunctionCall(make_array, (TVMFFIAny*)args, num_args, result);
}

#define SHOWN(name, metadata)                                \
  KERNEL(name) { return ReturnAll(args, num_args, result); } \
  KERNEL(_metadata_##name) { return ReturnText(metadata, result); }

#define SIGNATURE(text) "{\"signature\": \"" text "\"}"

SHOWN(softmax, SIGNATURE("softmax(x: Any, y: out Any, temperature: float = 1)"))
SHOWN(named,
      SIGNATURE("named(a: int, /, b: int, c: int = 3, *, d: int, e: str = 'x') doc 'Names.'"))
SHOWN(collecting, SIGNATURE("collecting(a: int, b: int = 2, *rest: Any, c: int = 4) -> Any"))
SHOWN(converted,
      SIGNATURE("converted(number: float | None, path: str, numbers: Array[float] = [1, 2])"))
SHOWN(others, SIGNATURE("others(dtype: dtype = 'float16', device: Device = 'cuda:1')"))
SHOWN(scalars, SIGNATURE("scalars(x: float32, y: int8 = 5)"))
SHOWN(wide, SIGNATURE("wide(a: int, b: int, c: int, d: int, e: int, f: int, g: int, h: int = 8, "
                      "i: int = 9, j: int = 10)"))
SHOWN(nameless, SIGNATURE("(x: int)"))
SHOWN(reading, SIGNATURE("reading(x: Tensor, y: out Tensor, z: unknown Tensor)"))
SHOWN(unsigned_, "{\"type_schema\": \"{}\"}")
SHOWN(wrong_text, SIGNATURE("wrong(x: float32[n)"))
SHOWN(wrong_json, "{\"signature\": ")
SHOWN(wrong_kind, "[\"signature\"]")
SHOWN(wrong_member, "{\"signature\": 5}")

KERNEL(raising) { return ReturnAll(args, num_args, result); }
KERNEL(_metadata_raising) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "no metadata today");
  return -1;
}

SHOWN(blocking, SIGNATURE("blocking()"))
SHOWN(quick, SIGNATURE("quick() non_blocking"))
