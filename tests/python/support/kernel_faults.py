# SPDX-License-Identifier: Apache-2.0
"""Faults of kernels that the debug context must name, for kernels in any language."""

from __future__ import annotations

import contextlib

import numpy as np

import tvm_ffi


def array():
    """Return a NumPy array for a kernel."""
    return np.ones(4, "float32")


def tensor():
    """Return a `Tensor` for a kernel."""
    return tvm_ffi.from_dlpack(array())


def call_and_report(faulty, name, make_arguments):
    """Call a kernel; return the function, the rule and the argument of each fault.

    The function that lets the stream be another one is called again, to set the former stream.
    """
    arguments = [make() for make in make_arguments]
    with tvm_ffi.debug(name, not_finite=True) as found, contextlib.suppress(Exception):
        faulty[name](*arguments)
    if name == "leave_stream":
        faulty[name](0)
    return [(fault.function, fault.rule.id, fault.argument) for fault in found]


def leaks_of(faulty):
    """Let a kernel keep three tensors; return the function and the rule of each fault."""
    with tvm_ffi.debug() as found:
        for _ in range(3):
            faulty.leak_tensor(tensor())
    return [(fault.function, fault.rule.id) for fault in found]
