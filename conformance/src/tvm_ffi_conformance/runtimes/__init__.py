# SPDX-License-Identifier: Apache-2.0
"""Conformance of runtimes: cases that run on any `libtvm_ffi.so`, and their executor."""
