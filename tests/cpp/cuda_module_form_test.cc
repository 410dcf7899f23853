// SPDX-License-Identifier: Apache-2.0
// CUDA modules: rejected arguments, and the saved form, compared with bytes written by hand.
#include <doctest/doctest.h>
#include <tvm/ffi/container/shape.h>
#include <tvm/ffi/container/tensor.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "cuda_module_setting.h"
#include "thrown.h"

namespace {

using namespace setting;  // NOLINT(*)

void CheckContains(const std::string& text, const std::string& part) {
  if (text.find(part) == std::string::npos) CHECK_EQ(text, part);
}

std::string Little(uint64_t value, int width) {
  std::string bytes;
  for (int i = 0; i < width; ++i) bytes += static_cast<char>(value >> (8 * i) & 0xff);
  return bytes;
}

std::string Text(const std::string& text) { return Little(text.size(), 8) + text; }

const std::string kShortPtx = ".version 7.0 .entry s()";

// One kernel `f` of symbol `s`, from PTX.
std::string Saved(uint32_t version = 1, uint32_t format = 1) {
  return "TVMFFICU" + Little(version, 4) + Little(format, 4) + Text(kShortPtx) + Little(1, 8) +
         Text("f") + Text("s") + Little(2, 8) + Text("x: float32*") + Text("int8") + Little(1, 8) +
         Text("gridDim") + Little(1, 8) + Text("blockDim.x") + Little(256, 8);
}

Module Load(const std::string& bytes) {
  return Function::GetGlobalRequired("ffi.Module.load_from_bytes.cuda_driver")(Bytes(bytes))
      .cast<Module>();
}

// A 64-bit little-endian ELF header, followed by this many section headers with these types and
// extents.
struct Section {
  uint32_t type;
  uint64_t offset, size;
};
std::string Elf(const std::vector<Section>& sections, const std::string& tail = "") {
  std::string bytes = std::string(
                          "\x7f"
                          "ELF\x02\x01\x01",
                          7) +
                      std::string(9, '\0');
  bytes += std::string(16, '\0') + Little(0, 8) + Little(sections.empty() ? 0 : 64, 8);
  bytes += Little(0, 4) + Little(64, 2) + Little(56, 2) + Little(0, 2) + Little(64, 2) +
           Little(sections.size(), 2) + Little(0, 2);
  for (const Section& section : sections) {
    bytes += Little(0, 4) + Little(section.type, 4) + std::string(16, '\0') +
             Little(section.offset, 8) + Little(section.size, 8) + std::string(24, '\0');
  }
  return bytes + tail;
}

std::string Fatbin(uint64_t body_size, const std::string& tail) {
  return "\x50\xed\x55\xba" + Little(1, 2) + Little(16, 2) + Little(body_size, 8) + tail;
}

}  // namespace

