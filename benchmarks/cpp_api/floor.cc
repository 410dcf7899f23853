// SPDX-License-Identifier: Apache-2.0
// Floor of the C++ API benchmark: hand-written code over the C ABI for each row.  Map and Dict rows
// have no floor, because the hash table's algorithm is part of the ABI.
#include <tvm/ffi/c_api.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "harness.h"

namespace {

using benchmark::Row;
using benchmark::Touch;

[[noreturn]] __attribute__((noinline, cold)) void Fail() { throw std::bad_alloc(); }

TVMFFIAny Value(int32_t type_index, int64_t payload) {
  TVMFFIAny value;
  value.type_index = type_index;
  value.zero_padding = 0;
  value.v_int64 = payload;
  return value;
}
TVMFFIAny Value(double payload) {
  TVMFFIAny value = Value(kTVMFFIFloat, 0);
  value.v_float64 = payload;
  return value;
}

// ---- Calls ------------------------------------------------------------------------------------

using Callee = void (*)(void* self, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result);

int64_t Int(const TVMFFIAny& value) {
  if (value.type_index != kTVMFFIInt) Fail();
  return value.v_int64;
}
double Float(const TVMFFIAny& value) {
  if (value.type_index != kTVMFFIFloat) Fail();
  return value.v_float64;
}
bool Bool(const TVMFFIAny& value) {
  if (value.type_index != kTVMFFIBool) Fail();
  return value.v_int64 != 0;
}
int64_t Rank(const TVMFFIAny& value) {
  if (value.type_index != kTVMFFIDLTensorPtr) Fail();
  return static_cast<DLTensor*>(value.v_ptr)->ndim;
}
void CheckCount(int32_t num_args, int32_t expected) {
  if (num_args != expected) Fail();
}

void Nothing(void*, const TVMFFIAny*, int32_t num_args, TVMFFIAny* result) {
  CheckCount(num_args, 0);
  *result = Value(kTVMFFIInt, 7);
}
void Three(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  CheckCount(num_args, 3);
  *result = Value(kTVMFFIInt, Int(args[0]) + int64_t(Float(args[1])) + Bool(args[2]));
}
void Eight(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  CheckCount(num_args, 8);
  double floats = Float(args[4]) + Float(args[5]) + Float(args[6]);
  *result = Value(kTVMFFIInt, Int(args[0]) + Int(args[1]) + Int(args[2]) + Int(args[3]) +
                                  int64_t(floats) + Bool(args[7]));
}
void Tensors(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  CheckCount(num_args, 3);
  *result = Value(kTVMFFIInt, Rank(args[0]) + Rank(args[1]) + Rank(args[2]));
}
void Elements(void*, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  CheckCount(num_args, 1);
  const TVMFFIAny* items = static_cast<const TVMFFIAny*>(args[0].v_ptr);
  for (int i = 0; i < 100; ++i) Int(items[i]);
  *result = Value(kTVMFFIInt, 100);
}

template <size_t count>
int64_t Call(Callee callee, const TVMFFIAny (&args)[count]) {
  Touch(callee);
  TVMFFIAny result = Value(kTVMFFINone, 0);
  callee(nullptr, args, count, &result);
  return Int(result);
}

int64_t CallWithNothing(int64_t repeats) {
  Callee callee = Nothing;
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Touch(callee);
    TVMFFIAny result = Value(kTVMFFINone, 0);
    callee(nullptr, nullptr, 0, &result);
    sum += Int(result);
  }
  return sum;
}
int64_t CallWithThree(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    const TVMFFIAny args[] = {Value(kTVMFFIInt, 1), Value(2.0), Value(kTVMFFIBool, 1)};
    sum += Call(Three, args);
  }
  return sum;
}
int64_t CallWithEight(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    const TVMFFIAny args[] = {Value(kTVMFFIInt, 1), Value(kTVMFFIInt, 2), Value(kTVMFFIInt, 3),
                              Value(kTVMFFIInt, 4), Value(5.0),           Value(6.0),
                              Value(7.0),           Value(kTVMFFIBool, 1)};
    sum += Call(Eight, args);
  }
  return sum;
}
int64_t CallWithTensors(int64_t repeats) {
  DLTensor tensor{};
  tensor.ndim = 2;
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    TVMFFIAny view = Value(kTVMFFIDLTensorPtr, reinterpret_cast<int64_t>(&tensor));
    const TVMFFIAny args[] = {view, view, view};
    sum += Call(Tensors, args);
  }
  return sum;
}
int64_t CallWithArray(int64_t repeats) {
  TVMFFIAny items[100];
  for (TVMFFIAny& item : items) item = Value(kTVMFFIInt, 1);
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    const TVMFFIAny args[] = {Value(kTVMFFIArray, reinterpret_cast<int64_t>(items))};
    sum += Call(Elements, args);
  }
  return sum;
}

