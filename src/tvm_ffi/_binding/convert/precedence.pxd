# SPDX-License-Identifier: Apache-2.0
# The order in which rules are asked what becomes of a Python type; the first that applies decides.
#
# This is behaviour that programs see, described in docs/concepts/conversion-order.md.  Each rule
# has a place of its own: `add_rule` refuses a second one.

cdef enum Precedence:
    # What is a native object already passes as it is, whatever else its class can do.
    OWN_TENSOR = 0      # also one without a handle, which a caller has lent
    OWN_CONTAINER       # before other objects: it knows the framework of the tensors inside
    OWN_OBJECT          # and what names one: ObjectRValueRef, `__tvm_ffi_object__`
    # Arrays before numbers: an array of one element may convert to a number as well.
    EXCHANGE_TABLE      # before everything slower that the same class offers
    STREAM              # a stream's class may be an int or have an address, too
    NUMPY_ARRAY         # before `__dlpack__`, which NumPy refuses for read-only arrays
    TORCH_TENSOR        # before `__dlpack__`, which does not tell torch's current stream
    DLPACK
    CUDA_ARRAY          # after `__dlpack__`, which waits for nobody and knows the device
    # Plain values.
    NUMBER              # subclasses, too, so an int with `__tvm_ffi_value__` stays an int
    OWN_DTYPE           # before text: `tvm_ffi.dtype` is a str
    OWN_DEVICE
    OWN_SHAPE           # before values that hold an object, and before tuples: it is both
    HELD_OBJECT         # before text: `core.String` is a str
    TEXT
    PYTHON_CONTAINER
    POINTER
    POINTER_HANDLER     # before callables: classes in the table may have `__call__`
    CALLABLE            # before protocols and exceptions, whose classes may have `__call__`
    # What stands for a value, and what is known by a protocol alone.
    FOREIGN_DTYPE       # after callables: `numpy.float32` is a class, so a function
    DEVICE_PROTOCOL
    VALUE_PROTOCOL
    EXCEPTION
    OBJECT_CONVERTIBLE  # before the last, which takes everything
    OPAQUE
    NUM_PRECEDENCES