TEST_CASE("arguments are checked") {
  fake_driver_reset();
  Module module = Create({
      Kernel("scale", {"x: float32*", "y: float32[]", "n: int8", "a: float32"},
             {"gridDim", "blockDim.x"}),
      Kernel("plain", {"uint16", "bool"}, {"dynamicSharedMemory"}),
  });
  Function scale = Get(module, "scale"), plain = Get(module, "plain");
  Vector x, y, on_1(1), on_host(0, kDLCUDAHost), on_cpu(0, kDLCPU), negative(-1), ints, gaps;
  ints.tensor.dtype = {kDLInt, 32, 1};
  gaps.strides[0] = 2;
  const std::string start = "scale(x, y, n, a, gridDim, blockDim.x): argument ";
  auto call = [&](auto... args) { return Thrown([&] { scale(args...); }); };
  auto refused = [&](const std::string& thrown, const std::string& kind, const std::string& rest) {
    CHECK_EQ(thrown, kind + ": " + start + rest);
  };
  CHECK_EQ(call(x.get(), y.get()),
           "TypeError: scale(x, y, n, a, gridDim, blockDim.x) takes 6 arguments, got 2");
  refused(call(1.5, y.get(), 1, 1, 1, 1), "TypeError",
          "0 `x`: expected a tensor, a pointer or None, got `float`");
  refused(call(ints.get(), y.get(), 1, 1, 1, 1), "TypeError",
          "0 `x`: expected a tensor of float32, got one of int32");
  refused(call(x.get(), gaps.get(), 1, 1, 1, 1), "ValueError",
          "1 `y`: expected a compact tensor, got one with gaps or in another order");
  refused(call(on_cpu.get(), y.get(), 1, 1, 1, 1), "ValueError",
          "0 `x`: expected a tensor on a CUDA device, got one on cpu:0");
  refused(call(x.get(), on_1.get(), 1, 1, 1, 1), "ValueError",
          "1 `y`: expected a tensor on cuda:0 like argument 0, got one on cuda:1");
  refused(call(negative.get(), y.get(), 1, 1, 1, 1), "ValueError", "0 `x`: there is no cuda:-1");
  refused(call(x.get(), y.get(), 1.0, 1, 1, 1), "TypeError", "2 `n`: expected int, got `float`");
  refused(call(x.get(), y.get(), 128, 1, 1, 1), "ValueError",
          "2 `n`: 128 is out of the range of int8");
  refused(call(x.get(), y.get(), -129, 1, 1, 1), "ValueError",
          "2 `n`: -129 is out of the range of int8");
  refused(call(x.get(), y.get(), 1, "1", 1, 1), "TypeError",
          "3 `a`: expected float, got `const char*`");
  refused(call(x.get(), y.get(), 1, 1, 0, 1), "ValueError",
          "4 `gridDim`: the extent x must be from 1 to 2147483647, got 0");
  refused(call(x.get(), y.get(), 1, 1, Shape({1, 1, 0}), 1), "ValueError",
          "4 `gridDim`: the extent z must be from 1 to 2147483647, got 0");
  refused(call(x.get(), y.get(), 1, 1, Shape({1, 1, 1, 1}), 1), "ValueError",
          "4 `gridDim`: expected 1 to 3 extents, got 4");
  refused(call(x.get(), y.get(), 1, 1, Shape(), 1), "ValueError",
          "4 `gridDim`: expected 1 to 3 extents, got 0");
  refused(call(x.get(), y.get(), 1, 1, nullptr, 1), "TypeError",
          "4 `gridDim`: expected int or up to three of them, got `None`");
  refused(call(x.get(), y.get(), 1, 1, 1, Shape({1})), "TypeError",
          "5 `blockDim.x`: expected int, got `ffi.Shape`");
  refused(call(x.get(), y.get(), 1, 1, 1, 2147483648), "ValueError",
          "5 `blockDim.x`: the extent x must be from 1 to 2147483647, got 2147483648");
  const std::string plain_start = "plain(uint16, bool, dynamicSharedMemory): argument ";
  CHECK_EQ(Thrown([&] { plain(-1, true, 0); }),
           "ValueError: " + plain_start + "0: -1 is out of the range of uint16");
  CHECK_EQ(Thrown([&] { plain(65536, true, 0); }),
           "ValueError: " + plain_start + "0: 65536 is out of the range of uint16");
  CHECK_EQ(Thrown([&] { plain(1, 1.0, 0); }),
           "TypeError: " + plain_start + "1: expected bool, got `float`");
  CHECK_EQ(Thrown([&] { plain(1, true, -1); }),
           "ValueError: " + plain_start +
               "2 `dynamicSharedMemory`: bytes must be from 0 to 2147483647, got -1");
  CHECK_EQ(Joined(TakeCalls()), "");  // no driver call

  // Memory that all devices can access does not determine the device.
  scale(on_host.get(), y.get(), 127, 1, 1, 1);
  scale(x.get(), on_host.get(), -128, 1, 1, 1);
  CHECK_EQ(Only("cuLaunch").size(), 2);
}

