# SPDX-License-Identifier: Apache-2.0
"""Call benchmark: the cost of one call from Python to a C function through the ABI."""
