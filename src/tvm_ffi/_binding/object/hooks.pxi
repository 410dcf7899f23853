# SPDX-License-Identifier: Apache-2.0
"""The table of hooks; see `_binding/hooks.pxd`."""

cimport cython


@cython.final
cdef class Hooks:
    """Python functions that higher layers of the package set for the binding to call."""


hooks = Hooks()
globals()["hooks"] = hooks  # a Python variable, because Python modules cannot read the C variable
