# SPDX-License-Identifier: Apache-2.0
"""The cost of the C++ API: calls, containers, values; see ``api.cc``."""
