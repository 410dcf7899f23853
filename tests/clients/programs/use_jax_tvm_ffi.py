# SPDX-License-Identifier: Apache-2.0
"""Call C++ library functions and Python functions inside compiled JAX functions."""

import jax
import jax.numpy as jnp
import jax_tvm_ffi
import numpy as np

import tvm_ffi.cpp

SOURCE = """
void scale(tvm::ffi::TensorView x, tvm::ffi::TensorView y, double factor) {
  TVM_FFI_CHECK(x.ndim() == 1 && y.ndim() == 1, ValueError) << "rank 1 is expected";
  auto* from = static_cast<const float*>(x.data_ptr());
  auto* to = static_cast<float*>(y.data_ptr());
  for (int64_t i = 0; i < x.size(0); ++i) to[i] = from[i] * static_cast<float>(factor);
}
"""


def call(name, x, **attributes):
    shape = jax.ShapeDtypeStruct(x.shape, x.dtype)
    return jax.ffi.ffi_call(name, shape, vmap_method="broadcast_all")(x, **attributes)


module = tvm_ffi.cpp.load_inline(name="scaling", cpp_sources=SOURCE, functions=["scale"])
jax_tvm_ffi.register_ffi_target(
    "client.scale", module.scale, ["args", "rets", "attrs.factor"], platform="cpu"
)
x = jnp.arange(5, dtype=jnp.float32)
scaled = jax.jit(lambda x: call("client.scale", x, factor=np.float64(3)))
np.testing.assert_array_equal(np.asarray(scaled(x)), np.arange(5) * 3)
try:
    scaled(jnp.zeros((2, 2), jnp.float32)).block_until_ready()
except Exception as error:
    assert "rank 1 is expected" in str(error), error
else:
    raise AssertionError("a kernel's error was lost")
np.testing.assert_array_equal(np.asarray(scaled(x)), np.arange(5) * 3)


def add_one(x, y):
    np.from_dlpack(y)[:] = np.from_dlpack(x) + 1


jax_tvm_ffi.register_ffi_target(
    "client.add_one", add_one, ["args", "rets"], platform="cpu", pass_owned_tensor=True
)
added = jax.jit(lambda x: call("client.add_one", x))
np.testing.assert_array_equal(np.asarray(added(x)), np.arange(5) + 1)
print("done")
