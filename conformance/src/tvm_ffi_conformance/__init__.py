# SPDX-License-Identifier: Apache-2.0
"""The TVM FFI ABI: its description for ctypes, an executable reference and a conformance kit."""
