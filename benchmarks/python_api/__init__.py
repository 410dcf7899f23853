# SPDX-License-Identifier: Apache-2.0
"""Statement benchmark: operations on values and objects of the Python package."""
