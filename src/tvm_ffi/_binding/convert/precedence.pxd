# SPDX-License-Identifier: Apache-2.0
# Conversion order: the precedence of the rules that choose the packer of a Python type.
#
# Rules are tried in the order of this enum, and the first rule that accepts the type chooses the
# packer.  Callers can observe the order; docs/concepts/conversion-order.md describes the order.
# Each precedence has exactly one rule: `add_rule` fails for a second rule.

cdef enum Precedence:
    # Native objects come first, so that they are passed unchanged even if their class also supports
    # a protocol.
    TENSOR = 0      # `Tensor`, including tensors that a callback borrows and that have no handle
    CONTAINER       # before OBJECT, which does not find the framework of tensors in a container
    OBJECT          # other objects, ObjectRValueRef, and classes with `__tvm_ffi_object__`
    # Arrays come before numbers, because an array with one element may convert to a number.
    EXCHANGE_API    # before DLPACK, because the same classes support both and DLPack is slower
    STREAM          # before NUMBER and POINTER: a stream class may derive from int or be a pointer
    NUMPY_ARRAY     # before DLPACK: NumPy's `__dlpack__` may refuse read-only arrays
    TORCH_TENSOR    # before DLPACK, which does not report PyTorch's current stream
    DLPACK          # classes with `__dlpack__`
    CUDA_ARRAY      # after DLPACK, which needs no synchronization and reports the device
    # Python values that are not native objects.
    NUMBER          # before VALUE_PROTOCOL: an int subclass with `__tvm_ffi_value__` stays an int
    DTYPE           # before TEXT: `tvm_ffi.dtype` is a subclass of str
    DEVICE
    SHAPE           # before NATIVE_VALUE and PYTHON_CONTAINER: `Shape` derives from tuple
    NATIVE_VALUE    # before TEXT: `core.String` is a subclass of str
    TEXT
    PYTHON_CONTAINER
    POINTER
    POINTER_HANDLER  # before CALLABLE: classes in OPAQUE_PTR_HANDLERS may have `__call__`
    CALLABLE         # before all following rules, because their classes may have `__call__`
    # Third-party classes that only a protocol, or the name of the class, identifies.
    THIRD_PARTY_DTYPE   # after CALLABLE: the class `numpy.float32` is a callable, not a dtype
    DEVICE_PROTOCOL
    VALUE_PROTOCOL
    EXCEPTION
    OBJECT_CONVERTIBLE
    BUFFER  # after TEXT: bytes have the buffer protocol; before OPAQUE, which accepts every type
    VALUE_INTERFACE  # before OPAQUE: values of otherwise opaque classes may have an interface
    OPAQUE
    NUM_PRECEDENCES
