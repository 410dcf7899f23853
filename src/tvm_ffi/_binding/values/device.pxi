# SPDX-License-Identifier: Apache-2.0
"""Devices as arguments and results, and the thread's current stream of each device."""

cimport cython
from cpython.ref cimport PyObject
from libc.stdint cimport int32_t, uintptr_t

from tvm_ffi._binding cimport abi
from tvm_ffi._binding.convert cimport (
    CallState, PackFunction, Packer, Precedence, add_rule, add_unpacker,
)
from tvm_ffi._binding.object cimport check

# ORDER device-type: names of the device types, by their values in DLDeviceType.
_DEVICE_TYPE_TO_NAME = {
    1: "cpu",
    2: "cuda",
    3: "cuda_host",
    4: "opencl",
    7: "vulkan",
    8: "metal",
    9: "vpi",
    10: "rocm",
    11: "rocm_host",
    12: "ext_dev",
    13: "cuda_managed",
    14: "oneapi",
    15: "webgpu",
    16: "hexagon",
    17: "maia",
    18: "trn",
}
_ALIASES = {"mps": 8, "wgpu": 15}
_DEVICE_NAME_TO_TYPE = {name: code for code, name in _DEVICE_TYPE_TO_NAME.items()} | _ALIASES

# Class of the devices that native functions return to Python; `set_device_class` replaces it.
cdef object _device_class


cdef tuple _parse_device(str text):
    """Parse a device name such as ``"cuda:1"``: return (device type, index).

    The index is None if the name has none.  Text after a blank is ignored.  Fails: ValueError.
    """
    parts = text.split(" ", 1)[0].split(":")
    if len(parts) > 2:
        raise ValueError(f"Invalid device: {text}")
    device_type = _DEVICE_NAME_TO_TYPE.get(parts[0])
    if device_type is None:
        from tvm_ffi._internal.suggestion import did_you_mean

        known = sorted(_DEVICE_NAME_TO_TYPE)
        raise ValueError(
            f"Unknown device: {parts[0]}, expected one of {', '.join(known)}"
            f"{did_you_mean(parts[0], known)}")
    if len(parts) == 1:
        return device_type, None
    # Checks the digits, because `int` also accepts underscores and the digits of other scripts.
    if not (parts[1].isascii() and parts[1].removeprefix("-").isdigit()):
        raise ValueError(f"Invalid device index: {parts[1]}")
    return device_type, int(parts[1])


def _index_of(index):
    """Return a device index as an int.

    `index` is an int, an object with ``__index__``, or a scalar array with ``item()``.
    """
    if hasattr(index, "item") and not isinstance(index, int):
        index = index.item()
    if not hasattr(index, "__index__"):
        raise TypeError(f"Invalid device index: {index}")
    return int(index)


cdef int _int32(str number_name, object value) except? -1:
    """Convert a Python int to a C int of 32 bits.  Fails: OverflowError if it does not fit."""
    if not -(1 << 31) <= value < 1 << 31:
        raise OverflowError(f"Invalid device {number_name}: {value} does not fit 32 bits")
    return value


@cython.binding(False)
cdef class Device:
    """Device of a tensor: a device type and an index.

    Parameters
    ----------
    device_type : str or int
        Name such as ``"cuda"`` or ``"cuda:1"``, or a value of `DLDeviceType`.
    index : int, optional
        Index among the devices of the type.  An index in the name has priority.  Default 0.

    Raises
    ------
    ValueError
        If the name or the index in the name is invalid.
    TypeError
        If an argument has an unsupported type.
    OverflowError
        If the device type or the index does not fit 32 bits.
    """

    _DEVICE_TYPE_TO_NAME = _DEVICE_TYPE_TO_NAME
    _DEVICE_NAME_TO_TYPE = _DEVICE_NAME_TO_TYPE

    def __init__(self, device_type, index=None):
        if <int>self.cdevice.device_type != 0:
            raise TypeError("a Device is immutable; create another one")
        if isinstance(device_type, str):
            code, text_index = _parse_device(plain_str(device_type, "device_type"))
            if text_index is not None:
                index = text_index
        elif hasattr(device_type, "__index__"):
            code = int(device_type)
        else:
            raise TypeError(
                f"device_type must be a str or an int, got {type(device_type).__name__}")
        self.cdevice.device_type = <abi.DLDeviceType>_int32("type", code)
        self.cdevice.device_id = 0 if index is None else _int32("index", _index_of(index))

    @property
    def type(self) -> str:
        """Name of the device type; its number as text if the type has no name."""
        return self.__device_type_name__()

    @property
    def index(self) -> int:
        """Index among the devices of the type."""
        return self.cdevice.device_id

    def dlpack_device_type(self) -> int:
        """Return the device type as a value of `DLDeviceType`."""
        return <int>self.cdevice.device_type

    def __device_type_name__(self) -> str:
        """Return the name of the device type."""
        code = <int>self.cdevice.device_type
        return _DEVICE_TYPE_TO_NAME.get(code) or str(code)

    def __str__(self):
        return f"{self.type}:{self.index}"

    def __repr__(self):
        return f"device(type='{self.type}', index={self.index})"

    def __eq__(self, other):
        if not isinstance(other, Device):
            return NotImplemented
        return _pair(self.cdevice) == _pair((<Device>other).cdevice)

    def __hash__(self):
        return hash(_pair(self.cdevice))

    def __reduce__(self):
        return type(self), (<int>self.cdevice.device_type, self.cdevice.device_id)


