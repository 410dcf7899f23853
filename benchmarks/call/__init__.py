# SPDX-License-Identifier: Apache-2.0
"""The cost of one call from Python into a C function through the ABI."""
