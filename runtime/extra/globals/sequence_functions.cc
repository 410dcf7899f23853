// SPDX-License-Identifier: Apache-2.0
// Global functions for Array and List (ffi.Array*, ffi.List*).
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/reflection/registry.h>

#include "registration.h"

namespace tvm::ffi {
namespace {

template <typename Sequence>
void MakeSequence(PackedArgs args, Any* rv) {
  Sequence sequence;
  sequence.reserve(args.size());
  for (int i = 0; i < args.size(); ++i) sequence.push_back(Any(args[i]));
  *rv = std::move(sequence);
}

template <typename SequenceObj>
Any GetItem(const SequenceObj* sequence, int64_t i) {
  return sequence->at(i);
}

template <typename SequenceObj>
int64_t Size(const SequenceObj* sequence) {
  return static_cast<int64_t>(sequence->size());
}

template <typename SequenceObj>
bool Contains(const SequenceObj* sequence, const Any& value) {
  // Copy each element that may have an equality hook, because the hook may change the sequence.
  for (size_t i = 0; i < sequence->size(); ++i) {
    const Any& element = sequence->begin()[i];
    bool may_have_hook = element.type_index() >= kTVMFFIDynObjectBegin;
    if (may_have_hook ? AnyEqual()(Any(element), value) : AnyEqual()(element, value)) return true;
  }
  return false;
}

// Inserts an element.  Checks the index first, because the iterator arithmetic may overflow for an
// index out of range.
void Insert(List<Any> list, int64_t i, const Any& value) {
  auto size = static_cast<int64_t>(list.size());
  if (i < 0 || i > size) ffi::detail::ThrowInsertBounds(i, size);
  list.insert(list.begin() + i, value);
}

// Removes and returns an element.  A negative index counts from the end of the list.
Any Pop(List<Any> list, int64_t i) {
  auto size = static_cast<int64_t>(list.size());
  if (i < 0 && i >= -size) i += size;
  Any element = list.GetListObj()->at(i);
  list.GetListObj()->erase(i);
  return element;
}

// Replaces the elements with the indices start to stop - 1.  `replacement` may be the list itself.
void ReplaceSlice(List<Any> list, int64_t start, int64_t stop, const List<Any>& replacement) {
  int64_t size = static_cast<int64_t>(list.size());
  if (start < 0 || stop < start || stop > size) ffi::detail::ThrowEraseRange(start, stop, size);
  std::vector<Any> elements(replacement.begin(), replacement.end());
  // Run the destructors of the erased elements after the list is complete, because they may use the
  // list.
  std::vector<Any> erased(list.begin() + start, list.begin() + stop);
  // Reserve memory before erasing, so that the list is unchanged if memory runs out.
  list.reserve(static_cast<int64_t>(list.size() + elements.size()));
  list.erase(list.begin() + start, list.begin() + stop);
  list.insert(list.begin() + start, elements.begin(), elements.end());
}

}  // namespace

void extra::RegisterSequenceFunctions() {
  reflection::GlobalDef()
      .def_packed("ffi.Array", &MakeSequence<Array<Any>>)
      .def("ffi.ArrayGetItem", &GetItem<ArrayObj>)
      .def("ffi.ArraySize", &Size<ArrayObj>)
      .def("ffi.ArrayContains", &Contains<ArrayObj>)
      .def_packed("ffi.List", &MakeSequence<List<Any>>)
      .def("ffi.ListGetItem", &GetItem<ListObj>)
      .def("ffi.ListSize", &Size<ListObj>)
      .def("ffi.ListContains", &Contains<ListObj>)
      .def("ffi.ListSetItem", [](List<Any> list, int64_t i, Any value) { list.Set(i, value); })
      .def("ffi.ListAppend", [](List<Any> list, const Any& value) { list.push_back(value); })
      .def("ffi.ListInsert", &Insert)
      .def("ffi.ListPop", &Pop)
      .def("ffi.ListErase", [](List<Any> list, int64_t i) { list.GetListObj()->erase(i); })
      .def("ffi.ListEraseRange", [](List<Any> list, int64_t start,
                                    int64_t stop) { list.GetListObj()->erase(start, stop); })
      .def("ffi.ListReplaceSlice", &ReplaceSlice)
      .def("ffi.ListReverse", [](List<Any> list) { list.GetListObj()->Reverse(); })
      .def("ffi.ListClear", [](List<Any> list) { list.clear(); })
      .def("ffi.ListReserve", [](List<Any> list, int64_t n) { list.reserve(n); });
}

}  // namespace tvm::ffi
