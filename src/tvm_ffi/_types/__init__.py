# SPDX-License-Identifier: Apache-2.0
"""Native types in Python: type index, fields and methods, class, and conversion of values."""
