// SPDX-License-Identifier: Apache-2.0
// Byte order of the machine and of serialized data.
#ifndef TVM_FFI_ENDIAN_H_
#define TVM_FFI_ENDIAN_H_

#include <cstddef>
#include <cstdint>

// Byte order of serialized data: little endian unless the build defines this macro as 0.
#ifndef TVM_FFI_IO_USE_LITTLE_ENDIAN
#define TVM_FFI_IO_USE_LITTLE_ENDIAN 1
#endif

// Byte order of the machine; a build system may set it with TVM_FFI_CMAKE_LITTLE_ENDIAN.
#ifdef TVM_FFI_CMAKE_LITTLE_ENDIAN
#define TVM_FFI_LITTLE_ENDIAN TVM_FFI_CMAKE_LITTLE_ENDIAN
#elif defined(__BYTE_ORDER__)
#define TVM_FFI_LITTLE_ENDIAN (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
#else
#define TVM_FFI_LITTLE_ENDIAN 1
#endif

// Nonzero if serialized data has the byte order of the machine.
#define TVM_FFI_IO_NO_ENDIAN_SWAP (TVM_FFI_LITTLE_ENDIAN == TVM_FFI_IO_USE_LITTLE_ENDIAN)

namespace tvm {
namespace ffi {

// Reverses the bytes of each of `num_elems` elements in place.
inline void ByteSwap(void* data, size_t elem_bytes, size_t num_elems) {
  unsigned char* element = static_cast<unsigned char*>(data);
  for (size_t i = 0; i < num_elems; ++i, element += elem_bytes) {
    for (size_t low = 0, high = elem_bytes; low + 1 < high; ++low) {
      --high;
      unsigned char byte = element[low];
      element[low] = element[high];
      element[high] = byte;
    }
  }
}

}  // namespace ffi
}  // namespace tvm
#endif  // TVM_FFI_ENDIAN_H_
