# SPDX-License-Identifier: Apache-2.0
"""Devices: parsing, names, equality, pickling, and conversion of other libraries' devices."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import tvm_ffi
from tvm_ffi import Device, DLDeviceType, core

NAMES = {
    "cpu": 1,
    "cuda": 2,
    "opencl": 4,
    "vulkan": 7,
    "metal": 8,
    "mps": 8,
    "vpi": 9,
    "rocm": 10,
    "ext_dev": 12,
    "webgpu": 15,
    "wgpu": 15,
    "hexagon": 16,
    "maia": 17,
    "trn": 18,
}


@pytest.mark.parametrize(("name", "number"), NAMES.items(), ids=NAMES)
def test_device_names_are_parsed(name, number):
    device = tvm_ffi.device(name, 3)
    assert device.dlpack_device_type() == number
    assert device.index == 3
    assert Device(number, 3) == device


@pytest.mark.parametrize("kind", DLDeviceType, ids=lambda kind: kind.name)
def test_device_types_have_names(kind):
    device = Device(kind, 1)
    name = kind.name[len("kDL") :].lower()
    assert device.type.replace("_", "") == name
    assert device.__device_type_name__() == device.type
    assert str(device) == f"{device.type}:1"
    assert repr(device) == f"device(type='{device.type}', index=1)"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("cpu",), (1, 0)),
        (("cuda:1",), (2, 1)),
        (("cuda:1", 5), (2, 1)),
        (("cuda", None), (2, 0)),
        (("cuda -arch=sm_90", 2), (2, 2)),
        (("cuda:3 -arch",), (2, 3)),
        (("cuda", -1), (2, -1)),
        (("cuda", np.int64(2)), (2, 2)),
        (("cuda", np.array(2)), (2, 2)),
        ((2, 7), (2, 7)),
    ],
    ids=str,
)
def test_the_index_comes_from_the_string_or_an_argument(arguments, expected):
    device = tvm_ffi.device(*arguments)
    assert (device.dlpack_device_type(), device.index) == expected


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("foo",), ValueError, "Unknown device: foo"),
        (("CPU",), ValueError, "Unknown device: CPU"),
        (("",), ValueError, "Unknown device"),
        (("cpu:x",), ValueError, "Invalid device index: x"),
        (("cpu:1_0",), ValueError, "Invalid device index: 1_0"),
        (("cuda:\u0663",), ValueError, "Invalid device index: \u0663"),
        (("cpu:",), ValueError, "Invalid device index"),
        (("cpu:0:1",), ValueError, "Invalid device: cpu:0:1"),
        (("cpu", 1.0), TypeError, "Invalid device index: 1.0"),
        (("cpu", "0"), TypeError, "Invalid device index: 0"),
        (("cpu", 2**40), OverflowError, "Invalid device index: 1099511627776 does not fit 32 bits"),
        (("cuda:99999999999",), OverflowError, "Invalid device index: 99999999999 does not fit"),
        ((1 << 31, 0), OverflowError, "Invalid device type: 2147483648 does not fit 32 bits"),
        ((None,), TypeError, "device_type must be"),
        ((2.0,), TypeError, "device_type must be"),
        ((Device("cpu"),), TypeError, "device_type must be"),
        ((), TypeError, "argument"),
    ],
    ids=str,
)
def test_wrong_arguments_are_errors(arguments, error, message):
    with pytest.raises(error, match=message):
        Device(*arguments)


def test_an_unknown_device_type_is_printed_as_a_number():
    device = Device(99, 2)
    assert str(device) == "99:2"
    assert "99" in repr(device)


def test_devices_compare_and_hash_by_value():
    assert Device("cuda:1") == Device(2, 1)
    assert Device("cuda:1") != Device("cuda:0")
    assert Device("cpu") != "cpu:0"
    assert len({Device("cuda:1"), Device(2, 1), Device("cpu")}) == 2


def test_devices_cannot_be_changed():
    with pytest.raises(AttributeError):
        Device("cpu").index = 1


def test_reinitializing_a_device_raises(echo):
    for device in (tvm_ffi.device("cuda:1"), echo(tvm_ffi.device("cuda:1"))):
        with pytest.raises(TypeError, match="a Device is immutable; create another one"):
            device.__init__("cpu")
        assert str(device) == "cuda:1"


def test_devices_pickle_and_copy():
    device = Device("rocm:4")
    for again in (pickle.loads(pickle.dumps(device)), copy.copy(device), copy.deepcopy(device)):
        assert again == device


@pytest.mark.parametrize("text", ["cpu:0", "cuda:3", "rocm:127"])
def test_devices_round_trip(kernels, echo, text):
    device = tvm_ffi.device(text)
    assert echo(device) == device
    assert type(echo(device)) is Device
    assert kernels.type_index(device) == 6


def test_negative_index_round_trips(echo):
    assert echo(Device("cuda", -1)).index == -1


def test_device_protocol(kernels, echo):
    class Foreign:
        def __dlpack_device__(self):
            return (2, 5)

    assert echo(Foreign()) == Device("cuda:5")


@pytest.mark.parametrize("answer", [5, (1,), ("cpu", 0), (1, 2**40)], ids=repr)
def test_an_invalid_result_of_the_device_protocol_is_refused(echo, answer):
    cls = type("Foreign", (), {"__dlpack_device__": lambda self: answer})
    with pytest.raises((TypeError, ValueError, OverflowError), match="argument #0"):
        echo(cls())


def test_the_device_class_can_be_replaced(echo):
    class Own(Device):
        pass

    core._set_class_device(Own)
    try:
        assert type(echo(Device("cuda:1"))) is Own
        assert type(tvm_ffi.device("cuda", 1)) is Own
    finally:
        core._set_class_device(Device)
    with pytest.raises(TypeError, match="expected a class that derives from Device"):
        core._set_class_device(int)


def test_the_device_class_can_be_read():
    assert core._CLASS_DEVICE is tvm_ffi.Device
    derived = type("Derived", (tvm_ffi.Device,), {})
    core._set_class_device(derived)
    try:
        assert core._CLASS_DEVICE is derived
    finally:
        core._set_class_device(tvm_ffi.Device)


def test_the_device_class_has_tables_of_names():
    assert Device._DEVICE_TYPE_TO_NAME[2] == "cuda"
    assert Device._DEVICE_NAME_TO_TYPE["mps"] == 8
