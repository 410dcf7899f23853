# SPDX-License-Identifier: Apache-2.0
"""Files of libraries: read, written and linked, and the modules that travel inside of them."""