// ---- Objects ----------------------------------------------------------------------------------

void Delete(void* object, int) { std::free(object); }

// Returns a new reference to an object of `size` bytes.
TVMFFIObject* NewObject(int32_t type_index, size_t size) {
  TVMFFIObject* object = static_cast<TVMFFIObject*>(std::malloc(size));
  if (object == nullptr) Fail();
  object->combined_ref_count = (uint64_t{1} << 32) + 1;
  object->type_index = type_index;
  object->__padding = 0;
  object->deleter = Delete;
  return object;
}
void Retain(TVMFFIObject* object) {
  __atomic_fetch_add(&object->combined_ref_count, 1, __ATOMIC_RELAXED);
}
void Release(TVMFFIObject* object) {
  uint64_t before = __atomic_fetch_sub(&object->combined_ref_count, 1, __ATOMIC_RELEASE);
  if ((before & 0xFFFFFFFF) != 1) return;
  __atomic_thread_fence(__ATOMIC_ACQUIRE);
  object->deleter(object, kTVMFFIObjectDeleterFlagBitMaskBoth);
}
void ReleaseAny(const TVMFFIAny& value) {
  if (value.type_index >= kTVMFFIStaticObjectBegin) Release(value.v_obj);
}

int64_t MakeObject(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    TVMFFIObject* object = NewObject(kTVMFFIObject, sizeof(TVMFFIObject) + 16);
    int64_t* fields = reinterpret_cast<int64_t*>(object + 1);
    fields[0] = 1;
    fields[1] = 2;
    Touch(object);
    sum += fields[0];
    Release(object);
  }
  return sum;
}

int64_t CopyReference(int64_t repeats) {
  TVMFFIObject* object = NewObject(kTVMFFIObject, sizeof(TVMFFIObject));
  int64_t sum = 0;
  for (; repeats > 0; --repeats, ++sum) {
    TVMFFIObject* copy = object;
    Retain(copy);
    Touch(copy);
    Release(copy);
  }
  Release(object);
  return sum;
}

int64_t CopyAny(const TVMFFIAny& value, int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats, ++sum) {
    TVMFFIAny copy = value;
    if (copy.type_index >= kTVMFFIStaticObjectBegin) Retain(copy.v_obj);
    Touch(copy);
    ReleaseAny(copy);
  }
  return sum;
}
int64_t CopyIntAny(int64_t repeats) { return CopyAny(Value(kTVMFFIInt, 1), repeats); }
int64_t CopyObjectAny(int64_t repeats) {
  TVMFFIObject* object = NewObject(kTVMFFIShape, sizeof(TVMFFIObject));
  int64_t sum = CopyAny(Value(kTVMFFIShape, reinterpret_cast<int64_t>(object)), repeats);
  Release(object);
  return sum;
}
int64_t CastAnyToInt(int64_t repeats) {
  TVMFFIAny value = Value(kTVMFFIInt, 7);
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Touch(value);
    sum += Int(value);
  }
  return sum;
}

int64_t MakeShape(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    TVMFFIObject* object =
        NewObject(kTVMFFIShape, sizeof(TVMFFIObject) + sizeof(TVMFFIShapeCell) + 24);
    TVMFFIShapeCell* cell = TVMFFIShapeGetCellPtr(object);
    int64_t* extents = reinterpret_cast<int64_t*>(cell + 1);
    extents[0] = 2;
    extents[1] = 3;
    extents[2] = 4;
    cell->data = extents;
    cell->size = 3;
    Touch(object);
    sum += static_cast<int64_t>(cell->size);
    Release(object);
  }
  return sum;
}

