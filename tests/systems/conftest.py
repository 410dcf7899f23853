# SPDX-License-Identifier: Apache-2.0
"""Fixtures for the compilers' environments, and the summary of outcomes."""

from outcomes import environments, pytest_runtest_makereport, pytest_terminal_summary

__all__ = ["environments", "pytest_runtest_makereport", "pytest_terminal_summary"]