TEST_CASE("kernel descriptions are checked") {
  auto refused = [](const Array<Any>& kernel, const std::string& part) {
    CheckContains(Thrown([&] { Create({kernel}); }), part);
  };
  for (const char* type : {"", "float16", "int4", "int32x2", "float32**", "string*", "*",
                           "x:", "bfloat16", "handle", "float128"}) {
    refused(Kernel("k", {type}), std::string("ValueError: CUDA kernel `k`: parameter `") + type +
                                     "` has no known type; expected ");
  }
  refused(Kernel("k", {}, {"gridDim.w"}),
          "ValueError: CUDA kernel `k`: `gridDim.w` is not a launch field; expected gridDim");
  refused(Kernel("k", {}, {}, {{"grid", 1}}), "`grid` is not a launch field");
  refused(Kernel("k", {}, {"gridDim", "gridDim.z"}),
          "CUDA kernel `k`: `gridDim.z` sets a launch field that is already set");
  refused(Kernel("k", {}, {"gridDim"}, {{"blockIdx.y", 1}}),
          "`blockIdx.y` sets a launch field that is already set");
  refused(Kernel("k", {}, {}, {{"blockDim.x", 0}}),
          "`blockDim.x` must be from 1 to 2147483647, got 0");
  refused(Kernel("k", {}, {}, {{"dynamicSharedMemory", -1}}),
          "`dynamicSharedMemory` must be from 0 to 2147483647, got 1844674407370955");
  refused(Kernel("", {}), "expected names of kernel and symbol without NUL bytes");
  refused(Kernel("k", {}, {}, {}, ""), "expected names of kernel and symbol without NUL bytes");
  refused(Kernel("k", Texts(4097, "int8")), "expected at most 4096 parameters, got 4097");
  refused({"k", "k"},
          "CUDA module: expected 5 elements for a CUDA kernel [name, symbol, parameters, launch, "
          "fixed], got 2");
  CheckContains(Thrown([&] { Create({Kernel("k", {}), Kernel("k", {})}); }),
                "ValueError: CUDA module: two functions have the name `k`");
  Create({Kernel("k", {" x :  bfloat16x2 * ", "float8_e4m3fn[]", "void *", "void[]", "bool*"})});
}

TEST_CASE("images are checked") {
  auto refused = [](const std::string& image, const char* format, const std::string& message) {
    CHECK_EQ(Thrown([&] { Create({}, image, format); }), "ValueError: CUDA image: " + message);
  };
  refused("", "", "expected PTX, a cubin or a fatbin, got bytes of another format");
  refused("hello", "ptx", "expected PTX, a cubin or a fatbin, got bytes of another format");
  refused(kShortPtx, "cubin", "expected a cubin, got a ptx");
  refused(kShortPtx, "hsaco", "expected format ptx, cubin or fatbin, got `hsaco`");
  refused(kShortPtx + std::string("\0x", 2), "", "the PTX contains a NUL byte");
  refused(
      "\x7f"
      "ELF",
      "", "the cubin is truncated after 4 bytes");
  std::string elf = Elf({{1, 128, 8}}, "contents");
  CHECK_EQ(Create({}, elf)->GetWriteFormats()[0], "cubin");
  for (size_t size = 4; size < elf.size(); ++size) {
    refused(elf.substr(0, size), "",
            "the cubin is truncated after " + std::to_string(size) + " bytes");
  }
  Create({}, Elf({{8, 128, 1 << 20}}));  // a section without contents in the file
  refused(Elf({{1, UINT64_MAX, 1}}), "", "the cubin is truncated after 128 bytes");
  refused(Elf({{1, 1, UINT64_MAX}}), "", "the cubin is truncated after 128 bytes");
  std::string narrow = elf;
  narrow[4] = 1;
  refused(narrow, "", "the cubin is not a 64-bit little-endian ELF file");
  std::string fatbin = Fatbin(8, "contents");
  CHECK_EQ(Create({}, fatbin, "fatbin")->GetWriteFormats()[0], "fatbin");
  for (size_t size = 4; size < fatbin.size(); ++size) {
    refused(fatbin.substr(0, size), "",
            "the fatbin is truncated after " + std::to_string(size) + " bytes");
  }
  refused(Fatbin(UINT64_MAX, "contents"), "", "the fatbin is truncated after 24 bytes");
}

