// SPDX-License-Identifier: Apache-2.0
// Minimal C++ program that loads a library and calls its function add_one:  main LIBRARY
#include <tvm/ffi/container/tensor.h>
#include <tvm/ffi/extra/module.h>

#include <cstdio>
#include <cstdlib>

using tvm::ffi::Error;
using tvm::ffi::Function;
using tvm::ffi::Module;
using tvm::ffi::Tensor;

// Allocator of the memory of tensors; ../tensor_allocators shows other allocators.
struct HeapMemory {
  void AllocData(DLTensor* t) { t->data = std::malloc(tvm::ffi::GetDataSize(*t)); }
  void FreeData(DLTensor* t) { std::free(t->data); }
};

Tensor NewVector(int64_t length) {
  return Tensor::FromNDAlloc(HeapMemory(), {length}, DLDataType{kDLFloat, 32, 1},
                             DLDevice{kDLCPU, 0});
}

void Run(const char* path) {
  Function add_one = Module::LoadFromFile(path)->GetFunction("add_one").value();
  Tensor x = NewVector(4);
  Tensor y = NewVector(4);
  for (int i = 0; i < 4; ++i) static_cast<float*>(x.data_ptr())[i] = static_cast<float>(i + 1);
  add_one(x, y);
  const float* out = static_cast<const float*>(y.data_ptr());
  std::printf("C++      add_one([1, 2, 3, 4]) wrote [%g, %g, %g, %g]\n",
              static_cast<double>(out[0]), static_cast<double>(out[1]), static_cast<double>(out[2]),
              static_cast<double>(out[3]));
  add_one(x, NewVector(3));
}

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s LIBRARY\n", argv[0]);
    return 2;
  }
  try {
    Run(argv[1]);
  } catch (const Error& error) {
    std::printf("caught   %s: %s\n", error.kind().c_str(), error.what());
  }
  return 0;
}