TVMFFIAny MakeText(const char* text, size_t size) {
  TVMFFIAny value = Value(kTVMFFISmallStr, 0);
  if (size < 8) {
    value.small_str_len = static_cast<uint32_t>(size);
    std::memcpy(value.v_bytes, text, size);
    return value;
  }
  value.type_index = kTVMFFIStr;
  value.v_obj = NewObject(kTVMFFIStr, sizeof(TVMFFIObject) + sizeof(TVMFFIByteArray) + size + 1);
  TVMFFIByteArray* bytes = TVMFFIBytesGetByteArrayPtr(value.v_obj);
  char* data = reinterpret_cast<char*>(bytes + 1);
  std::memcpy(data, text, size);
  data[size] = '\0';
  *bytes = {data, size};
  return value;
}
int64_t MakeString(const char* text, size_t size, int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    Touch(text);
    Touch(size);
    TVMFFIAny value = MakeText(text, size);
    Touch(value);
    sum += static_cast<int64_t>(size);
    ReleaseAny(value);
  }
  return sum;
}
int64_t MakeShortString(int64_t repeats) { return MakeString("hello", 5, repeats); }
int64_t MakeLongString(int64_t repeats) {
  return MakeString("a text of forty bytes, which needs memory", 40, repeats);
}

// ---- Sequences (Array and List) ---------------------------------------------------------------

constexpr int64_t kElements = 1000;
constexpr int64_t kElementSum = kElements * (kElements - 1) / 2;

int64_t IterateNumbers(int64_t repeats) {
  static TVMFFIAny items[kElements];
  for (int64_t i = 0; i < kElements; ++i) items[i] = Value(kTVMFFIInt, i);
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    const TVMFFIAny* first = items;
    Touch(first);
    for (const TVMFFIAny* item = first; item != first + kElements; ++item) sum += item->v_int64;
  }
  return sum;
}

int64_t Append(int64_t repeats) {
  int64_t sum = 0;
  for (; repeats > 0; --repeats) {
    int64_t capacity = 4;
    TVMFFIAny* items = static_cast<TVMFFIAny*>(std::malloc(4 * sizeof(TVMFFIAny)));
    int64_t size = 0;
    for (int64_t i = 0; i < kElements; ++i) {
      if (size == capacity) {
        capacity *= 2;
        void* grown = std::malloc(static_cast<size_t>(capacity) * sizeof(TVMFFIAny));
        if (grown == nullptr) Fail();
        std::memcpy(grown, items, static_cast<size_t>(size) * sizeof(TVMFFIAny));
        std::free(items);
        items = static_cast<TVMFFIAny*>(grown);
      }
      items[size++] = Value(kTVMFFIInt, i);
      Touch(items);
    }
    for (int64_t i = 0; i < size; ++i) ReleaseAny(items[i]);
    std::free(items);
    sum += size;
  }
  return sum;
}

// ORDER cpp-rows
Row rows[] = {
    {"cpp_call_0", 1, 7, CallWithNothing, 0},
    {"cpp_call_3", 1, 4, CallWithThree, 0},
    {"cpp_call_8", 1, 29, CallWithEight, 0},
    {"cpp_call_tensors", 1, 6, CallWithTensors, 0},
    {"cpp_call_array", 1, 100, CallWithArray, 0},
    {"cpp_array_iterate", kElements, kElementSum, IterateNumbers, 0},
    {"cpp_list_iterate", kElements, kElementSum, IterateNumbers, 0},
    {"cpp_array_append", kElements, kElements, Append, 0},
    {"cpp_list_append", kElements, kElements, Append, 0},
    {"cpp_shape_make", 1, 3, MakeShape, 0},
    {"cpp_string_make_short", 1, 5, MakeShortString, 0},
    {"cpp_string_make_long", 1, 40, MakeLongString, 0},
    {"cpp_any_copy_int", 1, 1, CopyIntAny, 0},
    {"cpp_any_copy_object", 1, 1, CopyObjectAny, 0},
    {"cpp_any_cast_int", 1, 7, CastAnyToInt, 0},
    {"cpp_ref_copy", 1, 1, CopyReference, 0},
    {"cpp_object_make", 1, 1, MakeObject, 0},
};

}  // namespace

int main() { return Serve(rows, "none"); }
