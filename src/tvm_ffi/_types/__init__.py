# SPDX-License-Identifier: Apache-2.0
"""What is known about native types: index, registered fields and methods, class, conversion."""
