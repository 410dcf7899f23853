# SPDX-License-Identifier: Apache-2.0
"""Private modules of the package that belong to no public module: lazy imports, errors, files."""
