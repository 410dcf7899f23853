// SPDX-License-Identifier: Apache-2.0
// C++ API benchmark program, compiled once with our headers and once with the incumbent's.
#include "calls.h"
#include "containers.h"
#include "harness.h"
#include "values.h"

namespace {

using namespace benchmark;

using IntMap = Map<int64_t, int64_t>;
using IntDict = Dict<int64_t, int64_t>;

// ORDER cpp-rows
Row rows[] = {
    {"cpp_call_0", 1, 7, CallWithNothing, 0},
    {"cpp_call_3", 1, 4, CallWithThree, 0},
    {"cpp_call_8", 1, 29, CallWithEight, 0},
    {"cpp_call_tensors", 1, 6, CallWithTensors, 0},
    {"cpp_call_string", 1, 29, CallWithString, 0},
    {"cpp_call_array", 1, 100, CallWithArray, 0},
    {"cpp_call_symbol", 1, 6, CallSymbol, 0},
    {"cpp_throw_cpp", 1, 1, ThrowThroughCpp, 0},
    {"cpp_throw_c", 1, 1, ThrowThroughC, 0},
    {"cpp_array_iterate", kElements, kElementSum, IterateNumbers<Array<int64_t>>, 0},
    {"cpp_array_index", kElements, kElementSum, IndexArray, 0},
    {"cpp_array_iterate_refs", kElements, 2 * kElements, IterateReferences, 0},
    {"cpp_list_iterate", kElements, kElementSum, IterateNumbers<List<int64_t>>, 0},
    {"cpp_map_iterate_small", 3, 3, IterateMap<3>, 0},
    {"cpp_map_iterate_dense", kElements, kElementSum, IterateMap<kElements>, 0},
    {"cpp_map_hit_small", 3, 3, Find<int64_t, 3, 0>, 0},
    {"cpp_map_hit_int", kElements, kElements, Find<int64_t, kElements, 0>, 0},
    {"cpp_map_miss_int", kElements, 0, Find<int64_t, kElements, kElements>, 0},
    {"cpp_map_hit_str", kElements, kElements, Find<String, kElements, 0>, 0},
    {"cpp_map_miss_str", kElements, 0, Find<String, kElements, kElements>, 0},
    {"cpp_array_append", kElements, kElements, Append<Array<int64_t>>, 0},
    {"cpp_list_append", kElements, kElements, Append<List<int64_t>>, 0},
    {"cpp_map_set_4", 4, 4, Insert<IntMap, 4>, 0},
    {"cpp_map_set_100", 100, 100, Insert<IntMap, 100>, 0},
    {"cpp_map_set_10000", 10000, 10000, Insert<IntMap, 10000>, 0},
    {"cpp_dict_set_100", 100, 100, Insert<IntDict, 100>, 0},
    {"cpp_shape_make", 1, 3, MakeShape, 0},
    {"cpp_string_make_short", 1, 5, MakeShortString, 0},
    {"cpp_string_make_long", 1, 40, MakeLongString, 0},
    {"cpp_string_copy_short", 1, 1, CopyShortString, 0},
    {"cpp_string_copy_long", 1, 1, CopyLongString, 0},
    {"cpp_string_compare_short", 1, 1, CompareShortStrings, 0},
    {"cpp_string_compare", 1, 1, CompareLongStrings, 0},
    {"cpp_any_copy_int", 1, 1, CopyIntAny, 0},
    {"cpp_any_copy_object", 1, 1, CopyObjectAny, 0},
    {"cpp_any_cast_int", 1, 7, CastAnyToInt, 0},
    {"cpp_any_cast_ref", 1, 1, CastAnyToReference, 0},
    {"cpp_ref_copy", 1, 1, CopyReference, 0},
    {"cpp_ref_as", 1, 1, AsObject, 0},
    {"cpp_object_make", 1, 1, MakeObject, 0},
};

}  // namespace

int main() {
  TVMFFIVersion version;
  TVMFFIGetVersion(&version);
  char text[48];
  std::snprintf(text, sizeof(text), "%u.%u.%u", version.major, version.minor, version.patch);
  return Serve(rows, text);
}
