/* SPDX-License-Identifier: Apache-2.0
 *
 * Functions for the tests of the torch adapter: they write, return, violate their signature, fail.
 * Tensors are compact and have dtype float32 unless the signature says otherwise. */
#include <dlfcn.h>
#include <tvm/ffi/extra/c_env_api.h>
#include <tvm/ffi/extra/c_signature.h>

#include "../kernels/kernel.h"

static float* Floats(const DLTensor* x) { return (float*)((char*)x->data + x->byte_offset); }

static int64_t Count(const DLTensor* x) {
  int64_t count = 1;
  for (int32_t i = 0; i < x->ndim; ++i) count *= x->shape[i];
  return count;
}

static double Number(const TVMFFIAny* arg) {
  return arg->type_index == kTVMFFIFloat ? arg->v_float64 : (double)arg->v_int64;
}

static void Scale(const DLTensor* x, DLTensor* y, double factor) {
  for (int64_t i = 0; i < Count(x); ++i) Floats(y)[i] = (float)(Floats(x)[i] * factor);
}

/* Returns a new vector of `length` elements that are all `value`. */
static int NewVector(const DLTensor* like, int64_t length, float value, TVMFFIAny* result) {
  TVMFFIObjectHandle tensor = NULL;
  DLTensor prototype = *like;
  prototype.shape = &length;
  prototype.ndim = 1;
  if (TVMFFIEnvTensorAlloc(&prototype, &tensor) != 0) return -1;
  for (int64_t i = 0; i < length; ++i) Floats(TVMFFITensorGetDLTensorPtr(tensor))[i] = value;
  return Return(result, kTVMFFITensor, (int64_t)(intptr_t)tensor);
}

