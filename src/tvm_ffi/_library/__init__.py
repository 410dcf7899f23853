# SPDX-License-Identifier: Apache-2.0
"""Library files: reading ELF, writing object files, linking, and embedded modules."""
