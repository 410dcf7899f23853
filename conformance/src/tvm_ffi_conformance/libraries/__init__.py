# SPDX-License-Identifier: Apache-2.0
"""Conformance of libraries of functions: static checks of the file, and calls by signature."""
