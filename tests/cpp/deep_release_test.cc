// SPDX-License-Identifier: Apache-2.0
// Containers nested as deeply as memory allows are released with constant stack depth.
#include <doctest/doctest.h>
#include <tvm/ffi/container/array.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/container/list.h>
#include <tvm/ffi/container/map.h>
#include <tvm/ffi/container/tuple.h>
#include <tvm/ffi/function.h>
#include <tvm/ffi/reflection/access_path.h>

#include <thread>
#include <vector>

namespace {

using namespace tvm::ffi;

// Nesting depth. With sanitizers it is a tenth, which still overflows a stack, because sanitizers
// need memory for each allocation.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kDepth = 100000;
#else
constexpr int kDepth = 1000000;
#endif

// An object that counts its releases.
class NoteObj : public Object {
 public:
  explicit NoteObj(std::vector<int>* released, int number) : released_(released), number_(number) {}
  ~NoteObj() { released_->push_back(number_); }

  TVM_FFI_DECLARE_OBJECT_INFO_FINAL("test.DeepReleaseNote", NoteObj, Object);

 private:
  std::vector<int>* released_;
  int number_;
};

Any Note(std::vector<int>* released, int number) {
  return Any(ObjectRef(ObjectPtr<Object>(make_object<NoteObj>(released, number))));
}

template <typename Wrap>
size_t NumReleased(Wrap wrap) {
  std::vector<int> released;
  {
    Any value = Note(&released, 0);
    for (int i = 0; i < kDepth; ++i) value = wrap(std::move(value));
    CHECK_EQ(released.size(), 0u);
  }
  return released.size();
}

TEST_CASE("nested sequences are released") {
  CHECK_EQ(NumReleased([](Any value) { return Any(Array<Any>{std::move(value)}); }), 1u);
  CHECK_EQ(NumReleased([](Any value) { return Any(List<Any>{1, std::move(value)}); }), 1u);
  CHECK_EQ(NumReleased([](Any value) { return Any(Tuple<Any, int>(std::move(value), 1)); }), 1u);
}

// Regression: access paths share their prefixes, so each path owns the path before it, and the
// release was recursive.
TEST_CASE("access paths are released") {
  reflection::AccessPath path = reflection::AccessPath::Root();
  for (int i = 0; i < kDepth; ++i) path = path->ArrayItem(i);
  CHECK_EQ(path->depth, kDepth);
}

TEST_CASE("nested tables are released") {
  CHECK_EQ(NumReleased([](Any value) { return Any(Map<String, Any>{{"k", std::move(value)}}); }),
           1u);
  CHECK_EQ(NumReleased([](Any value) { return Any(Dict<int, Any>{{1, std::move(value)}}); }), 1u);
}

// Regression: only the release of containers was deferred, so chains of other objects overflowed
// the stack.
TEST_CASE("functions that capture functions are released") {
  auto typed = [](Any value) {
    return Any(Function::FromTyped([value = std::move(value)](int64_t x) { return x; }));
  };
  auto packed = [](Any value) {
    return Any(Function::FromPacked([value = std::move(value)](PackedArgs, Any*) {}));
  };
  auto in_c = [](Any value) {
    auto call = [](void*, const TVMFFIAny*, int32_t, TVMFFIAny*) { return 0; };
    auto deleter = [](void* self) { delete static_cast<Any*>(self); };
    return Any(Function::FromExternC(new Any(std::move(value)), call, deleter));
  };
  CHECK_EQ(NumReleased(typed), 1u);
  CHECK_EQ(NumReleased(packed), 1u);
  CHECK_EQ(NumReleased(in_c), 1u);
}

TEST_CASE("alternating types are released") {
  int turn = 0;
  CHECK_EQ(NumReleased([&turn](Any value) {
             switch (turn++ % 3) {
               case 0:
                 return Any(Array<Any>{std::move(value)});
               case 1:
                 return Any(Dict<Any, Any>{{std::move(value), 1}});
               default:
                 return Any(List<Any>{std::move(value)});
             }
           }),
           1u);
}

TEST_CASE("every branch is released") {
  std::vector<int> released;
  {
    Any left = Note(&released, 1), right = Note(&released, 2);
    for (int i = 0; i < kDepth / 2; ++i) {
      left = Array<Any>{left, Note(&released, 3)};
      right = List<Any>{right};
    }
    Array<Any> both = {left, right, right};
    left = right = nullptr;
    CHECK_EQ(released.size(), 0u);
  }
  CHECK_EQ(released.size(), static_cast<size_t>(kDepth / 2 + 2));
}

TEST_CASE("objects with other references stay alive") {
  Array<Any> kept = {1, 2};
  {
    Any value = kept;
    for (int i = 0; i < kDepth; ++i) value = Array<Any>{std::move(value)};
  }
  CHECK_EQ(kept.use_count(), 1);
  CHECK_EQ(kept[1].cast<int>(), 2);
}

TEST_CASE("release ends before the statement that caused it") {
  std::vector<int> released;
  Any value = Note(&released, 7);
  for (int i = 0; i < 1000; ++i) value = Array<Any>{std::move(value)};
  value = nullptr;
  CHECK_EQ(released.size(), 1u);
  CHECK_EQ(released[0], 7);
}

TEST_CASE("nested values are released on many threads") {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([] {
      Any value;
      for (int j = 0; j < kDepth / 4; ++j) value = List<Any>{std::move(value)};
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
