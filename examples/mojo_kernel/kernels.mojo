# SPDX-License-Identifier: Apache-2.0
"""Mojo kernels: a hand-written TVM FFI function, and a function with a C calling convention."""

from std.ffi import external_call

# A mutable address that Mojo does not track.
comptime Address[T: AnyType] = Pointer[T, MutUntrackedOrigin]

# [wrapped.begin]
@export("scale")
def scale(
    x: Address[Float32], y: Address[Float32], n: Int64, factor: Float32
) abi("C"):
    """Multiply each element by a factor; a generated wrapper checks the arguments."""
    for i in range(Int(n)):
        y[unsafe_offset=i] = factor * x[unsafe_offset=i]


# [wrapped.end]
# [relu.begin]
comptime DLTENSOR_PTR = 7  # type index of a DLTensor*
comptime TENSOR = 70  # type index of a Tensor object, whose DLTensor follows the header
comptime HEADER_BYTES = 24
comptime CPU = 1
comptime FLOAT = 2


@fieldwise_init
struct Value:
    """The C struct TVMFFIAny."""

    var type_index: Int32
    var padding: UInt32
    var payload: UInt64


@fieldwise_init
struct Tensor:
    """The C struct DLTensor."""

    var data: UInt64
    var device_type: Int32
    var device_id: Int32
    var ndim: Int32
    var dtype_code: UInt8
    var dtype_bits: UInt8
    var dtype_lanes: UInt16
    var shape: Address[Int64]
    var strides: UInt64  # an address or NULL
    var byte_offset: UInt64

    def is_float32_vector(self) -> Bool:
        """Return True for a compact float32 vector in host memory."""
        if self.device_type != CPU or self.ndim != 1:
            return False
        if self.dtype_code != FLOAT or self.dtype_bits != 32 or self.dtype_lanes != 1:
            return False
        if self.strides == 0 or self.shape[unsafe_offset=0] <= 1:
            return True
        return Address[Int64](unsafe_from_address=Int(self.strides))[unsafe_offset=0] == 1

    def elements(self) -> Address[Float32]:
        return Address[Float32](unsafe_from_address=Int(self.data + self.byte_offset))


def refuse(kind: StaticString, message: StaticString) -> Int32:
    """Raise an error; string literals end with NUL, as the C function requires."""
    external_call["TVMFFIErrorSetRaisedFromCStr", NoneType](kind.unsafe_ptr(), message.unsafe_ptr())
    return -1


def address_of_tensor(value: Value) -> UInt64:
    """Return the address of the DLTensor of an argument; 0 if it is not a tensor."""
    if value.type_index == DLTENSOR_PTR:
        return value.payload
    if value.type_index == TENSOR:
        return value.payload + HEADER_BYTES
    return 0


@export("__tvm_ffi_relu")
def relu(
    handle: UInt64, args: Address[Value], num_args: Int32, result: Address[Value]
) abi("C") -> Int32:
    """Compute `y = max(x, 0)`."""
    if num_args != 2:
        return refuse("TypeError", "relu(x, y) takes 2 arguments")
    var x_address = address_of_tensor(args[unsafe_offset=0])
    var y_address = address_of_tensor(args[unsafe_offset=1])
    if x_address == 0 or y_address == 0:
        return refuse("TypeError", "relu(x, y): both arguments must be tensors")
    ref x = Address[Tensor](unsafe_from_address=Int(x_address))[]
    ref y = Address[Tensor](unsafe_from_address=Int(y_address))[]
    if not x.is_float32_vector() or not y.is_float32_vector():
        return refuse("ValueError", "relu(x, y): both must be compact float32 vectors on the CPU")
    var n = x.shape[unsafe_offset=0]
    if y.shape[unsafe_offset=0] != n:
        return refuse("ValueError", "relu(x, y): `y` must be as long as `x`")
    for i in range(Int(n)):
        y.elements()[unsafe_offset=i] = max(x.elements()[unsafe_offset=i], 0)
    return 0  # the caller has set the result to None


# [relu.end]
