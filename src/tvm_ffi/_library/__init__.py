# SPDX-License-Identifier: Apache-2.0
"""Library files: ELF reader, writer of object files, linking, and embedded modules."""
