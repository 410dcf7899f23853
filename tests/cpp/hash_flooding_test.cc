// SPDX-License-Identifier: Apache-2.0
// Hash flooding: keys chosen so that their hashes collide.  A table needs n * n / 2 comparisons for
// n of them, which took ten seconds for 820 KB of JSON; readers reject such keys, or use a hash
// that cannot be predicted.
#include <doctest/doctest.h>
#include <tvm/ffi/container/dict.h>
#include <tvm/ffi/extra/json.h>
#include <tvm/ffi/extra/serialization.h>
#include <tvm/ffi/function.h>

#include <ctime>
#include <string>
#include <vector>

#include "thrown.h"

namespace {

using namespace tvm::ffi;

// Eight letters are one number modulo 2^31 - 1, in which a letter of the second half has twice the
// weight of the letter of the first half at the same position.
std::string CollidingKey(int number) {
  std::string key(8, '\0');
  for (size_t position = 0; position < 4; ++position, number /= 15) {
    int digit = number % 15;
    key[position] = static_cast<char>('z' - 2 * digit);
    key[position + 4] = static_cast<char>('A' + digit);
  }
  return key;
}

std::string ObjectText(int num_keys) {
  std::string text = "{";
  for (int i = 0; i < num_keys; ++i) text += "\"" + CollidingKey(i) + "\":0,";
  text.back() = '}';
  return text;
}

Array<String> CollidingTexts(int num_keys) {
  Array<String> texts;
  for (int i = 0; i < num_keys; ++i) texts.push_back(CollidingKey(i));
  return texts;
}

// Processor time in seconds.
template <typename Body>
double Cost(Body body) {
  std::clock_t begin = std::clock();
  body();
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

// Well above the expected time, sanitizers included, and a small part of the quadratic time.
constexpr double kBound = 2;
constexpr int kMany = 40000;

TEST_CASE("the test keys collide") {
  uint64_t hash = AnyHash()(Any(String(CollidingKey(0))));
  int num_others = 0;
  for (int i = 1; i < kMany; ++i) num_others += AnyHash()(Any(String(CollidingKey(i)))) != hash;
  CHECK_EQ(num_others, 0);
  CHECK(CollidingKey(1) != CollidingKey(0));
}

TEST_CASE("JSON text with colliding keys is rejected with its position") {
  std::string text = "[1,\n" + ObjectText(kMany) + "]";
  double cost = Cost([&] {
    CHECK_EQ(Thrown([&] { json::Parse(text); }),
             "ValueError: more than 512 keys of the map have colliding hashes: line 2 column 1 "
             "(char 4)");
  });
  CHECK(cost < kBound);
}

TEST_CASE("the allowed number of colliding keys is accepted") {
  auto object = json::Parse(ObjectText(512)).cast<json::Object>();
  CHECK_EQ(object.size(), 512u);
  CHECK_EQ(
      Thrown([] { json::Parse(ObjectText(513)); }),
      "ValueError: more than 512 keys of the map have colliding hashes: line 1 column 1 (char 0)");
}

TEST_CASE("spread keys are not counted as collisions") {
  std::string text = "{";
  for (int i = 0; i < 100000; ++i) text += "\"key " + std::to_string(i) + "\":1,";
  text.back() = '}';
  CHECK_EQ(json::Parse(text).cast<json::Object>().size(), 100000u);
}

TEST_CASE("repeated keys are not counted as collisions") {
  std::string text = "{";
  for (int i = 0; i < kMany; ++i) text += "\"key\":" + std::to_string(i) + ",";
  for (int i = 0; i < 512; ++i) text += "\"" + CollidingKey(i) + "\":0,";
  text.back() = '}';
  auto object = json::Parse(text).cast<json::Object>();
  CHECK_EQ(object.size(), 513u);
  CHECK(object["key"].as<int64_t>() == kMany - 1);
}

TEST_CASE("graphs with colliding keys are rejected with their node") {
  for (const char* type : {"ffi.Map", "ffi.Dict"}) {
    json::Array nodes, indices;
    for (int i = 0; i < kMany; ++i) {
      nodes.push_back(json::Object{{"type", "ffi.String"}, {"data", String(CollidingKey(i))}});
      indices.push_back(i);
      indices.push_back(0);
    }
    nodes.push_back(json::Object{{"type", String(type)}, {"data", indices}});
    json::Object graph{{"root_index", kMany}, {"nodes", nodes}};
    double cost = Cost([&] {
      CHECK_EQ(Thrown([&] { FromJSONGraph(graph); }),
               "ValueError: Invalid JSON Object Graph, node 40000: more than 512 keys of the map "
               "have colliding hashes");
    });
    CHECK(cost < kBound);
  }
}

// The writer has a separate index of values that have a node.
TEST_CASE("graphs of colliding strings are written") {
  Array<String> texts = CollidingTexts(kMany);
  double cost = Cost([&] {
    auto graph = ToJSONGraph(texts).cast<json::Object>();
    CHECK_EQ(graph["nodes"].cast<json::Array>().size(), static_cast<size_t>(kMany) + 1);
  });
  CHECK(cost < kBound);
}

// The hash spreads integers, but tables of libstdc++ have predictable sizes.
TEST_CASE("graphs of integers are written") {
  Array<int64_t> numbers;
  for (int64_t i = 0; i < kMany; ++i) numbers.push_back(i * 52391 * 107897);
  CHECK(Cost([&] { ToJSONGraph(numbers); }) < kBound);
}

TEST_CASE("maps with colliding keys are rejected") {
  for (const char* name : {"ffi.Map", "ffi.Dict"}) {
    Function make = Function::GetGlobalRequired(name);
    std::vector<Any> parts;
    for (const String& text : CollidingTexts(kMany)) {
      parts.emplace_back(text);
      parts.emplace_back(1);
    }
    std::vector<AnyView> args(parts.begin(), parts.end());
    double cost = Cost([&] {
      Any result;
      CHECK_EQ(
          Thrown([&] { make.CallPacked(args.data(), static_cast<int32_t>(args.size()), &result); }),
          "ValueError: more than 512 keys of the map have colliding hashes");
    });
    CHECK(cost < kBound);
  }
}

}  // namespace
