# SPDX-License-Identifier: Apache-2.0
"""Rust structs: `generator` implements `Generator`; the other modules generate their parts."""
