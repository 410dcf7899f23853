# SPDX-License-Identifier: Apache-2.0
"""Conformance of callers: a program runs on the checking reference in place of its runtime."""
