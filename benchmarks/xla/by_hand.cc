// SPDX-License-Identifier: Apache-2.0
// Hand-written XLA FFI handler for y = x + 1, as in XLA's documentation: the floor of the XLA row.
#include <xla/ffi/api/ffi.h>

namespace ffi = xla::ffi;

namespace {

ffi::Error AddOne(ffi::Buffer<ffi::F32> x, ffi::ResultBuffer<ffi::F32> y) {
  for (size_t i = 0; i < x.element_count(); ++i) y->typed_data()[i] = x.typed_data()[i] + 1;
  return ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    by_hand, AddOne, ffi::Ffi::Bind().Arg<ffi::Buffer<ffi::F32>>().Ret<ffi::Buffer<ffi::F32>>());
