# SPDX-License-Identifier: Apache-2.0
"""Numba kernels, and the ``njit`` function and C kernel that they are compared with."""