KERNEL(scaled) {
  Scale(TensorArgument(&args[0]), TensorArgument(&args[1]), Number(&args[2]));
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(
    scaled, "scaled(x: float32[n], y: out float32[n], factor: float = 2.0) doc 'Scale.'")

KERNEL(packed) {
  Scale(TensorArgument(&args[0]), TensorArgument(&args[1]), Number(&args[2]));
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(
    packed, "packed(x: float32[n] compact, y: out float32[n] compact, factor: float = 2.0)")

KERNEL(scaled_rows) {
  const DLTensor* x = TensorArgument(&args[0]);
  DLTensor* y = TensorArgument(&args[1]);
  const int64_t n = x->shape[0], m = x->shape[1];
  for (int64_t i = 0; i < n; ++i) {
    for (int64_t j = 0; j < m; ++j) {
      Floats(y)[i * y->strides[0] + j] = 2 * Floats(x)[i * x->strides[0] + j];
    }
  }
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(scaled_rows,
                             "scaled_rows(x: float32[n, m] compact from -1, "
                             "y: out float32[n, m] compact from 1)")

KERNEL(transposed) {
  const DLTensor* x = TensorArgument(&args[0]);
  DLTensor* y = TensorArgument(&args[1]);
  const int64_t n = x->shape[0], m = x->shape[1];
  for (int64_t i = 0; i < n * m; ++i) Floats(y)[i % m * n + i / m] = Floats(x)[i];
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(
    transposed, "transposed(x: T[n, m], y: out T[m, n], n: int) where T in (float32, int32)")

KERNEL(added) {
  const DLTensor* x = TensorArgument(&args[0]);
  DLTensor* total = TensorArgument(&args[1]);
  for (int64_t i = 0; i < Count(x); ++i) Floats(total)[i] += Floats(x)[i];
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(added, "added(x: float32[n], total: inout float32[n])")

KERNEL(packed_sum) {
  const DLTensor* x = TensorArgument(&args[0]);
  DLTensor* total = TensorArgument(&args[1]);
  for (int64_t i = 0; i < Count(x); ++i) Floats(total)[i] += Floats(x)[i];
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(packed_sum,
                             "packed_sum(x: float32[n] compact, total: inout float32[n] compact)")

/* Appends a decimal digit to the number in `log`, which records the order of calls. */
KERNEL(noted) {
  float* log = Floats(TensorArgument(&args[0]));
  *log = *log * 10 + (float)args[1].v_int64;
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(noted, "noted(log: inout float32[1], digit: int)")

/* Writes each argument to an element of y: -1 for None, the length for a string, else the number.
 * */
KERNEL(optional) {
  float* y = Floats(TensorArgument(&args[0]));
  y[0] = args[1].type_index == kTVMFFINone ? -1 : Floats(TensorArgument(&args[1]))[0];
  y[1] = args[2].type_index == kTVMFFINone ? -1 : (float)Number(&args[2]);
  y[2] = (float)args[3].v_int64;
  y[3] = (float)args[4].v_int64;
  y[4] = (float)TextArgument(&args[5]).size;
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(
    optional,
    "optional(y: out float32[5], x: float32[n] | None = None, scale: float | None = None, "
    "number: int = 7, *, flag: bool = True, text: str = 'abc')")

/* Same as `optional`, but writes two elements: that of x, and the other arguments as digits. */
KERNEL(chosen) {
  float* y = Floats(TensorArgument(&args[0]));
  y[0] = args[1].type_index == kTVMFFINone ? -1 : Floats(TensorArgument(&args[1]))[0];
  y[1] = (float)(args[2].type_index == kTVMFFINone ? 0 : 1000 * Number(&args[2]));
  y[1] += (float)(10 * args[3].v_int64 + args[4].v_int64);
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(
    chosen,
    "chosen(y: inout float32[_], x: float32[n] | None = None, scale: float | None = None, "
    "number: int = 7, flag: bool = False)")

KERNEL(joined) {
  float* y = Floats(TensorArgument(&args[0]));
  for (int32_t i = 1; i < num_args - 1; ++i) {
    *y++ = Floats(TensorArgument(&args[i]))[0] + (float)args[num_args - 1].v_int64;
  }
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(joined,
                             "joined(y: out float32[n], *parts: float32[_], start: int = 0)")

KERNEL(counted) {
  static TVMFFIObjectHandle array_size = NULL;
  const TVMFFIByteArray name = {"ffi.ArraySize", 13};
  TVMFFIAny size = None();
  if (array_size == NULL && TVMFFIFunctionGetGlobal(&name, &array_size) != 0) return -1;
  if (TVMFFIFunctionCall(array_size, (TVMFFIAny*)args, 1, &size) != 0) return -1;
  Floats(TensorArgument(&args[1]))[0] = (float)size.v_int64;
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(counted, "counted(parts: Array[Tensor], y: out float32[1])")

KERNEL(doubled) {
  const DLTensor* x = TensorArgument(&args[0]);
  if (NewVector(x, x->shape[0], 0, result) != 0) return -1;
  Scale(x, TVMFFITensorGetDLTensorPtr(result->v_obj), 2);
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(doubled, "doubled(x: float32[n]) -> float32[n]")

KERNEL(pair) {
  static TVMFFIObjectHandle make_array = NULL;
  const TVMFFIByteArray name = {"ffi.Array", 9};
  const DLTensor* x = TensorArgument(&args[0]);
  TVMFFIAny parts[2] = {None(), None()};
  if (make_array == NULL && TVMFFIFunctionGetGlobal(&name, &make_array) != 0) return -1;
  if (NewVector(x, x->shape[0] + 1, 1, &parts[0]) != 0) return -1;
  if (NewVector(x, 2 * x->shape[0], 2, &parts[1]) != 0) return -1;
  *result = None();
  const int code = TVMFFIFunctionCall(make_array, parts, 2, result);
  Release(&parts[0]);
  Release(&parts[1]);
  return code;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(
    pair, "pair(x: float32[n]) -> (first: float32[n + 1], second: float32[max(2 * n, 4)])")

/* Declares two results, but returns one. */
KERNEL(one_of_two) { return NewVector(TensorArgument(&args[0]), 3, 1, result); }
TVM_FFI_DLL_EXPORT_SIGNATURE(one_of_two,
                             "one_of_two(x: float32[n]) -> (a: float32[n], b: float32[n])")

/* Declares a result of three elements, but returns two elements. */
KERNEL(too_short) { return NewVector(TensorArgument(&args[0]), 2, 1, result); }
TVM_FFI_DLL_EXPORT_SIGNATURE(too_short, "too_short(x: float32[n]) -> float32[3]")

KERNEL(number_for_tensor) { return ReturnInt(result, 5); }
TVM_FFI_DLL_EXPORT_SIGNATURE(number_for_tensor, "number_for_tensor(x: float32[n]) -> float32[n]")

/* Declares no result, but returns a number. */
KERNEL(talkative) { return ReturnInt(result, 5); }
TVM_FFI_DLL_EXPORT_SIGNATURE(talkative, "talkative(x: float32[n], y: out float32[n])")

KERNEL(same) {
  *result = args[0];
  TVMFFIObjectIncRef(result->v_obj);
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(same, "same(x: float32[n]) -> float32[n]")

KERNEL(failing) {
  TVMFFIErrorSetRaisedFromCStr("ValueError", "no luck today");
  return -1;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(failing, "failing(x: float32[n], y: out float32[n])")

KERNEL(fruitless) {
  TVMFFIErrorSetRaisedFromCStr("KeyError", "no result today");
  return -1;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(fruitless, "fruitless(x: float32[n]) -> float32[n]")

KERNEL(aligned) {
  Scale(TensorArgument(&args[0]), TensorArgument(&args[1]), 2);
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(aligned,
                             "aligned(x: float32[n] compact align 16, y: out float32[n] compact)")

KERNEL(on_cuda) {
  Scale(TensorArgument(&args[0]), TensorArgument(&args[1]), 2);
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(on_cuda, "on_cuda(x: float32[n], y: out float32[n] on cuda)")

/* Keeps a tensor, which `kept` returns. */
static TVMFFIAny kept_tensor;

KERNEL(keep) {
  Release(&kept_tensor);
  kept_tensor = args[0];
  TVMFFIObjectIncRef(kept_tensor.v_obj);
  return 0;
}
TVM_FFI_DLL_EXPORT_SIGNATURE(keep, "keep(x: inout float32[n, m])")

KERNEL(kept) {
  *result = kept_tensor;
  kept_tensor = None();
  return 0;
}

/* Writes 1 if the thread holds the GIL, else 0. */
static int WriteHoldsGil(DLTensor* y) {
  int (*check)(void) = (int (*)(void))dlsym(RTLD_DEFAULT, "PyGILState_Check");
  Floats(y)[0] = check == NULL ? -1 : (float)check();
  return 0;
}

KERNEL(holds_gil) { return WriteHoldsGil(TensorArgument(&args[0])); }
TVM_FFI_DLL_EXPORT_SIGNATURE(holds_gil, "holds_gil(y: out float32[1])")

KERNEL(blocks_not) { return WriteHoldsGil(TensorArgument(&args[0])); }
TVM_FFI_DLL_EXPORT_SIGNATURE(blocks_not, "blocks_not(y: out float32[1]) non_blocking")

/* ---- functions that torch cannot trace ---- */

KERNEL(nameless) {
  Scale(TensorArgument(&args[0]), TensorArgument(&args[1]), 2);
  return 0;
}

KERNEL(silent) { return 0; }
TVM_FFI_DLL_EXPORT_SIGNATURE(silent, "silent(x: float32[n])")

KERNEL(mapped) { return 0; }
TVM_FFI_DLL_EXPORT_SIGNATURE(mapped, "mapped(x: inout float32[n], options: Map[str, int])")

KERNEL(length) { return ReturnInt(result, TensorArgument(&args[0])->shape[0]); }
TVM_FFI_DLL_EXPORT_SIGNATURE(length, "length(x: float32[n]) -> int")

KERNEL(shapeless) { return NewVector(TensorArgument(&args[0]), 3, 1, result); }
TVM_FFI_DLL_EXPORT_SIGNATURE(shapeless, "shapeless(x: float32[n]) -> Tensor")
