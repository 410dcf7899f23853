# SPDX-License-Identifier: Apache-2.0
# Conversion order: the precedence of the rules that choose the packer of a Python type.
#
# Rules are tried in this order, and the first rule that accepts the type decides.  The order is
# observable behaviour; docs/concepts/conversion-order.md describes it.  Each precedence has exactly
# one rule: `add_rule` fails for a second one.

cdef enum Precedence:
    # Native objects are passed as they are, whatever other protocols their classes support.
    TENSOR = 0      # including a tensor without a handle that a callback borrows
    CONTAINER       # before other objects: packing also finds the framework of inner tensors
    OBJECT          # including ObjectRValueRef and classes with `__tvm_ffi_object__`
    # Arrays before numbers: an array with one element may convert to a number, too.
    EXCHANGE_API    # before the slower protocols that the same class supports
    STREAM          # before numbers and pointers: a stream class may be an int or have an address
    NUMPY_ARRAY     # before `__dlpack__`, which NumPy refuses for read-only arrays
    TORCH_TENSOR    # before `__dlpack__`, which does not report the current stream of PyTorch
    DLPACK
    CUDA_ARRAY      # after `__dlpack__`, which needs no synchronization and reports the device
    # Plain values.
    NUMBER          # including subclasses, so an int with `__tvm_ffi_value__` stays an int
    DTYPE           # before text: `tvm_ffi.dtype` is a subclass of str
    DEVICE
    SHAPE           # before NATIVE_VALUE and tuples: `Shape` is both
    NATIVE_VALUE    # before text: `core.String` is a subclass of str
    TEXT
    PYTHON_CONTAINER
    POINTER
    POINTER_HANDLER  # before callables: classes in the handler table may have `__call__`
    CALLABLE         # before protocols and exceptions, whose classes may have `__call__`
    # Values of third-party classes that are recognized by a protocol only.
    THIRD_PARTY_DTYPE   # after callables: `numpy.float32` is a class and becomes a function
    DEVICE_PROTOCOL
    VALUE_PROTOCOL
    EXCEPTION
    OBJECT_CONVERTIBLE  # before OPAQUE, which accepts every type
    OPAQUE
    NUM_PRECEDENCES