TEST_CASE("cubins and fatbins run") {
  fake_driver_reset();
  for (const std::string& image : {Elf({}, "FAKE scale other"), Fatbin(16, "FAKE scale other")}) {
    Function scale = Get(Create({Kernel("scale", {"x: float32*"})}, image), "scale");
    Vector x;
    scale(x.get());
    CHECK_EQ(Only("cuLaunch").back(),
             "cuLaunchKernel(scale on 0, grid 1 1 1, block 1 1 1, 0 bytes, stream 0)");
  }
}

TEST_CASE("the saved form has the documented layout") {
  Module module = Create(
      {Kernel("f", {"x: float32*", "int8"}, {"gridDim"}, {{"blockDim.x", 256}}, "s")}, kShortPtx);
  CHECK_EQ(std::string(module->SaveToBytes()), Saved());
  Module loaded = Load(Saved());
  CHECK_EQ(std::string(loaded->kind()), "cuda_driver");
  CHECK_EQ(std::string(loaded->SaveToBytes()), Saved());
  fake_driver_reset();
  Vector x;
  Get(loaded, "f")(x.get(), 1, 2);
  CHECK_EQ(Only("cuLaunch").back(),
           "cuLaunchKernel(s on 0, grid 2 1 1, block 256 1 1, 0 bytes, stream 0)");
}

TEST_CASE("damaged bytes are rejected") {
  const std::string whole = Saved();
  for (size_t size = 0; size < whole.size(); ++size) {
    std::string thrown = Thrown([&] { Load(whole.substr(0, size)); });
    CheckContains(thrown, "ValueError: corrupt saved CUDA module at byte ");
    CheckContains(thrown, " of " + std::to_string(size) + ": ");
  }
  CheckContains(Thrown([&] { Load(whole + "x"); }), "1 bytes follow the module");
  CHECK_EQ(Thrown([&] { Load(Saved(3)); }),
           "ValueError: unsupported saved CUDA module: expected format version 1 or 2, got 3");
  CheckContains(Thrown([&] { Load(Saved(1, 0)); }),
                "at byte 12 of " + std::to_string(whole.size()) + ": image format out of range");
  CheckContains(Thrown([&] { Load(Saved(1, 4)); }), "image format out of range");
  CHECK_EQ(Thrown([&] { Load(Saved(1, 2)); }),
           "ValueError: CUDA image: expected a cubin, got a ptx");
  // Each 8 bytes may be a length or a count; a huge one must be rejected.
  for (size_t at = 16; at + 8 <= whole.size(); ++at) {
    for (uint64_t value : {UINT64_MAX, uint64_t{1} << 63, uint64_t{1} << 40}) {
      std::string bytes = whole;
      bytes.replace(at, 8, Little(value, 8));
      Thrown([&] { Load(bytes); });  // an error or another module, but no crash
    }
  }
  std::string huge = whole.substr(0, 16) + Little(UINT64_MAX, 8) + whole.substr(24);
  CheckContains(Thrown([&] { Load(huge); }), "at byte 16 of ");
  CheckContains(Thrown([&] { Load(huge); }), " bytes of an image do not fit into the remaining ");
}

TEST_CASE("sources are shown and written") {
  Module ptx = Create({}, kShortPtx), cubin = Create({}, Elf({}));
  CHECK_EQ(ptx->InspectSource(""), kShortPtx);
  CHECK_EQ(ptx->InspectSource("ptx"), kShortPtx);
  CHECK_EQ(ptx->InspectSource("cuda"), "");
  CHECK_EQ(cubin->InspectSource(""), "");
  char path[] = "/tmp/cuda_module_test_XXXXXX";
  int file = mkstemp(path);
  CHECK(file >= 0);
  close(file);
  cubin->WriteToFile(path, "cubin");
  std::stringstream written;
  written << std::ifstream(path, std::ios::binary).rdbuf();
  CHECK_EQ(written.str(), Elf({}));
  std::remove(path);
  CHECK_EQ(Thrown([&] { cubin->WriteToFile(path, "ptx"); }),
           "ValueError: cannot write a CUDA module to a file: expected format cubin, got ptx");
  CHECK_EQ(Thrown([&] { cubin->WriteToFile("/nowhere/at/all", ""); }),
           "OSError: cannot write /nowhere/at/all");
}