cdef inline tuple _pair(abi.DLDevice cdevice):
    return (<int>cdevice.device_type, cdevice.device_id)


_device_class = Device
# The device classes that `set_device_class` has replaced.  They are kept alive, because another
# thread may be about to use one of them.
cdef list _earlier_device_classes = []


def set_device_class(cls):
    """Let native functions return devices as instances of `cls`, a subclass of Device."""
    global _device_class
    if not issubclass(cls, Device):
        raise TypeError(f"expected a class that derives from Device, got {cls.__name__}")
    _earlier_device_classes.append(_device_class)
    _device_class = cls


def device_class() -> type:
    """Return the class of the devices that native functions return."""
    return _device_class


cdef object device_of(abi.DLDevice cdevice):
    cdef Device device = <Device?>_device_class.__new__(_device_class)
    device.cdevice = cdevice
    return device


# ---- streams -------------------------------------------------------------------------------

def set_current_stream(int32_t device_type, int32_t device_id, stream) -> int:
    """Set this thread's current stream of a device; return the previous stream, or 0.

    Parameters
    ----------
    device_type, device_id : int
        The device, in DLPack's numbering.
    stream : int or ctypes.c_void_p
        Address of the stream; 0 is the default stream.
    """
    cdef uintptr_t address = stream if isinstance(stream, int) else (stream.value or 0)
    cdef void* previous = NULL
    check(abi.TVMFFIEnvSetStream(device_type, device_id, <void*>address, &previous))
    return <uintptr_t>previous


def get_current_stream(int32_t device_type, int32_t device_id) -> int:
    """Return the address of this thread's current stream of a device; 0 if no stream was set."""
    return <uintptr_t>abi.TVMFFIEnvGetStream(device_type, device_id)


# ---- packing and unpacking -----------------------------------------------------------------

cdef int _set_device(abi.TVMFFIAny* out, abi.DLDevice cdevice) noexcept:
    out.type_index = abi.kTVMFFIDevice
    out.zero_padding = 0
    out.v_device = cdevice
    return 0


cdef int _pack_device(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    return _set_device(out, (<Device>value).cdevice)


cdef int _pack_device_protocol(
    PyObject* value, abi.TVMFFIAny* out, CallState* state, const Packer* packer
) except -1:
    """Pack the device that `__dlpack_device__` of an object returns."""
    cdef abi.DLDevice cdevice
    device_type, device_id = (<object>value).__dlpack_device__()
    cdevice.device_type = <abi.DLDeviceType><int>device_type
    # Paddle returns None as the index of the CPU
    cdevice.device_id = 0 if device_id is None else device_id
    return _set_device(out, cdevice)


cdef bint _device_rule(type cls, object value, Packer* packer) except -1:
    if not issubclass(cls, Device):
        return False
    packer.pack = <PackFunction>_pack_device
    return True


cdef bint _device_protocol_rule(type cls, object value, Packer* packer) except -1:
    if not hasattr(cls, "__dlpack_device__") or hasattr(cls, "__dlpack__"):
        return False
    packer.pack = <PackFunction>_pack_device_protocol
    return True


cdef object _unpack_device(abi.TVMFFIAny* owned, CallState* state):
    return device_of(owned.v_device)


add_rule(Precedence.DEVICE, _device_rule)
add_rule(Precedence.DEVICE_PROTOCOL, _device_protocol_rule)
add_unpacker(abi.kTVMFFIDevice, _unpack_device)
