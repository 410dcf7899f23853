# SPDX-License-Identifier: Apache-2.0
"""Native types in Python: type indices, type metadata, registered classes, and conversion."""
