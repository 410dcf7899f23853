# SPDX-License-Identifier: Apache-2.0
"""Where Python finds the classes of native types."""

from __future__ import annotations

# Module of a type by the first part of its key, where the two differ.
MOD_MAP = {
    "testing": "tvm_ffi.testing",
    "ffi": "tvm_ffi",
}

# Names of origins in annotations.
TY_MAP_DEFAULTS = {
    "Any": "typing.Any",
    "Callable": "typing.Callable",
    "Array": "collections.abc.Sequence",
    "List": "collections.abc.MutableSequence",
    "Map": "collections.abc.Mapping",
    "Dict": "collections.abc.MutableMapping",
    "Object": "ffi.Object",
    "Tensor": "ffi.Tensor",
    "dtype": "ffi.dtype",
    "Device": "ffi.Device",
    # Types of the runtime whose class does not stand at the top of the package.
    "ffi.Enum": "tvm_ffi.dataclasses.Enum",
    "ffi.EnumState": "tvm_ffi.dataclasses.EnumState",
    "ffi.Error": "tvm_ffi.core.Error",
    "ffi.IntEnum": "tvm_ffi.dataclasses.IntEnum",
    "ffi.OpaquePyObject": "tvm_ffi.core.OpaquePyObject",
    "ffi.StrEnum": "tvm_ffi.dataclasses.StrEnum",
    "ffi.reflection.AccessPath": "tvm_ffi.access_path.AccessPath",
    "ffi.reflection.AccessStep": "tvm_ffi.access_path.AccessStep",
    # Types without a class.
    "ffi.Unchanged": "ffi.Object",
    "ffi.VisitErrorContext": "ffi.Object",
}

# The same for parameters: containers are made from any sequence and mapping, arrays of all
# frameworks are tensors.
TY_MAP_INPUT_DEFAULTS = {
    "Array": "collections.abc.Sequence",
    "List": "collections.abc.Sequence",
    "Map": "collections.abc.Mapping",
    "Dict": "collections.abc.Mapping",
    "Tensor": "tvm_ffi.TensorLike",
}
