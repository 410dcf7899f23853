# SPDX-License-Identifier: Apache-2.0
"""Kernels in Python, compiled by Numba, and what they are compared with."""
