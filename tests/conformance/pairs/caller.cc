// SPDX-License-Identifier: Apache-2.0
// A caller in C++: calls `add` of a library with right arguments, with one argument, and again.
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/error.h>
#include <tvm/ffi/function.h>

#include <cstdio>

namespace ffi = tvm::ffi;

static bool AddsOne(const ffi::Function& add) {
  float in[3] = {1, 2, 3}, out[3] = {};
  int64_t extent = 3, stride = 1;
  DLTensor x{};
  x.data = in, x.device = {kDLCPU, 0}, x.ndim = 1, x.dtype = {kDLFloat, 32, 1};
  x.shape = &extent, x.strides = &stride;
  DLTensor y = x;
  y.data = out;
  add(&x, &y);
  return out[0] == 2 && out[2] == 4;
}

int main(int argc, char** argv) {
  if (argc != 2) return 1;
  try {
    ffi::Function load = ffi::Function::GetGlobalRequired("ffi.ModuleLoadFromFile");
    ffi::Function find = ffi::Function::GetGlobalRequired("ffi.ModuleGetFunction");
    ffi::Function add = find(load(ffi::String(argv[1])), "add", false).cast<ffi::Function>();
    if (!AddsOne(add)) return std::puts("the first call is wrong"), 1;
    try {
      add(1);
      return std::puts("one argument was accepted"), 1;
    } catch (const ffi::Error& error) {
      if (error.kind() != "TypeError") return std::puts("the error is no TypeError"), 1;
    }
    if (!AddsOne(add)) return std::puts("the call after the error is wrong"), 1;
  } catch (const std::exception& error) {
    return std::puts(error.what()), 1;
  }
  return std::puts("right"), 0;
}
