# SPDX-License-Identifier: Apache-2.0
"""The compiled half of the package: one extension module per concept, over the C ABI alone.

Reading order, each built on the ones before: ``_abi.pxd`` (the C declarations), ``_object``
(handles), ``_error`` (exceptions both ways), ``_convert`` (what a Python type becomes),
``_scalar``, ``_text``, ``_dtype``, ``_device``, ``_loan``, ``_tensor``, ``_numpy``, ``_dlpack``
(values), ``_callback`` (native calls Python), ``_function`` (Python calls native).
"""
