# SPDX-License-Identifier: Apache-2.0
"""Values and objects of the Python package: what using them costs."""
